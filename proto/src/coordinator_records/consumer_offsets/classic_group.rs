//! Groups of the classic protocol (type 2).

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Names the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
#[wire(data, versions = 0..=0)]
pub struct GroupMetadataKey {
    /// The group.
    pub group: Str,
}

/// The group with its members.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=4, flexible = 4)]
pub struct GroupMetadataValue {
    /// The type of the protocol, such as consumer.
    pub protocol_type: Str,
    /// The generation.
    pub generation: i32,
    /// The protocol that the group chose; null where there is none.
    pub protocol: Option<Str>,
    /// The member that assigns; null where there is none.
    pub leader: Option<Str>,
    /// When the group came into its state, in milliseconds; -1 where unknown.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub current_state_timestamp: i64,
    /// The members.
    pub members: Vec<MemberMetadata>,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct MemberMetadata {
    /// The member.
    pub member_id: Str,
    /// The name of a static member; null for a dynamic one.
    #[wire(versions = 3.., ignorable)]
    pub group_instance_id: Option<Str>,
    /// The client id.
    pub client_id: Str,
    /// The address of the client.
    pub client_host: Str,
    /// How long a rebalance may take, in milliseconds; -1 where unknown.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub rebalance_timeout: i32,
    /// After how long without a heartbeat the member is gone, in milliseconds.
    pub session_timeout: i32,
    /// What the member said in the chosen protocol.
    pub subscription: Bytes,
    /// The assignment of the member.
    pub assignment: Bytes,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}
