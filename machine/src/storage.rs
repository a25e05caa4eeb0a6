//! What machines ask of a store, and what it answers.
//!
//! A store keeps *logs*. A log is a list of batches, each stored under its base offset. The store
//! gives every [`StorageOp`] exactly one [`Completion`]. Changes of one log complete in the order in
//! which the store got them; a read sees every change before it and completes after them, and later
//! changes may overtake it. `Done` for an append means durable.

use alloc::vec::Vec;
use core::fmt;

use ackord_proto::uuid::Uuid;
use bytes::Bytes;

/// Names one storage operation; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op{}", self.0)
    }
}

/// Names one log: a partition of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId {
    /// Topic id.
    pub topic: Uuid,
    /// Partition index.
    pub partition: i32,
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// One request to the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageOp {
    /// Names the operation in its completion.
    pub id: OpId,
    /// An operation that has to be durable no later than this one; where it fails, this one fails
    /// too, with [`StorageFault::Conflict`]. A store with one ordered journal satisfies the first part
    /// by keeping its order.
    pub after: Option<OpId>,
    /// What to do.
    pub kind: OpKind,
}

/// What a store can be asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// Append all parts or none, durably. A part whose `base` is not the end of its log, or that
    /// names an earlier end after a failed append, is refused with [`StorageFault::Conflict`].
    Append {
        /// In order; several parts may name the same log.
        parts: Vec<LogAppend>,
    },
    /// Keep `state` as what is known at offset `at`, in place of an earlier checkpoint.
    Checkpoint {
        /// The log it belongs to.
        log: LogId,
        /// Everything below this offset is contained in `state`.
        at: i64,
        /// Opaque to the store.
        state: Bytes,
    },
    /// Forget the log and all that belongs to it.
    DropLog {
        /// The log.
        log: LogId,
    },
    /// The first batch at or after `from` whose largest timestamp is at least `timestamp`.
    Find {
        /// The log.
        log: LogId,
        /// Offset to start from.
        from: i64,
        /// Milliseconds since the Unix epoch.
        timestamp: i64,
    },
    /// All logs that hold anything, with their offsets.
    List,
    /// The checkpoint of a log and the batches from it on.
    Load {
        /// The log.
        log: LogId,
        /// How much of each batch.
        detail: LoadDetail,
    },
    /// Whole batches from the one that contains `from`, as many as `max_bytes` hold; at least one where
    /// there is one.
    Read {
        /// The log.
        log: LogId,
        /// First offset wanted.
        from: i64,
        /// Limit of the answer in bytes, but for the first batch.
        max_bytes: usize,
    },
    /// Batches that end below `before` are forgotten; the log starts at `before` from now on. Where it
    /// starts there or later already, nothing changes.
    Trim {
        /// The log.
        log: LogId,
        /// The new start offset.
        before: i64,
    },
}

/// How much of each batch a load returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadDetail {
    /// All bytes.
    Full,
    /// Batches of more than 256 bytes are cut to the 61 bytes of their header.
    Headers,
}

/// One batch to append: the bytes are `head` followed by `body`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogAppend {
    /// The log.
    pub log: LogId,
    /// Offset of the first record; has to be the end of the log.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// Rewritten start of the batch; may be empty.
    pub head: Bytes,
    /// The rest, shared with the frame it came in.
    pub body: Bytes,
}

/// The end of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The operation.
    pub id: OpId,
    /// How it went.
    pub outcome: Result<Outcome, StorageFault>,
}

/// What an operation that succeeded gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Append, checkpoint, drop, trim: done, and durable.
    Done,
    /// Find: the batch, if there is one.
    Found(Option<Found>),
    /// List.
    Listed(Vec<LogExtent>),
    /// Load.
    Loaded(LoadedLog),
    /// Read.
    Read(Vec<StoredBatch>),
}

/// A batch found by its timestamp.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The whole batch.
    pub batch: StoredBatch,
}

/// Where a log begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogExtent {
    /// The log.
    pub log: LogId,
    /// First offset that is kept.
    pub start: i64,
    /// Offset of the next record.
    pub end: i64,
}

/// What a store knows of a log. A log that it has never seen is empty and starts at 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedLog {
    /// First offset that is kept.
    pub start: i64,
    /// Offset of the next record.
    pub end: i64,
    /// The engine may have taken records out of the middle of the log (compaction): batches need not
    /// follow each other.
    pub cleaned: bool,
    /// The newest checkpoint.
    pub checkpoint: Option<StoredCheckpoint>,
    /// The batches at or after the checkpoint.
    pub batches: Vec<StoredBatch>,
}

/// A checkpoint as it was given to the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCheckpoint {
    /// Everything below this offset is contained in `state`.
    pub at: i64,
    /// Opaque to the store.
    pub state: Bytes,
}

/// One stored batch.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBatch {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// Its bytes, or their beginning where the operation says so.
    pub bytes: Bytes,
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageFault {
    /// An append that does not continue its log, for instance behind one that failed. No effect.
    Conflict,
    /// Stored bytes are damaged.
    Corrupt,
    /// No room. No effect.
    Full,
    /// It may have landed or not; only a load of the log shows which.
    Indeterminate,
    /// It failed without effect and may be tried again.
    Retriable,
}

impl fmt::Display for StorageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
