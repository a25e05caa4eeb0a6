//! Plain reading under read_committed.

use ackord_client_core::{
    CallId, ClientError, FetchedRecords, Fetcher, FetcherCommand, FetcherConfig,
};
use ackord_proto::api::Request;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::FetchResponse;
use ackord_proto::messages::fetch::{AbortedTransaction, FetchableTopicResponse, PartitionData};
use ackord_proto::records::{BatchBuilder, ControlType, Records, control_batch};
use bytes::Bytes;

use crate::bench::{Bench, Sent, TOPIC_ID};

fn fetcher() -> Bench<Fetcher> {
    let config = FetcherConfig::new(["broker:9092".parse().unwrap()]);
    let mut bench = Bench::new(Fetcher::new(config, [1; 32]));
    let call = bench.call(FetcherCommand::Assign(vec![
        ("t".into(), 0, 0),
        ("t".into(), 2, 5),
    ]));
    assert!(bench.result(call).is_ok());
    bench
}

fn poll(bench: &mut Bench<Fetcher>) -> CallId {
    bench.call(FetcherCommand::Poll { timeout_ms: 2_000 })
}

fn batch(base_offset: i64, count: usize, producer_id: i64) -> Bytes {
    let mut batch = BatchBuilder::new(base_offset)
        .producer(producer_id, 0, 0)
        .transactional();
    (0..count).for_each(|_| batch.push(9, Some(b"k"), Some(b"v")));
    batch.build()
}

fn answer(bench: &mut Bench<Fetcher>, sent: &Sent, partition_index: i32, data: PartitionData) {
    let partitions = vec![PartitionData {
        partition_index,
        ..data
    }];
    let topic = FetchableTopicResponse {
        topic_id: TOPIC_ID,
        partitions,
        ..Default::default()
    };
    bench.answer(
        sent,
        FetchResponse {
            responses: vec![topic],
            ..Default::default()
        },
    );
}

fn records(chunks: Vec<Bytes>) -> PartitionData {
    let records = Some(Records::from(chunks));
    PartitionData {
        records,
        high_watermark: 99,
        last_stable_offset: 50,
        ..Default::default()
    }
}

fn offsets(sent: &Sent) -> Vec<(i32, i64)> {
    let Request::Fetch(request) = &sent.request else {
        panic!("{sent:?}")
    };
    assert_eq!((request.isolation_level, request.session_epoch), (1, -1));
    assert_eq!(request.topics[0].topic_id, TOPIC_ID);
    let partitions = request.topics[0].partitions.iter();
    partitions
        .map(|partition| (partition.partition, partition.fetch_offset))
        .collect()
}

fn seen(fetched: &FetchedRecords) -> Vec<i64> {
    fetched.records.iter().map(|record| record.offset).collect()
}

#[test]
fn aborted_records_and_markers_are_left_out_and_the_position_moves_past_them() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    let sent = bench.next();
    assert_eq!(offsets(&sent), [(0, 0), (2, 5)]);
    let marker = |offset, kind| control_batch(offset, 0, 1, 0, kind, 0);
    let chunks = vec![
        batch(0, 2, 1),
        batch(2, 1, 2),
        marker(3, ControlType::Abort),
        batch(4, 1, 1),
        marker(5, ControlType::Commit),
    ];
    let aborted = AbortedTransaction {
        producer_id: 1,
        first_offset: 0,
        ..Default::default()
    };
    let data = PartitionData {
        aborted_transactions: Some(vec![aborted]),
        ..records(chunks)
    };
    answer(&mut bench, &sent, 0, data);
    let fetched = bench.result(call).unwrap();
    assert_eq!(seen(&fetched), [2, 4]);
    assert_eq!(
        (
            fetched.progress[0].next_offset,
            fetched.progress[0].last_stable_offset
        ),
        (6, 50)
    );
    poll(&mut bench);
    assert_eq!(offsets(&bench.next()), [(0, 6), (2, 5)]);
}

#[test]
fn records_before_the_position_are_not_seen() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    let sent = bench.next();
    answer(&mut bench, &sent, 2, records(vec![batch(3, 4, 1)]));
    assert_eq!(seen(&bench.result(call).unwrap()), [5, 6]);
}

#[test]
fn an_empty_answer_is_asked_again_until_the_poll_is_over() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    for _ in 0..3 {
        let sent = bench.next();
        bench.pass(600);
        answer(&mut bench, &sent, 0, records(Vec::new()));
    }
    let sent = bench.next();
    bench.pass(600);
    assert!(bench.result(call).unwrap().records.is_empty());
    // The late answer is not lost.
    answer(&mut bench, &sent, 0, records(vec![batch(0, 1, 1)]));
    let call = poll(&mut bench);
    assert_eq!(seen(&bench.result(call).unwrap()), [0]);
}

#[test]
fn a_broken_connection_and_a_moved_leader_are_overcome() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.cut(sent.conn);
    let sent = bench.pass_until_sent();
    let moved = PartitionData {
        error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ..Default::default()
    };
    answer(&mut bench, &sent, 0, moved);
    assert!(bench.is_silent(), "it pauses");
    let sent = bench.pass_until_sent();
    answer(&mut bench, &sent, 0, records(vec![batch(0, 1, 1)]));
    assert_eq!(seen(&bench.result(call).unwrap()), [0]);
}

#[test]
fn an_offset_out_of_range_is_told() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    let sent = bench.next();
    let error_code = ErrorCode::OFFSET_OUT_OF_RANGE;
    answer(
        &mut bench,
        &sent,
        2,
        PartitionData {
            error_code,
            ..Default::default()
        },
    );
    let message = "Fetch of t-2".into();
    assert_eq!(
        bench.result(call),
        Err(ClientError::Refused {
            code: error_code,
            message
        })
    );
}

#[test]
fn damaged_records_are_told_and_not_passed_over() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    let sent = bench.next();
    let mut damaged = batch(0, 1, 1).to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    answer(&mut bench, &sent, 0, records(vec![Bytes::from(damaged)]));
    assert_eq!(
        bench.result(call).unwrap_err().code(),
        ErrorCode::CORRUPT_MESSAGE
    );
    poll(&mut bench);
    assert_eq!(offsets(&bench.next()), [(0, 0), (2, 5)]);
}

#[test]
fn a_poll_that_nobody_waits_for_leaves_its_records_to_the_next() {
    let mut bench = fetcher();
    let call = poll(&mut bench);
    let sent = bench.next();
    answer(&mut bench, &sent, 0, records(vec![batch(0, 2, 1)]));
    let unseen = bench.result(call).unwrap();
    bench.abandon(call, Some(unseen.clone()));
    let call = poll(&mut bench);
    assert_eq!(bench.result(call).as_ref(), Ok(&unseen));
    bench.abandon(call, Some(unseen));
    let assigned = bench.call(FetcherCommand::Assign(vec![("t".into(), 0, 1)]));
    assert!(bench.result(assigned).is_ok());
    let call = poll(&mut bench);
    let sent = bench.next();
    answer(&mut bench, &sent, 0, records(vec![batch(0, 2, 1)]));
    assert_eq!(seen(&bench.result(call).unwrap()), [1], "assigned anew");
}
