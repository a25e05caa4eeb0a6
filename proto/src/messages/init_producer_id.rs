//! InitProducerId (key 22): gives a producer its id and epoch and fences older ones.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Who wants a producer id.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 22, request, versions = 0..=6, flexible = 2)]
pub struct InitProducerIdRequest {
    /// The transactional id; null for a producer that is only idempotent.
    pub transactional_id: Option<Str>,
    /// How long a transaction may last, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// The producer id that the client has; -1 for none.
    #[wire(versions = 3.., default = -1)]
    pub producer_id: i64,
    /// The producer epoch that the client has; -1 for none.
    #[wire(versions = 3.., default = -1)]
    pub producer_epoch: i16,
    /// Whether the client takes part in two-phase commit (KIP-939): no timeout.
    #[wire(versions = 6..)]
    pub enable_2pc: bool,
    /// Whether a prepared transaction stays as it is (KIP-939).
    #[wire(versions = 6..)]
    pub keep_prepared_txn: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The producer id and epoch.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 22, response, versions = 0..=6, flexible = 2)]
pub struct InitProducerIdResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The producer id.
    #[wire(default = -1)]
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The producer id of the transaction that was kept; -1 where there is none.
    #[wire(versions = 6.., default = -1)]
    pub ongoing_txn_producer_id: i64,
    /// The epoch of the transaction that was kept; -1 where there is none.
    #[wire(versions = 6.., default = -1)]
    pub ongoing_txn_producer_epoch: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
