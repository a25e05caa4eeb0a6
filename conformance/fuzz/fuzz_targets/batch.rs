//! Record batches as a client sends them. Each batch is tried as it is and with a good checksum,
//! since chance never finds one.
#![no_main]

use ackord_fuzz::{CODEC, UNPACKED, bounded_beyond};
use ackord_proto::records::{
    BatchHeader, BatchIter, ControlRecord, RecordIter, crc32c, reassign,
    validate_for_append_within, verify_crc,
};
use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;

/// Where the checksum stands, and from where on it counts.
const CRC: usize = 17;
const CHECKED: usize = 21;

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    bounded_beyond(CODEC, data.len(), || {
        for batch in BatchIter::new(bytes) {
            let Ok(batch) = batch else {
                break;
            };
            check(&batch.bytes);
            check(&with_checksum(&batch.bytes));
        }
    });
});

fn check(batch: &Bytes) {
    read(batch);
    let Ok(header) = validate_for_append_within(batch, UNPACKED) else {
        return;
    };
    assert_eq!(verify_crc(batch), Ok(()));
    let records = RecordIter::within(batch, UNPACKED).expect("valid");
    let count = records
        .map(|record| record.expect("a valid record"))
        .count();
    assert_eq!(Ok(count), usize::try_from(header.record_count));
    let moved = Bytes::from(reassign(batch, 77, 5).concat());
    let header = BatchHeader::parse(&moved).expect("still a batch");
    assert_eq!((header.base_offset, header.partition_leader_epoch), (77, 5));
    assert_eq!(verify_crc(&moved), Ok(()));
}

/// Reads what can be read, whatever it says.
fn read(batch: &Bytes) {
    let Ok(records) = RecordIter::within(batch, UNPACKED) else {
        return;
    };
    for record in records {
        let Ok(record) = record else {
            break;
        };
        assert_eq!(record.headers.iter().count(), record.headers.len());
        let _ = ControlRecord::decode(&record);
    }
    let _ = ControlRecord::of_batch(batch);
}

fn with_checksum(batch: &Bytes) -> Bytes {
    let mut bytes = BytesMut::from(&batch[..]);
    if bytes.len() >= CHECKED {
        let crc = crc32c(&bytes[CHECKED..]).to_be_bytes();
        bytes[CRC..CHECKED].copy_from_slice(&crc);
    }
    bytes.freeze()
}
