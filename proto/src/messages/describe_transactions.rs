//! DescribeTransactions (key 65): describes transactions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The transactions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 65, request, versions = 0..=0, flexible = 0)]
pub struct DescribeTransactionsRequest {
    /// The transactional ids.
    pub transactional_ids: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Their states.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 65, response, versions = 0..=0, flexible = 0)]
pub struct DescribeTransactionsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The transactions.
    pub transaction_states: Vec<TransactionState>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeTransactionsResponse::transaction_states`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TransactionState {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The transactional id.
    pub transactional_id: Str,
    /// The state of the transaction.
    pub transaction_state: Str,
    /// How long a transaction may last, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// When the transaction began in milliseconds; -1 where there is none.
    pub transaction_start_time_ms: i64,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The topics.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TransactionState::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TopicData {
    /// The name of the topic.
    pub topic: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
