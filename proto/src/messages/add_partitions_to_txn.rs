//! AddPartitionsToTxn (key 24): adds partitions to a transaction.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The partitions to add; from version 4 on for several transactions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 24, request, versions = 0..=5, flexible = 3)]
pub struct AddPartitionsToTxnRequest {
    /// The transactions, from version 4 on.
    #[wire(versions = 4..)]
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// The transactional id, in versions up to 3.
    #[wire(versions = ..=3)]
    pub v3_and_below_transactional_id: Str,
    /// The producer id, in versions up to 3.
    #[wire(versions = ..=3)]
    pub v3_and_below_producer_id: i64,
    /// The producer epoch, in versions up to 3.
    #[wire(versions = ..=3)]
    pub v3_and_below_producer_epoch: i16,
    /// The topics, in versions up to 3.
    #[wire(versions = ..=3)]
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddPartitionsToTxnRequest::transactions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddPartitionsToTxnTransaction {
    /// The transactional id.
    pub transactional_id: Str,
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// Whether to check only that the partitions are in the transaction.
    pub verify_only: bool,
    /// The topics.
    pub topics: Vec<AddPartitionsToTxnTopic>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddPartitionsToTxnTransaction::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddPartitionsToTxnTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 24, response, versions = 0..=5, flexible = 3)]
pub struct AddPartitionsToTxnResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    #[wire(versions = 4.., ignorable)]
    pub error_code: ErrorCode,
    /// One answer for each transaction.
    #[wire(versions = 4..)]
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// The topics, in versions up to 3.
    #[wire(versions = ..=3)]
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddPartitionsToTxnResponse::results_by_transaction`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddPartitionsToTxnResult {
    /// The transactional id.
    pub transactional_id: Str,
    /// The topics.
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddPartitionsToTxnResult::topic_results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddPartitionsToTxnTopicResult {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AddPartitionsToTxnTopicResult::results_by_partition`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AddPartitionsToTxnPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub partition_error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
