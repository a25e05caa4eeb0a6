//! SyncGroup (key 14): spreads the assignment of a classic group.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// From the leader: the assignment of each member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 14, request, versions = 0..=5, flexible = 4)]
pub struct SyncGroupRequest {
    /// The group.
    pub group_id: Str,
    /// The generation of the group.
    pub generation_id: i32,
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 3..)]
    pub group_instance_id: Option<Str>,
    /// The type of the protocol, such as consumer.
    #[wire(versions = 5.., ignorable)]
    pub protocol_type: Option<Str>,
    /// The protocol that the group chose; null where there is none.
    #[wire(versions = 5.., ignorable)]
    pub protocol_name: Option<Str>,
    /// Replicas by partition; empty where the broker shall choose.
    pub assignments: Vec<SyncGroupRequestAssignment>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`SyncGroupRequest::assignments`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct SyncGroupRequestAssignment {
    /// The member.
    pub member_id: Str,
    /// The partitions of the member; null where nothing changed.
    pub assignment: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The assignment of the member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 14, response, versions = 0..=5, flexible = 4)]
pub struct SyncGroupResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The type of the protocol, such as consumer.
    #[wire(versions = 5.., ignorable)]
    pub protocol_type: Option<Str>,
    /// The protocol that the group chose; null where there is none.
    #[wire(versions = 5.., ignorable)]
    pub protocol_name: Option<Str>,
    /// The partitions of the member; null where nothing changed.
    pub assignment: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
