//! Reading from memory and from the store, and searching by time.

use ackord_machine::{LoadedLog, StoredCheckpoint};

use super::*;

/// Batches of three records each: offsets 0-2, 3-5, and so on; all durable.
fn filled(batches: i64, tail_bytes: usize) -> (PartitionLog, Vec<StoredBatch>) {
    let mut log = PartitionLog::new(
        ID,
        LogConfig {
            tail_bytes,
            ..config()
        },
    );
    let mut stored = Vec::new();
    for n in 0..batches {
        let batch = Client::anonymous().records(3).timestamp(1_000 + n);
        stored.push(as_stored(&append(&mut log, &batch)));
    }
    log.durable_to(log.end_offset());
    (log, stored)
}

fn bases(result: &ReadResult) -> Vec<i64> {
    match result {
        ReadResult::Hot(chunks) => PartitionLog::batch_bounds(chunks)
            .iter()
            .map(|span| span.base)
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_begins_with_the_batch_that_contains_the_offset() {
    let (log, _) = filled(4, usize::MAX);
    for from in 3..6 {
        assert_eq!(bases(&log.read(from, usize::MAX, 12)), [3, 6, 9]);
    }
}

#[test]
fn a_read_never_passes_its_limit() {
    let (log, _) = filled(4, usize::MAX);
    assert_eq!(bases(&log.read(0, usize::MAX, 9)), [0, 3, 6]);
    assert_eq!(bases(&log.read(0, usize::MAX, 8)), [0, 3]);
    assert_eq!(log.read(0, usize::MAX, 2), ReadResult::Empty);
    assert_eq!(log.read(3, usize::MAX, 3), ReadResult::Empty);
    assert_eq!(log.read(12, usize::MAX, 12), ReadResult::Empty);
    assert_eq!(log.read(13, usize::MAX, 12), ReadResult::OutOfRange);
    assert_eq!(log.read(-1, usize::MAX, 12), ReadResult::OutOfRange);
}

#[test]
fn nobody_reads_what_is_not_durable() {
    let (mut log, _) = filled(1, usize::MAX);
    append(&mut log, &Client::anonymous().records(3));
    assert_eq!(bases(&log.read(0, usize::MAX, i64::MAX)), [0]);
    assert_eq!(log.read(3, usize::MAX, 6), ReadResult::Empty);
    log.durable_to(6);
    assert_eq!(bases(&log.read(0, usize::MAX, 6)), [0, 3]);
}

#[test]
fn max_bytes_allows_one_batch_and_then_whole_ones() {
    let (log, stored) = filled(4, usize::MAX);
    let size = stored[0].bytes.len();
    assert_eq!(bases(&log.read(0, 0, 12)), [0]);
    assert_eq!(bases(&log.read(0, 2 * size - 1, 12)), [0]);
    assert_eq!(bases(&log.read(0, 2 * size, 12)), [0, 3]);
    for max_bytes in [0, 2 * size - 1, 2 * size, usize::MAX] {
        for up_to in [3, 8, 12] {
            let hot = log.read(0, max_bytes, up_to);
            let cold = log.cut(stored.clone(), up_to, max_bytes);
            assert_eq!(bases(&hot), bases(&ReadResult::Hot(cold)));
        }
    }
}

#[test]
fn the_payload_is_shared_and_the_offsets_are_the_log_s() {
    let (_, stored) = filled(2, usize::MAX);
    let mut log = log();
    append(&mut log, &Client::anonymous().records(3).timestamp(1_000));
    let sent = Client::anonymous().records(3).timestamp(1_001).build();
    let Ok(Produced::Appended {
        part,
        log_append_time,
        ..
    }) = log.append_client(now(1), &sent, TxnCheck::Unverified)
    else {
        panic!("refused");
    };
    assert_eq!(log_append_time, None);
    assert_eq!(part.head.len() + part.body.len(), sent.len());
    assert_eq!(part.body.as_ptr(), sent[16..].as_ptr());
    assert_eq!(as_stored(&part), stored[1]);
    log.durable_to(6);
    let ReadResult::Hot(chunks) = log.read(3, usize::MAX, 6) else {
        panic!("cold")
    };
    assert_eq!(chunks.last().unwrap().as_ptr(), sent[16..].as_ptr());
}

#[test]
fn memory_is_bounded_and_older_batches_are_cold() {
    let (_, stored) = filled(1, usize::MAX);
    let size = stored[0].bytes.len();
    let (log, _) = filled(5, 2 * size);
    assert_eq!(log.read(8, usize::MAX, 15), ReadResult::Cold);
    assert_eq!(bases(&log.read(9, usize::MAX, 15)), [9, 12]);
    assert_eq!(log.bytes_from(9), 2 * size);
    assert_eq!(log.bytes_from(12), size);
    assert_eq!(log.bytes_from(14), size);
    assert_eq!(log.bytes_from(15), 0);
    assert_eq!(log.bytes_from(0), i32::MAX as usize);
}

#[test]
fn batches_stay_in_memory_until_they_are_durable() {
    let mut log = PartitionLog::new(
        ID,
        LogConfig {
            tail_bytes: 0,
            ..config()
        },
    );
    for timestamp in [10, 20, 30] {
        append(
            &mut log,
            &Client::anonymous().records(3).timestamp(timestamp),
        );
    }
    log.durable_to(3);
    assert_eq!(log.read(0, usize::MAX, 3), ReadResult::Cold);
    assert_eq!(log.max_timestamp().unwrap().timestamp, 10);
    log.durable_to(9);
    assert_eq!(log.read(6, usize::MAX, 9), ReadResult::Cold);
    assert_eq!(log.max_timestamp().unwrap().timestamp, 30);
}

#[test]
fn a_trimmed_log_begins_inside_a_batch() {
    let (mut log, stored) = filled(4, usize::MAX);
    log.trim(4);
    log.trim(2);
    assert_eq!(log.start_offset(), 4);
    assert_eq!(log.read(3, usize::MAX, 12), ReadResult::OutOfRange);
    assert_eq!(bases(&log.read(4, usize::MAX, 12)), [3, 6, 9]);
    let cut = log.cut(stored, 12, usize::MAX);
    assert_eq!(bases(&ReadResult::Hot(cut)), [3, 6, 9]);
    log.trim(99);
    assert_eq!(
        (
            log.start_offset(),
            log.end_offset(),
            log.last_stable_offset()
        ),
        (12, 12, 12)
    );
}

#[test]
fn spans_are_found_across_the_borders_of_chunks() {
    let mut log = log();
    append(&mut log, &Client::anonymous().records(3));
    let batch = Client::new(7).transactional().records(2);
    log.append_client(now(1), &batch.build(), TxnCheck::Version2)
        .unwrap();
    let marker = Marker {
        producer_id: 7,
        producer_epoch: 1,
        commit: true,
        coordinator_epoch: 0,
        transaction_version: 2,
        ordinal: 0,
    };
    log.append_marker(now(2), marker).unwrap();
    log.durable_to(6);
    let ReadResult::Hot(chunks) = log.read(0, usize::MAX, 6) else {
        panic!("cold")
    };
    let spans = PartitionLog::batch_bounds(&chunks);
    let seen: Vec<_> = spans
        .iter()
        .map(|span| {
            (
                span.base,
                span.last,
                span.is_control,
                span.is_transactional,
                span.producer_id,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (0, 2, false, false, -1),
            (3, 4, false, true, 7),
            (5, 5, true, true, 7)
        ]
    );
    let sizes: usize = spans.iter().map(|span| span.size).sum();
    assert_eq!(sizes, chunks.concat().len());
    let whole = chunks.concat();
    for step in [1, 7, 60, 61, 1000] {
        let cut: Vec<_> = whole.chunks(step).map(Bytes::copy_from_slice).collect();
        assert_eq!(PartitionLog::batch_bounds(&cut), spans);
    }
    let cut = Bytes::copy_from_slice(&whole[..whole.len() - 1]);
    assert_eq!(PartitionLog::batch_bounds(&[cut]), spans[..2]);
}

#[test]
fn searching_by_time_knows_when_memory_cannot_tell() {
    let base = |found| match found {
        FindHot::Found(batch) => batch.base,
        other => panic!("{other:?}"),
    };
    let (log, stored) = filled(5, usize::MAX);
    assert_eq!(base(log.find_timestamp_hot(0)), 0);
    assert_eq!(base(log.find_timestamp_hot(1_002)), 6);
    assert_eq!(
        log.find_timestamp_hot(1_002),
        FindHot::Found(stored[2].clone())
    );
    assert_eq!(log.find_timestamp_hot(1_005), FindHot::NotFound);

    let (mut log, stored) = filled(5, 2 * stored[0].bytes.len());
    assert_eq!(log.find_timestamp_hot(1_002), FindHot::Cold);
    assert_eq!(base(log.find_timestamp_hot(1_003)), 9);
    append(&mut log, &Client::anonymous().timestamp(2_000));
    assert_eq!(log.find_timestamp_hot(2_000), FindHot::NotFound);
    log.durable_to(16);
    assert_eq!(base(log.find_timestamp_hot(2_000)), 15);
    log.trim(12);
    assert_eq!(log.find_timestamp_hot(0), FindHot::Found(stored[4].clone()));
}

#[test]
fn the_largest_timestamp_survives_trimming() {
    let mut log = log();
    for timestamp in [50, 90, 70, 90, 80] {
        append(&mut log, &Client::anonymous().timestamp(timestamp));
    }
    assert_eq!(log.max_timestamp(), None);
    log.durable_to(5);
    let mut largest_from = |start| {
        log.trim(start);
        log.max_timestamp().map(|max| (max.timestamp, max.base))
    };
    assert_eq!(largest_from(0), Some((90, 1)));
    assert_eq!(largest_from(2), Some((90, 3)));
    assert_eq!(largest_from(4), Some((80, 4)));
    assert_eq!(largest_from(5), None);
}

#[test]
fn falling_timestamps_keep_the_first_and_the_last() {
    let mut log = log();
    for n in 0..100 {
        append(&mut log, &Client::anonymous().timestamp(1_000 - n));
    }
    log.durable_to(100);
    assert_eq!(log.max_timestamp().unwrap().base, 0);
    let (at, state) = log.checkpoint();
    let loaded = LoadedLog {
        start: 0,
        end: at,
        cleaned: false,
        checkpoint: Some(StoredCheckpoint { at, state }),
        batches: Vec::new(),
    };
    let recovered = PartitionLog::recover(ID, config(), &loaded).unwrap();
    assert_eq!(recovered.checkpoint(), log.checkpoint());
    log.trim(99);
    assert_eq!(log.max_timestamp().unwrap().base, 99);
}

#[test]
fn the_log_stamps_batches_where_its_topic_says_so() {
    let mut log = PartitionLog::new(
        ID,
        LogConfig {
            timestamp_type_append: true,
            ..config()
        },
    );
    let sent = Client::new(7).records(3).timestamp(50).build();
    let Ok(Produced::Appended {
        part,
        log_append_time,
        ..
    }) = log.append_client(now(777), &sent, TxnCheck::Unverified)
    else {
        panic!("refused");
    };
    assert_eq!(log_append_time, Some(777));
    let stored = as_stored(&part).bytes;
    let header = header(&stored);
    assert!(crc_is_right(&stored));
    assert_eq!((header.max_timestamp, header.attributes & 8), (777, 8));
    assert_eq!(stored[61..], sent[61..]);
    log.durable_to(3);
    assert_eq!(log.max_timestamp().unwrap().timestamp, 777);

    // Elsewhere a client cannot claim that the log has stamped its batch.
    let mut log = super::log();
    let sent = Client::new(7).records(3).timestamp(50).claims_append_time();
    let stored = as_stored(&append(&mut log, &sent)).bytes;
    assert!(crc_is_right(&stored));
    assert_eq!(super::header(&stored).attributes & 8, 0);
}
