//! Retention: where a log has to begin (`retention.ms`, `retention.bytes`).

use super::partition_log::PartitionLog;
use super::segments::Segment;

/// Which of a log's data is kept (`cleanup.policy` names `delete`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// `retention.ms`: segments whose newest record is older are removed; negative: none.
    pub ms: i64,
    /// `retention.bytes`: the oldest segments are removed while this much is left; negative: none.
    pub bytes: i64,
}

impl PartitionLog {
    /// The offset at which retention lets the log begin, at `now_wall` milliseconds since the Unix
    /// epoch: behind the oldest segments that have expired or are too much, as in Kafka the active
    /// one too. Never above what is stable: an open transaction keeps its records.
    pub fn retention_start(&self, now_wall: i64) -> i64 {
        let Some(retention) = self.config.retention else {
            return self.start;
        };
        let limit = self.last_stable_offset();
        let mut left = self.segments.bytes();
        let mut start = self.start;
        let mut segments = self.segments.iter().peekable();
        while let Some(segment) = segments.next() {
            let next = segments.peek().map_or(self.end, |next| next.base);
            let rest = left.saturating_sub(segment.bytes);
            let surplus = retention.bytes >= 0 && rest >= retention.bytes;
            let gone = surplus || expires(segment, retention.ms).is_some_and(|at| at < now_wall);
            if !gone || next > limit {
                break;
            }
            (left, start) = (rest, next);
        }
        start.max(self.start)
    }

    /// When retention has something to do next, in milliseconds since the Unix epoch: the oldest
    /// segment expires, or (`i64::MIN`) is too much now.
    pub fn retention_due(&self) -> Option<i64> {
        let retention = self.config.retention?;
        let oldest = self.segments.iter().next()?;
        let rest = self.segments.bytes().saturating_sub(oldest.bytes);
        if retention.bytes >= 0 && rest >= retention.bytes {
            return Some(i64::MIN);
        }
        expires(oldest, retention.ms)
    }

    /// Bytes of the log as far as it has not been trimmed by whole segments.
    pub fn bytes(&self) -> i64 {
        self.segments.bytes()
    }

    /// All segments, oldest first.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &Segment> {
        self.segments.iter()
    }
}

/// The last moment at which a segment is kept. One without any timestamp does not expire.
fn expires(segment: &Segment, ms: i64) -> Option<i64> {
    (ms >= 0 && segment.max_timestamp >= 0).then(|| segment.max_timestamp.saturating_add(ms))
}
