//! DeleteRecords (key 21): deletes records at the start of logs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Up to where to delete.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 21, request, versions = 0..=2, flexible = 2)]
pub struct DeleteRecordsRequest {
    /// The topics.
    pub topics: Vec<DeleteRecordsTopic>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteRecordsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteRecordsTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<DeleteRecordsPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteRecordsTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteRecordsPartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset before which to delete; -1 for the high watermark.
    pub offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The new starts.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 21, response, versions = 0..=2, flexible = 2)]
pub struct DeleteRecordsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<DeleteRecordsTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteRecordsResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteRecordsTopicResult {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteRecordsTopicResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteRecordsPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// The first offset that is left; -1 where it failed.
    pub low_watermark: i64,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
