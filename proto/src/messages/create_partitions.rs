//! CreatePartitions (key 37): adds partitions to topics.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The topics.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 37, request, versions = 0..=3, flexible = 2)]
pub struct CreatePartitionsRequest {
    /// The topics.
    pub topics: Vec<CreatePartitionsTopic>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// Whether to check only and change nothing.
    pub validate_only: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreatePartitionsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatePartitionsTopic {
    /// The name.
    pub name: Str,
    /// The new number of partitions.
    pub count: i32,
    /// The replicas of the new partitions; null where the broker shall choose.
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreatePartitionsTopic::assignments`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatePartitionsAssignment {
    /// The replicas, the preferred leader first.
    pub broker_ids: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 37, response, versions = 0..=3, flexible = 2)]
pub struct CreatePartitionsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each entry of the request.
    pub results: Vec<CreatePartitionsTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreatePartitionsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatePartitionsTopicResult {
    /// The name.
    pub name: Str,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
