//! DescribeGroups (key 15): describes classic groups.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The groups of interest.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 15, request, versions = 0..=6, flexible = 5)]
pub struct DescribeGroupsRequest {
    /// The groups.
    pub groups: Vec<Str>,
    /// Whether the answer names the operations allowed on the group.
    #[wire(versions = 3..)]
    pub include_authorized_operations: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The groups with their members.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 15, response, versions = 0..=6, flexible = 5)]
pub struct DescribeGroupsResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeGroupsResponse::groups`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribedGroup {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    #[wire(versions = 6..)]
    pub error_message: Option<Str>,
    /// The group.
    pub group_id: Str,
    /// The state of the group.
    pub group_state: Str,
    /// The type of the protocol, such as consumer.
    pub protocol_type: Str,
    /// The protocol that the group chose.
    pub protocol_data: Str,
    /// The members.
    pub members: Vec<DescribedGroupMember>,
    /// A bit for each operation allowed on the group; -2147483648 where not asked for.
    #[wire(versions = 3.., default = i32::MIN)]
    pub authorized_operations: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribedGroup::members`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribedGroupMember {
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 4.., ignorable)]
    pub group_instance_id: Option<Str>,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// The subscription, in the form of the protocol.
    pub member_metadata: Bytes,
    /// The assignment, in the form of the protocol.
    pub member_assignment: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
