//! Sizes, all in one place.

use std::fmt;

/// When to begin something new.
#[derive(Clone)]
pub(crate) struct Tuning {
    /// A segment of so many bytes takes no more groups.
    pub(crate) segment_bytes: u64,
    /// So much of a segment is set aside on the disk at a time.
    pub(crate) reserved_bytes: u64,
    /// So many batches in memory are written to the database.
    pub(crate) delta_batches: usize,
    /// So many bytes of checkpoints in memory are written to the database.
    pub(crate) delta_state_bytes: usize,
    /// So many bytes are moved at a time.
    pub(crate) step_bytes: u64,
    #[cfg(test)]
    pub(crate) hook: Option<std::sync::Arc<dyn Fn(Step) + Send + Sync>>,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            segment_bytes: 64 * 1024 * 1024,
            reserved_bytes: 8 * 1024 * 1024,
            delta_batches: 64 * 1024,
            delta_state_bytes: 16 * 1024 * 1024,
            step_bytes: 4 * 1024 * 1024,
            #[cfg(test)]
            hook: None,
        }
    }
}

impl fmt::Debug for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuning")
            .field("segment_bytes", &self.segment_bytes)
            .finish_non_exhaustive()
    }
}

/// Moments between two changes on the disk: at each of them a process may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    SegmentCreated,
    GroupWritten,
    JournalSynced,
    RemovalsCommitted,
    IndexCommitted,
    SegmentsRetired,
    CopyCreated,
    CopyWritten,
    CopyCommitted,
}

impl Tuning {
    /// The process is at `step`.
    pub(crate) fn at(&self, step: Step) {
        #[cfg(test)]
        if let Some(hook) = &self.hook {
            hook(step);
        }
        let _ = step;
    }
}
