//! `__transaction_state`: one record for each change of a transaction.

use alloc::vec::Vec;

use bytes::Bytes;

use super::{RecordKey, RecordValue, decode_key, decode_optional, record_type, records_of};
use crate::Wire;
use crate::message::DecodeError;
use crate::printer::Printer;
use crate::str::Str;
use crate::tags::UnknownTags;

records_of! {
    /// A record of `__transaction_state`.
    TransactionStateRecord {
        Transaction = 0: TransactionLogKey, TransactionLogValue;
    }
}

/// Names the transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct TransactionLogKey {
    /// The transactional id.
    pub transactional_id: Str,
}

/// The state of a transaction. Version 0 where transaction.version is 0, else 1.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=1, flexible = 1)]
pub struct TransactionLogValue {
    /// The producer id of the current transaction.
    pub producer_id: i64,
    /// The producer id before the last change of it.
    #[wire(versions = 1.., default = -1, tag = 0)]
    pub previous_producer_id: i64,
    /// The producer id after the end of the transaction, where it changes.
    #[wire(versions = 1.., default = -1, tag = 1)]
    pub next_producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The producer epoch under `next_producer_id`.
    #[wire(versions = 1.., default = -1, tag = 3)]
    pub next_producer_epoch: i16,
    /// How long a transaction may last, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// 0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit, 5 CompleteAbort,
    /// 6 Dead, 7 PrepareEpochFence.
    pub transaction_status: i8,
    /// The partitions in the transaction; null outside of one.
    #[wire(nullable = 0..)]
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    /// The time of the last change, in milliseconds.
    pub transaction_last_update_timestamp_ms: i64,
    /// The time of the begin, in milliseconds.
    pub transaction_start_timestamp_ms: i64,
    /// The transaction version that the client used.
    #[wire(versions = 1.., tag = 2)]
    pub client_transaction_version: i16,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic in a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionsSchema {
    /// The topic.
    pub topic: Str,
    /// The partitions.
    pub partition_ids: Vec<i32>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}
