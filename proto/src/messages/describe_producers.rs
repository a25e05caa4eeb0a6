//! DescribeProducers (key 61): lists the producers with state in partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 61, request, versions = 0..=0, flexible = 0)]
pub struct DescribeProducersRequest {
    /// The topics.
    pub topics: Vec<TopicRequest>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeProducersRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicRequest {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partition_indexes: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The producers.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 61, response, versions = 0..=0, flexible = 0)]
pub struct DescribeProducersResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<TopicResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeProducersResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicResponse {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<PartitionResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The producers with state in the partition.
    pub active_producers: Vec<ProducerState>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`PartitionResponse::active_producers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ProducerState {
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i32,
    /// The last sequence of the producer; -1 where there is none.
    #[wire(default = -1)]
    pub last_sequence: i32,
    /// The last timestamp of the producer in milliseconds; -1 where there is none.
    #[wire(default = -1)]
    pub last_timestamp: i64,
    /// The epoch of the transaction coordinator's partition.
    pub coordinator_epoch: i32,
    /// Where the ongoing transaction of the producer began; -1 where there is none.
    #[wire(default = -1)]
    pub current_txn_start_offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
