//! ListOffsets (key 2): finds offsets by time.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions and times.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 2, request, versions = 1..=11, flexible = 6)]
pub struct ListOffsetsRequest {
    /// The follower that asks; -1 for consumers.
    pub replica_id: i32,
    /// 0 read_uncommitted, 1 read_committed.
    #[wire(versions = 2..)]
    pub isolation_level: i8,
    /// The topics.
    pub topics: Vec<ListOffsetsTopic>,
    /// How long the broker may take, in milliseconds.
    #[wire(versions = 10.., ignorable)]
    pub timeout_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListOffsetsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ListOffsetsTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<ListOffsetsPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListOffsetsTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ListOffsetsPartition {
    /// The partition.
    pub partition_index: i32,
    /// The leader epoch as the client knows it; -1 where it does not.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub current_leader_epoch: i32,
    /// A time in milliseconds; -1 the end, -2 the start, -3 the greatest timestamp.
    pub timestamp: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The offsets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 2, response, versions = 1..=11, flexible = 6)]
pub struct ListOffsetsResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<ListOffsetsTopicResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListOffsetsResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ListOffsetsTopicResponse {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListOffsetsTopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ListOffsetsPartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The timestamp of the found record in milliseconds; -1 where none was found.
    #[wire(default = -1)]
    pub timestamp: i64,
    /// The offset; -1 where none was found.
    #[wire(default = -1)]
    pub offset: i64,
    /// The leader epoch.
    #[wire(versions = 4.., default = -1)]
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
