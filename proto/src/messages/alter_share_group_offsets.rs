//! AlterShareGroupOffsets (key 91): sets the start offsets of a share group.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The new offsets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 91, request, versions = 0..=0, flexible = 0)]
pub struct AlterShareGroupOffsetsRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterShareGroupOffsetsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterShareGroupOffsetsRequestTopic {
    /// The name of the topic.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterShareGroupOffsetsRequestTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterShareGroupOffsetsRequestPartition {
    /// The partition.
    pub partition_index: i32,
    /// The new start offset.
    pub start_offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 91, response, versions = 0..=0, flexible = 0)]
pub struct AlterShareGroupOffsetsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The topics.
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterShareGroupOffsetsResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterShareGroupOffsetsResponseTopic {
    /// The name of the topic.
    pub topic_name: Str,
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterShareGroupOffsetsResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
