//! ElectLeaders (key 43): elects leaders of partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 43, request, versions = 0..=2, flexible = 2)]
pub struct ElectLeadersRequest {
    /// 0 the preferred replica, 1 any replica even out of sync.
    #[wire(versions = 1..)]
    pub election_type: i8,
    /// The partitions, by topic; null for all.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// How long the broker may take, in milliseconds.
    #[wire(default = 60000)]
    pub timeout_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartitions {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 43, response, versions = 0..=2, flexible = 2)]
pub struct ElectLeadersResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    #[wire(versions = 1..)]
    pub error_code: ErrorCode,
    /// The topics.
    pub replica_election_results: Vec<ReplicaElectionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ElectLeadersResponse::replica_election_results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReplicaElectionResult {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partition_result: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ReplicaElectionResult::partition_result`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionResult {
    /// The partition.
    pub partition_id: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
