//! AddOffsetsToTxn (key 25): adds the offsets of a group to a transaction.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The transaction and the group.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 25, request, versions = 0..=4, flexible = 3)]
pub struct AddOffsetsToTxnRequest {
    /// The transactional id.
    pub transactional_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The group.
    pub group_id: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Whether it worked.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 25, response, versions = 0..=4, flexible = 3)]
pub struct AddOffsetsToTxnResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
