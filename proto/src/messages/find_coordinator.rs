//! FindCoordinator (key 10): finds the broker that coordinates a group or transaction.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Whose coordinator is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 10, request, versions = 0..=6, flexible = 3)]
pub struct FindCoordinatorRequest {
    /// The group, transactional id or share-partition.
    #[wire(versions = ..=3)]
    pub key: Str,
    /// 0 group, 1 transaction, 2 share.
    #[wire(versions = 1..)]
    pub key_type: i8,
    /// The groups, transactional ids or share-partitions whose coordinators are wanted.
    #[wire(versions = 4..)]
    pub coordinator_keys: Vec<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The coordinators.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 10, response, versions = 0..=6, flexible = 3)]
pub struct FindCoordinatorResponse {
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    #[wire(versions = ..=3)]
    pub error_code: ErrorCode,
    /// The reason, for people.
    #[wire(versions = 1..=3, ignorable)]
    pub error_message: Option<Str>,
    /// The id of the broker.
    #[wire(versions = ..=3)]
    pub node_id: i32,
    /// The host name.
    #[wire(versions = ..=3)]
    pub host: Str,
    /// The port.
    #[wire(versions = ..=3)]
    pub port: i32,
    /// One answer for each key.
    #[wire(versions = 4..)]
    pub coordinators: Vec<Coordinator>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FindCoordinatorResponse::coordinators`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Coordinator {
    /// The group, transactional id or share-partition.
    pub key: Str,
    /// The id of the broker.
    pub node_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
