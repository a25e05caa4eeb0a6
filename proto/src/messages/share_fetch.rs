//! ShareFetch (key 78): acquires records for a member of a share group, and acknowledges others.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::records::Records;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// What to acquire and to acknowledge.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 78, request, versions = 1..=2, flexible = 0)]
pub struct ShareFetchRequest {
    /// The group.
    pub group_id: Option<Str>,
    /// The member.
    pub member_id: Option<Str>,
    /// 0 opens a session, -1 closes it, else the number of the request in it.
    pub share_session_epoch: i32,
    /// How long to wait for records, in milliseconds.
    pub max_wait_ms: i32,
    /// The fewest bytes worth an answer before the wait is over.
    pub min_bytes: i32,
    /// The most bytes wanted.
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    /// The most records wanted; batch_optimized may go beyond to the end of a batch.
    pub max_records: i32,
    /// The wished number of records in each acquired range.
    pub batch_size: i32,
    /// 0 batch_optimized: whole batches; 1 record_limit: strictly the limit.
    #[wire(versions = 2.., ignorable)]
    pub share_acquire_mode: i8,
    /// Whether some acknowledgement renews; then no records are returned.
    #[wire(versions = 2..)]
    pub is_renew_ack: bool,
    /// The topics.
    pub topics: Vec<FetchTopic>,
    /// Partitions to drop from the session.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareFetchRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FetchTopic {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<FetchPartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`FetchTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FetchPartition {
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

/// An element of [`ShareFetchRequest::forgotten_topics_data`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ForgottenTopic {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What was acquired.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 78, response, versions = 1..=2, flexible = 0)]
pub struct ShareFetchResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// How long acquired records stay locked, in milliseconds.
    pub acquisition_lock_timeout_ms: i32,
    /// The topics.
    pub responses: Vec<ShareFetchableTopicResponse>,
    /// The addresses of the leaders named above.
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareFetchResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ShareFetchableTopicResponse {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ShareFetchableTopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// What became of the acknowledgements for this partition.
    pub acknowledge_error_code: ErrorCode,
    /// The reason, for people.
    pub acknowledge_error_message: Option<Str>,
    /// The leader, where the client knows an older one.
    pub current_leader: LeaderIdAndEpoch,
    /// Record batches.
    #[wire(nullable = 0)]
    pub records: Option<Records>,
    /// The ranges that the member may process; other records in the payload are not its own.
    pub acquired_records: Vec<AcquiredRecords>,
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

/// A range of offsets that the member holds now.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AcquiredRecords {
    /// The first offset of the range.
    pub first_offset: i64,
    /// The last offset of the range.
    pub last_offset: i64,
    /// How often the records have been delivered.
    pub delivery_count: i16,
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
