//! JoinGroup (key 11): joins a classic group.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Who wants to join.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 11, request, versions = 0..=9, flexible = 6)]
pub struct JoinGroupRequest {
    /// The group.
    pub group_id: Str,
    /// After how long without a heartbeat the member is gone, in milliseconds.
    pub session_timeout_ms: i32,
    /// How long members may take for a rebalance, in milliseconds; -1 where nothing changed.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub rebalance_timeout_ms: i32,
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 5..)]
    pub group_instance_id: Option<Str>,
    /// The type of the protocol, such as consumer.
    pub protocol_type: Str,
    /// The protocols that the member can use, the preferred one first.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Why, for people.
    #[wire(versions = 8.., ignorable)]
    pub reason: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`JoinGroupRequest::protocols`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct JoinGroupRequestProtocol {
    /// The name.
    pub name: Str,
    /// What the member says in this protocol.
    pub metadata: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The generation, and to its leader all members.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 11, response, versions = 0..=9, flexible = 6)]
pub struct JoinGroupResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The generation of the group.
    #[wire(default = -1)]
    pub generation_id: i32,
    /// The type of the protocol, such as consumer.
    #[wire(versions = 7.., ignorable)]
    pub protocol_type: Option<Str>,
    /// The protocol that the group chose; null where there is none.
    #[wire(nullable = 7..)]
    pub protocol_name: Option<Str>,
    /// The member that assigns.
    pub leader: Str,
    /// Whether the leader has to assign nothing.
    #[wire(versions = 9..)]
    pub skip_assignment: bool,
    /// The member.
    pub member_id: Str,
    /// The members.
    pub members: Vec<JoinGroupResponseMember>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`JoinGroupResponse::members`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct JoinGroupResponseMember {
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 5.., ignorable)]
    pub group_instance_id: Option<Str>,
    /// What the member says in this protocol.
    pub metadata: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
