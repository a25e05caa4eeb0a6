//! OffsetFetch (key 9): reads committed offsets.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The groups and partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 9, request, versions = 1..=10, flexible = 6)]
pub struct OffsetFetchRequest {
    /// The group, in versions up to 7.
    #[wire(versions = ..=7)]
    pub group_id: Str,
    /// The topics, in versions up to 7; null for all.
    #[wire(versions = ..=7, nullable = 2..)]
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// The groups.
    #[wire(versions = 8..)]
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Whether offsets of open transactions hold the answer back.
    #[wire(versions = 7..)]
    pub require_stable: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchRequestTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partition_indexes: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchRequest::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchRequestGroup {
    /// The group.
    pub group_id: Str,
    /// The member.
    #[wire(versions = 9.., ignorable)]
    pub member_id: Option<Str>,
    /// The epoch of the member.
    #[wire(versions = 9.., default = -1, ignorable)]
    pub member_epoch: i32,
    /// The topics; null for all.
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchRequestGroup::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchRequestTopics {
    /// The name.
    #[wire(versions = ..=9, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partition_indexes: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The offsets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 9, response, versions = 1..=10, flexible = 6)]
pub struct OffsetFetchResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The topics, in versions up to 7.
    #[wire(versions = ..=7)]
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// What went wrong, or NONE.
    #[wire(versions = 2..=7, ignorable)]
    pub error_code: ErrorCode,
    /// The groups.
    #[wire(versions = 8..)]
    pub groups: Vec<OffsetFetchResponseGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchResponseTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<OffsetFetchResponsePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to process; -1 where none is committed.
    pub committed_offset: i64,
    /// The leader epoch of the last record processed; -1 where unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub committed_leader_epoch: i32,
    /// What the member says in this protocol.
    pub metadata: Option<Str>,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchResponse::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchResponseGroup {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchResponseGroup::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchResponseTopics {
    /// The name.
    #[wire(versions = ..=9, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetFetchResponseTopics::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetFetchResponsePartitions {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to process; -1 where none is committed.
    pub committed_offset: i64,
    /// The leader epoch of the last record processed; -1 where unknown.
    #[wire(default = -1)]
    pub committed_leader_epoch: i32,
    /// What the member says in this protocol.
    pub metadata: Option<Str>,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
