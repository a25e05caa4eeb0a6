//! ReadShareGroupState (key 84): reads the persisted state of share-partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The share-partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 84, request, versions = 0..=0, flexible = 0)]
pub struct ReadShareGroupStateRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<ReadStateData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadShareGroupStateRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReadStateData {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadStateData::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Their states.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 84, response, versions = 0..=0, flexible = 0)]
pub struct ReadShareGroupStateResponse {
    /// One answer for each entry of the request.
    pub results: Vec<ReadStateResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadShareGroupStateResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReadStateResult {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadStateResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionResult {
    /// The partition.
    pub partition: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The epoch of the group when the state was initialized.
    pub state_epoch: i32,
    /// The share-partition start offset; -1 where not set.
    pub start_offset: i64,
    /// States of ranges of offsets.
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The state of a range of offsets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct StateBatch {
    /// The first offset of the range.
    pub first_offset: i64,
    /// The last offset of the range.
    pub last_offset: i64,
    /// 0 available, 2 acknowledged, 3 archiving, 4 archived, 5 pending in a transaction (KIP-1289).
    pub delivery_state: i8,
    /// How often the records have been delivered.
    pub delivery_count: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
