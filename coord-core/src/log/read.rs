//! Reading: what memory can answer, and the same limits for what the store answers.

use alloc::vec::Vec;

use ackord_machine::StoredBatch;
use bytes::Bytes;

use super::partition_log::PartitionLog;

/// What a log counts for data that it would have to read from the store: enough for any `min_bytes`
/// (an int32), and small enough to be added up over many partitions.
const COLD_BYTES: usize = i32::MAX as usize;

/// What a read gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadResult {
    /// Memory does not reach back that far: read the store, then [`PartitionLog::cut`].
    Cold,
    /// The offset is in the log, and there is nothing to read below the limit.
    Empty,
    /// Whole batches, one after the other; a batch may span several chunks.
    Hot(Vec<Bytes>),
    /// Below the start or past the end of the log (OFFSET_OUT_OF_RANGE).
    OutOfRange,
}

/// What a search by timestamp in memory gives.
#[derive(Clone, Debug, PartialEq)]
pub enum FindHot {
    /// An older batch may fit: ask the store.
    Cold,
    /// The first batch with such a timestamp.
    Found(StoredBatch),
    /// No durable batch has such a timestamp.
    NotFound,
}

impl PartitionLog {
    /// Whole batches from the one that contains `from`, until `max_bytes` are reached, at least one
    /// where there is one, none that reaches to `up_to` or past it: the high watermark or the last
    /// stable offset.
    pub fn read(&self, from: i64, max_bytes: usize, up_to: i64) -> ReadResult {
        let up_to = up_to.min(self.durable);
        if from < self.start || from > self.end {
            return ReadResult::OutOfRange;
        }
        if from >= up_to {
            return ReadResult::Empty;
        }
        if !self.tail.reaches(from) {
            return ReadResult::Cold;
        }
        let chunks = self.tail.read(from, max_bytes, up_to);
        if chunks.is_empty() {
            ReadResult::Empty
        } else {
            ReadResult::Hot(chunks)
        }
    }

    /// The same limits for batches that the store gave for a cold read.
    pub fn cut(&self, batches: Vec<StoredBatch>, up_to: i64, max_bytes: usize) -> Vec<Bytes> {
        let up_to = up_to.min(self.durable);
        let mut chunks = Vec::new();
        let mut bytes = 0usize;
        for batch in batches {
            let with_it = bytes.saturating_add(batch.bytes.len());
            if batch.last >= up_to || (!chunks.is_empty() && with_it > max_bytes) {
                break;
            }
            bytes = with_it;
            if batch.last >= self.start {
                chunks.push(batch.bytes);
            }
        }
        chunks
    }

    /// At most how many bytes can be read from `from` on, for the `min_bytes` of a fetch. Where only
    /// the store could tell, a number that satisfies any.
    pub fn bytes_from(&self, from: i64) -> usize {
        if from >= self.durable {
            0
        } else if self.tail.reaches(from) {
            self.tail.bytes_between(from, self.durable)
        } else {
            COLD_BYTES
        }
    }

    /// The first durable batch whose largest timestamp is at least `timestamp`, if memory can tell
    /// (ListOffsets).
    pub fn find_timestamp_hot(&self, timestamp: i64) -> FindHot {
        self.tail.find_timestamp(timestamp, self.durable)
    }
}
