//! One partition's log: offsets, producers, transactions, and its newest batches in memory.
//!
//! [`PartitionLog`] decides what is appended and where it lands; whoever embeds it stores the
//! [`LogAppend`](ackord_machine::LogAppend)s in the order in which they were made and reports with
//! [`PartitionLog::durable_to`] how far they are durable. Appending changes the log at once, so the
//! next append is judged by it, but the high watermark, the last stable offset and everything a
//! reader can see wait for durability. Where an append fails, the log is recovered from the store
//! with [`PartitionLog::recover`], and the old one is thrown away.
//!
//! Live appends and recovery change the log through one function, so a recovered log equals the one
//! that wrote it.

mod append;
mod batch;
mod checkpoint;
mod partition_log;
mod producer_state;
mod read;
mod recover;
mod retention;
mod segments;
mod tail;
mod timestamps;
mod topic_policy;
mod transactions;

#[cfg(test)]
mod tests;

pub use append::{AppendError, Marker, MarkerOutcome, Produced, TxnCheck};
pub use batch::BatchSpan;
pub use partition_log::{LogConfig, Moved, PartitionLog};
pub use producer_state::ProducerInfo;
pub use read::{FindHot, ReadResult};
pub use recover::CorruptLog;
pub use retention::Retention;
pub use segments::{Rolling, Segment};
pub use timestamps::MaxTimestamp;
pub use transactions::{Aborted, OpenTxn};
