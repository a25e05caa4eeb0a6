//! Consumer groups of KIP-848 (types 3 to 8 and 16).

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupMetadataKey {
    /// The group.
    pub group_id: Str,
}

/// The epoch of the group.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupMetadataValue {
    /// Rises with each change of the group.
    pub epoch: i32,
    /// A hash of the subscribed topics and their partitions.
    #[wire(tag = 0)]
    pub metadata_hash: i64,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupPartitionMetadataKey {
    /// The group.
    pub group_id: Str,
}

/// The subscribed topics; only brokers before 4.1 write it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// The topics.
    pub topics: Vec<TopicMetadata>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topic as it was when the record was written.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicMetadata {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The name of the topic.
    pub topic_name: Str,
    /// The number of partitions.
    pub num_partitions: i32,
    /// The partitions.
    pub partition_metadata: Vec<PartitionMetadata>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Where the replicas of a partition are.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionMetadata {
    /// The partition.
    pub partition: i32,
    /// The racks of the replicas.
    pub racks: Vec<Str>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupMemberMetadataKey {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member said about itself.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupMemberMetadataValue {
    /// The name of a static member; null for a dynamic one.
    pub instance_id: Option<Str>,
    /// Where the member stands.
    pub rack_id: Option<Str>,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// The topics that the member wants.
    pub subscribed_topic_names: Vec<Str>,
    /// The pattern of the wanted topics.
    pub subscribed_topic_regex: Option<Str>,
    /// How long the member may take for a rebalance, in milliseconds.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The assignor that the member wants.
    pub server_assignor: Option<Str>,
    /// For members that use the classic protocol; null for others.
    #[wire(nullable = 0.., tag = 0)]
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What the classic protocol needs to know of a member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ClassicMemberMetadata {
    /// After how long without a heartbeat the member is gone, in milliseconds.
    pub session_timeout_ms: i32,
    /// The protocols that the member can use.
    pub supported_protocols: Vec<ClassicProtocol>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A protocol that a member can use.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ClassicProtocol {
    /// The protocol.
    pub name: Str,
    /// What the member says in this protocol.
    pub metadata: Bytes,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupTargetAssignmentMetadataKey {
    /// The group.
    pub group_id: Str,
}

/// The epoch of the target assignment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    /// The group epoch for which the assignment was computed.
    pub assignment_epoch: i32,
    /// The time at which it was computed, in milliseconds; 0 where unknown.
    #[wire(tag = 0)]
    pub assignment_timestamp: i64,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupTargetAssignmentMemberKey {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member shall have.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TopicPartition>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartition {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupCurrentMemberAssignmentKey {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member has.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// The epoch of the member.
    pub member_epoch: i32,
    /// The epoch before; also accepted from the member.
    pub previous_member_epoch: i32,
    /// The state of the member, as a number.
    pub state: i8,
    /// The partitions, by topic.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// Partitions that the member has still to give up.
    pub partitions_pending_revocation: Vec<TopicPartitions>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartitions {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// For each partition the epoch of the member when it got it; null in records of older brokers.
    #[wire(nullable = 0.., tag = 0)]
    pub assignment_epochs: Option<Vec<i32>>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a pattern of topics.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ConsumerGroupRegularExpressionKey {
    /// The group.
    pub group_id: Str,
    /// The pattern.
    pub regular_expression: Str,
}

/// The topics that a pattern stood for.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupRegularExpressionValue {
    /// The topics that matched.
    pub topics: Vec<Str>,
    /// The version of the cluster metadata with which the pattern was resolved.
    pub version: i64,
    /// When the pattern was resolved, in milliseconds.
    pub timestamp: i64,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}
