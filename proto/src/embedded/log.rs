//! What a log keeps beside data: keys and values of control records, aborted transactions.

use crate::Wire;

/// An entry of the index of aborted transactions of a log segment.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub struct AbortedTxn {
    /// The producer.
    pub producer_id: i64,
    /// The first offset of the transaction.
    pub first_offset: i64,
    /// The offset of its marker.
    pub last_offset: i64,
    /// The last stable offset when the transaction ended.
    pub last_stable_offset: i64,
}

/// The key of a control record.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub struct ControlRecordTypeSchema {
    /// The type: 0 abort, 1 commit; see [`ControlType`](crate::records::ControlType).
    pub control_type: i16,
}

/// The value of a control record that ends a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub struct EndTxnMarker {
    /// The epoch of the transaction coordinator's partition.
    pub coordinator_epoch: i32,
}
