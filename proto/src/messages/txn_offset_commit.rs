//! TxnOffsetCommit (key 28): commits offsets inside a transaction.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The offsets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 28, request, versions = 0..=6, flexible = 3)]
pub struct TxnOffsetCommitRequest {
    /// The transactional id.
    pub transactional_id: Str,
    /// The group.
    pub group_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The generation of a classic group or the epoch of the member; -1 outside of a group.
    #[wire(versions = 3.., default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// The member.
    #[wire(versions = 3..)]
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 3..)]
    pub group_instance_id: Option<Str>,
    /// The topics.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnOffsetCommitRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnOffsetCommitRequestTopic {
    /// The name.
    #[wire(versions = ..=5, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 6.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnOffsetCommitRequestTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnOffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to process; -1 where none is committed.
    pub committed_offset: i64,
    /// The leader epoch of the last record processed; -1 where unknown.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub committed_leader_epoch: i32,
    /// Anything that the consumer wants to keep with the offset.
    pub committed_metadata: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 28, response, versions = 0..=6, flexible = 3)]
pub struct TxnOffsetCommitResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnOffsetCommitResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnOffsetCommitResponseTopic {
    /// The name.
    #[wire(versions = ..=5, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 6.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnOffsetCommitResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnOffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
