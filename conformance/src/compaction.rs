//! What a log cleaner does to a stored batch: records go, and the header keeps its place.

use ackord_machine::StoredBatch;
use ackord_proto::records::batch::HEADER_SIZE;
use ackord_proto::records::{BatchHeader, RecordIter, crc32c};

/// Where the fields stand that change.
const LENGTH: std::ops::Range<usize> = 8..12;
const LENGTH_OVERHEAD: usize = 12;
const CRC: std::ops::Range<usize> = 17..21;
const COUNT: std::ops::Range<usize> = 57..61;

/// The batch without the records of `gone`; `None` where no record is left. As Kafka's cleaner leaves
/// it: base offset and last offset stay, whichever records are there.
///
/// # Errors
/// A batch of control records, a compressed or a damaged one.
pub(crate) fn compacted(
    batch: &StoredBatch,
    gone: impl Fn(i64) -> bool,
) -> Result<Option<StoredBatch>, String> {
    let header = BatchHeader::parse(&batch.bytes).map_err(|error| error.to_string())?;
    if header.is_control() || header.compression().id() != 0 {
        return Err("only plain batches of records can be compacted".to_string());
    }
    let mut records = RecordIter::new(&batch.bytes).map_err(|error| error.to_string())?;
    let mut bytes = batch.bytes[..HEADER_SIZE].to_vec();
    let (mut at, mut count) = (HEADER_SIZE, 0_i32);
    while let Some(record) = records.next_view() {
        let record = record.map_err(|error| error.to_string())?;
        let end = at + length_bytes(record.size) + record.size;
        if !gone(record.offset) {
            count += 1;
            bytes.extend_from_slice(&batch.bytes[at..end]);
        }
        at = end;
    }
    if count == 0 {
        return Ok(None);
    }
    let length = u32::try_from(bytes.len() - LENGTH_OVERHEAD).map_err(|error| error.to_string())?;
    bytes[LENGTH].copy_from_slice(&length.to_be_bytes());
    bytes[COUNT].copy_from_slice(&count.to_be_bytes());
    let crc = crc32c(&bytes[CRC.end..]);
    bytes[CRC].copy_from_slice(&crc.to_be_bytes());
    Ok(Some(StoredBatch {
        bytes: bytes.into(),
        ..batch.clone()
    }))
}

/// Bytes of the length of a record: a varint, and as a signed one it has a bit less.
fn length_bytes(size: usize) -> usize {
    let bits = usize::BITS - (size << 1).leading_zeros();
    usize::try_from(bits.div_ceil(7)).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use ackord_proto::records::BatchBuilder;

    use super::*;

    #[test]
    fn records_go_and_the_header_stays() {
        let mut builder = BatchBuilder::new(10);
        for size in [1, 200, 70_000, 3] {
            builder.push(7, None, Some(&vec![b'v'; size]));
        }
        let bytes = builder.build();
        let batch = StoredBatch {
            base: 10,
            last: 13,
            bytes,
        };
        let left = compacted(&batch, |offset| [10, 12].contains(&offset));
        let left = left.expect("plain").expect("two are left");
        let header = BatchHeader::parse(&left.bytes).expect("a header");
        assert_eq!((header.base_offset, header.last_offset()), (10, 13));
        let records = RecordIter::new(&left.bytes).expect("a batch");
        let offsets: Vec<_> = records
            .map(|record| record.map(|record| record.offset))
            .collect();
        assert_eq!(offsets, [Ok(11), Ok(13)]);
        ackord_proto::records::verify_crc(&left.bytes).expect("the checksum is new");
        assert_eq!(compacted(&batch, |_| true), Ok(None));
    }
}
