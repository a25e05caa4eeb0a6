//! What a topic's configuration asks of the records that clients append.

use ackord_machine::WallTime;
use ackord_proto::ErrorCode;
use ackord_proto::records::{
    BatchHeader, Compression, MAX_DECOMPRESSED, RecordIter, RecordView, RecordsError, UnpackBudget,
};
use alloc::string::String;
use bytes::Bytes;

use super::append::AppendError;
use super::batch::unpacked;
use super::partition_log::LogConfig;

/// A record without a timestamp.
const NO_TIMESTAMP: i64 = -1;

/// Checks a batch whose bytes have been validated. Where its header shows that all time stamps are
/// in range, no record is looked at for them.
pub(super) fn check(
    config: &LogConfig,
    now: WallTime,
    header: &BatchHeader,
    batch: &Bytes,
) -> Result<(), AppendError> {
    check_sizes(config, header, batch)?;
    check_timestamps(config, now, header, batch)?;
    if !config.keys_required {
        return Ok(());
    }
    match first(batch, |record| record.key.is_none()) {
        Err(error) => Err(unpacked(error, &UnpackBudget::new(MAX_DECOMPRESSED))),
        Ok(None) => Ok(()),
        Ok(index) => {
            let reason = "Compacted topic cannot accept message without key";
            Err(refused(ErrorCode::INVALID_RECORD, reason, index))
        }
    }
}

/// `max.decompressed.message.bytes`. No record is larger than what a batch may take unpacked, so a
/// greater bound needs no look.
fn check_sizes(config: &LogConfig, header: &BatchHeader, batch: &Bytes) -> Result<(), AppendError> {
    let most = config.max_decompressed_bytes;
    if most >= MAX_DECOMPRESSED || header.compression() == Compression::None {
        return Ok(());
    }
    match first(batch, |record| record.size > most) {
        Err(error) => Err(unpacked(error, &UnpackBudget::new(MAX_DECOMPRESSED))),
        Ok(None) => Ok(()),
        Ok(index) => {
            let reason = alloc::format!(
                "A record takes more than max.decompressed.message.bytes ({most}) unpacked"
            );
            Err(refused(ErrorCode::INVALID_RECORD, reason, index))
        }
    }
}

fn check_timestamps(
    config: &LogConfig,
    now: WallTime,
    header: &BatchHeader,
    batch: &Bytes,
) -> Result<(), AppendError> {
    if config.timestamp_type_append {
        return Ok(());
    }
    let latest = now
        .as_millis()
        .saturating_add(config.timestamp_after_max_ms);
    let earliest = now
        .as_millis()
        .saturating_sub(config.timestamp_before_max_ms);
    let outside =
        |timestamp: i64| timestamp != NO_TIMESTAMP && !(earliest..=latest).contains(&timestamp);
    if !outside(header.max_timestamp) && !outside(header.base_timestamp) {
        return Ok(());
    }
    let index = first(batch, |record| outside(record.timestamp));
    let reason = alloc::format!(
        "Timestamp {} of message is out of range: it has to be from {earliest} to {latest}",
        header.max_timestamp
    );
    // Which one it is, is only said where that is known.
    let index = index.unwrap_or(None);
    Err(refused(ErrorCode::INVALID_TIMESTAMP, reason, index))
}

/// The place in the batch of the first record that `is` true of. What it takes unpacked has been counted
/// when its bytes were validated.
fn first(batch: &Bytes, is: impl Fn(&RecordView<'_>) -> bool) -> Result<Option<i32>, RecordsError> {
    let mut records = RecordIter::new(batch)?;
    let mut place = 0;
    while let Some(Ok(record)) = records.next_view() {
        if is(&record) {
            return Ok(Some(place));
        }
        place += 1;
    }
    Ok(None)
}

fn refused(code: ErrorCode, reason: impl Into<String>, record: Option<i32>) -> AppendError {
    AppendError {
        code,
        reason: reason.into(),
        record,
    }
}
