//! BeginQuorumEpoch (key 53): announces a new KRaft leader.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The leader.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 53, request, versions = 0..=1, flexible = 1)]
pub struct BeginQuorumEpochRequest {
    /// The id of the cluster.
    pub cluster_id: Option<Str>,
    /// The voter; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub voter_id: i32,
    /// The topics.
    pub topics: Vec<TopicData>,
    /// The addresses of the leader.
    #[wire(versions = 1.., ignorable)]
    pub leader_endpoints: Vec<LeaderEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`BeginQuorumEpochRequest::topics`].
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
    /// The log directory of the voter.
    #[wire(versions = 1.., ignorable)]
    pub voter_directory_id: Uuid,
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`BeginQuorumEpochRequest::leader_endpoints`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct LeaderEndpoint {
    /// The name.
    pub name: Str,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What the voter thinks.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 53, response, versions = 0..=1, flexible = 1)]
pub struct BeginQuorumEpochResponse {
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

/// An element of [`BeginQuorumEpochResponse::topics`].
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
