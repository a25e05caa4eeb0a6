//! WriteShareGroupState (key 85): writes the persisted state of share-partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 85, request, versions = 0..=1, flexible = 0)]
pub struct WriteShareGroupStateRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<WriteStateData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WriteShareGroupStateRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WriteStateData {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WriteStateData::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// The epoch of the group when the state was initialized.
    pub state_epoch: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The share-partition start offset; -1 where not set.
    pub start_offset: i64,
    /// How many records from the start offset on are done; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub delivery_complete_count: i32,
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

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 85, response, versions = 0..=1, flexible = 0)]
pub struct WriteShareGroupStateResponse {
    /// One answer for each entry of the request.
    pub results: Vec<WriteStateResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WriteShareGroupStateResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WriteStateResult {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WriteStateResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionResult {
    /// The partition.
    pub partition: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
