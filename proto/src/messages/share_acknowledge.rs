//! ShareAcknowledge (key 79): acknowledges records of a share group.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 79, request, versions = 1..=2, flexible = 0)]
pub struct ShareAcknowledgeRequest {
    /// The group.
    pub group_id: Option<Str>,
    /// The member.
    pub member_id: Option<Str>,
    /// 0 opens a session, -1 closes it, else the number of the request in it.
    pub share_session_epoch: i32,
    /// Whether some acknowledgement renews; then no records are returned.
    #[wire(versions = 2..)]
    pub is_renew_ack: bool,
    /// The topics.
    pub topics: Vec<AcknowledgeTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareAcknowledgeRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AcknowledgeTopic {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<AcknowledgePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AcknowledgeTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AcknowledgePartition {
    /// The partition.
    pub partition_index: i32,
    /// Ranges of offsets and what to do with them.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A range of offsets and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AcknowledgementBatch {
    /// The first offset of the range.
    pub first_offset: i64,
    /// The last offset of the range.
    pub last_offset: i64,
    /// 0 gap, 1 accept, 2 release, 3 reject, 4 renew; one for all offsets, or one for each.
    pub acknowledge_types: Vec<i8>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 79, response, versions = 1..=2, flexible = 0)]
pub struct ShareAcknowledgeResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// How long acquired records stay locked, in milliseconds.
    #[wire(versions = 2.., ignorable)]
    pub acquisition_lock_timeout_ms: i32,
    /// The topics.
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    /// The addresses of the leaders named above.
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareAcknowledgeResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ShareAcknowledgeTopicResponse {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareAcknowledgeTopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The leader, where the client knows an older one.
    pub current_leader: LeaderIdAndEpoch,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct NodeEndpoint {
    /// The id of the broker.
    pub node_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// Where the broker stands.
    pub rack: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
