//! DescribePendingShareAcks (key 12892): acknowledgements that wait for the end of a transaction.
//! Neither Kafka nor KIP-1289 has a field for them; `ackord txn` and `ackord groups` ask for it.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::kip1289::DESCRIBE_PENDING_SHARE_ACKS_KEY;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// Which of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = DESCRIBE_PENDING_SHARE_ACKS_KEY, request, versions = 0..=0, flexible = 0)]
pub struct DescribePendingShareAcksRequest {
    /// Only those of this transactional id; null for all.
    pub transactional_id: Option<Str>,
    /// Only those of this group; null for all.
    pub group_id: Option<Str>,
    /// Tagged fields that are not known.
    pub unknown_tags: UnknownTags,
}

/// The acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = DESCRIBE_PENDING_SHARE_ACKS_KEY, response, versions = 0..=0, flexible = 0)]
pub struct DescribePendingShareAcksResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The acknowledgements, by group, topic id, partition and order of arrival.
    pub pending: Vec<PendingShareAck>,
    /// Of the transactional id that was asked for: the last acknowledgements by TxnOffsetCommit that
    /// were refused. Its response has no place for a reason.
    #[wire(versions = 0.., tag = 0, ignorable)]
    pub refused: Vec<RefusedShareAck>,
    /// Tagged fields that are not known.
    pub unknown_tags: UnknownTags,
}

/// Acknowledgements that were refused.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct RefusedShareAck {
    /// The group that they were for.
    pub group_id: Str,
    /// Why, with the partition where it concerns one.
    pub reason: Str,
    /// When, in milliseconds since the Unix epoch.
    pub refused_at_ms: i64,
    /// Tagged fields that are not known.
    pub unknown_tags: UnknownTags,
}

/// One range that a transaction holds.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct PendingShareAck {
    /// The transactional id of the owner; null where no coordinator knows the producer.
    pub transactional_id: Option<Str>,
    /// The producer id of the owner.
    pub producer_id: i64,
    /// The producer epoch of the owner.
    pub producer_epoch: i16,
    /// The group.
    pub group_id: Str,
    /// The id of the topic.
    pub topic_id: Uuid,
    /// The name of the topic; null where it was deleted.
    pub topic_name: Option<Str>,
    /// The partition.
    pub partition_index: i32,
    /// The first offset of the range.
    pub first_offset: i64,
    /// The last offset of the range.
    pub last_offset: i64,
    /// 0 gap, 1 accept, 3 reject.
    pub acknowledge_type: i8,
    /// The count with which the range was delivered.
    pub delivery_count: i16,
    /// The member that staged it; null where it is not known, as after a restart.
    pub member_id: Option<Str>,
    /// The age of the transaction in milliseconds; -1 where it is not known.
    #[wire(default = -1)]
    pub transaction_age_ms: i64,
    /// Tagged fields that are not known.
    pub unknown_tags: UnknownTags,
}
