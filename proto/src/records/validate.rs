//! What a broker checks before it appends the batch of a client.

use bytes::Bytes;

use crate::records::batch::{BatchHeader, Compression, verify_crc};
use crate::records::{MAX_DECOMPRESSED, RecordIter, RecordsError, UnpackBudget};

/// Checks one batch as it came in a produce request, with all its records.
///
/// Stricter than Kafka in what no real client sends: offset deltas must count up from 0,
/// lengths below -1 are refused, nothing may follow the batch, the base offset must be 0.
///
/// # Errors
/// As [`validate_for_append_within`] with a limit of [`MAX_DECOMPRESSED`].
pub fn validate_for_append(batch: &Bytes) -> Result<BatchHeader, RecordsError> {
    validate_for_append_within(batch, MAX_DECOMPRESSED)
}

/// As [`validate_for_append`]; the records of a compressed batch may take no more than `limit`
/// bytes.
///
/// # Errors
/// The first thing that is wrong; [`RecordsError::error_code`] is the answer to the client.
pub fn validate_for_append_within(
    batch: &Bytes,
    limit: usize,
) -> Result<BatchHeader, RecordsError> {
    validate(batch, |batch| RecordIter::within(batch, limit))
}

/// As [`validate_for_append`]; the records of a compressed batch count into `budget`.
///
/// # Errors
/// As [`validate_for_append_within`]; `TooLarge` where the budget is used up.
pub fn validate_for_append_charged(
    batch: &Bytes,
    budget: &mut UnpackBudget,
) -> Result<BatchHeader, RecordsError> {
    validate(batch, |batch| RecordIter::charged(batch, budget))
}

fn validate(
    batch: &Bytes,
    records: impl FnOnce(&Bytes) -> Result<RecordIter, RecordsError>,
) -> Result<BatchHeader, RecordsError> {
    let header = BatchHeader::parse(batch)?;
    // The checksum goes first: it tells a wrong length from bytes that somebody added.
    verify_crc(batch)?;
    check_end(&header, batch.len())?;
    check_origin(&header)?;
    if header.compression() == Compression::Unknown {
        return Err(RecordsError::UnsupportedCompression);
    }
    check_count(&header)?;
    check_producer(&header)?;
    check_records(records(batch)?)?;
    Ok(header)
}

fn check_end(header: &BatchHeader, available: usize) -> Result<(), RecordsError> {
    match header.size() {
        Some(size) if size == available => Ok(()),
        _ => Err(RecordsError::TrailingBytes),
    }
}

fn check_origin(header: &BatchHeader) -> Result<(), RecordsError> {
    if header.is_control() {
        return Err(RecordsError::ControlFromClient);
    }
    match header.base_offset {
        0 => Ok(()),
        other => Err(RecordsError::BadBaseOffset(other)),
    }
}

fn check_count(header: &BatchHeader) -> Result<(), RecordsError> {
    let BatchHeader {
        record_count: count,
        last_offset_delta,
        ..
    } = *header;
    if count > 0 && last_offset_delta == count - 1 {
        Ok(())
    } else {
        Err(RecordsError::BadCount {
            count,
            last_offset_delta,
        })
    }
}

fn check_producer(header: &BatchHeader) -> Result<(), RecordsError> {
    let BatchHeader {
        producer_id: id,
        producer_epoch: epoch,
        base_sequence,
        ..
    } = *header;
    match id {
        -1 if header.is_transactional() => Err(RecordsError::BadProducer(
            "a transactional batch needs a producer id",
        )),
        -1 => Ok(()),
        0.. if epoch < 0 => Err(RecordsError::BadProducer("a producer id needs an epoch")),
        0.. if base_sequence < 0 => {
            Err(RecordsError::BadProducer("a producer id needs a sequence"))
        }
        0.. => Ok(()),
        _ => Err(RecordsError::BadProducer("a negative producer id")),
    }
}

fn check_records(mut records: RecordIter) -> Result<(), RecordsError> {
    let mut due = 0;
    while let Some(record) = records.next_view() {
        if record?.offset_delta() != due {
            return Err(RecordsError::BadRecord(
                "the offsets of the records have gaps",
            ));
        }
        due += 1;
    }
    Ok(())
}
