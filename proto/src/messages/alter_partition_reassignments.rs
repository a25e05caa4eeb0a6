//! AlterPartitionReassignments (key 45): moves replicas between brokers.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Where replicas belong.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 45, request, versions = 0..=1, flexible = 0)]
pub struct AlterPartitionReassignmentsRequest {
    /// How long the broker may take, in milliseconds.
    #[wire(default = 60000)]
    pub timeout_ms: i32,
    /// Whether the number of replicas may change.
    #[wire(versions = 1.., default = true)]
    pub allow_replication_factor_change: bool,
    /// The topics.
    pub topics: Vec<ReassignableTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterPartitionReassignmentsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReassignableTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<ReassignablePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReassignableTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReassignablePartition {
    /// The partition.
    pub partition_index: i32,
    /// The replicas; null to cancel a reassignment.
    pub replicas: Option<Vec<i32>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 45, response, versions = 0..=1, flexible = 0)]
pub struct AlterPartitionReassignmentsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// Whether the number of replicas may change.
    #[wire(versions = 1.., default = true, ignorable)]
    pub allow_replication_factor_change: bool,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The topics.
    pub responses: Vec<ReassignableTopicResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterPartitionReassignmentsResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReassignableTopicResponse {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<ReassignablePartitionResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReassignableTopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReassignablePartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
