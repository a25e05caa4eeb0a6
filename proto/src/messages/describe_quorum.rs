//! DescribeQuorum (key 55): describes the KRaft quorum.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 55, request, versions = 0..=2, flexible = 0)]
pub struct DescribeQuorumRequest {
    /// The topics.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeQuorumRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicData {
    /// The name of the topic.
    pub topic_name: Str,
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
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Leader, voters and observers.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 55, response, versions = 0..=2, flexible = 0)]
pub struct DescribeQuorumResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    #[wire(versions = 2.., ignorable)]
    pub error_message: Option<Str>,
    /// The topics.
    pub topics: Vec<TopicResult>,
    /// The nodes.
    #[wire(versions = 2..)]
    pub nodes: Vec<Node>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeQuorumResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicResult {
    /// The name of the topic.
    pub topic_name: Str,
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
    /// The reason, for people.
    #[wire(versions = 2.., ignorable)]
    pub error_message: Option<Str>,
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The offset up to which records are replicated and readable.
    pub high_watermark: i64,
    /// The voters.
    pub current_voters: Vec<ReplicaState>,
    /// The observers.
    pub observers: Vec<ReplicaState>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The follower that asks.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReplicaState {
    /// The replica.
    pub replica_id: i32,
    /// The log directory of the follower.
    #[wire(versions = 2..)]
    pub replica_directory_id: Uuid,
    /// The end of the log of the replica; -1 where unknown.
    pub log_end_offset: i64,
    /// When the replica fetched last in milliseconds; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub last_fetch_timestamp: i64,
    /// When the replica had caught up last in milliseconds; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub last_caught_up_timestamp: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A node and its addresses.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Node {
    /// The id of the broker.
    pub node_id: i32,
    /// The addresses of the node.
    pub listeners: Vec<Listener>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Listener {
    /// The name.
    pub name: Str,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
