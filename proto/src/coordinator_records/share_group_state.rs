//! `__share_group_state`: the persisted delivery state of share-partitions.
//!
//! A snapshot holds everything, an update what changed since the last record of the key.

use alloc::vec::Vec;

use bytes::Bytes;

use super::{RecordKey, RecordValue, decode_key, decode_optional, record_type, records_of};
use crate::Wire;
use crate::message::DecodeError;
use crate::printer::Printer;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

records_of! {
    /// A record of `__share_group_state`.
    ShareGroupStateRecord {
        ShareSnapshot = 0: ShareSnapshotKey, ShareSnapshotValue;
        ShareUpdate = 1: ShareUpdateKey, ShareUpdateValue;
    }
}

/// Names the share-partition of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareSnapshotKey {
    /// The share group.
    pub group_id: Str,
    /// The topic.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
}

/// The whole state of a share-partition.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareSnapshotValue {
    /// Counts the snapshots of the key.
    pub snapshot_epoch: i32,
    /// The epoch of the group when the state was initialized.
    pub state_epoch: i32,
    /// The epoch of the partition leader that wrote last.
    pub leader_epoch: i32,
    /// The share-partition start offset; -1 where the leader has to choose it.
    pub start_offset: i64,
    /// How many records from the start offset on are done; -1 where unknown.
    #[wire(default = -1, tag = 0)]
    pub delivery_complete_count: i32,
    /// The time of the first snapshot, in milliseconds.
    pub create_timestamp: i64,
    /// The time of this snapshot, in milliseconds.
    pub write_timestamp: i64,
    /// States of ranges of offsets.
    pub state_batches: Vec<StateBatch>,
    /// In checkpoints alone: the offset of the key's last snapshot in the log, -1 where unknown.
    #[wire(default = -1, tag = 1)]
    pub log_offset: i64,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Names the share-partition of an update.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ShareUpdateKey {
    /// The share group.
    pub group_id: Str,
    /// The topic.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
}

/// A change of the state of a share-partition.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct ShareUpdateValue {
    /// The epoch of the snapshot that this update belongs to.
    pub snapshot_epoch: i32,
    /// The epoch of the partition leader that wrote last.
    pub leader_epoch: i32,
    /// The share-partition start offset; -1 where it did not change.
    pub start_offset: i64,
    /// How many records from the start offset on are done; -1 where unknown.
    #[wire(default = -1, tag = 0)]
    pub delivery_complete_count: i32,
    /// The states that changed.
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The state of a range of offsets.
///
/// The tagged fields belong to transactional acknowledgement (KIP-1289) and are absent from
/// records without it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct StateBatch {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// 0 available, 2 acknowledged, 3 archiving, 4 archived,
    /// 5 [`TX_PENDING`](crate::kip1289::TX_PENDING).
    pub delivery_state: i8,
    /// How often the records have been delivered.
    pub delivery_count: i16,
    /// What a commit makes of pending records: 0 gap, 1 accept, 3 reject; -1 where not pending.
    #[wire(default = -1, tag = 0)]
    pub acknowledge_type: i8,
    /// In snapshots: the producer id of the transaction that owns pending records, else -1.
    #[wire(default = -1, tag = 1)]
    pub producer_id: i64,
    /// In snapshots: the producer epoch under which the records became pending, else -1.
    #[wire(default = -1, tag = 2)]
    pub producer_epoch: i16,
    /// Pending rejects: a commit sends the records to the dead letter queue (KIP-1191).
    #[wire(default = false, tag = 3)]
    pub dead_letter: bool,
    /// Pending records: which transaction of the transactional id owns them; 0 where not pending.
    #[wire(default = 0, tag = 4)]
    pub ordinal: i64,
    /// Tagged fields that nobody defines.
    pub unknown_tags: UnknownTags,
}
