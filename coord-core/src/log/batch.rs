//! Batches as the log sees them: where they land, and what they say about producers.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use ackord_proto::records::batch::{HEADER_SIZE, LENGTH_OVERHEAD};
use ackord_proto::records::{
    BatchBuilder, BatchHeader, ControlRecord, ControlType, RecordsError, UnpackBudget,
    control_batch, crc32c, reassign, validate_for_append_charged,
};
use bytes::Bytes;

use super::append::{AppendError, Marker, refuse};
use super::producer_state::advance;
use crate::outbox::{ProducerEpoch, StateRecord};

/// Leader epoch in all batches: a log has had one leader, so it never changes.
const LEADER_EPOCH: i32 = 0;

const CRC: usize = 17;
const ATTRIBUTES: usize = 21;
const MAX_TIMESTAMP: usize = 35;
const LOG_APPEND_TIME: u8 = 0x08;

/// One batch in a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSpan {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// Number of records: fewer than offsets where a cleaner has taken some.
    pub records: i64,
    /// Whether it holds a marker instead of data.
    pub is_control: bool,
    /// Whether it belongs to a transaction.
    pub is_transactional: bool,
    /// Producer id; -1: none.
    pub producer_id: i64,
    /// Bytes of the batch with its header.
    pub size: usize,
}

/// What a batch means for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchKind {
    /// Data outside of transactions.
    Plain,
    /// Data of a transaction.
    Transactional,
    /// The end of a transaction.
    Marker {
        commit: bool,
        coordinator_epoch: i32,
    },
    /// A control batch that has nothing to do with transactions.
    OtherControl,
}

/// All that a log has to know of a batch to take it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchFacts {
    pub(super) base: i64,
    pub(super) last: i64,
    pub(super) producer_id: i64,
    pub(super) producer_epoch: i16,
    pub(super) base_sequence: i32,
    pub(super) last_sequence: i32,
    pub(super) max_timestamp: i64,
    /// Bytes with the header.
    pub(super) size: usize,
    pub(super) kind: BatchKind,
}

impl BatchFacts {
    /// Of a batch with that header which lands at `base`. What a control batch says is not in its
    /// header.
    pub(super) fn at(header: &BatchHeader, base: i64) -> Self {
        let kind = if header.is_control() {
            BatchKind::OtherControl
        } else if header.is_transactional() && header.has_producer_id() {
            BatchKind::Transactional
        } else {
            BatchKind::Plain
        };
        BatchFacts {
            base,
            last: base + i64::from(header.last_offset_delta),
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            base_sequence: header.base_sequence,
            last_sequence: header.last_sequence(),
            max_timestamp: header.max_timestamp,
            size: usize::try_from(header.batch_length).unwrap_or(0) + LENGTH_OVERHEAD,
            kind,
        }
    }

    /// Of a stored batch, which may be cut to its header unless it is a control batch. `end` is
    /// the end of its log.
    pub(super) fn read(bytes: &Bytes, end: i64) -> Result<Self, &'static str> {
        let header = BatchHeader::parse(bytes).map_err(|_| "a batch header is damaged")?;
        if header.base_offset < 0 || header.last_offset_delta < 0 || header.last_offset() >= end {
            return Err("a batch has offsets that the log has not");
        }
        let mut facts = BatchFacts::at(&header, header.base_offset);
        if header.is_control() && header.is_transactional() && header.has_producer_id() {
            let control =
                ControlRecord::of_batch(bytes).map_err(|_| "a control record is damaged")?;
            facts.kind = match control.control_type {
                ControlType::Commit | ControlType::Abort => BatchKind::Marker {
                    commit: control.control_type == ControlType::Commit,
                    coordinator_epoch: control.coordinator_epoch,
                },
                ControlType::Other(_) => BatchKind::OtherControl,
            };
        }
        Ok(facts)
    }
}

/// Checks a client's batch.
pub(super) fn validate(
    batch: &Bytes,
    budget: &mut UnpackBudget,
) -> Result<BatchHeader, AppendError> {
    validate_for_append_charged(batch, budget).map_err(|error| unpacked(error, budget))
}

/// What is wrong with a batch whose records count into `budget`.
pub(super) fn unpacked(error: RecordsError, budget: &UnpackBudget) -> AppendError {
    let over_all = RecordsError::TooLarge {
        limit: budget.limit(),
    };
    let reason = match error == over_all {
        true => format!(
            "the batches of the request take more than {} bytes unpacked \
             (socket.request.max.bytes): send fewer in a request",
            budget.limit()
        ),
        false => error.to_string(),
    };
    refuse(error.error_code(), reason)
}

/// The batch as it is stored at `base`: a rewritten head and the shared rest. Only where the
/// timestamp type changes, which the checksum covers, is it copied.
pub(super) fn place(
    batch: &Bytes,
    header: &BatchHeader,
    base: i64,
    log_append_time: Option<i64>,
) -> [Bytes; 2] {
    let [head, rest] = reassign(batch, base, LEADER_EPOCH);
    if log_append_time.is_none() && !header.is_log_append_time() {
        return [head, rest];
    }
    let mut stamped = [&head[..], &rest[..]].concat();
    match log_append_time {
        Some(timestamp) => {
            stamped[ATTRIBUTES + 1] |= LOG_APPEND_TIME;
            stamped[MAX_TIMESTAMP..MAX_TIMESTAMP + 8].copy_from_slice(&timestamp.to_be_bytes());
        }
        // A client cannot say so for the log.
        None => stamped[ATTRIBUTES + 1] &= !LOG_APPEND_TIME,
    }
    let crc = crc32c(&stamped[ATTRIBUTES..]);
    stamped[CRC..ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    [Bytes::new(), Bytes::from(stamped)]
}

/// A batch of a coordinator's records, and what it means; the producer comes with its first
/// sequence number.
pub(super) fn build(
    base: i64,
    timestamp: i64,
    records: &[StateRecord],
    producer: Option<(ProducerEpoch, i32)>,
) -> (BatchFacts, Bytes) {
    let mut builder = BatchBuilder::new(base).leader_epoch(LEADER_EPOCH);
    if let Some((producer, sequence)) = producer {
        builder = builder
            .producer(producer.id, producer.epoch, sequence)
            .transactional();
    }
    for record in records {
        builder.push(timestamp, Some(&record.key), record.value.as_deref());
    }
    let steps = (builder.len() as i32).saturating_sub(1);
    let bytes = builder.build();
    let (id, epoch, base_sequence, kind) = match producer {
        Some((producer, sequence)) => (
            producer.id,
            producer.epoch,
            sequence,
            BatchKind::Transactional,
        ),
        None => (-1, -1, -1, BatchKind::Plain),
    };
    let facts = BatchFacts {
        base,
        last: base + i64::from(steps),
        producer_id: id,
        producer_epoch: epoch,
        base_sequence,
        last_sequence: if base_sequence < 0 {
            -1
        } else {
            advance(base_sequence, steps)
        },
        max_timestamp: timestamp,
        size: bytes.len(),
        kind,
    };
    (facts, bytes)
}

/// The control batch of a marker, and what it means.
pub(super) fn build_marker(base: i64, timestamp: i64, marker: &Marker) -> (BatchFacts, Bytes) {
    let control_type = if marker.commit {
        ControlType::Commit
    } else {
        ControlType::Abort
    };
    let bytes = control_batch(
        base,
        timestamp,
        marker.producer_id,
        marker.producer_epoch,
        control_type,
        marker.coordinator_epoch,
    );
    let facts = BatchFacts {
        base,
        last: base,
        producer_id: marker.producer_id,
        producer_epoch: marker.producer_epoch,
        base_sequence: -1,
        last_sequence: -1,
        max_timestamp: timestamp,
        size: bytes.len(),
        kind: BatchKind::Marker {
            commit: marker.commit,
            coordinator_epoch: marker.coordinator_epoch,
        },
    };
    (facts, bytes)
}

/// See [`super::PartitionLog::batch_bounds`].
pub(super) fn bounds(chunks: &[Bytes]) -> Vec<BatchSpan> {
    let mut spans = Vec::new();
    let mut rest = Cursor { chunks, at: 0 };
    let mut header = [0u8; HEADER_SIZE];
    while rest.peek(&mut header) {
        let Ok(parsed) = BatchHeader::parse(&header) else {
            break;
        };
        let size = usize::try_from(parsed.batch_length).unwrap_or(0) + LENGTH_OVERHEAD;
        if !rest.skip(size) {
            break;
        }
        spans.push(BatchSpan {
            base: parsed.base_offset,
            last: parsed.last_offset(),
            records: i64::from(parsed.record_count),
            is_control: parsed.is_control(),
            is_transactional: parsed.is_transactional(),
            producer_id: parsed.producer_id,
            size,
        });
    }
    spans
}

/// A place in a list of chunks.
struct Cursor<'a> {
    chunks: &'a [Bytes],
    /// In the first of the chunks.
    at: usize,
}

impl Cursor<'_> {
    /// Fills `into` with what follows; `false` where there is less.
    fn peek(&self, into: &mut [u8]) -> bool {
        let (mut filled, mut at) = (0, self.at);
        for chunk in self.chunks {
            let part = &chunk[at..];
            let take = part.len().min(into.len() - filled);
            into[filled..filled + take].copy_from_slice(&part[..take]);
            filled += take;
            at = 0;
        }
        filled == into.len()
    }

    /// Goes on by `bytes`; `false` where there are fewer.
    fn skip(&mut self, mut bytes: usize) -> bool {
        while let Some((chunk, rest)) = self.chunks.split_first() {
            let left = chunk.len() - self.at;
            if bytes < left {
                self.at += bytes;
                return true;
            }
            bytes -= left;
            self.chunks = rest;
            self.at = 0;
        }
        bytes == 0
    }
}
