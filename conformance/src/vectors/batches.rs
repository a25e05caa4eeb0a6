//! Record batches, whole, in rows and damaged.

use ackord_proto::records::{
    BatchBuilder, BatchHeader, BatchIter, Compression, Record, RecordIter, batch,
    validate_for_append,
};
use bytes::Bytes;

use super::{Row, Verdict, show};

/// Header, checksum, and for uncompressed batches every record.
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
    if header.compression() != Compression::None {
        return Ok(Some(()));
    }
    let records: Vec<_> = RecordIter::new(&bytes)
        .map_err(show)?
        .collect::<Result<_, _>>()
        .map_err(show)?;
    find_records(json, &records)?;
    rebuild(&header, &records, &bytes)?;
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

/// Builds the same batch again, where the records say everything that is in it.
fn rebuild(header: &BatchHeader, records: &[Record], bytes: &Bytes) -> Result<(), String> {
    let whole = records
        .last()
        .is_some_and(|last| last.offset == header.last_offset());
    if header.is_log_append_time() || header.has_delete_horizon() || !whole {
        return Ok(());
    }
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
    match builder.build() {
        built if built == bytes => Ok(()),
        built => Err(format!("built other bytes: {built:02x?}")),
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

/// Damage that only a decompressor can see, or that we let pass like Kafka.
fn passes(name: &str) -> bool {
    name.starts_with("payload/")
        || ["control", "crc/uncovered-leader-epoch"].contains(&name)
        || ["attributes/unused-bits", "attributes/log-append-time"].contains(&name)
        || name.starts_with("max-timestamp/")
        || ["record/well-formed", "record/length-varint-overlong"].contains(&name)
        || ["record/header-key-invalid-utf8", "record/attributes-set"].contains(&name)
        || name == "record/timestamp-delta-negative"
}

/// A batch that must not be appended, or one of the few that may.
pub(super) fn corrupt_batch(row: &Row<'_>) -> Verdict {
    let name = row.cell("name");
    match (validate_for_append(&row.bytes("hex")?), passes(name)) {
        (Ok(_), true) | (Err(_), false) => Ok(Some(())),
        // Another codec or none over a compressed payload shows where the records are read.
        (Err(_), true) if name.ends_with("flagged-none") => Ok(Some(())),
        (Err(error), true) => Err(format!("refused: {error}")),
        (Ok(_), false) => Err("accepted".to_owned()),
    }
}
