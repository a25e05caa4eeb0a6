//! AddRaftVoter (key 80): adds a voter to the KRaft quorum.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The voter.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 80, request, versions = 0..=1, flexible = 0)]
pub struct AddRaftVoterRequest {
    /// The id of the cluster.
    pub cluster_id: Option<Str>,
    /// How long the broker may take, in milliseconds.
    pub timeout_ms: i32,
    /// The voter; -1 where unknown.
    pub voter_id: i32,
    /// The log directory of the voter.
    pub voter_directory_id: Uuid,
    /// The addresses of the node.
    pub listeners: Vec<Listener>,
    /// Whether to answer only when the change is committed.
    #[wire(versions = 1.., default = true)]
    pub ack_when_committed: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Listener {
    /// The name.
    pub name: Str,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 80, response, versions = 0..=1, flexible = 0)]
pub struct AddRaftVoterResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
