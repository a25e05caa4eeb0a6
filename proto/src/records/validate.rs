//! What a broker checks before it appends the batch of a client.

use bytes::Bytes;

use crate::records::batch::{BatchHeader, Compression, LENGTH_OVERHEAD, verify_crc};
use crate::records::{RecordIter, RecordsError};

/// Checks one batch as it came in a produce request. Stricter than Kafka in what no real client
/// sends: offset deltas must count up from 0, nothing may follow the batch. Of a compressed
/// batch only the header is checked.
///
/// # Errors
/// The first thing that is wrong; [`RecordsError::error_code`] is the answer to the client.
pub fn validate_for_append(batch: &Bytes) -> Result<BatchHeader, RecordsError> {
    let header = BatchHeader::parse(batch)?;
    check_length(&header, batch.len())?;
    verify_crc(batch)?;
    check_origin(&header)?;
    check_count(&header)?;
    check_producer(&header)?;
    match header.compression() {
        Compression::None => check_records(batch)?,
        Compression::Unknown => return Err(RecordsError::UnsupportedCompression),
        Compression::Gzip | Compression::Snappy | Compression::Lz4 | Compression::Zstd => {}
    }
    Ok(header)
}

fn check_length(header: &BatchHeader, available: usize) -> Result<(), RecordsError> {
    let length = usize::try_from(header.batch_length).unwrap_or_default();
    match (length + LENGTH_OVERHEAD).cmp(&available) {
        core::cmp::Ordering::Less => Err(RecordsError::TrailingBytes),
        core::cmp::Ordering::Equal => Ok(()),
        core::cmp::Ordering::Greater => Err(RecordsError::Truncated),
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

fn check_records(batch: &Bytes) -> Result<(), RecordsError> {
    let mut records = RecordIter::new(batch)?;
    let mut due = 0;
    while let Some(record) = records.next_with_delta() {
        let (_, delta) = record?;
        if delta != due {
            return Err(RecordsError::BadRecord(
                "the offsets of the records have gaps",
            ));
        }
        due += 1;
    }
    Ok(())
}
