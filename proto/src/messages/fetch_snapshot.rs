//! FetchSnapshot (key 59): reads a snapshot of the metadata log.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::records::Records;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The snapshot and where to begin.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 59, request, versions = 0..=1, flexible = 0)]
pub struct FetchSnapshotRequest {
    /// The id of the cluster.
    #[wire(tag = 0)]
    pub cluster_id: Option<Str>,
    /// The follower that asks; -1 for consumers.
    #[wire(default = -1)]
    pub replica_id: i32,
    /// The most bytes wanted.
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    /// The topics.
    pub topics: Vec<TopicSnapshot>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchSnapshotRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicSnapshot {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<PartitionSnapshot>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicSnapshot::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionSnapshot {
    /// The partition.
    pub partition: i32,
    /// The leader epoch as the follower knows it.
    pub current_leader_epoch: i32,
    /// The snapshot that a follower has to load first.
    pub snapshot_id: SnapshotId,
    /// The position in the snapshot, in bytes.
    pub position: i64,
    /// The log directory of the follower.
    #[wire(versions = 1.., tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct SnapshotId {
    /// The offset behind the snapshot.
    pub end_offset: i64,
    /// The epoch of the snapshot.
    pub epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Bytes of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 59, response, versions = 0..=1, flexible = 0)]
pub struct FetchSnapshotResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The topics.
    pub topics: Vec<TopicSnapshotResult>,
    /// The addresses of the leaders named above.
    #[wire(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchSnapshotResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicSnapshotResult {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<PartitionSnapshotResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TopicSnapshotResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionSnapshotResult {
    /// The partition.
    pub index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The snapshot that a follower has to load first.
    pub snapshot_id: SnapshotId,
    /// The leader, where the client knows an older one.
    #[wire(tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
    /// The size of the snapshot in bytes.
    pub size: i64,
    /// The position in the snapshot, in bytes.
    pub position: i64,
    /// Bytes of the snapshot, not cut at batches.
    #[wire(nullable = 0)]
    pub unaligned_records: Option<Records>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
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
    pub port: u16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
