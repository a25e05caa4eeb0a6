//! The largest timestamp of a log, kept right while its beginning is trimmed away.

use alloc::collections::VecDeque;

/// More maxima than this are not kept. Then those in the middle are given up, so that the answer
/// after a deep trim may be a batch with a smaller timestamp than the largest that is left.
pub(super) const MAXIMA: usize = 32;

/// A batch and its largest timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxTimestamp {
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Offset of the first record of the batch.
    pub base: i64,
    /// Offset of the last record of the batch.
    pub last: i64,
}

/// Batches that have the largest timestamp of all that follow them: offsets go up, timestamps do
/// not. The first is the answer, and when it is trimmed, the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timestamps {
    maxima: VecDeque<MaxTimestamp>,
    /// The largest timestamp there ever was; -1: none.
    highest: i64,
}

impl Default for Timestamps {
    fn default() -> Self {
        Timestamps {
            maxima: VecDeque::new(),
            highest: -1,
        }
    }
}

impl Timestamps {
    /// A batch became durable. A negative timestamp means none.
    pub(super) fn note(&mut self, timestamp: i64, base: i64, last: i64) {
        if timestamp < 0 {
            return;
        }
        self.highest = self.highest.max(timestamp);
        while self
            .maxima
            .back()
            .is_some_and(|newest| newest.timestamp < timestamp)
        {
            self.maxima.pop_back();
        }
        if self.maxima.len() == MAXIMA {
            self.maxima.pop_back();
        }
        self.maxima.push_back(MaxTimestamp {
            timestamp,
            base,
            last,
        });
    }

    pub(super) fn max(&self) -> Option<MaxTimestamp> {
        self.maxima.front().copied()
    }

    pub(super) fn highest(&self) -> i64 {
        self.highest
    }

    pub(super) fn maxima(&self) -> impl ExactSizeIterator<Item = &MaxTimestamp> {
        self.maxima.iter()
    }

    pub(super) fn trim(&mut self, start: i64) {
        while self
            .maxima
            .front()
            .is_some_and(|oldest| oldest.last < start)
        {
            self.maxima.pop_front();
        }
    }

    /// For recovery: what a checkpoint says.
    pub(super) fn restore(maxima: VecDeque<MaxTimestamp>, highest: i64) -> Self {
        Timestamps { maxima, highest }
    }
}
