//! The group coordinator's part in one share group: members, sessions, assignment (KIP-932).
//!
//! * [`ShareGroup`]: the group itself; heartbeats go in, answers come out.
//! * [`java_hash`]: which partition of an internal topic a key belongs to.
//!
//! Members are kept in memory. After a restart a group is there again by the states of its share
//! partitions; its members are unknown, get UNKNOWN_MEMBER_ID and join again, as Kafka's clients do
//! by themselves.

mod assignor;
mod heartbeat;
mod initialise;
pub mod java_hash;
mod member;
mod share_group;

#[cfg(test)]
mod test_bench;
#[cfg(test)]
mod tests;

pub use java_hash::{partition_for_id, state_partition_for};
pub use member::{Assigned, ClientInfo, MemberView};
pub use share_group::{GroupConfig, GroupReply, ShareGroup, TopicInfo, Topics};
