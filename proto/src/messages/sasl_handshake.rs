//! SaslHandshake (key 17): chooses a SASL mechanism.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;

/// The wanted mechanism.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 17, request, versions = 0..=1)]
pub struct SaslHandshakeRequest {
    /// The SASL mechanism.
    pub mechanism: Str,
}

/// What the broker can do.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 17, response, versions = 0..=1)]
pub struct SaslHandshakeResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The SASL mechanisms of the broker.
    pub mechanisms: Vec<Str>,
}
