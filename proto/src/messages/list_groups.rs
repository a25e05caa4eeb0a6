//! ListGroups (key 16): lists groups.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Which groups.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 16, request, versions = 0..=5, flexible = 3)]
pub struct ListGroupsRequest {
    /// Only groups in these states; empty for all.
    #[wire(versions = 4..)]
    pub states_filter: Vec<Str>,
    /// Only groups of these types; empty for all.
    #[wire(versions = 5..)]
    pub types_filter: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The groups.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 16, response, versions = 0..=5, flexible = 3)]
pub struct ListGroupsResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The groups.
    pub groups: Vec<ListedGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListGroupsResponse::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ListedGroup {
    /// The group.
    pub group_id: Str,
    /// The type of the protocol, such as consumer.
    pub protocol_type: Str,
    /// The state of the group.
    #[wire(versions = 4.., ignorable)]
    pub group_state: Str,
    /// The type of the group, such as classic or consumer.
    #[wire(versions = 5.., ignorable)]
    pub group_type: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
