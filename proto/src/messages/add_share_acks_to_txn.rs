//! AddShareAcksToTxn (key 12890): adds share-partitions to a transaction (KIP-1289).

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::kip1289::ADD_SHARE_ACKS_TO_TXN_KEY;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The share-partitions whose acknowledgements will be part of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = ADD_SHARE_ACKS_TO_TXN_KEY, request, versions = 0..=0, flexible = 0)]
pub struct AddShareAcksToTxnRequest {
    /// The transactional id.
    pub transactional_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<AddShareAcksToTxnTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddShareAcksToTxnRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddShareAcksToTxnTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// All or nothing: where one fails, the others say OPERATION_NOT_ATTEMPTED.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = ADD_SHARE_ACKS_TO_TXN_KEY, response, versions = 0..=0, flexible = 0)]
pub struct AddShareAcksToTxnResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The topics.
    pub topics: Vec<AddShareAcksToTxnTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddShareAcksToTxnResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddShareAcksToTxnTopicResult {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<AddShareAcksToTxnPartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddShareAcksToTxnTopicResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddShareAcksToTxnPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
