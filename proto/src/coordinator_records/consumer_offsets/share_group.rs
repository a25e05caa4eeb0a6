//! Share groups of KIP-932 (types 10 to 15).

use alloc::vec::Vec;

use crate::Wire;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareGroupMemberMetadataKey {
    /// The share group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member said about itself.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareGroupMemberMetadataValue {
    /// Where the member stands.
    #[wire(nullable = 0..)]
    pub rack_id: Option<Str>,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// The topics that the member wants.
    pub subscribed_topic_names: Vec<Str>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareGroupMetadataKey {
    /// The share group.
    pub group_id: Str,
}

/// The epoch of the group.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareGroupMetadataValue {
    /// Rises with each change of members, subscriptions or topics.
    pub epoch: i32,
    /// A hash of the subscribed topics and their partitions.
    pub metadata_hash: i64,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareGroupTargetAssignmentMetadataKey {
    /// The share group.
    pub group_id: Str,
}

/// The epoch of the target assignment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareGroupTargetAssignmentMetadataValue {
    /// The group epoch for which the assignment was computed.
    pub assignment_epoch: i32,
    /// The time at which it was computed, in milliseconds; 0 where unknown.
    #[wire(tag = 0, ignorable)]
    pub assignment_timestamp: i64,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareGroupTargetAssignmentMemberKey {
    /// The share group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member shall have.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareGroupTargetAssignmentMemberValue {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TopicPartitions>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartitions {
    /// The topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareGroupCurrentMemberAssignmentKey {
    /// The share group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member has.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareGroupCurrentMemberAssignmentValue {
    /// The epoch of the member.
    pub member_epoch: i32,
    /// The epoch before; also accepted from the member.
    pub previous_member_epoch: i32,
    /// The state of the member; 0 is stable.
    pub state: i8,
    /// The partitions, by topic.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareGroupStatePartitionMetadataKey {
    /// The share group.
    pub group_id: Str,
}

/// For which partitions the share coordinator holds state.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareGroupStatePartitionMetadataValue {
    /// State is being initialized.
    pub initializing_topics: Vec<TopicPartitionsInfo>,
    /// State is there; these can be assigned.
    pub initialized_topics: Vec<TopicPartitionsInfo>,
    /// State is being deleted.
    pub deleting_topics: Vec<TopicInfo>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topic with partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartitionsInfo {
    /// The topic.
    pub topic_id: Uuid,
    /// Its name.
    pub topic_name: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicInfo {
    /// The topic.
    pub topic_id: Uuid,
    /// Its name.
    pub topic_name: Str,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}
