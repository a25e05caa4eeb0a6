//! Metadata (key 3): says which topics there are and who leads them.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::ids::Ids;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The topics of interest.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 3, request, versions = 0..=13, flexible = 9)]
pub struct MetadataRequest {
    /// The topics; null for all.
    #[wire(nullable = 1..)]
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether asking for a missing topic may create it.
    #[wire(versions = 4.., default = true)]
    pub allow_auto_topic_creation: bool,
    /// Whether the answer names the operations allowed on the cluster.
    #[wire(versions = 8..=10)]
    pub include_cluster_authorized_operations: bool,
    /// Whether the answer names the operations allowed on each topic.
    #[wire(versions = 8..)]
    pub include_topic_authorized_operations: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`MetadataRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MetadataRequestTopic {
    /// The id of the topic.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The name.
    #[wire(nullable = 10..)]
    pub name: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Brokers, topics and leaders.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 3, response, versions = 0..=13, flexible = 9)]
pub struct MetadataResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The brokers of the cluster.
    pub brokers: Vec<MetadataResponseBroker>,
    /// The id of the cluster.
    #[wire(versions = 2.., ignorable)]
    pub cluster_id: Option<Str>,
    /// The broker to which requests for the controller go; -1 where there is none.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub controller_id: i32,
    /// The topics.
    pub topics: Vec<MetadataResponseTopic>,
    /// A bit for each operation allowed on the cluster; -2147483648 where not asked for.
    #[wire(versions = 8..=10, default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// What went wrong, or NONE.
    #[wire(versions = 13.., ignorable)]
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`MetadataResponse::brokers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MetadataResponseBroker {
    /// The id of the broker.
    pub node_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// Where the broker stands.
    #[wire(versions = 1.., ignorable)]
    pub rack: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`MetadataResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MetadataResponseTopic {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The name.
    #[wire(nullable = 12..)]
    pub name: Option<Str>,
    /// The id of the topic.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// Whether the topic belongs to Kafka itself.
    #[wire(versions = 1.., ignorable)]
    pub is_internal: bool,
    /// The partitions.
    pub partitions: Vec<MetadataResponsePartition>,
    /// A bit for each operation allowed on the topic; -2147483648 where not asked for.
    #[wire(versions = 8.., default = i32::MIN)]
    pub topic_authorized_operations: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`MetadataResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MetadataResponsePartition {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: i32,
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    #[wire(versions = 7.., default = -1, ignorable)]
    pub leader_epoch: i32,
    /// All replicas.
    pub replica_nodes: Ids,
    /// The replicas in sync.
    pub isr_nodes: Ids,
    /// The replicas that are offline.
    #[wire(versions = 5.., ignorable)]
    pub offline_replicas: Ids,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
