//! RemoveRaftVoter (key 81): removes a voter from the KRaft quorum.

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The voter.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 81, request, versions = 0..=0, flexible = 0)]
pub struct RemoveRaftVoterRequest {
    /// The id of the cluster.
    pub cluster_id: Option<Str>,
    /// The voter; -1 where unknown.
    pub voter_id: i32,
    /// The log directory of the voter.
    pub voter_directory_id: Uuid,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 81, response, versions = 0..=0, flexible = 0)]
pub struct RemoveRaftVoterResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
