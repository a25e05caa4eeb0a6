//! The transaction coordinator of one `__transaction_state` partition.
//!
//! It knows, for each transactional id, who may use it (producer id and epoch), the partitions of
//! the transaction under way, and how it ended. The rules are Kafka's (KIP-98, KIP-360, KIP-890)
//! with two differences: EndTxn is answered when the outcome is visible to everybody, not when it
//! is decided; and a transaction may hold share acknowledgements (KIP-1289), whose
//! `__share_group_state` partitions take part like any other.
//!
//! | file | what is there |
//! |---|---|
//! | `coordinator` | the machine, what it asks of its embedder, its deadlines |
//! | `state` | the states and what leads from one to the next |
//! | `entry` | all that is stored of one transactional id, and its successors |
//! | `log_record` | the same as a record of `__transaction_state` |
//! | `init_producer_id`, `add_partitions`, `end_txn` | the requests |
//! | `offset_groups` | what a transaction of version 1 takes for share groups |
//! | `markers` | who still has to hear of an outcome |
//! | `timeouts` | transactions that nobody ends; start after a replay |

mod add_partitions;
mod coordinator;
mod end_txn;
mod entry;
mod init_producer_id;
mod log_record;
mod markers;
mod offset_groups;
mod state;
mod timeouts;

#[cfg(test)]
mod tests;

pub use add_partitions::{AddKind, AddPartitions};
pub use coordinator::{
    Participants, ProducerIds, TxnConfig, TxnCoordinator, TxnCtx, TxnDescription, TxnReply,
};
pub use log_record::CorruptRecord;
pub use offset_groups::OffsetContent;
pub use state::TxnState;
