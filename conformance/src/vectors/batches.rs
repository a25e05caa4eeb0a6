//! Record batches: whole, in rows, damaged, and of the formats before them.

use ackord_proto::ErrorCode;
use ackord_proto::records::{
    BatchBuilder, BatchHeader, BatchIter, Compression, Record, RecordIter, RecordsError, batch,
    validate_for_append,
};
use bytes::Bytes;

use super::stricter::is_stricter;
use super::{Row, Verdict, show};

/// Header, checksum, every record; and the way back.
pub(super) fn record_batch(row: &Row<'_>) -> Verdict {
    let bytes = row.bytes("hex")?;
    let header = BatchHeader::parse(&bytes).map_err(show)?;
    batch::verify_crc(&bytes).map_err(show)?;
    let found = [
        ("base_offset", header.base_offset),
        ("last_offset", header.last_offset()),
        ("record_count", i64::from(header.record_count)),
        ("crc", i64::from(header.crc)),
        ("attributes", i64::from(header.attributes)),
    ];
    for (column, found) in found {
        if row.number::<i64>(column)? != found {
            return Err(format!("{column} is {found} with us"));
        }
    }
    let json = row.cell("json");
    let sequence = format!("\"lastSequence\":{}", header.last_sequence());
    if !json.contains(&sequence) {
        return Err(format!("not in the batch: {sequence}"));
    }
    let records: Vec<_> = RecordIter::new(&bytes)
        .map_err(show)?
        .collect::<Result<_, _>>()
        .map_err(show)?;
    find_records(json, &records)?;
    match header.compression() {
        Compression::None => rebuild(&header, &records, &bytes)?,
        codec => repack(&header, codec, &records)?,
    }
    Ok(Some(()))
}

/// Finds each record in the description that Kafka gave, in order.
fn find_records(json: &str, records: &[Record]) -> Result<(), String> {
    let mut rest = json;
    for record in records {
        let mut wanted = vec![
            format!("\"offset\":{},", record.offset),
            format!("\"timestamp\":{},", record.timestamp),
        ];
        for (name, part) in [("key", &record.key), ("value", &record.value)] {
            match part {
                None => wanted.push(format!("\"{name}\":null")),
                Some(part) if part.len() <= 128 => {
                    let hex: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
                    wanted.push(format!("\"{name}\":\"{hex}\""));
                }
                Some(_) => {}
            }
        }
        for header in record.headers.iter() {
            let key = std::str::from_utf8(&header.key).map_err(show)?;
            if key.chars().all(|c| c.is_ascii_alphanumeric()) {
                wanted.push(format!("\"key\":\"{key}\""));
            }
        }
        for part in wanted {
            let at = rest
                .find(&part)
                .ok_or(format!("not where it should be: {part}"))?;
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
    }
    if rest.contains("\"offset\":") {
        Err("records are missing".to_owned())
    } else {
        Ok(())
    }
}

/// A builder with the header of the batch and the same records.
fn builder(header: &BatchHeader, records: &[Record]) -> Result<BatchBuilder, String> {
    let mut builder = BatchBuilder::new(header.base_offset)
        .leader_epoch(header.partition_leader_epoch)
        .producer(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
        );
    if header.is_transactional() {
        builder = builder.transactional();
    }
    if header.is_control() {
        builder = builder.control();
    }
    for record in records {
        let delta = i32::try_from(record.offset - header.base_offset).map_err(show)?;
        let headers: Vec<_> = record.headers.iter().collect();
        let headers: Vec<_> = headers
            .iter()
            .map(|header| (&header.key[..], header.value.as_deref()))
            .collect();
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        builder.push_at(delta, record.timestamp, key, value, &headers);
    }
    Ok(builder)
}

/// Builds the same batch again, where the records say everything that is in it.
fn rebuild(header: &BatchHeader, records: &[Record], bytes: &Bytes) -> Result<(), String> {
    let whole = records
        .last()
        .is_some_and(|last| last.offset == header.last_offset());
    if header.is_log_append_time() || header.has_delete_horizon() || !whole {
        return Ok(());
    }
    match builder(header, records)?.build() {
        built if built == bytes => Ok(()),
        built => Err(format!("built other bytes: {built:02x?}")),
    }
}

/// Packs the records again; other compressors make other bytes of the same records.
fn repack(header: &BatchHeader, codec: Compression, records: &[Record]) -> Result<(), String> {
    let packed = builder(header, records)?
        .build_compressed(codec)
        .map_err(show)?;
    let found: Vec<_> = RecordIter::new(&packed)
        .map_err(show)?
        .collect::<Result<_, _>>()
        .map_err(show)?;
    let named = BatchHeader::parse(&packed).map_err(show)?.compression();
    if found == records && named == codec {
        Ok(())
    } else {
        Err("packed to other records".to_owned())
    }
}

/// Batches in a row, the last one perhaps cut.
pub(super) fn record_set(row: &Row<'_>) -> Verdict {
    let mut batches = BatchIter::new(row.bytes("hex")?);
    let (mut count, mut size) = (0, 0);
    for batch in batches.by_ref() {
        let batch = batch.map_err(show)?;
        count += 1;
        size += batch.bytes.len();
    }
    let expected: (usize, usize) = (row.number("batch_count")?, row.number("valid_bytes")?);
    let found = (count, size);
    (found == expected)
        .then_some(Some(()))
        .ok_or(format!("{count} batches in {size} bytes"))
}

/// What Kafka says about a damaged batch: the first refusal on the way to the log. The record
/// checks of a client and a broker are the same, so `iterate` is no step of its own.
fn verdict_of_kafka<'a>(row: &'a Row<'_>) -> Option<&'a str> {
    ["produce_check", "ensure_valid", "log_validator"]
        .into_iter()
        .map(|column| row.cell(column))
        .find(|cell| *cell != "ok")
}

/// The code that belongs to an exception; `None` where Kafka has no name for the fault.
fn code_of(exception: &str) -> Option<ErrorCode> {
    match exception.split(':').next() {
        Some("CorruptRecordException") => Some(ErrorCode::CORRUPT_MESSAGE),
        Some("InvalidRecordException") => Some(ErrorCode::INVALID_RECORD),
        _ => None,
    }
}

/// A batch that must not be appended, or one of the few that may; with the code of Kafka.
pub(super) fn corrupt_batch(row: &Row<'_>) -> Verdict {
    let (name, ours) = (row.cell("name"), validate_for_append(&row.bytes("hex")?));
    let (refusal, error) = match (verdict_of_kafka(row), ours) {
        (None, Ok(_)) => return Ok(Some(())),
        (None, Err(_)) if is_stricter("corrupt-batches", name) => return Ok(Some(())),
        (None, Err(error)) => return Err(format!("refused: {error}")),
        (Some(refusal), Ok(_)) => return Err(format!("accepted, but Kafka says {refusal}")),
        (Some(refusal), Err(error)) => (refusal, error),
    };
    match code_of(refusal) {
        Some(code) if code != error.error_code() => {
            let ours = error.error_code();
            Err(format!("{ours} ({error}) instead of {code} ({refusal})"))
        }
        _ => Ok(Some(())),
    }
}

/// Formats before magic 2, which a broker refuses by name.
pub(super) fn legacy_message_set(row: &Row<'_>) -> Verdict {
    let bytes = row.bytes("hex")?;
    let expected = RecordsError::BadMagic(row.number("magic")?);
    let found = [
        validate_for_append(&bytes).err(),
        BatchIter::new(bytes).find_map(Result::err),
    ];
    if found.iter().any(|error| *error != Some(expected)) {
        return Err(format!("{found:?} instead of {expected:?}"));
    }
    match code_of(row.cell("produce_exception")) {
        Some(code) if code == expected.error_code() => Ok(Some(())),
        _ => Err(format!("answered with {}", expected.error_code())),
    }
}
