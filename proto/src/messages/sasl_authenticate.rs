//! SaslAuthenticate (key 36): one step of SASL.

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// A step of the client.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 36, request, versions = 0..=2, flexible = 2)]
pub struct SaslAuthenticateRequest {
    /// What the SASL mechanism has to say.
    pub auth_bytes: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A step of the broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 36, response, versions = 0..=2, flexible = 2)]
pub struct SaslAuthenticateResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// What the SASL mechanism has to say.
    pub auth_bytes: Bytes,
    /// After how long the client has to authenticate again in milliseconds; 0 for never.
    #[wire(versions = 1.., ignorable)]
    pub session_lifetime_ms: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
