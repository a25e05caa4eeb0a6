//! ShareGroupDescribe (key 77): describes share groups.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The groups.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 77, request, versions = 1..=1, flexible = 0)]
pub struct ShareGroupDescribeRequest {
    /// The groups.
    pub group_ids: Vec<Str>,
    /// Whether the answer names the operations allowed on the group.
    pub include_authorized_operations: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The groups with their members.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 77, response, versions = 1..=1, flexible = 0)]
pub struct ShareGroupDescribeResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareGroupDescribeResponse::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribedGroup {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The group.
    pub group_id: Str,
    /// The state of the group.
    pub group_state: Str,
    /// The epoch of the group.
    pub group_epoch: i32,
    /// The epoch of the target assignment.
    pub assignment_epoch: i32,
    /// The assignor of the group.
    pub assignor_name: Str,
    /// The members.
    pub members: Vec<Member>,
    /// A bit for each operation allowed on the group; -2147483648 where not asked for.
    #[wire(default = i32::MIN)]
    pub authorized_operations: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribedGroup::members`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Member {
    /// The member.
    pub member_id: Str,
    /// Where the client stands.
    pub rack_id: Option<Str>,
    /// The epoch of the member.
    pub member_epoch: i32,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// The topics that the member wants; null where nothing changed.
    pub subscribed_topic_names: Vec<Str>,
    /// The partitions of the member; null where nothing changed.
    pub assignment: Assignment,
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

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartitions {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The name of the topic.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
