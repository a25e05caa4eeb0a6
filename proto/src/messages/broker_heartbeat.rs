//! BrokerHeartbeat (key 63): keeps a broker registered.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 63, request, versions = 0..=2, flexible = 0)]
pub struct BrokerHeartbeatRequest {
    /// The id of the broker.
    pub broker_id: i32,
    /// The epoch of the broker; -1 where it has none.
    #[wire(default = -1)]
    pub broker_epoch: i64,
    /// How far the broker has read the metadata log.
    pub current_metadata_offset: i64,
    /// Whether the broker wants to be fenced.
    pub want_fence: bool,
    /// Whether the broker wants to stop.
    pub want_shut_down: bool,
    /// Log directories that failed.
    #[wire(versions = 1.., tag = 0)]
    pub offline_log_dirs: Vec<Uuid>,
    /// Log directories that take no new partitions; null where not said.
    #[wire(versions = 2.., tag = 1)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What the controller thinks.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 63, response, versions = 0..=2, flexible = 0)]
pub struct BrokerHeartbeatResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Whether the broker has read enough of the metadata log.
    pub is_caught_up: bool,
    /// Whether the controller has fenced the broker.
    #[wire(default = true)]
    pub is_fenced: bool,
    /// Whether the broker may stop now.
    pub should_shut_down: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
