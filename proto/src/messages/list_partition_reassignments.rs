//! ListPartitionReassignments (key 46): lists reassignments under way.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions of interest.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 46, request, versions = 0..=0, flexible = 0)]
pub struct ListPartitionReassignmentsRequest {
    /// How long the broker may take, in milliseconds.
    #[wire(default = 60000)]
    pub timeout_ms: i32,
    /// The topics; null for all.
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListPartitionReassignmentsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ListPartitionReassignmentsTopics {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partition_indexes: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The reassignments.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 46, response, versions = 0..=0, flexible = 0)]
pub struct ListPartitionReassignmentsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The topics.
    pub topics: Vec<OngoingTopicReassignment>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListPartitionReassignmentsResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OngoingTopicReassignment {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<OngoingPartitionReassignment>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`OngoingTopicReassignment::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OngoingPartitionReassignment {
    /// The partition.
    pub partition_index: i32,
    /// The replicas; null to cancel a reassignment.
    pub replicas: Vec<i32>,
    /// Replicas that are being added.
    pub adding_replicas: Vec<i32>,
    /// Replicas that are being removed.
    pub removing_replicas: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
