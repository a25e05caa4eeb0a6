//! ShareGroupHeartbeat (key 76): keeps a member in its share group.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// A sign of life, a join or a leave.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 76, request, versions = 1..=1, flexible = 0)]
pub struct ShareGroupHeartbeatRequest {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
    /// 0 joins, -1 leaves, else the epoch as the member knows it.
    pub member_epoch: i32,
    /// Where the member stands; null where nothing changed.
    pub rack_id: Option<Str>,
    /// The topics that the member wants; null where nothing changed.
    pub subscribed_topic_names: Option<Vec<Str>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Epoch and assignment of the member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 76, response, versions = 1..=1, flexible = 0)]
pub struct ShareGroupHeartbeatResponse {
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

/// The partitions of a member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Assignment {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TopicPartitions>,
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
