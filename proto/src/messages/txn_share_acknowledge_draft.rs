//! TxnShareAcknowledge as the newest draft of KIP-1289 has it (key 95): the broker registers the
//! state partitions by itself, and ranges carry no delivery count.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::kip1289::TXN_SHARE_ACKNOWLEDGE_DRAFT_KEY;
use crate::messages::txn_share_acknowledge::TxnShareAcknowledgeTopicResponse;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The acknowledgements; they hold only when the transaction commits.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = TXN_SHARE_ACKNOWLEDGE_DRAFT_KEY, request, versions = 0..=0, flexible = 0)]
pub struct TxnShareAcknowledgeDraftRequest {
    /// The transactional id; the format allows null, which is refused.
    pub transactional_id: Option<Str>,
    /// The group.
    pub group_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The member.
    pub member_id: Str,
    /// The epoch of the member.
    pub member_epoch: i32,
    /// The topics.
    pub topics: Vec<DraftTopic>,
    /// Tagged fields that the draft does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`TxnShareAcknowledgeDraftRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DraftTopic {
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<DraftPartition>,
    /// Tagged fields that the draft does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DraftTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DraftPartition {
    /// The partition.
    pub partition_index: i32,
    /// Ranges of offsets and what to do with them.
    pub acknowledgement_batches: Vec<DraftBatch>,
    /// Tagged fields that the draft does not define.
    pub unknown_tags: UnknownTags,
}

/// A range of offsets and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DraftBatch {
    /// The first offset of the range.
    pub first_offset: i64,
    /// The last offset of the range.
    pub last_offset: i64,
    /// 0 gap, 1 accept, 3 reject; one for all offsets, or one for each.
    pub acknowledge_types: Vec<i8>,
    /// Tagged fields that the draft does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = TXN_SHARE_ACKNOWLEDGE_DRAFT_KEY, response, versions = 0..=0, flexible = 0)]
pub struct TxnShareAcknowledgeDraftResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The topics.
    pub responses: Vec<TxnShareAcknowledgeTopicResponse>,
    /// Tagged fields that the draft does not define.
    pub unknown_tags: UnknownTags,
}
