//! What the two threads need of whatever keeps the bytes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ackord_machine::{
    Found, LoadDetail, LoadedLog, LogAppend, LogExtent, LogId, StorageFault, StoredBatch,
};
use bytes::Bytes;

/// Where a log begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// One change of one log, already found to be right.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Checkpoint { log: LogId, at: i64, state: Bytes },
    Drop { log: LogId },
    Append { parts: Vec<LogAppend> },
    Trim { log: LogId, head: Head },
}

/// Keeps the logs. Only the writer thread has it.
pub(crate) trait Engine: Send {
    /// Where a log begins and ends, with all changes so far.
    fn head(&self, log: LogId) -> Result<Head, StorageFault>;

    /// Makes the changes, durably and in order. After an error nobody knows how many of them, and
    /// only `reopen` helps; each is made whole or not at all.
    fn commit(&mut self, changes: Vec<Change>) -> Result<(), String>;

    /// The state after the last commit, for the reader.
    fn view(&self) -> Result<Arc<dyn View>, String>;

    /// Lets go of everything and starts anew from what is stored. No view is alive.
    fn reopen(&mut self) -> Result<(), String>;
}

/// A state to read from.
pub(crate) trait View: Send + Sync {
    fn list(&self) -> Result<Vec<LogExtent>, StorageFault>;
    fn load(&self, log: LogId, detail: LoadDetail) -> Result<LoadedLog, StorageFault>;
    fn read(
        &self,
        log: LogId,
        from: i64,
        max_bytes: usize,
    ) -> Result<Vec<StoredBatch>, StorageFault>;
    fn find(&self, log: LogId, from: i64, timestamp: i64) -> Result<Option<Found>, StorageFault>;
}

/// Batches of more than this are cut by [`LoadDetail::Headers`].
pub(crate) const WHOLE: usize = 256;
/// Size of the header of a record batch.
pub(crate) const HEADER: usize = 61;

/// The bytes of a batch as `detail` wants them.
pub(crate) fn detailed(bytes: Bytes, detail: LoadDetail) -> Bytes {
    match detail {
        // A copy: a slice would keep the whole batch alive.
        LoadDetail::Headers if bytes.len() > WHOLE => Bytes::copy_from_slice(&bytes[..HEADER]),
        LoadDetail::Headers | LoadDetail::Full => bytes,
    }
}

/// Whether each batch follows the one before it and the last one ends the log. A hole means that
/// stored bytes were lost.
pub(crate) fn contiguous(batches: &[StoredBatch], end: i64) -> bool {
    batches
        .windows(2)
        .all(|pair| pair[0].last.checked_add(1) == Some(pair[1].base))
        && batches
            .last()
            .is_none_or(|batch| batch.last.checked_add(1) == Some(end))
}

/// Runs `work`; a panic inside the database is an error like any other.
pub(crate) fn guarded<T, E>(
    panicked: impl FnOnce() -> E,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}
