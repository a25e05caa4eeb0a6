//! StreamsGroupDescribe (key 89): describes streams groups (KIP-1071).

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The groups.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 89, request, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupDescribeRequest {
    /// The groups.
    pub group_ids: Vec<Str>,
    /// Whether the answer names the operations allowed on the group.
    pub include_authorized_operations: bool,
    /// Whether the answer describes the topology in full.
    #[wire(versions = 1..)]
    pub include_topology_description: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The groups with their members.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 89, response, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupDescribeResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`StreamsGroupDescribeResponse::groups`].
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
    /// The topology; null where nothing changed.
    pub topology: Option<Topology>,
    /// The members.
    pub members: Vec<Member>,
    /// A bit for each operation allowed on the group; -2147483648 where not asked for.
    #[wire(default = i32::MIN)]
    pub authorized_operations: i32,
    /// The topology in full.
    #[wire(versions = 1..)]
    pub topology_description: Option<TopologyDescription>,
    /// What became of the description, as a number.
    #[wire(versions = 1..)]
    pub topology_description_status: i8,
    /// The assignor of the group.
    #[wire(versions = 1.., ignorable)]
    pub assignor_name: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Topology {
    /// The leader epoch.
    pub epoch: i32,
    /// The parts of the topology.
    pub subtopologies: Option<Vec<Subtopology>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A part of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Subtopology {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The topics that are read.
    pub source_topics: Vec<Str>,
    /// Repartition topics that are written.
    pub repartition_sink_topics: Vec<Str>,
    /// The changelog topics.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// Repartition topics that are read.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Tagged fields that this version of Kafka does not define.
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
    pub topic_configs: Vec<KeyValue>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A key and a value.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct KeyValue {
    /// The key.
    pub key: Str,
    /// The value.
    pub value: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribedGroup::members`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Member {
    /// The member.
    pub member_id: Str,
    /// The epoch of the member.
    pub member_epoch: i32,
    /// The name of a static member; null for a dynamic one.
    pub instance_id: Option<Str>,
    /// Where the client stands.
    pub rack_id: Option<Str>,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// The epoch of the topology.
    pub topology_epoch: i32,
    /// The process in which the member runs.
    pub process_id: Str,
    /// Where the application can be asked; null where it cannot.
    pub user_endpoint: Option<Endpoint>,
    /// Tags by which tasks are spread.
    pub client_tags: Vec<KeyValue>,
    /// How far the tasks are.
    pub task_offsets: Vec<TaskOffset>,
    /// How far the changelogs of the tasks go.
    pub task_end_offsets: Vec<TaskOffset>,
    /// The partitions of the member; null where nothing changed.
    pub assignment: Assignment,
    /// What the member shall have.
    pub target_assignment: Assignment,
    /// Whether the member uses the classic protocol.
    pub is_classic: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Endpoint {
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TaskOffset {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The partition.
    pub partition: i32,
    /// How far the task is.
    pub offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An assignment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Assignment {
    /// The tasks that the member processes; null where nothing changed.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks of which the member keeps copies; null where nothing changed.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks that the member warms up; null where nothing changed.
    pub warmup_tasks: Vec<TaskIds>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Tasks of one part of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TaskIds {
    /// The part of the topology.
    pub subtopology_id: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topology in full.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescription {
    /// The parts of the topology.
    #[wire(versions = 1..)]
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    /// The global stores.
    #[wire(versions = 1..)]
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A part of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescriptionSubtopology {
    /// The part of the topology.
    #[wire(versions = 1..)]
    pub subtopology_id: Str,
    /// The nodes.
    #[wire(versions = 1..)]
    pub nodes: Vec<TopologyDescriptionNode>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A node of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescriptionNode {
    /// The name.
    #[wire(versions = 1..)]
    pub name: Str,
    /// 1 source, 2 processor, 3 sink.
    #[wire(versions = 1..)]
    pub node_type: i8,
    /// The topics that are read.
    #[wire(versions = 1..)]
    pub source_topics: Vec<Str>,
    /// The topic that is written; null where there is none.
    #[wire(versions = 1..)]
    pub sink_topic: Option<Str>,
    /// The state stores.
    #[wire(versions = 1..)]
    pub stores: Vec<Str>,
    /// The nodes behind this one.
    #[wire(versions = 1..)]
    pub successors: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A global store.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopologyDescriptionGlobalStore {
    /// The node that reads the topic.
    #[wire(versions = 1..)]
    pub source: TopologyDescriptionNode,
    /// The node that updates the store.
    #[wire(versions = 1..)]
    pub processor: TopologyDescriptionNode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
