//! Records out of the payload of a fetch.

use ackord_proto::records::{
    BatchHeader, BatchIter, ControlRecord, ControlType, Record, RecordIter, Records, RecordsError,
    verify_crc,
};

/// What a fetched payload holds, in order of offsets.
#[derive(Debug)]
pub(crate) enum Item {
    /// A batch begins.
    Batch(BatchHeader),
    /// A marker ends the transaction of its producer; the commit and other markers are of no concern.
    Marker(ControlType),
    /// A record of the batch that began last.
    Record(Record),
}

/// Calls `take` for all items. Returning `false` for a batch skips its records.
///
/// # Errors
/// The batch in question cannot be read; what was taken before it is good.
pub(crate) fn read(
    records: &Records,
    mut take: impl FnMut(Item) -> bool,
) -> Result<(), RecordsError> {
    for batch in BatchIter::new(records.to_bytes()) {
        let batch = batch?;
        verify_crc(&batch.bytes)?;
        let wanted = take(Item::Batch(batch.header));
        if batch.header.is_control() {
            take(Item::Marker(
                ControlRecord::of_batch(&batch.bytes)?.control_type,
            ));
            continue;
        }
        if !wanted {
            continue;
        }
        for record in RecordIter::new(&batch.bytes)? {
            take(Item::Record(record?));
        }
    }
    Ok(())
}
