//! DeleteShareGroupState (key 86): deletes the persisted state of share-partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The share-partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 86, request, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupStateRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<DeleteStateData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteShareGroupStateRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteStateData {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteStateData::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 86, response, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupStateResponse {
    /// One answer for each entry of the request.
    pub results: Vec<DeleteStateResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteShareGroupStateResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteStateResult {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteStateResult::partitions`].
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
