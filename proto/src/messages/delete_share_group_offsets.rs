//! DeleteShareGroupOffsets (key 92): deletes the start offsets of a share group.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The topics.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 92, request, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupOffsetsRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteShareGroupOffsetsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    /// The name of the topic.
    pub topic_name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 92, response, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupOffsetsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The topics.
    pub responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteShareGroupOffsetsResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteShareGroupOffsetsResponseTopic {
    /// The name of the topic.
    pub topic_name: Str,
    /// The id of the topic.
    pub topic_id: Uuid,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
