//! Keys in the database.

use ackord_machine::LogId;
use ackord_proto::uuid::Uuid;

/// Bytes that name a log: topic id and partition.
pub(crate) const LOG: usize = 20;
const POSITION: usize = LOG + 8;

/// The value under [`FORMAT`] in the `meta` keyspace.
pub(crate) const FORMAT_VALUE: &[u8] = b"ackord-log 2";
/// Names the format of the whole database.
pub(crate) const FORMAT: &[u8] = b"f";
/// Up to which place of the journal the database knows it.
pub(crate) const KNOWN_TO: &[u8] = b"a";
/// Begins the keys of the accounts of the segments.
pub(crate) const SEGMENT: u8 = b's';

/// Offset of the largest timestamp in a record batch of magic 2.
const MAX_TIMESTAMP: usize = 35;

/// The first bytes of all keys of a log.
pub(crate) fn log(log: LogId) -> [u8; LOG] {
    let mut key = [0; LOG];
    key[..16].copy_from_slice(&log.topic.to_bytes());
    key[16..].copy_from_slice(&log.partition.to_be_bytes());
    key
}

/// The key of the chunk of a log with this base; sorts by log, then by base.
pub(crate) fn position(id: LogId, base: i64) -> [u8; POSITION] {
    let mut key = [0; POSITION];
    key[..LOG].copy_from_slice(&log(id));
    key[LOG..].copy_from_slice(&base.to_be_bytes());
    key
}

/// The key of the account of a segment.
pub(crate) fn segment(id: u64) -> [u8; 9] {
    let mut key = [SEGMENT; 9];
    key[1..].copy_from_slice(&id.to_be_bytes());
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
    /// Start, end, base of the first chunk.
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
        assert!(position(id(0), 255) < position(id(0), 256));
        assert!(position(id(0), i64::MAX) < position(id(1), 0));
        assert!(segment(255) < segment(256));
        assert_eq!(log_of(&position(id(3), 9)), Some(id(3)));
        assert_eq!(long(&position(id(3), 9), LOG), Some(9));
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
