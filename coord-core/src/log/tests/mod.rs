//! Tests of the log, by subject.

mod idempotence;
mod reads;
mod recovery;
mod retention;
mod transactions;

use alloc::vec::Vec;

use ackord_machine::{LogAppend, LogId, MonoTime, Now, StoredBatch, WallTime};
use ackord_proto::ErrorCode;
use ackord_proto::records::{BatchBuilder, BatchHeader, crc32c, verify_crc};
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use super::*;
use crate::outbox::{ProducerEpoch, StateRecord};

const ID: LogId = LogId {
    topic: Uuid([1; 16]),
    partition: 0,
};

fn config() -> LogConfig {
    LogConfig::default()
}

fn log() -> PartitionLog {
    PartitionLog::new(ID, config())
}

fn now(wall: i64) -> Now {
    Now {
        mono: MonoTime::ZERO,
        wall: WallTime::from_millis(wall),
    }
}

/// A batch as a client sends it: one record, epoch 0, sequence 0, unless said otherwise.
#[derive(Clone, Copy)]
struct Client {
    producer_id: i64,
    epoch: i16,
    sequence: i32,
    records: i32,
    timestamp: i64,
    transactional: bool,
    claims_append_time: bool,
}

impl Client {
    fn new(producer_id: i64) -> Self {
        Client {
            producer_id,
            epoch: 0,
            sequence: 0,
            records: 1,
            timestamp: 1_000,
            transactional: false,
            claims_append_time: false,
        }
    }

    fn anonymous() -> Self {
        Client {
            epoch: -1,
            sequence: -1,
            ..Client::new(-1)
        }
    }

    fn epoch(self, epoch: i16) -> Self {
        Client { epoch, ..self }
    }

    fn sequence(self, sequence: i32) -> Self {
        Client { sequence, ..self }
    }

    fn records(self, records: i32) -> Self {
        Client { records, ..self }
    }

    fn timestamp(self, timestamp: i64) -> Self {
        Client { timestamp, ..self }
    }

    fn transactional(self) -> Self {
        Client {
            transactional: true,
            ..self
        }
    }

    fn claims_append_time(self) -> Self {
        Client {
            claims_append_time: true,
            ..self
        }
    }

    fn build(&self) -> Bytes {
        let mut builder =
            BatchBuilder::new(0).producer(self.producer_id, self.epoch, self.sequence);
        if self.transactional {
            builder = builder.transactional();
        }
        for _ in 0..self.records {
            builder.push(self.timestamp, Some(b"key"), Some(&[b'v'; 40]));
        }
        let bytes = builder.build();
        if !self.claims_append_time {
            return bytes;
        }
        let mut bytes = bytes.to_vec();
        bytes[22] |= 8;
        let crc = crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        Bytes::from(bytes)
    }

    /// What the coordinator would have said of it.
    fn check(&self, log: &PartitionLog) -> TxnCheck {
        if self.transactional && log.open_transaction(self.producer_id).is_none() {
            TxnCheck::Version2
        } else {
            TxnCheck::Unverified
        }
    }
}

fn append(log: &mut PartitionLog, batch: &Client) -> LogAppend {
    match log.append_client(now(1), &batch.build(), batch.check(log)) {
        Ok(Produced::Appended { part, .. }) => part,
        other => panic!("{other:?}"),
    }
}

fn produced(log: &mut PartitionLog, batch: &Client) -> (i64, i64) {
    let part = append(log, batch);
    (part.base, part.last)
}

/// Without the coordinator's word.
fn refused(log: &mut PartitionLog, batch: &Client) -> ErrorCode {
    log.append_client(now(1), &batch.build(), TxnCheck::Unverified)
        .unwrap_err()
        .code
}

fn records(count: usize) -> Vec<StateRecord> {
    let record = |n| StateRecord {
        key: Bytes::from_static(b"key"),
        value: value(n),
    };
    (0..count).map(record).collect()
}

fn value(n: usize) -> Option<Bytes> {
    (n % 3 != 2).then(|| Bytes::from_static(b"value"))
}

/// What the store keeps of an append.
fn as_stored(part: &LogAppend) -> StoredBatch {
    let bytes = Bytes::from([&part.head[..], &part.body[..]].concat());
    StoredBatch {
        base: part.base,
        last: part.last,
        bytes,
    }
}

fn header(batch: &[u8]) -> BatchHeader {
    BatchHeader::parse(batch).unwrap()
}

fn crc_is_right(batch: &[u8]) -> bool {
    verify_crc(batch).is_ok()
}
