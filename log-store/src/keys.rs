//! Keys in the database.
//!
//! The key of a batch carries everything that is asked of batches in bulk, so the end of a log, a
//! trim and a search by timestamp read no batch.

use ackord_machine::LogId;
use ackord_proto::uuid::Uuid;

/// Bytes that name a log: topic id and partition.
pub(crate) const LOG: usize = 20;
const POSITION: usize = LOG + 8;
const BATCH: usize = POSITION + 16;

/// The value under [`FORMAT`] in the `meta` keyspace.
pub(crate) const FORMAT_VALUE: &[u8] = b"ackord-log 1";
/// Names the format of the whole database.
pub(crate) const FORMAT: &[u8] = b"f";

/// Offset of the largest timestamp in a record batch of magic 2.
const MAX_TIMESTAMP: usize = 35;

/// What the key of a batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchKey {
    pub(crate) log: LogId,
    pub(crate) base: i64,
    pub(crate) last: i64,
    pub(crate) max_timestamp: i64,
}

impl BatchKey {
    pub(crate) fn encode(&self) -> [u8; BATCH] {
        let mut key = [0; BATCH];
        key[..POSITION].copy_from_slice(&position(self.log, self.base));
        key[POSITION..POSITION + 8].copy_from_slice(&self.last.to_be_bytes());
        key[POSITION + 8..].copy_from_slice(&self.max_timestamp.to_be_bytes());
        key
    }

    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        if key.len() != BATCH {
            return None;
        }
        Some(BatchKey {
            log: log_of(key)?,
            base: long(key, LOG)?,
            last: long(key, POSITION)?,
            max_timestamp: long(key, POSITION + 8)?,
        })
    }
}

/// The first bytes of all keys of a log.
pub(crate) fn log(log: LogId) -> [u8; LOG] {
    let mut key = [0; LOG];
    key[..16].copy_from_slice(&log.topic.to_bytes());
    key[16..].copy_from_slice(&log.partition.to_be_bytes());
    key
}

/// Sorts before the batch with this base offset and behind all before it.
pub(crate) fn position(id: LogId, base: i64) -> [u8; POSITION] {
    let mut key = [0; POSITION];
    key[..LOG].copy_from_slice(&log(id));
    key[LOG..].copy_from_slice(&base.to_be_bytes());
    key
}

/// Sorts behind all batches of a log and before the next log.
pub(crate) fn past(id: LogId) -> [u8; BATCH + 1] {
    let mut key = [0xff; BATCH + 1];
    key[..LOG].copy_from_slice(&log(id));
    key
}

/// Reads the log at the start of `bytes`.
pub(crate) fn log_of(bytes: &[u8]) -> Option<LogId> {
    let topic = bytes.get(..16)?.try_into().ok()?;
    let partition = bytes.get(16..LOG)?.try_into().ok()?;
    Some(LogId {
        topic: Uuid::from_bytes(topic),
        partition: i32::from_be_bytes(partition),
    })
}

/// Reads a number at `at`.
pub(crate) fn long(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Tags of the `meta` keyspace, one for each thing it keeps of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    /// Offset and state.
    Checkpoint,
    /// Start and end as of the last trim.
    Extent,
}

impl Meta {
    pub(crate) const fn tag(self) -> u8 {
        match self {
            Meta::Checkpoint => b'c',
            Meta::Extent => b'e',
        }
    }

    pub(crate) fn key(self, id: LogId) -> [u8; LOG + 1] {
        let mut key = [self.tag(); LOG + 1];
        key[1..].copy_from_slice(&log(id));
        key
    }
}

/// The largest timestamp of a batch, given in two parts; -1 where it is too short to have one.
pub(crate) fn max_timestamp(head: &[u8], body: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    for (index, slot) in bytes.iter_mut().enumerate() {
        let at = MAX_TIMESTAMP + index;
        let found = match at.checked_sub(head.len()) {
            None => head.get(at),
            Some(at) => body.get(at),
        };
        match found {
            Some(byte) => *slot = *byte,
            None => return -1,
        }
    }
    i64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(partition: i32) -> LogId {
        LogId {
            topic: Uuid::from_bytes([7; 16]),
            partition,
        }
    }

    #[test]
    fn keys_sort_by_log_then_offset() {
        let batch = |partition, base| {
            BatchKey {
                log: id(partition),
                base,
                last: base,
                max_timestamp: i64::MAX,
            }
            .encode()
        };
        assert!(batch(0, 255) < batch(0, 256));
        assert!(batch(0, i64::MAX - 1) < batch(1, 0));
        assert!(batch(0, 9).as_slice() < position(id(0), 10).as_slice());
        assert!(position(id(0), 10).as_slice() < batch(0, 10).as_slice());
        assert!(batch(0, i64::MAX).as_slice() < past(id(0)).as_slice());
        assert!(past(id(0)).as_slice() < batch(1, 0).as_slice());
    }

    #[test]
    fn a_key_decodes_to_what_it_was() {
        let key = BatchKey {
            log: id(3),
            base: 5,
            last: 9,
            max_timestamp: -1,
        };
        assert_eq!(BatchKey::decode(&key.encode()), Some(key));
        assert_eq!(BatchKey::decode(&key.encode()[1..]), None);
    }

    #[test]
    fn the_timestamp_is_found_across_both_parts() {
        let mut batch = [0; 61];
        batch[35..43].copy_from_slice(&1234_i64.to_be_bytes());
        for cut in [0, 35, 38, 43, 61] {
            assert_eq!(
                max_timestamp(&batch[..cut], &batch[cut..]),
                1234,
                "cut at {cut}"
            );
        }
        assert_eq!(max_timestamp(&batch[..20], &batch[20..42]), -1);
    }
}
