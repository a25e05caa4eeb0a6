//! What a topic's configuration asks of the records that clients append.

use ackord_machine::WallTime;
use ackord_proto::ErrorCode;
use ackord_proto::records::{BatchHeader, Record, RecordIter};
use alloc::string::String;
use bytes::Bytes;

use super::append::AppendError;
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
    check_timestamps(config, now, header, batch)?;
    if config.keys_required
        && let Some(index) = first(batch, |record| record.key.is_none())
    {
        let reason = "Compacted topic cannot accept message without key";
        return Err(refused(ErrorCode::INVALID_RECORD, reason, Some(index)));
    }
    Ok(())
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
    Err(refused(ErrorCode::INVALID_TIMESTAMP, reason, index))
}

/// The place in the batch of the first record that `is` true of.
fn first(batch: &Bytes, is: impl Fn(&Record) -> bool) -> Option<i32> {
    let records = RecordIter::new(batch).ok()?;
    let place = records
        .filter_map(Result::ok)
        .position(|record| is(&record))?;
    i32::try_from(place).ok()
}

fn refused(code: ErrorCode, reason: impl Into<String>, record: Option<i32>) -> AppendError {
    AppendError {
        code,
        reason: reason.into(),
        record,
    }
}
