//! Groups and offsets as records of `__consumer_offsets`.

use core::fmt;

use ackord_proto::Wire;
use ackord_proto::coordinator_records::{
    ConsumerOffsetsRecord, GroupMetadataKey, GroupMetadataValue, OffsetCommitKey,
    OffsetCommitValue, RecordKey, decode_key, decode_value, record_type,
};
use ackord_proto::message::DecodeError;
use ackord_proto::str::Str;

use super::modern::{self, ConsumerRecord};
use super::offsets::CommittedOffset;
use crate::outbox::StateRecord;

/// Names a partition of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OffsetKey {
    pub(super) group: Str,
    pub(super) topic: Str,
    pub(super) partition: i32,
}

/// A record that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptGroupRecord(DecodeError);

impl fmt::Display for CorruptGroupRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record of __consumer_offsets: {}", self.0)
    }
}

impl core::error::Error for CorruptGroupRecord {}

impl From<DecodeError> for CorruptGroupRecord {
    fn from(error: DecodeError) -> Self {
        CorruptGroupRecord(error)
    }
}

/// What one record says.
#[derive(Debug)]
pub(super) enum GroupRecord {
    /// A group as it is now; `None`: it is deleted.
    Group(Str, Option<GroupMetadataValue>),
    /// Something of a group of the consumer protocol.
    Consumer(Str, ConsumerRecord),
    /// An offset; `None`: it is deleted.
    Offset(OffsetKey, Option<CommittedOffset>),
    /// An offset that waits for the transaction of a producer; in checkpoints only, since in the log
    /// its batch names the producer.
    Pending(i64, OffsetKey, CommittedOffset),
    /// A record for groups of other types.
    Other,
}

/// An offset in an open transaction, as checkpoints keep it. The number is far from Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
struct PendingOffsetKey {
    producer_id: i64,
    group: Str,
    topic: Str,
    partition: i32,
}

impl RecordKey for PendingOffsetKey {
    const RECORD_TYPE: i16 = 12_890;
}

pub(super) fn decode(record: &StateRecord) -> Result<GroupRecord, CorruptGroupRecord> {
    let value = record.value.as_ref();
    if record_type(&record.key)? == PendingOffsetKey::RECORD_TYPE {
        let key: PendingOffsetKey = decode_key(&record.key)?;
        let value = value.cloned().unwrap_or_default();
        let value: OffsetCommitValue = decode_value(&value)?.0;
        let own = OffsetKey {
            group: key.group,
            topic: key.topic,
            partition: key.partition,
        };
        return Ok(GroupRecord::Pending(key.producer_id, own, committed(value)));
    }
    Ok(match ConsumerOffsetsRecord::decode(&record.key, value)? {
        ConsumerOffsetsRecord::GroupMetadata(key, value) => GroupRecord::Group(key.group, value),
        ConsumerOffsetsRecord::OffsetCommit(key, value) => {
            let key = OffsetKey {
                group: key.group,
                topic: key.topic,
                partition: key.partition,
            };
            GroupRecord::Offset(key, value.map(committed))
        }
        other => match modern::decode(other) {
            Some((group, record)) => GroupRecord::Consumer(group, record),
            None => GroupRecord::Other,
        },
    })
}

fn committed(value: OffsetCommitValue) -> CommittedOffset {
    CommittedOffset {
        offset: value.offset,
        leader_epoch: value.leader_epoch,
        metadata: value.metadata,
        commit_ms: value.commit_timestamp,
        expire_ms: value.expire_timestamp,
        topic_id: value.topic_id,
    }
}

/// The group's record; `None` where it cannot be written, since a field of a client is too long.
pub(super) fn group(id: &Str, value: &GroupMetadataValue) -> Option<StateRecord> {
    /// The version with tagged fields.
    const VERSION: i16 = 4;
    StateRecord::encode(&group_key(id), Some((value, VERSION)))
}

pub(super) fn group_tombstone(id: &Str) -> Option<StateRecord> {
    StateRecord::encode::<_, GroupMetadataValue>(&group_key(id), None)
}

fn group_key(id: &Str) -> GroupMetadataKey {
    GroupMetadataKey { group: id.clone() }
}

/// The record of an offset.
pub(super) fn offset(key: &OffsetKey, offset: &CommittedOffset) -> Option<StateRecord> {
    let (value, version) = offset_value(offset);
    StateRecord::encode(&offset_key(key), Some((&value, version)))
}

pub(super) fn offset_tombstone(key: &OffsetKey) -> Option<StateRecord> {
    StateRecord::encode::<_, OffsetCommitValue>(&offset_key(key), None)
}

/// The record of a waiting offset for a checkpoint.
pub(super) fn pending(
    producer_id: i64,
    key: &OffsetKey,
    offset: &CommittedOffset,
) -> Option<StateRecord> {
    let pending = PendingOffsetKey {
        producer_id,
        group: key.group.clone(),
        topic: key.topic.clone(),
        partition: key.partition,
    };
    let (value, version) = offset_value(offset);
    StateRecord::encode(&pending, Some((&value, version)))
}

fn offset_key(key: &OffsetKey) -> OffsetCommitKey {
    OffsetCommitKey {
        group: key.group.clone(),
        topic: key.topic.clone(),
        partition: key.partition,
    }
}

fn offset_value(offset: &CommittedOffset) -> (OffsetCommitValue, i16) {
    let value = OffsetCommitValue {
        offset: offset.offset,
        leader_epoch: offset.leader_epoch,
        metadata: offset.metadata.clone(),
        commit_timestamp: offset.commit_ms,
        expire_timestamp: offset.expire_ms,
        topic_id: offset.topic_id,
        ..OffsetCommitValue::default()
    };
    // Only version 1 has an expiry.
    let version = if offset.expire_ms >= 0 { 1 } else { 4 };
    (value, version)
}
