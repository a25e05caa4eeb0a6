//! DescribeShareGroupOffsets (key 90): reads the start offsets of share groups.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The groups and partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 90, request, versions = 0..=1, flexible = 0)]
pub struct DescribeShareGroupOffsetsRequest {
    /// The groups.
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeShareGroupOffsetsRequest::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeShareGroupOffsetsRequestGroup::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    /// The name of the topic.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The offsets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 90, response, versions = 0..=1, flexible = 0)]
pub struct DescribeShareGroupOffsetsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeShareGroupOffsetsResponse::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeShareGroupOffsetsResponseGroup::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    /// The name of the topic.
    pub topic_name: Str,
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeShareGroupOffsetsResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The share-partition start offset; -1 where not set.
    pub start_offset: i64,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// How many records are left; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub lag: i64,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
