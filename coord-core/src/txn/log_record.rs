//! A transactional id as a record of `__transaction_state`.

use alloc::vec::Vec;
use core::fmt;

use ackord_proto::coordinator_records::{
    PartitionsSchema, TransactionLogKey, TransactionLogValue, TransactionStateRecord, encode_key,
    encode_value,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::entry::{Entry, Partitions};
use super::state::TxnState;
use crate::outbox::StateRecord;

/// The version with producer ids before and after in tagged fields (KIP-890).
const VALUE_VERSION: i16 = 1;

/// A record of `__transaction_state` that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptRecord {
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for CorruptRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record of __transaction_state: {}", self.reason)
    }
}

impl core::error::Error for CorruptRecord {}

/// What one record says.
pub(super) enum Stored {
    /// The id is as the record has it.
    Entry(Str, Entry),
    /// The id is forgotten.
    Tombstone(Str),
    /// A record type of another version; skipped, as in Kafka.
    Unknown,
}

pub(super) fn encode(id: &Str, entry: &Entry) -> Result<StateRecord, ErrorCode> {
    let key = TransactionLogKey {
        transactional_id: id.clone(),
    };
    let value = TransactionLogValue {
        producer_id: entry.producer_id,
        previous_producer_id: match ackord_machine::planted!("row-64-previous-epoch-not-stored") {
            true => -1,
            false => entry.previous_producer_id,
        },
        next_producer_id: entry.next_producer_id,
        next_producer_epoch: entry.next_producer_epoch,
        producer_epoch: entry.producer_epoch,
        transaction_timeout_ms: entry.timeout_ms,
        transaction_status: entry.state as i8,
        transaction_partitions: match entry.state {
            TxnState::Empty => None,
            _ => Some(partitions_schema(&entry.partitions)),
        },
        transaction_last_update_timestamp_ms: entry.updated_ms,
        transaction_start_timestamp_ms: entry.start_ms,
        client_transaction_version: entry.client_version,
        ..Default::default()
    };
    // Only a name that is too long for the format can fail here.
    let key = encode_key(&key).map_err(|_| ErrorCode::INVALID_REQUEST)?;
    let value = encode_value(&value, VALUE_VERSION).map_err(|_| ErrorCode::INVALID_REQUEST)?;
    Ok(StateRecord {
        key,
        value: Some(value),
    })
}

pub(super) fn tombstone(id: &Str) -> Result<StateRecord, ErrorCode> {
    let key = TransactionLogKey {
        transactional_id: id.clone(),
    };
    let key = encode_key(&key).map_err(|_| ErrorCode::INVALID_REQUEST)?;
    Ok(StateRecord { key, value: None })
}

pub(super) fn decode(record: &StateRecord) -> Result<Stored, CorruptRecord> {
    let decoded =
        TransactionStateRecord::decode(&record.key, record.value.as_ref()).map_err(|error| {
            CorruptRecord {
                reason: error.kind.message(),
            }
        })?;
    match decoded {
        TransactionStateRecord::Transaction(key, None) => {
            Ok(Stored::Tombstone(key.transactional_id))
        }
        TransactionStateRecord::Transaction(key, Some(value)) => {
            Ok(Stored::Entry(key.transactional_id, entry(value)?))
        }
        TransactionStateRecord::Other { .. } => Ok(Stored::Unknown),
    }
}

fn entry(value: TransactionLogValue) -> Result<Entry, CorruptRecord> {
    let state = TxnState::stored(value.transaction_status).ok_or(CorruptRecord {
        reason: "a state that is never stored",
    })?;
    let mut partitions = Partitions::new();
    for topic in value.transaction_partitions.into_iter().flatten() {
        partitions
            .entry(topic.topic)
            .or_default()
            .extend(topic.partition_ids);
    }
    Ok(Entry {
        producer_id: value.producer_id,
        producer_epoch: value.producer_epoch,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        next_producer_epoch: value.next_producer_epoch,
        timeout_ms: value.transaction_timeout_ms,
        state,
        partitions,
        start_ms: value.transaction_start_timestamp_ms,
        updated_ms: value.transaction_last_update_timestamp_ms,
        client_version: value.client_transaction_version,
    })
}

fn partitions_schema(partitions: &Partitions) -> Vec<PartitionsSchema> {
    partitions
        .iter()
        .map(|(topic, indexes)| PartitionsSchema {
            topic: topic.clone(),
            partition_ids: indexes.iter().copied().collect(),
            ..Default::default()
        })
        .collect()
}
