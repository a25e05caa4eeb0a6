//! GetTelemetrySubscriptions (key 71): says which metrics the broker wants (KIP-714).

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The client.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 71, request, versions = 0..=0, flexible = 0)]
pub struct GetTelemetrySubscriptionsRequest {
    /// The id of the client instance; all zero where it has none yet.
    pub client_instance_id: Uuid,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The subscription.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 71, response, versions = 0..=0, flexible = 0)]
pub struct GetTelemetrySubscriptionsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The id of the client instance; all zero where it has none yet.
    pub client_instance_id: Uuid,
    /// The subscription of the client.
    pub subscription_id: i32,
    /// The codecs that the broker takes, the preferred one first.
    pub accepted_compression_types: Vec<i8>,
    /// How often to push, in milliseconds.
    pub push_interval_ms: i32,
    /// The most bytes of metrics in one push.
    pub telemetry_max_bytes: i32,
    /// Whether counters are sent as differences.
    pub delta_temporality: bool,
    /// Prefixes of the wanted metrics; one empty name for all.
    pub requested_metrics: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
