//! Streams groups of KIP-1071 (types 17 and 19 to 23).

use alloc::vec::Vec;

use crate::Wire;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct StreamsGroupMetadataKey {
    /// The group.
    pub group_id: Str,
}

/// The epochs of the group.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupMetadataValue {
    /// Rises with each change of the group.
    pub epoch: i32,
    /// A hash of the subscribed topics and their partitions.
    pub metadata_hash: i64,
    /// The epoch of the topology whose topics have been checked; -1 for none.
    #[wire(default = -1, tag = 0)]
    pub validated_topology_epoch: i32,
    /// The settings of the last assignment.
    #[wire(tag = 1)]
    pub last_assignment_configs: Vec<LastAssignmentConfig>,
    /// The epoch of the topology whose description is stored; -1 for none.
    #[wire(default = -1, tag = 2)]
    pub stored_description_topology_epoch: i32,
    /// The epoch of the topology whose description could not be stored; -1 for none.
    #[wire(default = -1, tag = 3)]
    pub failed_description_topology_epoch: i32,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A setting of the last assignment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct LastAssignmentConfig {
    /// The group, transactional id or share-partition.
    pub key: Str,
    /// The value; null for the default.
    pub value: Str,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct StreamsGroupMemberMetadataKey {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member said about itself.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupMemberMetadataValue {
    /// The name of a static member; null for a dynamic one.
    pub instance_id: Option<Str>,
    /// Where the member stands.
    pub rack_id: Option<Str>,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// How long the member may take for a rebalance, in milliseconds.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The epoch of the topology.
    pub topology_epoch: i32,
    /// The process in which the member runs.
    pub process_id: Str,
    /// Where the application can be asked; null where it cannot.
    pub user_endpoint: Option<Endpoint>,
    /// Tags by which tasks are spread.
    pub client_tags: Vec<KeyValue>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Endpoint {
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A key and a value.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct KeyValue {
    /// The key.
    pub key: Str,
    /// The value.
    pub value: Str,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct StreamsGroupTargetAssignmentMetadataKey {
    /// The group.
    pub group_id: Str,
}

/// The epoch of the target assignment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTargetAssignmentMetadataValue {
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
pub struct StreamsGroupTargetAssignmentMemberKey {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member shall have.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTargetAssignmentMemberValue {
    /// The tasks that the member processes.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks of which the member keeps copies.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks that the member warms up.
    pub warmup_tasks: Vec<TaskIds>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Tasks of one part of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TaskIds {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The tasks.
    pub partitions: Vec<i32>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct StreamsGroupCurrentMemberAssignmentKey {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
}

/// What a member has.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupCurrentMemberAssignmentValue {
    /// The epoch of the member.
    pub member_epoch: i32,
    /// The epoch before; also accepted from the member.
    pub previous_member_epoch: i32,
    /// The state of the member, as a number.
    pub state: i8,
    /// The tasks that the member processes.
    pub active_tasks: Vec<CurrentTasks>,
    /// The tasks of which the member keeps copies.
    pub standby_tasks: Vec<CurrentTasks>,
    /// The tasks that the member warms up.
    pub warmup_tasks: Vec<CurrentTasks>,
    /// Active tasks that the member has still to give up.
    pub active_tasks_pending_revocation: Vec<CurrentTasks>,
    /// Standby tasks that the member has still to give up.
    pub standby_tasks_pending_revocation: Vec<CurrentTasks>,
    /// Warm-up tasks that the member has still to give up.
    pub warmup_tasks_pending_revocation: Vec<CurrentTasks>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Tasks of one part of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CurrentTasks {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// For each partition the epoch of the member when it got it; null in records of older brokers.
    #[wire(nullable = 0.., tag = 0)]
    pub assignment_epochs: Option<Vec<i32>>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct StreamsGroupTopologyKey {
    /// The group.
    pub group_id: Str,
}

/// The topology of the group.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTopologyValue {
    /// The epoch of the topology.
    pub epoch: i32,
    /// The parts of the topology.
    pub subtopologies: Vec<Subtopology>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A part of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Subtopology {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The topics that are read.
    pub source_topics: Vec<Str>,
    /// Patterns of the topics that are read.
    pub source_topic_regex: Vec<Str>,
    /// The changelog topics.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// Repartition topics that are written.
    pub repartition_sink_topics: Vec<Str>,
    /// Repartition topics that are read.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Topics that must have the same number of partitions.
    pub copartition_groups: Vec<CopartitionGroup>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What an internal topic has to look like.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicInfo {
    /// The name.
    pub name: Str,
    /// The number of partitions; 0 to take that of the sources.
    pub partitions: i32,
    /// The number of replicas; 0 for the default.
    pub replication_factor: i16,
    /// The configs of the topic.
    pub topic_configs: Vec<TopicConfig>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A config of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicConfig {
    /// The group, transactional id or share-partition.
    pub key: Str,
    /// The value; null for the default.
    pub value: Str,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Topics, by their place in the lists of the part, that must have the same number of partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CopartitionGroup {
    /// The topics that are read.
    pub source_topics: Vec<i16>,
    /// Patterns of the topics that are read.
    pub source_topic_regex: Vec<i16>,
    /// Repartition topics that are read.
    pub repartition_source_topics: Vec<i16>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}
