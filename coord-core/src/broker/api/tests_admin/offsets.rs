//! ListOffsets.

use ackord_machine::StorageFault;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopic,
};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::{InitProducerIdRequest, ListOffsetsRequest, ProduceRequest};
use ackord_proto::records::{BatchBuilder, Compression};
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;
use bytes::Bytes;

use crate::broker::testing::{TestBroker, ask};

fn batch(timestamps: &[i64]) -> Bytes {
    let mut batch = BatchBuilder::new(0);
    timestamps
        .iter()
        .for_each(|timestamp| batch.push(*timestamp, None, Some(b"x")));
    batch.build()
}

fn question(partition_index: i32, timestamp: i64) -> ListOffsetsPartition {
    ListOffsetsPartition {
        partition_index,
        timestamp,
        ..Default::default()
    }
}

fn request(topic: &str, partitions: Vec<ListOffsetsPartition>) -> ListOffsetsRequest {
    let topic = ListOffsetsTopic {
        name: Str::from(topic),
        partitions,
        ..Default::default()
    };
    ListOffsetsRequest {
        replica_id: -1,
        topics: vec![topic],
        ..Default::default()
    }
}

fn answer(
    test: &mut TestBroker,
    version: i16,
    topic: &str,
    asked: ListOffsetsPartition,
) -> ListOffsetsPartitionResponse {
    let mut response = ask!(test, ListOffsets, version, request(topic, vec![asked]));
    response.topics.remove(0).partitions.remove(0)
}

/// Timestamp and offset.
fn at(test: &mut TestBroker, timestamp: i64) -> (i64, i64) {
    let found = answer(test, 11, "t", question(0, timestamp));
    assert_eq!(found.error_code, ErrorCode::NONE);
    (found.timestamp, found.offset)
}

fn filled() -> TestBroker {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    test.produce("t", batch(&[100, 300, 200]));
    test.produce("t", batch(&[150, 400]));
    test
}

#[test]
fn the_ends_of_a_log() {
    let mut test = filled();
    for version in 1..=11 {
        let latest = answer(&mut test, version, "t", question(0, -1));
        assert_eq!((latest.timestamp, latest.offset), (-1, 5));
        assert_eq!(latest.leader_epoch, if version >= 4 { 0 } else { -1 });
        assert_eq!(answer(&mut test, version, "t", question(0, -2)).offset, 0);
    }
    assert_eq!(at(&mut test, -4), (-1, 0));
    // Nothing is tiered.
    assert_eq!((at(&mut test, -5), at(&mut test, -6)), ((-1, -1), (-1, -1)));
}

#[test]
fn the_first_record_that_is_as_young() {
    let mut test = filled();
    let cases = [
        (0, (100, 0)),
        (101, (300, 1)),
        (300, (300, 1)),
        (301, (400, 4)),
        (400, (400, 4)),
    ];
    for (timestamp, expected) in cases {
        assert_eq!(at(&mut test, timestamp), expected, "{timestamp}");
    }
    assert_eq!(at(&mut test, 401), (-1, -1));
    assert_eq!(at(&mut test, i64::MAX), (-1, -1));
    assert_eq!(at(&mut test, -3), (400, 4));
}

#[test]
fn an_empty_log_has_ends_and_no_times() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    assert_eq!((at(&mut test, -1), at(&mut test, -2)), ((-1, 0), (-1, 0)));
    assert_eq!((at(&mut test, 0), at(&mut test, -3)), ((-1, -1), (-1, -1)));
}

#[test]
fn what_memory_has_lost_is_looked_up_in_the_store() {
    let mut test = filled();
    test.restart();
    test.produce("t", batch(&[500]));
    assert_eq!(at(&mut test, 101), (300, 1));
    assert_eq!(at(&mut test, -3), (500, 5));
    assert_eq!(at(&mut test, 350), (400, 4));
    test.storage_stands_still = true;
    let questions = request("t", vec![question(0, 0), question(1, 0)]);
    test.send(11, questions);
    assert!(test.reply().is_none());
    test.resume_storage();
    let Some(ackord_proto::api::Response::ListOffsets(response)) = test.reply() else {
        panic!("no answer")
    };
    let [found, unknown] = &response.topics[0].partitions[..] else {
        panic!("two answers")
    };
    assert_eq!((found.timestamp, found.offset), (100, 0));
    assert_eq!(unknown.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    test.faults.push_back(StorageFault::Retriable);
    let failed = answer(&mut test, 11, "t", question(0, 0));
    assert_eq!(
        (failed.error_code, failed.offset),
        (ErrorCode::KAFKA_STORAGE_ERROR, -1)
    );
}

#[test]
fn questions_that_have_no_answer() {
    let mut test = filled();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(
        answer(&mut test, 11, "gone", question(0, -1)).error_code,
        unknown
    );
    assert_eq!(
        answer(&mut test, 11, "t", question(1, -1)).error_code,
        unknown
    );
    assert_eq!(
        answer(&mut test, 11, "t", question(-1, -1)).error_code,
        unknown
    );
    let unsupported = ErrorCode::UNSUPPORTED_VERSION;
    for (timestamp, since) in [(-3, 7), (-4, 8), (-5, 9), (-6, 11)] {
        let refused = answer(&mut test, since - 1, "t", question(0, timestamp));
        assert_eq!(refused.error_code, unsupported, "{timestamp}");
        let served = answer(&mut test, since, "t", question(0, timestamp));
        assert_eq!(served.error_code, ErrorCode::NONE, "{timestamp}");
    }
    assert_eq!(
        answer(&mut test, 11, "t", question(0, -7)).error_code,
        unsupported
    );
    let response = ask!(
        test,
        ListOffsets,
        11,
        request("t", vec![question(0, -1), question(0, -2)])
    );
    for twice in &response.topics[0].partitions {
        assert_eq!(
            (twice.error_code, twice.offset),
            (ErrorCode::INVALID_REQUEST, -1)
        );
    }
}

#[test]
fn another_leader_epoch_is_refused() {
    let mut test = filled();
    for (current_leader_epoch, code) in [
        (-1, ErrorCode::NONE),
        (0, ErrorCode::NONE),
        (1, ErrorCode::UNKNOWN_LEADER_EPOCH),
        (-2, ErrorCode::FENCED_LEADER_EPOCH),
    ] {
        let asked = ListOffsetsPartition {
            current_leader_epoch,
            ..question(0, -1)
        };
        assert_eq!(
            answer(&mut test, 4, "t", asked).error_code,
            code,
            "{current_leader_epoch}"
        );
    }
}

#[test]
fn read_committed_ends_at_the_first_open_transaction() {
    let mut test = filled();
    let transactional_id = Some(Str::from("txn"));
    let init = InitProducerIdRequest {
        transactional_id: transactional_id.clone(),
        transaction_timeout_ms: 60_000,
        ..Default::default()
    };
    let producer = ask!(test, InitProducerId, 5, init);
    let mut records = BatchBuilder::new(0)
        .producer(producer.producer_id, producer.producer_epoch, 0)
        .transactional();
    records.push(900, None, Some(b"open"));
    let data = PartitionProduceData {
        records: Some(records.build().into()),
        ..Default::default()
    };
    let topic = TopicProduceData {
        name: Str::from("t"),
        partition_data: vec![data],
        ..Default::default()
    };
    let produce = ProduceRequest {
        transactional_id,
        acks: -1,
        timeout_ms: 1000,
        topic_data: vec![topic],
        ..Default::default()
    };
    let produced = ask!(test, Produce, 12, produce);
    assert_eq!(
        produced.responses[0].partition_responses[0].error_code,
        ErrorCode::NONE
    );
    let mut offset = |isolation_level, timestamp| {
        let asked = request("t", vec![question(0, timestamp)]);
        let response = ask!(
            test,
            ListOffsets,
            11,
            ListOffsetsRequest {
                isolation_level,
                ..asked
            }
        );
        response.topics[0].partitions[0].offset
    };
    assert_eq!((offset(0, -1), offset(1, -1)), (6, 5));
    // By time, what is not stable is not there yet.
    assert_eq!((offset(0, 900), offset(1, 900)), (5, -1));
    assert_eq!((offset(0, -3), offset(1, -3)), (5, -1));
    assert_eq!(offset(1, 400), 4);
}

#[test]
fn a_compressed_batch_is_looked_into() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    test.produce("t", batch(&[100]));
    let mut packed = BatchBuilder::new(0);
    packed.push(200, None, Some(b"x"));
    packed.push(300, None, Some(b"y"));
    test.produce("t", packed.build_compressed(Compression::Gzip).unwrap());
    assert_eq!(at(&mut test, 101), (200, 1));
    assert_eq!(at(&mut test, 250), (300, 2));
    assert_eq!(at(&mut test, 301), (-1, -1));
}
