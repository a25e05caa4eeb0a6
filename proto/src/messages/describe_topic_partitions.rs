//! DescribeTopicPartitions (key 75): lists partitions, page by page.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::ids::Ids;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The topics and where to begin.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 75, request, versions = 0..=0, flexible = 0)]
pub struct DescribeTopicPartitionsRequest {
    /// The topics.
    pub topics: Vec<TopicRequest>,
    /// The most partitions wanted in the answer.
    #[wire(default = 2000)]
    pub response_partition_limit: i32,
    /// Where to go on; null for the beginning.
    pub cursor: Option<Cursor>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeTopicPartitionsRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicRequest {
    /// The name.
    pub name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A place in the list of all partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Cursor {
    /// The name of the topic.
    pub topic_name: Str,
    /// The partition.
    pub partition_index: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 75, response, versions = 0..=0, flexible = 0)]
pub struct DescribeTopicPartitionsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// Where to go on; null at the end.
    pub next_cursor: Option<Cursor>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeTopicPartitionsResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The name.
    pub name: Option<Str>,
    /// The id of the topic.
    pub topic_id: Uuid,
    /// Whether the topic belongs to Kafka itself.
    pub is_internal: bool,
    /// The partitions.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// A bit for each operation allowed on the topic; -2147483648 where not asked for.
    #[wire(default = i32::MIN)]
    pub topic_authorized_operations: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeTopicPartitionsResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: i32,
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    #[wire(default = -1)]
    pub leader_epoch: i32,
    /// All replicas.
    pub replica_nodes: Ids,
    /// The replicas in sync.
    pub isr_nodes: Ids,
    /// Replicas out of sync that may still lead without loss.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// The last known eligible leader replicas.
    pub last_known_elr: Option<Vec<i32>>,
    /// The replicas that are offline.
    pub offline_replicas: Ids,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
