//! DeleteGroups (key 42): deletes groups.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The groups.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 42, request, versions = 0..=3, flexible = 2)]
pub struct DeleteGroupsRequest {
    /// The groups.
    pub groups_names: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 42, response, versions = 0..=3, flexible = 2)]
pub struct DeleteGroupsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each entry of the request.
    pub results: Vec<DeletableGroupResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteGroupsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeletableGroupResult {
    /// The group.
    pub group_id: Str,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    #[wire(versions = 3.., ignorable)]
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
