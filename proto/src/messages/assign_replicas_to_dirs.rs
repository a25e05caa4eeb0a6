//! AssignReplicasToDirs (key 73): tells the controller in which directories replicas are.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The directories.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 73, request, versions = 0..=0, flexible = 0)]
pub struct AssignReplicasToDirsRequest {
    /// The id of the broker.
    pub broker_id: i32,
    /// The epoch of the broker; -1 where it has none.
    #[wire(default = -1)]
    pub broker_epoch: i64,
    /// The log directories.
    pub directories: Vec<DirectoryData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AssignReplicasToDirsRequest::directories`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DirectoryData {
    /// The id of the log directory.
    pub id: Uuid,
    /// The topics.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DirectoryData::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicData {
    /// The id of the topic.
    pub topic_id: Uuid,
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
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 73, response, versions = 0..=0, flexible = 0)]
pub struct AssignReplicasToDirsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The log directories.
    pub directories: Vec<DirectoryResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AssignReplicasToDirsResponse::directories`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DirectoryResult {
    /// The id of the log directory.
    pub id: Uuid,
    /// The topics.
    pub topics: Vec<TopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DirectoryResult::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicResult {
    /// The id of the topic.
    pub topic_id: Uuid,
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
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
