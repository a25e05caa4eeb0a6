//! WriteTxnMarkers (key 27): writes the markers that end transactions.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The markers to write.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 27, request, versions = 1..=2, flexible = 1)]
pub struct WriteTxnMarkersRequest {
    /// The markers.
    pub markers: Vec<WritableTxnMarker>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WriteTxnMarkersRequest::markers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WritableTxnMarker {
    /// The producer id.
    pub producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// Whether the transaction commits; else it aborts.
    pub transaction_result: bool,
    /// The topics.
    pub topics: Vec<WritableTxnMarkerTopic>,
    /// The epoch of the transaction coordinator's partition.
    pub coordinator_epoch: i32,
    /// The transaction version; from 2 on the epoch of the marker is a new one.
    #[wire(versions = 2.., ignorable)]
    pub transaction_version: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WritableTxnMarker::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WritableTxnMarkerTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partition_indexes: Vec<i32>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 27, response, versions = 1..=2, flexible = 1)]
pub struct WriteTxnMarkersResponse {
    /// The markers.
    pub markers: Vec<WritableTxnMarkerResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WriteTxnMarkersResponse::markers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WritableTxnMarkerResult {
    /// The producer id.
    pub producer_id: i64,
    /// The topics.
    pub topics: Vec<WritableTxnMarkerTopicResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WritableTxnMarkerResult::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WritableTxnMarkerTopicResult {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`WritableTxnMarkerTopicResult::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct WritableTxnMarkerPartitionResult {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
