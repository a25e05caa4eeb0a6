//! Records of `__share_group_state`.
//!
//! An update in a transactional batch holds what that transaction staged: its batches are in state
//! TX_PENDING with the acknowledge type, and it moves no start offset. The owner is the producer of
//! the batch. A snapshot carries the pending ranges with their owners, so an update may be forgotten
//! once a snapshot has come after it.

use alloc::vec::Vec;
use core::fmt;

use ackord_machine::{PendingAck, TxnOwner, WallTime};
use ackord_proto::coordinator_records::{
    RecordKey, ShareGroupStateRecord, ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey,
    ShareUpdateValue, StateBatch, encode_key, encode_value,
};
use ackord_proto::kip1289::TX_PENDING;
use ackord_proto::message::DecodeError;
use ackord_proto::messages::write_share_group_state as write;
use bytes::Bytes;

use super::delivery_ranges::{Delivery, DeliveryRanges};
use super::state::{ShareKey, ShareState};
use crate::outbox::{ProducerEpoch, StateRecord};

/// A record that cannot be taken into the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorruptShareRecord {
    /// Not the bytes of such a record.
    Decode(DecodeError),
    /// A record type that `__share_group_state` does not have.
    UnknownType(i16),
}

impl fmt::Display for CorruptShareRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CorruptShareRecord::Decode(error) => write!(f, "{error}"),
            CorruptShareRecord::UnknownType(id) => write!(f, "unknown record type {id}"),
        }
    }
}

impl core::error::Error for CorruptShareRecord {}

/// What changed since the last record of the share partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShareUpdate {
    pub(super) snapshot_epoch: i32,
    leader_epoch: i32,
    start_offset: i64,
    delivery_complete_count: i32,
    batches: Vec<StateBatch>,
}

pub(super) enum ShareRecord {
    Snapshot(ShareKey, ShareState),
    Tombstone(ShareKey),
    Update(ShareKey, ShareUpdate),
}

impl ShareUpdate {
    pub(super) fn of_write(data: &write::PartitionData) -> Self {
        let batch = |batch: &write::StateBatch| StateBatch {
            first_offset: batch.first_offset,
            last_offset: batch.last_offset,
            delivery_state: batch.delivery_state,
            delivery_count: batch.delivery_count,
            ..Default::default()
        };
        ShareUpdate {
            snapshot_epoch: 0,
            leader_epoch: data.leader_epoch,
            start_offset: data.start_offset,
            delivery_complete_count: data.delivery_complete_count,
            batches: data.state_batches.iter().map(batch).collect(),
        }
    }

    pub(super) fn of_stage(leader_epoch: i32, ranges: &[PendingAck]) -> Self {
        let batch = |range: &PendingAck| StateBatch {
            first_offset: range.first_offset,
            last_offset: range.last_offset,
            delivery_state: TX_PENDING,
            delivery_count: range.delivery_count,
            acknowledge_type: range.acknowledge_type,
            dead_letter: range.dead_letter,
            ordinal: range.owner.ordinal,
            ..Default::default()
        };
        ShareUpdate {
            snapshot_epoch: 0,
            leader_epoch,
            start_offset: -1,
            delivery_complete_count: -1,
            batches: ranges.iter().map(batch).collect(),
        }
    }

    /// A leader of this epoch has come; nothing else changes.
    pub(super) fn of_leader(leader_epoch: i32) -> Self {
        ShareUpdate::of_stage(leader_epoch, &[])
    }

    /// The state that an update makes where nothing was known.
    pub(super) fn alone(&self) -> ShareState {
        let mut state = ShareState::initial(0, -1, 0);
        state.snapshot_epoch = self.snapshot_epoch;
        state
    }

    pub(super) fn merge_into(&self, state: &mut ShareState) {
        state.leader_epoch = state.leader_epoch.max(self.leader_epoch);
        state.updates += 1;
        for batch in &self.batches {
            let delivery = Delivery {
                count: batch.delivery_count,
                state: batch.delivery_state,
            };
            state
                .deliveries
                .merge(batch.first_offset, batch.last_offset, delivery);
        }
        state.advance(self.start_offset);
    }

    pub(super) fn staged_by(&self, producer: ProducerEpoch) -> impl Iterator<Item = PendingAck> {
        self.batches
            .iter()
            .map(move |batch| pending(batch, producer.id, producer.epoch))
    }
}

fn pending(batch: &StateBatch, producer_id: i64, producer_epoch: i16) -> PendingAck {
    let owner = TxnOwner {
        producer_id,
        producer_epoch,
        ordinal: batch.ordinal,
    };
    PendingAck {
        first_offset: batch.first_offset,
        last_offset: batch.last_offset,
        acknowledge_type: batch.acknowledge_type,
        delivery_count: batch.delivery_count,
        owner,
        dead_letter: batch.dead_letter,
    }
}

pub(super) fn decode(record: &StateRecord) -> Result<ShareRecord, CorruptShareRecord> {
    let decoded = ShareGroupStateRecord::decode(&record.key, record.value.as_ref())
        .map_err(CorruptShareRecord::Decode)?;
    Ok(match decoded {
        ShareGroupStateRecord::ShareSnapshot(key, Some(value)) => {
            ShareRecord::Snapshot(from_snapshot_key(key), state_of(&value))
        }
        ShareGroupStateRecord::ShareSnapshot(key, None) => {
            ShareRecord::Tombstone(from_snapshot_key(key))
        }
        ShareGroupStateRecord::ShareUpdate(key, value) => {
            let key = ShareKey {
                group: key.group_id,
                topic: key.topic_id,
                partition: key.partition,
            };
            match value {
                Some(value) => ShareRecord::Update(key, update_of(value)),
                None => ShareRecord::Tombstone(key),
            }
        }
        ShareGroupStateRecord::Other { record_type } => {
            return Err(CorruptShareRecord::UnknownType(record_type));
        }
    })
}

fn from_snapshot_key(key: ShareSnapshotKey) -> ShareKey {
    ShareKey {
        group: key.group_id,
        topic: key.topic_id,
        partition: key.partition,
    }
}

fn update_of(value: ShareUpdateValue) -> ShareUpdate {
    ShareUpdate {
        snapshot_epoch: value.snapshot_epoch,
        leader_epoch: value.leader_epoch,
        start_offset: value.start_offset,
        delivery_complete_count: value.delivery_complete_count,
        batches: value.state_batches,
    }
}

fn state_of(value: &ShareSnapshotValue) -> ShareState {
    let mut deliveries = DeliveryRanges::default();
    let mut staged = Vec::new();
    for batch in &value.state_batches {
        if batch.delivery_state == TX_PENDING {
            staged.push(pending(batch, batch.producer_id, batch.producer_epoch));
        } else {
            let delivery = Delivery {
                count: batch.delivery_count,
                state: batch.delivery_state,
            };
            deliveries.merge(batch.first_offset, batch.last_offset, delivery);
        }
    }
    ShareState {
        snapshot_epoch: value.snapshot_epoch,
        state_epoch: value.state_epoch,
        leader_epoch: value.leader_epoch,
        start_offset: value.start_offset,
        create_timestamp: value.create_timestamp,
        deliveries,
        pending: staged,
        snapshot_timestamp: value.write_timestamp,
        updates: 0,
        snapshot_offset: value.log_offset,
    }
}

/// A snapshot for the log.
pub(super) fn snapshot(key: &ShareKey, state: &ShareState, now: WallTime) -> StateRecord {
    snapshot_that_follows(key, state, now, -1)
}

/// A snapshot for a checkpoint: it knows where the last one is in the log.
pub(super) fn checkpointed(key: &ShareKey, state: &ShareState, now: WallTime) -> StateRecord {
    snapshot_that_follows(key, state, now, state.snapshot_offset)
}

fn snapshot_that_follows(
    key: &ShareKey,
    state: &ShareState,
    now: WallTime,
    log_offset: i64,
) -> StateRecord {
    let delivered = state
        .deliveries
        .iter()
        .map(|(first_offset, last_offset, delivery)| StateBatch {
            first_offset,
            last_offset,
            delivery_state: delivery.state,
            delivery_count: delivery.count,
            ..Default::default()
        });
    let pending = state.pending.iter().map(|range| StateBatch {
        first_offset: range.first_offset,
        last_offset: range.last_offset,
        delivery_state: TX_PENDING,
        delivery_count: range.delivery_count,
        acknowledge_type: range.acknowledge_type,
        producer_id: range.owner.producer_id,
        producer_epoch: range.owner.producer_epoch,
        dead_letter: range.dead_letter,
        ordinal: range.owner.ordinal,
        ..Default::default()
    });
    let value = ShareSnapshotValue {
        snapshot_epoch: state.snapshot_epoch,
        state_epoch: state.state_epoch,
        leader_epoch: state.leader_epoch,
        start_offset: state.start_offset,
        delivery_complete_count: state.deliveries.terminal_count(),
        create_timestamp: state.create_timestamp,
        write_timestamp: now.as_millis(),
        state_batches: delivered.chain(pending).collect(),
        log_offset,
        ..Default::default()
    };
    StateRecord {
        key: snapshot_key(key),
        value: Some(bytes_of(encode_value(&value, 0))),
    }
}

pub(super) fn tombstone(key: &ShareKey) -> StateRecord {
    StateRecord {
        key: snapshot_key(key),
        value: None,
    }
}

pub(super) fn update(key: &ShareKey, update: ShareUpdate) -> StateRecord {
    let value = ShareUpdateValue {
        snapshot_epoch: update.snapshot_epoch,
        leader_epoch: update.leader_epoch,
        start_offset: update.start_offset,
        delivery_complete_count: update.delivery_complete_count,
        state_batches: update.batches,
        ..Default::default()
    };
    let key = ShareUpdateKey {
        group_id: key.group.clone(),
        topic_id: key.topic,
        partition: key.partition,
    };
    StateRecord {
        key: bytes_of(encode_key(&key)),
        value: Some(bytes_of(encode_value(&value, 0))),
    }
}

/// The share partition of a snapshot or tombstone.
pub(super) fn snapshot_key_of(record: &StateRecord) -> Option<ShareKey> {
    // Most records are updates, which are not worth to be read.
    if !record
        .key
        .starts_with(&ShareSnapshotKey::RECORD_TYPE.to_be_bytes())
    {
        return None;
    }
    match ShareGroupStateRecord::decode(&record.key, None) {
        Ok(ShareGroupStateRecord::ShareSnapshot(key, _)) => Some(from_snapshot_key(key)),
        _ => None,
    }
}

fn snapshot_key(key: &ShareKey) -> Bytes {
    bytes_of(encode_key(&ShareSnapshotKey {
        group_id: key.group.clone(),
        topic_id: key.topic,
        partition: key.partition,
    }))
}

/// Group ids come from requests, where a string has at most 32,767 bytes, so encoding cannot fail.
fn bytes_of<E>(encoded: Result<Bytes, E>) -> Bytes {
    debug_assert!(encoded.is_ok());
    encoded.unwrap_or_default()
}
