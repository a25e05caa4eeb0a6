//! Segments: the stretches of a log that retention removes as a whole.
//!
//! The store keeps no files for each log, so a segment is only a note: where it begins, how large it
//! is, which timestamps it has. It is rolled where Kafka rolls one (`segment.bytes`, `segment.ms`), so
//! retention removes neither more nor sooner than Kafka would. There is no index that could be full
//! (`segment.index.bytes`), and nothing is gained by jitter (`segment.jitter.ms`).

use alloc::collections::VecDeque;

/// More segments than this are not kept apart: the newest one grows then, which only keeps data longer.
pub(super) const SEGMENTS: usize = 1024;

/// When a segment is rolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rolling {
    /// `segment.bytes`.
    pub bytes: i64,
    /// `segment.ms`.
    pub ms: i64,
}

impl Default for Rolling {
    fn default() -> Self {
        Rolling {
            bytes: 1 << 30,
            ms: 604_800_000,
        }
    }
}

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset at which it begins.
    pub base: i64,
    /// Bytes of its batches, also of those that the start of the log has passed.
    pub bytes: i64,
    /// Largest timestamp of its first batch; -1: none.
    pub first_timestamp: i64,
    /// Largest timestamp in it; -1: none.
    pub max_timestamp: i64,
}

/// All segments of a log, oldest first. The last one is active: appends go there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segments {
    list: VecDeque<Segment>,
    /// Bytes of all of them.
    bytes: i64,
}

impl Segments {
    /// A batch landed at `base`.
    pub(super) fn note(&mut self, rolling: Rolling, base: i64, bytes: usize, timestamp: i64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let timestamp = timestamp.max(-1);
        self.bytes = self.bytes.saturating_add(bytes);
        let full = self.list.len() >= SEGMENTS;
        match self.list.back_mut() {
            Some(active) if full || !active.rolls(rolling, bytes, timestamp) => {
                active.bytes = active.bytes.saturating_add(bytes);
                active.max_timestamp = active.max_timestamp.max(timestamp);
            }
            _ => self.list.push_back(Segment {
                base,
                bytes,
                first_timestamp: timestamp,
                max_timestamp: timestamp,
            }),
        }
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Segment> {
        self.list.iter()
    }

    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Forgets the segments that lie below `start` as a whole; the log ends at `end`.
    pub(super) fn trim(&mut self, start: i64, end: i64) {
        while let Some(oldest) = self.list.front() {
            if self.list.get(1).map_or(end, |next| next.base) > start {
                return;
            }
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
            self.list.pop_front();
        }
    }

    /// For recovery: what a checkpoint says.
    pub(super) fn restore(list: VecDeque<Segment>) -> Self {
        let bytes = list
            .iter()
            .fold(0, |sum: i64, segment| sum.saturating_add(segment.bytes));
        Segments { list, bytes }
    }
}

impl Segment {
    /// Whether a batch has to go into a new segment.
    fn rolls(&self, rolling: Rolling, bytes: i64, timestamp: i64) -> bool {
        let waited = match (self.first_timestamp, timestamp) {
            (0.., 0..) => timestamp.saturating_sub(self.first_timestamp),
            _ => 0,
        };
        self.bytes > rolling.bytes.saturating_sub(bytes) || waited > rolling.ms
    }
}
