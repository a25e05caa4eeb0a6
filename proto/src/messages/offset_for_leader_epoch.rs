//! OffsetForLeaderEpoch (key 23): finds the end of a leader epoch.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions and epochs.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 23, request, versions = 2..=4, flexible = 4)]
pub struct OffsetForLeaderEpochRequest {
    /// The follower that asks; -1 for consumers.
    #[wire(versions = 3.., default = -2, ignorable)]
    pub replica_id: i32,
    /// The topics.
    pub topics: Vec<OffsetForLeaderTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetForLeaderEpochRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetForLeaderTopic {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<OffsetForLeaderPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetForLeaderTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetForLeaderPartition {
    /// The partition.
    pub partition: i32,
    /// The leader epoch as the client knows it; -1 where it does not.
    #[wire(default = -1)]
    pub current_leader_epoch: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The ends.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 23, response, versions = 2..=4, flexible = 4)]
pub struct OffsetForLeaderEpochResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<OffsetForLeaderTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OffsetForLeaderEpochResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetForLeaderTopicResult {
    /// The topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<EpochEndOffset>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The end of a leader epoch.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct EpochEndOffset {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition: i32,
    /// The leader epoch.
    #[wire(default = -1)]
    pub leader_epoch: i32,
    /// The offset behind the end of the epoch.
    #[wire(default = -1)]
    pub end_offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
