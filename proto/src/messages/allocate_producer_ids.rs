//! AllocateProducerIds (key 67): gives a broker a block of producer ids.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;

/// The broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 67, request, versions = 0..=0, flexible = 0)]
pub struct AllocateProducerIdsRequest {
    /// The id of the broker.
    pub broker_id: i32,
    /// The epoch of the broker; -1 where it has none.
    #[wire(default = -1)]
    pub broker_epoch: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The block.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 67, response, versions = 0..=0, flexible = 0)]
pub struct AllocateProducerIdsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The first producer id.
    pub producer_id_start: i64,
    /// How many producer ids there are.
    pub producer_id_len: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
