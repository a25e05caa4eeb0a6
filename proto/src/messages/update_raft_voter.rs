//! UpdateRaftVoter (key 82): changes the addresses of a voter.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The voter.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 82, request, versions = 0..=0, flexible = 0)]
pub struct UpdateRaftVoterRequest {
    /// The id of the cluster.
    pub cluster_id: Option<Str>,
    /// The leader epoch as the client knows it; -1 where it does not.
    pub current_leader_epoch: i32,
    /// The voter; -1 where unknown.
    pub voter_id: i32,
    /// The log directory of the voter.
    pub voter_directory_id: Uuid,
    /// The addresses of the node.
    pub listeners: Vec<Listener>,
    /// The versions of KRaft that the voter supports.
    pub kraft_version_feature: KRaftVersionFeature,
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

/// Versions of KRaft.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct KRaftVersionFeature {
    /// The lowest version.
    pub min_supported_version: i16,
    /// The highest version.
    pub max_supported_version: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 82, response, versions = 0..=0, flexible = 0)]
pub struct UpdateRaftVoterResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The leader, where the client knows an older one.
    #[wire(tag = 0)]
    pub current_leader: CurrentLeader,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The leader and its address.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CurrentLeader {
    /// The leader; -1 where there is none.
    #[wire(default = -1)]
    pub leader_id: i32,
    /// The leader epoch; -1 where unknown.
    #[wire(default = -1)]
    pub leader_epoch: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
