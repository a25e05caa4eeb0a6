//! Batches: building, walking, moving to another offset, and what an append refuses.

use ackord_proto::ErrorCode;
use ackord_proto::records::batch::HEADER_SIZE;
use ackord_proto::records::{
    BatchBuilder, BatchHeader, BatchIter, Compression, ControlRecord, ControlType, RecordIter,
    Records, RecordsError, UnpackBudget, compress, control_batch, crc32c, decompress, reassign,
    validate_for_append, validate_for_append_charged, validate_for_append_within, verify_crc,
};
use bytes::Bytes;

fn batch(count: i64) -> Bytes {
    let mut builder = BatchBuilder::new(0).producer(7, 1, 40).transactional();
    for index in 0..count {
        builder.push(1_000 + index, Some(b"key"), Some(&[index as u8; 9]));
    }
    builder.build()
}

/// The batch with some bytes replaced and the checksum made right again.
fn patched(at: usize, bytes: &[u8]) -> Bytes {
    let mut patched = batch(3).to_vec();
    patched[at..at + bytes.len()].copy_from_slice(bytes);
    let crc = crc32c(&patched[21..]);
    patched[17..21].copy_from_slice(&crc.to_be_bytes());
    patched.into()
}

#[test]
fn a_built_batch_reads_back() {
    let bytes = batch(3);
    let header = validate_for_append(&bytes).unwrap();
    assert_eq!(header.record_count, 3);
    assert_eq!(
        (header.base_timestamp, header.max_timestamp),
        (1_000, 1_002)
    );
    assert_eq!(
        (
            header.last_offset(),
            header.next_offset(),
            header.last_sequence()
        ),
        (2, 3, 42)
    );
    assert!(header.is_transactional() && !header.is_control() && header.has_producer_id());
    assert_eq!(header.compression(), Compression::None);
    let records: Vec<_> = RecordIter::new(&bytes)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(records[2].offset, 2);
    assert_eq!(records[2].timestamp, 1_002);
    assert_eq!(records[2].value.as_deref(), Some(&[2; 9][..]));
    assert!(records[2].headers.is_empty());
}

#[test]
fn headers_nulls_and_large_records_read_back() {
    let big = vec![1; 100_000];
    let mut builder = BatchBuilder::new(10);
    builder.push_with_headers(5, None, Some(&big), &[(b"a", Some(b"1")), (b"a", None)]);
    builder.push(-5, Some(b""), None);
    let bytes = builder.build();
    let records: Vec<_> = RecordIter::new(&bytes)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(records[0].key, None);
    assert_eq!(records[0].value.as_deref(), Some(&big[..]));
    let headers: Vec<_> = records[0].headers.iter().collect();
    assert_eq!(headers.len(), 2);
    assert_eq!(
        (&headers[0].key[..], headers[0].value.as_deref()),
        (&b"a"[..], Some(&b"1"[..]))
    );
    assert_eq!((&headers[1].key[..], &headers[1].value), (&b"a"[..], &None));
    assert_eq!((records[1].offset, records[1].timestamp), (11, -5));
    assert_eq!(
        (records[1].key.as_deref(), &records[1].value),
        (Some(&b""[..]), &None)
    );
    // Nothing was copied.
    let value = records[0].value.as_ref().unwrap().as_ptr() as usize;
    assert!((bytes.as_ptr() as usize..bytes.as_ptr() as usize + bytes.len()).contains(&value));
}

#[test]
fn a_batch_moves_without_a_copy() {
    let bytes = batch(3);
    let moved = reassign(&bytes, 5_000_000_000, 12);
    assert_eq!(moved[1].as_ptr(), bytes[16..].as_ptr());
    let moved = moved.concat();
    verify_crc(&moved).unwrap();
    let header = BatchHeader::parse(&moved).unwrap();
    let old = BatchHeader::parse(&bytes).unwrap();
    let expected = BatchHeader {
        base_offset: 5_000_000_000,
        partition_leader_epoch: 12,
        ..old
    };
    assert_eq!(header, expected);
    let short = Bytes::from_static(b"short");
    assert_eq!(reassign(&short, 1, 1).concat(), b"short");
}

#[test]
fn markers_are_those_of_kafka() {
    // The golden vector control/abort, apart from its leader epoch.
    let bytes = control_batch(3921, 1_700_000_000_000, 57663, 75, ControlType::Abort, 28);
    let header = BatchHeader::parse(&bytes).unwrap();
    assert_eq!((header.crc, header.batch_length), (0xb51b_da4e, 0x42));
    let marker = ControlRecord::of_batch(&bytes).unwrap();
    assert_eq!(marker.control_type, ControlType::Abort);
    assert_eq!(marker.coordinator_epoch, 28);

    let commit = control_batch(0, 0, 1, 2, ControlType::Commit, -1);
    assert_eq!(
        ControlRecord::of_batch(&commit).unwrap().control_type,
        ControlType::Commit
    );
    let other = control_batch(0, 0, 1, 2, ControlType::Other(99), 5);
    let expected = ControlRecord {
        control_type: ControlType::Other(99),
        coordinator_epoch: -1,
    };
    assert_eq!(ControlRecord::of_batch(&other), Ok(expected));
}

#[test]
fn later_markers_are_longer_and_damaged_ones_are_refused() {
    let marker = |key: &[u8], value: &[u8]| {
        let mut builder = BatchBuilder::new(0).control();
        builder.push(0, Some(key), Some(value));
        ControlRecord::of_batch(&builder.build())
    };
    let later = marker(&[0, 1, 0, 1, 5], &[0, 1, 0, 0, 0, 7, 9, 9]).unwrap();
    assert_eq!(
        (later.control_type, later.coordinator_epoch),
        (ControlType::Commit, 7)
    );
    assert!(marker(&[0, 0, 0], &[0; 6]).is_err());
    assert!(marker(&[0, 0, 0, 0], &[0; 5]).is_err());
    assert!(ControlRecord::of_batch(&BatchBuilder::new(0).control().build()).is_err());
}

#[test]
fn batches_in_a_row_are_walked_and_a_cut_tail_is_skipped() {
    let (first, second) = (batch(1), reassign(&batch(2), 1, 0).concat());
    let all = [&first[..], &second].concat();
    for cut in 0..=all.len() {
        let batches: Vec<_> = BatchIter::new(Bytes::copy_from_slice(&all[..cut]))
            .map(Result::unwrap)
            .collect();
        let whole = usize::from(cut >= first.len()) + usize::from(cut == all.len());
        assert_eq!(batches.len(), whole, "cut to {cut} bytes");
    }
}

#[test]
fn the_walk_ends_at_a_damaged_batch() {
    let mut bytes = [&batch(1)[..], &batch(1)].concat();
    bytes[16] = 1;
    let mut batches = BatchIter::new(bytes.clone().into());
    assert_eq!(batches.next(), Some(Err(RecordsError::BadMagic(1))));
    assert_eq!(batches.next(), None);
    bytes[16] = 2;
    bytes[8..12].copy_from_slice(&40_i32.to_be_bytes());
    let mut batches = BatchIter::new(bytes.into());
    assert_eq!(batches.next(), Some(Err(RecordsError::BadLength(40))));
    assert_eq!(batches.next(), None);
}

#[test]
fn an_append_refuses_what_a_client_must_not_send() {
    let refused = |bytes: Bytes| validate_for_append(&bytes).unwrap_err();
    let whole = batch(3);
    assert_eq!(
        refused(whole.slice(..whole.len() - 1)),
        RecordsError::Truncated
    );
    assert_eq!(
        refused(whole.slice(..HEADER_SIZE - 1)),
        RecordsError::Truncated
    );
    assert_eq!(
        refused([&whole[..], &[0]].concat().into()),
        RecordsError::TrailingBytes
    );
    assert_eq!(
        refused(patched(0, &9_i64.to_be_bytes())),
        RecordsError::BadBaseOffset(9)
    );
    assert_eq!(
        refused(patched(21, &[0, 0x30])),
        RecordsError::ControlFromClient
    );
    assert_eq!(
        refused(patched(21, &[0, 0x15])),
        RecordsError::UnsupportedCompression
    );
    let count = RecordsError::BadCount {
        count: 2,
        last_offset_delta: 2,
    };
    assert_eq!(refused(patched(57, &2_i32.to_be_bytes())), count);
    let producer = |at, bytes: &[u8]| {
        assert!(matches!(
            refused(patched(at, bytes)),
            RecordsError::BadProducer(_)
        ));
    };
    producer(43, &(-1_i64).to_be_bytes());
    producer(43, &(-2_i64).to_be_bytes());
    producer(51, &(-1_i16).to_be_bytes());
    producer(53, &(-1_i32).to_be_bytes());

    let mut gaps = BatchBuilder::new(0);
    gaps.push_at(1, 0, None, None, &[]);
    gaps.push_at(1, 0, None, None, &[]);
    assert!(matches!(refused(gaps.build()), RecordsError::BadRecord(_)));
    let mut damaged = whole.to_vec();
    damaged[70] ^= 1;
    let error = refused(damaged.into());
    assert!(matches!(error, RecordsError::BadCrc { .. }));
    assert_eq!(error.error_code(), ErrorCode::CORRUPT_MESSAGE);
    assert_eq!(count.error_code(), ErrorCode::INVALID_RECORD);
}

const CODECS: [Compression; 4] = [
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];

fn builder(count: usize, value: &[u8]) -> BatchBuilder {
    let mut builder = BatchBuilder::new(0);
    for index in 0..count {
        builder.push(index as i64, Some(b"key"), Some(value));
    }
    builder
}

#[test]
fn a_compressed_batch_reads_back() {
    for codec in CODECS {
        for (count, size) in [(1, 0), (3, 10), (200, 1_000)] {
            let plain = builder(count, &vec![b'v'; size]);
            let packed = plain.clone().build_compressed(codec).unwrap();
            let header = validate_for_append(&packed).unwrap();
            assert_eq!(header.compression(), codec);
            let records = |batch: &Bytes| -> Vec<_> {
                RecordIter::new(batch)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect()
            };
            assert_eq!(records(&packed), records(&plain.build()), "{codec:?}");
        }
        assert!(codec.is_supported());
        assert_eq!(Compression::from_id(codec.id()), codec);
    }
}

#[test]
fn a_compressed_batch_may_grow_to_the_limit_and_no_further() {
    for codec in CODECS {
        let plain = builder(100, &[0; 10_000]);
        let grown = plain.size() - HEADER_SIZE;
        let packed = plain.build_compressed(codec).unwrap();
        assert!(packed.len() < grown / 10, "{codec:?}");
        validate_for_append_within(&packed, grown).unwrap();
        let error = validate_for_append_within(&packed, grown - 1).unwrap_err();
        assert_eq!(
            error,
            RecordsError::TooLarge { limit: grown - 1 },
            "{codec:?}"
        );
        assert_eq!(error.error_code(), ErrorCode::MESSAGE_TOO_LARGE);
    }
}

/// A request of a few kilobytes can say gigabytes, spread over batches of which none is too large.
#[test]
fn the_batches_of_a_request_share_what_they_may_take_unpacked() {
    for codec in CODECS {
        let plain = builder(100, &[0; 10_000]);
        let grown = plain.size() - HEADER_SIZE;
        let packed = plain.clone().build_compressed(codec).unwrap();
        let mut budget = UnpackBudget::new(3 * grown + 10);
        for nth in 1..=3 {
            validate_for_append_charged(&packed, &mut budget).unwrap();
            assert_eq!(budget.unpacked(), nth * grown, "{codec:?}");
        }
        for _ in 0..100 {
            let error = validate_for_append_charged(&packed, &mut budget).unwrap_err();
            let limit = budget.limit();
            assert_eq!(error, RecordsError::TooLarge { limit }, "{codec:?}");
            // A stream has to be read one byte too far to know.
            assert!(budget.unpacked() <= limit + 1, "{codec:?}");
        }
        let plain = plain.build();
        validate_for_append_charged(&plain, &mut budget).expect("it is not packed");
    }
}

#[test]
fn a_damaged_batch_costs_its_neighbours_no_more_than_it_unpacked() {
    for codec in CODECS {
        let packed = compress(codec, &vec![b'x'; 5_000]).unwrap();
        let mut budget = UnpackBudget::new(10_000);
        let cut = Bytes::copy_from_slice(&packed[..packed.len() - 1]);
        let error = budget.decompress(codec, &cut).unwrap_err();
        assert_eq!(error, RecordsError::BadCompression(codec.name()));
        assert!(budget.unpacked() <= 5_000, "{codec:?}");
        let whole = Bytes::from(packed);
        assert_eq!(budget.decompress(codec, &whole).unwrap().len(), 5_000);
    }
}

#[test]
fn a_packed_payload_that_is_cut_anywhere_is_refused() {
    for codec in CODECS {
        let packed = compress(codec, &vec![b'x'; 5_000]).unwrap();
        for end in 0..packed.len() {
            let cut = Bytes::copy_from_slice(&packed[..end]);
            // An empty stream is no frame of zstd and no block behind the snappy header.
            match decompress(codec, &cut, 10_000) {
                Ok(records) => assert!(
                    records.is_empty() && [0, 16].contains(&end),
                    "{codec:?} {end}"
                ),
                Err(error) => assert_eq!(error, RecordsError::BadCompression(codec.name())),
            }
        }
    }
}

#[test]
fn snappy_may_come_without_a_frame() {
    // One literal of three bytes.
    let raw = Bytes::from_static(&[3, 2 << 2, b'a', b'b', b'c']);
    assert_eq!(decompress(Compression::Snappy, &raw, 3).unwrap(), "abc");
    // Claims 1 GiB in five bytes.
    let bomb = Bytes::from_static(&[0x80, 0x80, 0x80, 0x80, 0x04]);
    let error = decompress(Compression::Snappy, &bomb, 2 << 30).unwrap_err();
    assert_eq!(error, RecordsError::BadCompression("snappy"));
}

#[test]
fn lz4_frames_that_kafka_cannot_read_are_refused() {
    let good = compress(Compression::Lz4, b"some records").unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        decompress(Compression::Lz4, &bytes.into(), 100)
    };
    assert_eq!(with(0, good[0]).unwrap(), "some records");
    let bad = Err(RecordsError::BadCompression("lz4"));
    // The magic of the form before frames, version 2, blocks that depend on each other, a
    // dictionary.
    assert_eq!(with(0, 0x02), bad);
    for flag in [0x80, 0x20, 0x01] {
        assert_eq!(with(4, good[4] ^ flag), bad, "{flag:#x}");
    }
}

#[test]
fn a_batch_of_another_codec_is_refused_when_it_is_checked() {
    let error = validate_for_append(&patched(21, &[0, 0x14])).unwrap_err();
    assert_eq!(error, RecordsError::BadCompression("zstd"));
    assert_eq!(error.error_code(), ErrorCode::INVALID_RECORD);
    let error = RecordIter::new(&patched(21, &[0, 0x15])).unwrap_err();
    assert_eq!(error.error_code(), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
}

#[test]
fn the_time_of_the_append_stands_for_all_records() {
    let batch = builder(3, b"v").log_append_time(77).build();
    let header = validate_for_append(&batch).unwrap();
    assert!(header.is_log_append_time());
    for record in RecordIter::new(&batch).unwrap() {
        assert_eq!(record.unwrap().timestamp, 77);
    }
}

#[test]
fn records_are_equal_by_their_bytes() {
    let one = Records::from(Bytes::from_static(b"abcdef"));
    let two = Records::from(vec![Bytes::from_static(b"ab"), Bytes::from_static(b"cdef")]);
    assert_eq!(one, two);
    assert_eq!(two.to_bytes(), "abcdef");
    assert_eq!(
        (two.len(), two.chunks().len(), two.is_empty()),
        (6, 2, false)
    );
    assert_ne!(one, Records::from(Bytes::from_static(b"abcdeg")));
    assert!(Records::default().is_empty());
}
