//! The group coordinator's part in one share group: members, sessions, assignment (KIP-932).
//!
//! * [`ShareGroup`]: the group itself; heartbeats go in, answers come out.
//! * [`java_hash`]: which partition of an internal topic a key belongs to.
//!
//! Membership is stored in `__consumer_offsets` (record types 10 to 15) and outlives a restart: the
//! next heartbeat of a member is good under the epoch that it had.

mod assignor;
mod heartbeat;
mod initialise;
pub mod java_hash;
mod member;
mod share_group;
mod stored;
mod storing;

#[cfg(test)]
mod test_bench;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_storing;

pub use java_hash::{partition_for_id, state_partition_for};
pub use member::{Assigned, ClientInfo, MemberView};
pub use share_group::{GroupConfig, GroupReply, ShareGroup, TopicInfo, Topics};
pub use stored::{StoredGroup, StoredGroups};
