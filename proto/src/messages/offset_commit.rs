//! OffsetCommit (key 8): commits the offsets of a consumer group.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The offsets to commit.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 8, request, versions = 2..=10, flexible = 8)]
pub struct OffsetCommitRequest {
    /// The group.
    pub group_id: Str,
    /// The generation of a classic group or the epoch of the member; -1 outside of a group.
    #[wire(default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 7..)]
    pub group_instance_id: Option<Str>,
    /// How long to keep the offsets in milliseconds; -1 for the default.
    #[wire(versions = ..=4, default = -1, ignorable)]
    pub retention_time_ms: i64,
    /// The topics.
    pub topics: Vec<OffsetCommitRequestTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetCommitRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetCommitRequestTopic {
    /// The name.
    #[wire(versions = ..=9, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<OffsetCommitRequestPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetCommitRequestTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to process; -1 where none is committed.
    pub committed_offset: i64,
    /// The leader epoch of the last record processed; -1 where unknown.
    #[wire(versions = 6.., default = -1, ignorable)]
    pub committed_leader_epoch: i32,
    /// Anything that the consumer wants to keep with the offset.
    pub committed_metadata: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 8, response, versions = 2..=10, flexible = 8)]
pub struct OffsetCommitResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<OffsetCommitResponseTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetCommitResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetCommitResponseTopic {
    /// The name.
    #[wire(versions = ..=9, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<OffsetCommitResponsePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetCommitResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
