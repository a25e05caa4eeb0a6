//! Heartbeat (key 12): keeps a member in its classic group.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 12, request, versions = 0..=4, flexible = 4)]
pub struct HeartbeatRequest {
    /// The group.
    pub group_id: Str,
    /// The generation of the group.
    pub generation_id: i32,
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 3..)]
    pub group_instance_id: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Whether the member is still in, or has to join again.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 12, response, versions = 0..=4, flexible = 4)]
pub struct HeartbeatResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
