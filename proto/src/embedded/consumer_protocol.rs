//! What members of classic consumer groups tell each other (KIP-429, KIP-792, KIP-881).
//!
//! A structure is its version in two bytes and a body. A reader takes later versions as its own
//! newest one and ignores what follows.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::str::Str;

/// What a member wants; in the metadata of JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=3)]
pub struct ConsumerProtocolSubscription {
    /// The topics that the member wants.
    pub topics: Vec<Str>,
    /// Anything that the assignor wants to pass on.
    pub user_data: Option<Bytes>,
    /// The partitions that the member has.
    #[wire(versions = 1.., ignorable)]
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation in which the member got its partitions; -1 where unknown.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub generation_id: i32,
    /// Where the member stands; null where it does not say.
    #[wire(versions = 3.., ignorable)]
    pub rack_id: Option<Str>,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartition {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
}

/// What a member gets; in the assignment of SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=3)]
pub struct ConsumerProtocolAssignment {
    /// The partitions of the member.
    pub assigned_partitions: Vec<TopicPartition>,
    /// Anything that the assignor wants to pass on.
    pub user_data: Option<Bytes>,
}
