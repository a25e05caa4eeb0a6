//! Vote (key 52): asks a voter of the KRaft quorum for its vote.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The candidates.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 52, request, versions = 0..=2, flexible = 0)]
pub struct VoteRequest {
    /// The id of the cluster.
    pub cluster_id: Option<Str>,
    /// The voter; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub voter_id: i32,
    /// The topics.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`VoteRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicData {
    /// The name of the topic.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicData::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// The epoch of the follower; -1 for consumers.
    pub replica_epoch: i32,
    /// The follower that asks; -1 for consumers.
    pub replica_id: i32,
    /// The log directory of the follower.
    #[wire(versions = 1.., ignorable)]
    pub replica_directory_id: Uuid,
    /// The log directory of the voter.
    #[wire(versions = 1.., ignorable)]
    pub voter_directory_id: Uuid,
    /// The epoch of the last record in the log of the candidate.
    pub last_offset_epoch: i32,
    /// The last offset of the range.
    pub last_offset: i64,
    /// Whether the vote is only a question beforehand.
    #[wire(versions = 2..)]
    pub pre_vote: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The votes.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 52, response, versions = 0..=2, flexible = 0)]
pub struct VoteResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The topics.
    pub topics: Vec<TopicResult>,
    /// The addresses of the leaders named above.
    #[wire(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`VoteResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicResult {
    /// The name of the topic.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// Whether the vote is granted.
    pub vote_granted: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct NodeEndpoint {
    /// The id of the broker.
    pub node_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
