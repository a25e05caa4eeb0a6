//! Envelope (key 58): carries the request of a client to the controller.

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;

/// The request inside.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 58, request, versions = 0..=0, flexible = 0)]
pub struct EnvelopeRequest {
    /// The request of the client, with its header.
    pub request_data: Bytes,
    /// The principal of the client; see DefaultPrincipalData.
    pub request_principal: Option<Bytes>,
    /// The address of the client, in bytes.
    pub client_host_address: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The answer inside.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 58, response, versions = 0..=0, flexible = 0)]
pub struct EnvelopeResponse {
    /// The answer to the client, with its header; null where there is none.
    pub response_data: Option<Bytes>,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
