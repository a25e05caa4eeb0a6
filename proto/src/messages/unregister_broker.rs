//! UnregisterBroker (key 64): removes a broker.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 64, request, versions = 0..=0, flexible = 0)]
pub struct UnregisterBrokerRequest {
    /// The id of the broker.
    pub broker_id: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 64, response, versions = 0..=0, flexible = 0)]
pub struct UnregisterBrokerResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
