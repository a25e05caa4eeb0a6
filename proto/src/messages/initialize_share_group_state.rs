//! InitializeShareGroupState (key 83): begins the persisted state of share-partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The share-partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 83, request, versions = 0..=0, flexible = 0)]
pub struct InitializeShareGroupStateRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<InitializeStateData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`InitializeShareGroupStateRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct InitializeStateData {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`InitializeStateData::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// The epoch of the group when the state was initialized.
    pub state_epoch: i32,
    /// The share-partition start offset; -1 where not set.
    pub start_offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 83, response, versions = 0..=0, flexible = 0)]
pub struct InitializeShareGroupStateResponse {
    /// One answer for each entry of the request.
    pub results: Vec<InitializeStateResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`InitializeShareGroupStateResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct InitializeStateResult {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`InitializeStateResult::partitions`].
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
