//! EndTxn (key 26): commits or aborts a transaction.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The transaction and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 26, request, versions = 0..=5, flexible = 3)]
pub struct EndTxnRequest {
    /// The transactional id.
    pub transactional_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// Whether to commit; else abort.
    pub committed: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Whether it ended, and what the next one uses.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 26, response, versions = 0..=5, flexible = 3)]
pub struct EndTxnResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The producer id of the next transaction; -1 where it does not change.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub producer_id: i64,
    /// The producer epoch of the next transaction; -1 where it does not change.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub producer_epoch: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
