//! DescribeLogDirs (key 35): describes log directories.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions of interest.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 35, request, versions = 1..=5, flexible = 2)]
pub struct DescribeLogDirsRequest {
    /// The partitions of interest; null for all.
    pub topics: Option<Vec<DescribableLogDirTopic>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeLogDirsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribableLogDirTopic {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The log directories.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 35, response, versions = 1..=5, flexible = 2)]
pub struct DescribeLogDirsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    #[wire(versions = 3.., ignorable)]
    pub error_code: ErrorCode,
    /// One answer for each entry of the request.
    pub results: Vec<DescribeLogDirsResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeLogDirsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeLogDirsResult {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The path of the log directory.
    pub log_dir: Str,
    /// The topics.
    pub topics: Vec<DescribeLogDirsTopic>,
    /// The size of the volume in bytes; -1 where unknown.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub total_bytes: i64,
    /// The free bytes of the volume; -1 where unknown.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub usable_bytes: i64,
    /// Whether the directory takes no new partitions.
    #[wire(versions = 5.., ignorable)]
    pub is_cordoned: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeLogDirsResult::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeLogDirsTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<DescribeLogDirsPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeLogDirsTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeLogDirsPartition {
    /// The partition.
    pub partition_index: i32,
    /// The size of the logs in bytes.
    pub partition_size: i64,
    /// How far the replica is behind.
    pub offset_lag: i64,
    /// Whether the replica is on its way to this directory.
    pub is_future_key: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
