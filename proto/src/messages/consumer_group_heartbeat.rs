//! ConsumerGroupHeartbeat (key 68): keeps a member in its consumer group (KIP-848).

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// A sign of life, a join or a leave.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 68, request, versions = 0..=1, flexible = 0)]
pub struct ConsumerGroupHeartbeatRequest {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
    /// 0 joins, -1 leaves, -2 leaves as a static member, else the epoch as the member knows it.
    pub member_epoch: i32,
    /// The name of a static member; null for a dynamic one.
    pub instance_id: Option<Str>,
    /// Where the client stands.
    pub rack_id: Option<Str>,
    /// How long members may take for a rebalance, in milliseconds; -1 where nothing changed.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The topics that the member wants; null where nothing changed.
    pub subscribed_topic_names: Option<Vec<Str>>,
    /// The pattern of the wanted topics; null where nothing changed.
    #[wire(versions = 1..)]
    pub subscribed_topic_regex: Option<Str>,
    /// The assignor that the member wants; null where nothing changed.
    pub server_assignor: Option<Str>,
    /// The partitions that the member has; null where nothing changed.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartitions {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Epoch and assignment of the member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 68, response, versions = 0..=1, flexible = 0)]
pub struct ConsumerGroupHeartbeatResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The member.
    pub member_id: Option<Str>,
    /// The epoch of the member.
    pub member_epoch: i32,
    /// How often the member shall send heartbeats, in milliseconds.
    pub heartbeat_interval_ms: i32,
    /// The partitions of the member; null where nothing changed.
    pub assignment: Option<Assignment>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An assignment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Assignment {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TopicPartitions>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
