//! AlterPartition (key 56): changes the replicas in sync.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The new replicas in sync.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 56, request, versions = 2..=3, flexible = 0)]
pub struct AlterPartitionRequest {
    /// The id of the broker.
    pub broker_id: i32,
    /// The epoch of the broker; -1 where it has none.
    #[wire(default = -1)]
    pub broker_epoch: i64,
    /// The topics.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterPartitionRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicData {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicData::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The replicas in sync.
    #[wire(versions = ..=2)]
    pub new_isr: Vec<i32>,
    /// The replicas in sync, with the epochs of their brokers.
    #[wire(versions = 3..)]
    pub new_isr_with_epochs: Vec<BrokerState>,
    /// 0 recovered, 1 recovering from an unclean election.
    pub leader_recovery_state: i8,
    /// Counts the changes of the partition.
    pub partition_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`PartitionData::new_isr_with_epochs`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct BrokerState {
    /// The id of the broker.
    pub broker_id: i32,
    /// The epoch of the broker; -1 where unknown.
    #[wire(default = -1)]
    pub broker_epoch: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The state of the partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 56, response, versions = 2..=3, flexible = 0)]
pub struct AlterPartitionResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The topics.
    pub topics: Vec<TopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterPartitionResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicResult {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The replicas in sync.
    pub isr: Vec<i32>,
    /// 0 recovered, 1 recovering from an unclean election.
    pub leader_recovery_state: i8,
    /// Counts the changes of the partition.
    pub partition_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
