//! ListTransactions (key 66): lists transactions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Which transactions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 66, request, versions = 0..=2, flexible = 0)]
pub struct ListTransactionsRequest {
    /// Only transactions in these states; empty for all.
    pub state_filters: Vec<Str>,
    /// Only transactions of these producer ids; empty for all.
    pub producer_id_filters: Vec<i64>,
    /// Only transactions that are older than this, in milliseconds; -1 for all.
    #[wire(versions = 1.., default = -1)]
    pub duration_filter: i64,
    /// Only transactional ids that match this pattern; null for all.
    #[wire(versions = 2..)]
    pub transactional_id_pattern: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The transactions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 66, response, versions = 0..=2, flexible = 0)]
pub struct ListTransactionsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The wanted states that nobody knows.
    pub unknown_state_filters: Vec<Str>,
    /// The transactions.
    pub transaction_states: Vec<TransactionState>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListTransactionsResponse::transaction_states`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TransactionState {
    /// The transactional id.
    pub transactional_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The state of the transaction.
    pub transaction_state: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
