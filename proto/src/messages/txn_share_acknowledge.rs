//! TxnShareAcknowledge (key 12891): stages acknowledgements in a transaction (KIP-1289).

use alloc::vec::Vec;

use crate::Wire;
use crate::acknowledge_types::AcknowledgeTypes;
use crate::error_code::ErrorCode;
use crate::kip1289::TXN_SHARE_ACKNOWLEDGE_KEY;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The acknowledgements; they hold only when the transaction commits.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = TXN_SHARE_ACKNOWLEDGE_KEY, request, versions = 0..=1, flexible = 0)]
pub struct TxnShareAcknowledgeRequest {
    /// The group.
    pub group_id: Str,
    /// The transactional id.
    pub transactional_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The member.
    #[wire(versions = 1..)]
    pub member_id: Str,
    /// The epoch of the member; -1 where it is not given.
    #[wire(versions = 1.., default = -1)]
    pub member_epoch: i32,
    /// The topics.
    pub topics: Vec<TxnShareAcknowledgeTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnShareAcknowledgeRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnShareAcknowledgeTopic {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<TxnShareAcknowledgePartition>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnShareAcknowledgeTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnShareAcknowledgePartition {
    /// The partition.
    pub partition: i32,
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
    /// 0 gap, 1 accept, 3 reject; for all offsets of the range.
    #[wire(versions = ..=0)]
    pub acknowledge_type: i8,
    /// The count with which the range was acquired, gaps too.
    #[wire(versions = 1..)]
    pub delivery_count: i16,
    /// 0 gap, 1 accept, 2 release, 3 reject, 4 renew; one for all offsets, or one for each.
    #[wire(versions = 1..)]
    pub acknowledge_types: AcknowledgeTypes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = TXN_SHARE_ACKNOWLEDGE_KEY, response, versions = 0..=1, flexible = 0)]
pub struct TxnShareAcknowledgeResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The topics.
    pub responses: Vec<TxnShareAcknowledgeTopicResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnShareAcknowledgeResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnShareAcknowledgeTopicResponse {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<TxnShareAcknowledgePartitionResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnShareAcknowledgeTopicResponse::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct TxnShareAcknowledgePartitionResponse {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
