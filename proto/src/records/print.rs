//! Batches and their records field by field, for people.

use alloc::string::String;
use core::fmt::Write;

use bytes::Bytes;

use crate::coordinator_records::{
    ConsumerOffsetsRecord, ShareGroupStateRecord, TransactionStateRecord,
};
use crate::message::DecodeError;
use crate::printer::Printer;
use crate::records::{
    BatchHeader, BatchIter, Compression, ControlRecord, ControlType, Record, RecordIter,
    RecordsError, verify_crc,
};

/// Prints batches in a row as a list. What cannot be read is printed as a sentence in its place
/// and noted in the printer; a last batch that is cut off is printed by its size. All compressed
/// batches together may unpack to what the printer allows.
pub fn print(batches: Bytes, topic: Option<&str>, p: &mut Printer) {
    let mut walk = BatchIter::new(batches);
    p.open_list();
    for batch in walk.by_ref() {
        p.item();
        match batch {
            Ok(batch) => print_batch(&batch.header, &batch.bytes, topic, p),
            Err(error) => p.note_fault(error),
        }
    }
    if !walk.rest().is_empty() {
        p.item();
        p.text(format_args!(
            "<{} bytes of a batch that is cut off>",
            walk.rest().len()
        ));
    }
    p.close_list();
}

fn print_batch(header: &BatchHeader, batch: &Bytes, topic: Option<&str>, p: &mut Printer) {
    p.open();
    print_header(header, p);
    if let Err(error @ RecordsError::BadCrc { .. }) = verify_crc(batch) {
        p.name("crc_check");
        p.note_fault(error);
    }
    p.name("records");
    match RecordIter::within(batch, p.left_to_unpack()) {
        Err(error) => p.note_fault(error),
        Ok(records) => {
            if header.compression() != Compression::None {
                p.unpacked(records.size());
            }
            p.open_list();
            for record in records {
                p.item();
                match record {
                    Ok(record) => print_record(&record, header.is_control(), topic, p),
                    Err(error) => p.note_fault(error),
                }
            }
            p.close_list();
        }
    }
    p.close();
}

fn print_header(header: &BatchHeader, p: &mut Printer) {
    number(p, "base_offset", header.base_offset);
    number(p, "batch_length", header.batch_length.into());
    number(
        p,
        "partition_leader_epoch",
        header.partition_leader_epoch.into(),
    );
    number(p, "magic", header.magic.into());
    number(p, "crc", header.crc.into());
    p.name("attributes");
    p.text(format_args!(
        "{} ({})",
        header.attributes,
        attributes(header)
    ));
    number(p, "last_offset_delta", header.last_offset_delta.into());
    number(p, "base_timestamp", header.base_timestamp);
    number(p, "max_timestamp", header.max_timestamp);
    number(p, "producer_id", header.producer_id);
    number(p, "producer_epoch", header.producer_epoch.into());
    number(p, "base_sequence", header.base_sequence.into());
    number(p, "record_count", header.record_count.into());
}

fn number(p: &mut Printer, name: &str, value: i64) {
    p.name(name);
    p.text(format_args!("{value}"));
}

fn attributes(header: &BatchHeader) -> String {
    let mut text = String::from(header.compression().name());
    let flags = [
        (header.is_log_append_time(), "log append time"),
        (header.is_transactional(), "transactional"),
        (header.is_control(), "control"),
        (header.has_delete_horizon(), "delete horizon"),
    ];
    for (_, name) in flags.iter().filter(|(set, _)| *set) {
        // Writing into a String cannot fail.
        let _ = write!(text, ", {name}");
    }
    text
}

fn print_record(record: &Record, control: bool, topic: Option<&str>, p: &mut Printer) {
    p.open();
    number(p, "offset", record.offset);
    number(p, "timestamp", record.timestamp);
    if control {
        print_control(record, p);
    } else if let (Some(print), Some(key)) = (topic.and_then(of_internal_topic), &record.key) {
        p.name("record");
        if let Err(error) = print(key, record.value.as_ref(), p) {
            p.note_fault(error);
        }
    } else {
        print_part("key", record.key.as_deref(), p);
        print_part("value", record.value.as_deref(), p);
    }
    print_headers(record, p);
    p.close();
}

type PrintInternal = fn(&Bytes, Option<&Bytes>, &mut Printer) -> Result<(), DecodeError>;

/// What prints a record of this topic, where it is one of the coordinators' own.
pub fn of_internal_topic(topic: &str) -> Option<PrintInternal> {
    match topic {
        "__consumer_offsets" => Some(ConsumerOffsetsRecord::print),
        "__share_group_state" => Some(ShareGroupStateRecord::print),
        "__transaction_state" => Some(TransactionStateRecord::print),
        _ => None,
    }
}

fn print_control(record: &Record, p: &mut Printer) {
    p.name("control");
    match ControlRecord::decode(record) {
        Ok(control) => {
            let name = match control.control_type {
                ControlType::Abort => "ABORT",
                ControlType::Commit => "COMMIT",
                ControlType::Other(id) => return p.text(format_args!("type {id}")),
            };
            p.text(format_args!("{name}"));
            number(p, "coordinator_epoch", control.coordinator_epoch.into());
        }
        Err(error) => p.note_fault(error),
    }
}

fn print_part(name: &str, part: Option<&[u8]>, p: &mut Printer) {
    p.name(name);
    match part {
        Some(bytes) => p.text_or_bytes(bytes),
        None => p.text(format_args!("null")),
    }
}

fn print_headers(record: &Record, p: &mut Printer) {
    if record.headers.is_empty() {
        return;
    }
    p.name("headers");
    p.open_list();
    for header in record.headers.iter() {
        p.item();
        p.text_or_bytes(&header.key);
        p.text(format_args!(": "));
        match &header.value {
            Some(value) => p.text_or_bytes(value),
            None => p.text(format_args!("null")),
        }
    }
    p.close_list();
}
