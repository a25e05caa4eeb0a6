//! ReadShareGroupStateSummary (key 87): reads the persisted state of share-partitions without its batches.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The share-partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 87, request, versions = 0..=1, flexible = 0)]
pub struct ReadShareGroupStateSummaryRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<ReadStateSummaryData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadShareGroupStateSummaryRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReadStateSummaryData {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadStateSummaryData::partitions`].
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
#[wire(api = 87, response, versions = 0..=1, flexible = 0)]
pub struct ReadShareGroupStateSummaryResponse {
    /// One answer for each entry of the request.
    pub results: Vec<ReadStateSummaryResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadShareGroupStateSummaryResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReadStateSummaryResult {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReadStateSummaryResult::partitions`].
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
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The share-partition start offset; -1 where not set.
    pub start_offset: i64,
    /// How many records from the start offset on are done; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub delivery_complete_count: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
