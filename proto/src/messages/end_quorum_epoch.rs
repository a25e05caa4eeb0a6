//! EndQuorumEpoch (key 54): announces that a KRaft leader steps down.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The leader and who should follow.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 54, request, versions = 0..=1, flexible = 1)]
pub struct EndQuorumEpochRequest {
    /// The id of the cluster.
    pub cluster_id: Option<Str>,
    /// The topics.
    pub topics: Vec<TopicData>,
    /// The addresses of the leader.
    #[wire(versions = 1.., ignorable)]
    pub leader_endpoints: Vec<LeaderEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`EndQuorumEpochRequest::topics`].
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
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// Who should become leader, the best first.
    #[wire(versions = ..=0, ignorable)]
    pub preferred_successors: Vec<i32>,
    /// Who should become leader, the best first.
    #[wire(versions = 1.., ignorable)]
    pub preferred_candidates: Vec<ReplicaInfo>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`PartitionData::preferred_candidates`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReplicaInfo {
    /// A voter that should become leader.
    pub candidate_id: i32,
    /// The log directory of the candidate.
    pub candidate_directory_id: Uuid,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`EndQuorumEpochRequest::leader_endpoints`].
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
#[wire(api = 54, response, versions = 0..=1, flexible = 1)]
pub struct EndQuorumEpochResponse {
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

/// An element of [`EndQuorumEpochResponse::topics`].
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
