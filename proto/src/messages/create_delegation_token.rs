//! CreateDelegationToken (key 38): makes a delegation token.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// For whom and how long.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 38, request, versions = 1..=3, flexible = 2)]
pub struct CreateDelegationTokenRequest {
    /// The type of the owner; null for whoever asks.
    #[wire(versions = 3..)]
    pub owner_principal_type: Option<Str>,
    /// The name of the owner; null for whoever asks.
    #[wire(versions = 3..)]
    pub owner_principal_name: Option<Str>,
    /// Who may renew the token.
    pub renewers: Vec<CreatableRenewers>,
    /// How long the token may live in milliseconds; -1 for the default.
    pub max_lifetime_ms: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreateDelegationTokenRequest::renewers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CreatableRenewers {
    /// The type of the principal.
    pub principal_type: Str,
    /// The name of the principal.
    pub principal_name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The token.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 38, response, versions = 1..=3, flexible = 2)]
pub struct CreateDelegationTokenResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The type of the principal.
    pub principal_type: Str,
    /// The name of the principal.
    pub principal_name: Str,
    /// The type of the principal that asked for the token.
    #[wire(versions = 3..)]
    pub token_requester_principal_type: Str,
    /// The name of the principal that asked for the token.
    #[wire(versions = 3..)]
    pub token_requester_principal_name: Str,
    /// When the token was made, in milliseconds.
    pub issue_timestamp_ms: i64,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp_ms: i64,
    /// Until when the token can be renewed, in milliseconds.
    pub max_timestamp_ms: i64,
    /// The id of the token.
    pub token_id: Str,
    /// The HMAC of the token.
    pub hmac: Bytes,
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
