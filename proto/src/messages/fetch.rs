//! Fetch (key 1): reads record batches from partitions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::records::Records;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 1, request, versions = 4..=18, flexible = 12)]
pub struct FetchRequest {
    /// The id of the cluster.
    #[wire(versions = 12.., tag = 0, ignorable)]
    pub cluster_id: Option<Str>,
    /// The follower that asks; -1 for consumers.
    #[wire(versions = ..=14, default = -1)]
    pub replica_id: i32,
    /// The follower that asks.
    #[wire(versions = 15.., tag = 1)]
    pub replica_state: ReplicaState,
    /// How long to wait for records, in milliseconds.
    pub max_wait_ms: i32,
    /// The fewest bytes worth an answer before the wait is over.
    pub min_bytes: i32,
    /// The most bytes wanted.
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    /// 0 read_uncommitted, 1 read_committed.
    pub isolation_level: i8,
    /// The fetch session; 0 for none.
    #[wire(versions = 7.., ignorable)]
    pub session_id: i32,
    /// Counts the requests of the fetch session; -1 without a session.
    #[wire(versions = 7.., default = -1, ignorable)]
    pub session_epoch: i32,
    /// The topics.
    pub topics: Vec<FetchTopic>,
    /// Partitions to drop from the session.
    #[wire(versions = 7..)]
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// Where the client stands.
    #[wire(versions = 11.., ignorable)]
    pub rack_id: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The follower that asks.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ReplicaState {
    /// The follower that asks; -1 for consumers.
    #[wire(default = -1)]
    pub replica_id: i32,
    /// The epoch of the follower; -1 for consumers.
    #[wire(default = -1)]
    pub replica_epoch: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FetchTopic {
    /// The name of the topic.
    #[wire(versions = ..=12, ignorable)]
    pub topic: Str,
    /// The id of the topic.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<FetchPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FetchPartition {
    /// The partition.
    pub partition: i32,
    /// The leader epoch as the client knows it; -1 where it does not.
    #[wire(versions = 9.., default = -1, ignorable)]
    pub current_leader_epoch: i32,
    /// The first offset wanted.
    pub fetch_offset: i64,
    /// The epoch of the last record that a follower has; -1 for consumers.
    #[wire(versions = 12.., default = -1)]
    pub last_fetched_epoch: i32,
    /// The first offset in the log; -1 where unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: i64,
    /// The most bytes wanted from this partition.
    pub partition_max_bytes: i32,
    /// The log directory of the follower.
    #[wire(versions = 17.., tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// The offset up to which records are replicated and readable.
    #[wire(versions = 18.., default = i64::MAX, tag = 1, ignorable)]
    pub high_watermark: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchRequest::forgotten_topics_data`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ForgottenTopic {
    /// The name of the topic.
    #[wire(versions = ..=12, ignorable)]
    pub topic: Str,
    /// The id of the topic.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 1, response, versions = 4..=18, flexible = 12)]
pub struct FetchResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    #[wire(versions = 7.., ignorable)]
    pub error_code: ErrorCode,
    /// The fetch session; 0 where there is none.
    #[wire(versions = 7..)]
    pub session_id: i32,
    /// The topics.
    pub responses: Vec<FetchableTopicResponse>,
    /// The addresses of the leaders named above.
    #[wire(versions = 16.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FetchableTopicResponse {
    /// The name of the topic.
    #[wire(versions = ..=12, ignorable)]
    pub topic: Str,
    /// The id of the topic.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchableTopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The offset up to which records are replicated and readable.
    pub high_watermark: i64,
    /// The offset below which no transaction is open.
    #[wire(default = -1)]
    pub last_stable_offset: i64,
    /// The first offset in the log; -1 where unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: i64,
    /// Where the log of a follower parts from that of the leader.
    #[wire(versions = 12.., tag = 0)]
    pub diverging_epoch: EpochEndOffset,
    /// The leader, where the client knows an older one.
    #[wire(versions = 12.., tag = 1)]
    pub current_leader: LeaderIdAndEpoch,
    /// The snapshot that a follower has to load first.
    #[wire(versions = 12.., tag = 2)]
    pub snapshot_id: SnapshotId,
    /// Transactions in the returned range that were aborted; null under read_uncommitted.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// The replica to read from instead; -1 for the leader.
    #[wire(versions = 11.., default = -1)]
    pub preferred_read_replica: i32,
    /// Record batches.
    pub records: Option<Records>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The end of a leader epoch.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct EpochEndOffset {
    /// The leader epoch.
    #[wire(default = -1)]
    pub epoch: i32,
    /// The offset behind the end of the epoch.
    #[wire(default = -1)]
    pub end_offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 where there is none.
    #[wire(default = -1)]
    pub leader_id: i32,
    /// The leader epoch.
    #[wire(default = -1)]
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct SnapshotId {
    /// The offset behind the snapshot.
    #[wire(default = -1)]
    pub end_offset: i64,
    /// The epoch of the snapshot.
    #[wire(default = -1)]
    pub epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A transaction that was aborted.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AbortedTransaction {
    /// The producer of the transaction.
    pub producer_id: i64,
    /// The first offset of the transaction.
    pub first_offset: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct NodeEndpoint {
    /// The id of the broker.
    pub node_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// Where the broker stands.
    pub rack: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
