//! DescribeDelegationToken (key 41): lists delegation tokens.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Whose tokens.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 41, request, versions = 1..=3, flexible = 2)]
pub struct DescribeDelegationTokenRequest {
    /// The owners; null for all.
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeDelegationTokenRequest::owners`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeDelegationTokenOwner {
    /// The type of the principal.
    pub principal_type: Str,
    /// The name of the principal.
    pub principal_name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The tokens.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 41, response, versions = 1..=3, flexible = 2)]
pub struct DescribeDelegationTokenResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The tokens.
    pub tokens: Vec<DescribedDelegationToken>,
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeDelegationTokenResponse::tokens`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribedDelegationToken {
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
    pub issue_timestamp: i64,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp: i64,
    /// Until when the token can be renewed, in milliseconds.
    pub max_timestamp: i64,
    /// The id of the token.
    pub token_id: Str,
    /// The HMAC of the token.
    pub hmac: Bytes,
    /// Who may renew the token.
    pub renewers: Vec<DescribedDelegationTokenRenewer>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribedDelegationToken::renewers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribedDelegationTokenRenewer {
    /// The type of the principal.
    pub principal_type: Str,
    /// The name of the principal.
    pub principal_name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
