//! DeleteTopics (key 20): deletes topics.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The topics to delete.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 20, request, versions = 1..=6, flexible = 4)]
pub struct DeleteTopicsRequest {
    /// The topics.
    #[wire(versions = 6..)]
    pub topics: Vec<DeleteTopicState>,
    /// The topics, in versions up to 5.
    #[wire(versions = ..=5, ignorable)]
    pub topic_names: Vec<Str>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteTopicsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteTopicState {
    /// The name.
    pub name: Option<Str>,
    /// The id of the topic.
    pub topic_id: Uuid,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 20, response, versions = 1..=6, flexible = 4)]
pub struct DeleteTopicsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub responses: Vec<DeletableTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteTopicsResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeletableTopicResult {
    /// The name.
    #[wire(nullable = 6..)]
    pub name: Option<Str>,
    /// The id of the topic.
    #[wire(versions = 6.., ignorable)]
    pub topic_id: Uuid,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    #[wire(versions = 5.., ignorable)]
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
