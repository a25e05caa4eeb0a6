//! OffsetDelete (key 47): deletes committed offsets.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;

/// The partitions.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 47, request, versions = 0..=0)]
pub struct OffsetDeleteRequest {
    /// The group.
    pub group_id: Str,
    /// The topics.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

/// An element of [`OffsetDeleteRequest::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetDeleteRequestTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

/// An element of [`OffsetDeleteRequestTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetDeleteRequestPartition {
    /// The partition.
    pub partition_index: i32,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 47, response, versions = 0..=0)]
pub struct OffsetDeleteResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

/// An element of [`OffsetDeleteResponse::topics`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetDeleteResponseTopic {
    /// The name.
    pub name: Str,
    /// The partitions.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

/// An element of [`OffsetDeleteResponseTopic::partitions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct OffsetDeleteResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
}
