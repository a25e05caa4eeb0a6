//! Produce (key 0): appends record batches to partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::records::Records;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// Records to append.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 0, request, versions = 3..=13, flexible = 9)]
pub struct ProduceRequest {
    /// The transactional id; null outside of transactions.
    pub transactional_id: Option<Str>,
    /// Who must have the records before the answer: 0 nobody, 1 the leader, -1 all in-sync replicas.
    pub acks: i16,
    /// How long to wait for the replicas, in milliseconds.
    pub timeout_ms: i32,
    /// The topics.
    pub topic_data: Vec<TopicProduceData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ProduceRequest::topic_data`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicProduceData {
    /// The name.
    #[wire(versions = ..=12, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partition_data: Vec<PartitionProduceData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicProduceData::partition_data`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionProduceData {
    /// The partition.
    pub index: i32,
    /// Record batches.
    pub records: Option<Records>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Where the records went.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 0, response, versions = 3..=13, flexible = 9)]
pub struct ProduceResponse {
    /// The topics.
    pub responses: Vec<TopicProduceResponse>,
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The addresses of the leaders named above.
    #[wire(versions = 10.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ProduceResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicProduceResponse {
    /// The name.
    #[wire(versions = ..=12, ignorable)]
    pub name: Str,
    /// The id of the topic.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partition_responses: Vec<PartitionProduceResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicProduceResponse::partition_responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionProduceResponse {
    /// The partition.
    pub index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The offset of the first appended record.
    pub base_offset: i64,
    /// The time of the append in milliseconds; -1 where the records keep their own.
    #[wire(default = -1)]
    pub log_append_time_ms: i64,
    /// The first offset in the log; -1 where unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: i64,
    /// The records because of which the batch was refused.
    #[wire(versions = 8.., ignorable)]
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// The reason, for people.
    #[wire(versions = 8.., ignorable)]
    pub error_message: Option<Str>,
    /// The leader, where the client knows an older one.
    #[wire(versions = 10.., tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A record that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct BatchIndexAndErrorMessage {
    /// The position of the refused record in its batch.
    pub batch_index: i32,
    /// Why the record was refused.
    pub batch_index_error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 where there is none.
    #[wire(default = -1)]
    pub leader_id: i32,
    /// The leader epoch.
    #[wire(default = -1)]
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct NodeEndpoint {
    /// The id of the broker.
    pub node_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// Where the broker stands.
    pub rack: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
