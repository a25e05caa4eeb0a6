//! The group coordinator of one `__consumer_offsets` partition: groups of the classic and of the
//! consumer protocol, and committed offsets, in transactions and outside of them.
//!
//! * [`GroupCoordinator`]: the machine. What its log holds changes through
//!   [`apply`](GroupCoordinator::apply) only, live and in replay: committed offsets, those that wait
//!   for a transaction, and the members of each group as they were when its last generation became
//!   stable.
//! * [`ClassicGroup`]: who is a member now. A group that rebalances is known in memory only, as in
//!   Kafka; after a restart its members join again.
//!
//! * [`ConsumerGroup`]: a group of the consumer protocol (KIP-848), all of which is stored.
//!
//! Requests come in as Kafka's messages and go out as Kafka's messages; JoinGroup and SyncGroup wait
//! for other members and are answered through a [`Ticket`](crate::outbox::Ticket).

mod classic_group;
mod coordinator;
mod describe;
mod heartbeat;
mod join_group;
mod leave_group;
mod member;
mod modern;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offsets;
mod rebalance;
mod records;
mod retention;
mod subscription;
mod sync_group;
mod transaction;
mod validate;

#[cfg(test)]
mod tests;

pub use classic_group::{ClassicGroup, GroupState};
pub use coordinator::{ClassicReply, Client, GroupCoordinator, GroupCoordinatorConfig, GroupCtx};
pub use modern::{
    Assignor, ClusterView, ConsumerGroup, ConsumerGroupConfig, ConsumerGroupState, MigrationPolicy,
};
pub use offset_commit::{CommitRequest, CommittedPartition};
pub use offset_fetch::{FetchedOffset, OffsetSelection};
pub use offsets::CommittedOffset;
pub use records::CorruptGroupRecord;
