//! Committed offsets (types 0 and 1).

use crate::Wire;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// Names a partition for a group, in the oldest form; Kafka only reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct LegacyOffsetCommitKey {
    /// The group.
    pub group: Str,
    /// The topic.
    pub topic: Str,
    /// The partition.
    pub partition: i32,
}

/// Names a partition for a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct OffsetCommitKey {
    /// The group.
    pub group: Str,
    /// The topic.
    pub topic: Str,
    /// The partition.
    pub partition: i32,
}

/// A committed offset. Kafka 4.4 writes version 4, or 1 with an expiry.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=4, flexible = 4)]
pub struct OffsetCommitValue {
    /// The offset of the next record to process.
    pub offset: i64,
    /// The leader epoch of the last record processed; -1 where unknown.
    #[wire(versions = 3.., default = -1, ignorable)]
    pub leader_epoch: i32,
    /// Anything that the consumer wanted to keep with the offset.
    pub metadata: Str,
    /// When the offset was committed, in milliseconds.
    pub commit_timestamp: i64,
    /// When the offset expires in milliseconds; -1 for the default.
    #[wire(versions = 1, default = -1, ignorable)]
    pub expire_timestamp: i64,
    /// The id of the topic; all zero where unknown.
    #[wire(versions = 4.., tag = 0, ignorable)]
    pub topic_id: Uuid,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A committed offset in the oldest form; Kafka only reads it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub struct LegacyOffsetCommitValue {
    /// The offset of the next record to process.
    pub offset: i64,
    /// Anything that the consumer wanted to keep with the offset.
    pub metadata: Str,
    /// When the offset was committed, in milliseconds.
    pub commit_timestamp: i64,
}
