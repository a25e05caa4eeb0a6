//! ExpireDelegationToken (key 40): changes when a delegation token expires.

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;

/// The token.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 40, request, versions = 1..=2, flexible = 2)]
pub struct ExpireDelegationTokenRequest {
    /// The HMAC of the token.
    pub hmac: Bytes,
    /// How long the token stays valid, in milliseconds; negative to end it now.
    pub expiry_time_period_ms: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Until when it is valid now.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 40, response, versions = 1..=2, flexible = 2)]
pub struct ExpireDelegationTokenResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp_ms: i64,
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
