//! LeaveGroup (key 13): leaves a classic group.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Who leaves.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 13, request, versions = 0..=5, flexible = 4)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group_id: Str,
    /// The member.
    #[wire(versions = ..=2)]
    pub member_id: Str,
    /// The members.
    #[wire(versions = 3..)]
    pub members: Vec<MemberIdentity>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`LeaveGroupRequest::members`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MemberIdentity {
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    pub group_instance_id: Option<Str>,
    /// Why, for people.
    #[wire(versions = 5.., ignorable)]
    pub reason: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 13, response, versions = 0..=5, flexible = 4)]
pub struct LeaveGroupResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The members.
    #[wire(versions = 3..)]
    pub members: Vec<MemberResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`LeaveGroupResponse::members`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MemberResponse {
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    pub group_instance_id: Option<Str>,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
