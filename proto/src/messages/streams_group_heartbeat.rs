//! StreamsGroupHeartbeat (key 88): keeps a member in its streams group (KIP-1071).

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// A sign of life, a join or a leave.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 88, request, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupHeartbeatRequest {
    /// The group.
    pub group_id: Str,
    /// The member.
    pub member_id: Str,
    /// 0 joins, -1 leaves, -2 leaves as a static member, else the epoch as the member knows it.
    pub member_epoch: i32,
    /// The epoch of the endpoints as the member knows them.
    pub endpoint_information_epoch: i32,
    /// The name of a static member; null for a dynamic one.
    pub instance_id: Option<Str>,
    /// Where the client stands.
    pub rack_id: Option<Str>,
    /// How long the member may take for a rebalance, in milliseconds; -1 where nothing changed.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The topology; null where nothing changed.
    pub topology: Option<Topology>,
    /// The tasks that the member processes; null where nothing changed.
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The tasks of which the member keeps copies; null where nothing changed.
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The tasks that the member warms up; null where nothing changed.
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// The process in which the member runs.
    pub process_id: Option<Str>,
    /// Where the application can be asked; null where it cannot.
    pub user_endpoint: Option<Endpoint>,
    /// Tags by which tasks are spread.
    pub client_tags: Option<Vec<KeyValue>>,
    /// How far the tasks are.
    pub task_offsets: Option<Vec<TaskOffset>>,
    /// How far the changelogs of the tasks go.
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    /// Whether the whole application shall stop.
    pub shutdown_application: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Topology {
    /// The leader epoch.
    pub epoch: i32,
    /// The parts of the topology.
    pub subtopologies: Vec<Subtopology>,
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

/// Topics, by their place in the lists of the part, that must have the same number of partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CopartitionGroup {
    /// The topics that are read.
    pub source_topics: Vec<i16>,
    /// Patterns of the topics that are read.
    pub source_topic_regex: Vec<i16>,
    /// Repartition topics that are read.
    pub repartition_source_topics: Vec<i16>,
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

/// Epoch and tasks of the member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 88, response, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupHeartbeatResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The member.
    pub member_id: Str,
    /// The epoch of the member.
    pub member_epoch: i32,
    /// How often the member shall send heartbeats, in milliseconds.
    pub heartbeat_interval_ms: i32,
    /// The same in the four bytes of version 0.
    #[wire(versions = ..=0)]
    pub acceptable_recovery_lag_legacy: i32,
    /// How often to send task offsets, in milliseconds.
    pub task_offset_interval_ms: i32,
    /// A warm-up task may become active once it lags by no more than this.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub acceptable_recovery_lag: i64,
    /// What the member should know; null where there is nothing.
    pub status: Option<Vec<Status>>,
    /// The tasks that the member processes; null where nothing changed.
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The tasks of which the member keeps copies; null where nothing changed.
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The tasks that the member warms up; null where nothing changed.
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// Whether the broker wants the topology in full.
    #[wire(versions = 1..)]
    pub topology_description_required: bool,
    /// The epoch of the endpoints as the member knows them.
    pub endpoint_information_epoch: i32,
    /// Where the partitions are served; null where nothing changed.
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A status for the member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Status {
    /// The code of the status.
    pub status_code: i8,
    /// The status in words.
    pub status_detail: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`StreamsGroupHeartbeatResponse::partitions_by_user_endpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct EndpointToPartitions {
    /// Where the application can be asked; null where it cannot.
    pub user_endpoint: Endpoint,
    /// The partitions of active tasks there.
    pub active_partitions: Vec<TopicPartition>,
    /// The partitions of standby tasks there.
    pub standby_partitions: Vec<TopicPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicPartition {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
