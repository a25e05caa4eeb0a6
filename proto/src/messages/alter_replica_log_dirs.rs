//! AlterReplicaLogDirs (key 34): moves replicas between log directories.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// What belongs where.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 34, request, versions = 1..=2, flexible = 2)]
pub struct AlterReplicaLogDirsRequest {
    /// The log directories and what belongs there.
    pub dirs: Vec<AlterReplicaLogDir>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterReplicaLogDirsRequest::dirs`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterReplicaLogDir {
    /// The path of the log directory.
    pub path: Str,
    /// The topics.
    pub topics: Vec<AlterReplicaLogDirTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterReplicaLogDir::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterReplicaLogDirTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 34, response, versions = 1..=2, flexible = 2)]
pub struct AlterReplicaLogDirsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each entry of the request.
    pub results: Vec<AlterReplicaLogDirTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterReplicaLogDirsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterReplicaLogDirTopicResult {
    /// The name of the topic.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterReplicaLogDirTopicResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterReplicaLogDirPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
