//! UnregisterController (key 94): removes a controller.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The controller.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 94, request, versions = 0..=0, flexible = 0)]
pub struct UnregisterControllerRequest {
    /// The broker to which requests for the controller go; -1 where there is none.
    pub controller_id: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 94, response, versions = 0..=0, flexible = 0)]
pub struct UnregisterControllerResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
