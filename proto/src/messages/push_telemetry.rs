//! PushTelemetry (key 72): brings metrics of a client (KIP-714).

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The metrics.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 72, request, versions = 0..=0, flexible = 0)]
pub struct PushTelemetryRequest {
    /// The id of the client instance; all zero where it has none yet.
    pub client_instance_id: Uuid,
    /// The subscription of the client.
    pub subscription_id: i32,
    /// Whether the client stops.
    pub terminating: bool,
    /// The codec of the metrics.
    pub compression_type: i8,
    /// The metrics in the form of OpenTelemetry.
    pub metrics: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 72, response, versions = 0..=0, flexible = 0)]
pub struct PushTelemetryResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
