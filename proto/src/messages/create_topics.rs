//! CreateTopics (key 19): creates topics.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The topics to create.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 19, request, versions = 2..=7, flexible = 5)]
pub struct CreateTopicsRequest {
    /// The topics.
    pub topics: Vec<CreatableTopic>,
    /// How long the broker may take, in milliseconds.
    #[wire(default = 60000)]
    pub timeout_ms: i32,
    /// Whether to check only and change nothing.
    pub validate_only: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreateTopicsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatableTopic {
    /// The name.
    pub name: Str,
    /// The number of partitions; -1 for the default or with assignments.
    pub num_partitions: i32,
    /// The number of replicas; -1 for the default or with assignments.
    pub replication_factor: i16,
    /// Replicas by partition; empty where the broker shall choose.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// The configs.
    pub configs: Vec<CreatableTopicConfig>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreatableTopic::assignments`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatableReplicaAssignment {
    /// The partition.
    pub partition_index: i32,
    /// The replicas, the preferred leader first.
    pub broker_ids: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreatableTopic::configs`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatableTopicConfig {
    /// The name.
    pub name: Str,
    /// The value; null for the default.
    pub value: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 19, response, versions = 2..=7, flexible = 5)]
pub struct CreateTopicsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<CreatableTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreateTopicsResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatableTopicResult {
    /// The name.
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 7.., ignorable)]
    pub topic_id: Uuid,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Why the configs are left out.
    #[wire(versions = 5.., tag = 0, ignorable)]
    pub topic_config_error_code: ErrorCode,
    /// The number of partitions; -1 for the default.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub num_partitions: i32,
    /// The number of replicas; -1 for the default.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub replication_factor: i16,
    /// The configs.
    #[wire(versions = 5.., ignorable)]
    pub configs: Option<Vec<CreatableTopicConfigs>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreatableTopicResult::configs`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatableTopicConfigs {
    /// The name.
    pub name: Str,
    /// The value.
    pub value: Option<Str>,
    /// Whether the value cannot be changed.
    pub read_only: bool,
    /// Where the value comes from.
    #[wire(default = -1)]
    pub config_source: i8,
    /// Whether the value is secret and left out.
    pub is_sensitive: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
