//! CreatePartitions, DeleteRecords.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use ackord_proto::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use ackord_proto::messages::{CreatePartitionsRequest, DeleteRecordsRequest};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask};

fn grown(name: &str, count: i32, replicas: Option<&[&[i32]]>) -> CreatePartitionsTopic {
    let assignment = |broker_ids: &&[i32]| CreatePartitionsAssignment {
        broker_ids: broker_ids.to_vec(),
        ..Default::default()
    };
    CreatePartitionsTopic {
        name: Str::from(name),
        count,
        assignments: replicas.map(|replicas| replicas.iter().map(assignment).collect()),
        ..Default::default()
    }
}

fn grow(
    test: &mut TestBroker,
    version: i16,
    validate_only: bool,
    topics: Vec<CreatePartitionsTopic>,
) -> Vec<(ErrorCode, Str)> {
    let request = CreatePartitionsRequest {
        topics,
        validate_only,
        ..Default::default()
    };
    let results = ask!(test, CreatePartitions, version, request).results;
    results
        .into_iter()
        .map(|result| (result.error_code, result.error_message.unwrap_or_default()))
        .collect()
}

fn partitions(test: &TestBroker, topic: &str) -> i32 {
    test.broker.cluster().topic(topic).unwrap().partitions
}

#[test]
fn a_topic_grows_in_every_version_and_only_where_it_is_meant() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("orders", 1);
    let none = || vec![(ErrorCode::NONE, Str::default())];
    for version in 0..=3 {
        let count = i32::from(version) + 2;
        let asked = vec![grown("orders", count, None)];
        assert_eq!(grow(&mut test, version, true, asked.clone()), none());
        assert_eq!(partitions(&test, "orders"), count - 1);
        assert_eq!(grow(&mut test, version, false, asked), none());
        assert_eq!(partitions(&test, "orders"), count);
    }
    let assigned = vec![grown("orders", 7, Some(&[&[1], &[1]]))];
    assert_eq!(grow(&mut test, 3, false, assigned), none());
    test.restart();
    assert_eq!(partitions(&test, "orders"), 7);
}

#[test]
fn a_growth_that_cannot_be_is_refused_with_its_reason() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("orders", 3);
    let mut refused = |asked: CreatePartitionsTopic| {
        let (code, why) = grow(&mut test, 3, false, vec![asked]).remove(0);
        (code, why.to_string())
    };
    let invalid = ErrorCode::INVALID_PARTITIONS;
    assert_eq!(
        refused(grown("orders", 3, None)),
        (invalid, "Topic already has 3 partition(s).".to_string())
    );
    assert_eq!(
        refused(grown("orders", 2, None)),
        (
            invalid,
            "The topic orders currently has 3 partition(s); 2 would not be an increase."
                .to_string()
        )
    );
    assert_eq!(
        refused(grown("x", 4, None)).0,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
    assert_eq!(
        refused(grown("orders", i32::MAX, None)).0,
        ErrorCode::POLICY_VIOLATION
    );
    assert_eq!(refused(grown("orders", i32::MIN, None)).0, invalid);
    let replicas: [&[&[i32]]; 4] = [&[&[1]], &[&[1], &[]], &[&[1], &[7]], &[&[1], &[1, 1]]];
    for replicas in replicas {
        let code = refused(grown("orders", 5, Some(replicas))).0;
        assert_eq!(code, ErrorCode::INVALID_REPLICA_ASSIGNMENT, "{replicas:?}");
    }
    let twice = vec![grown("orders", 5, None), grown("orders", 6, None)];
    let codes = grow(&mut test, 3, false, twice);
    assert_eq!(
        codes,
        [(
            ErrorCode::INVALID_REQUEST,
            Str::from("Duplicate topic name.")
        )]
    );
    assert_eq!(partitions(&test, "orders"), 3);
}

/// Low watermark and code of each partition.
fn delete(test: &mut TestBroker, version: i16, asked: &[(i32, i64)]) -> Vec<(i64, ErrorCode)> {
    let partition = |(partition_index, offset): &(i32, i64)| DeleteRecordsPartition {
        partition_index: *partition_index,
        offset: *offset,
        ..Default::default()
    };
    let topic = DeleteRecordsTopic {
        name: Str::from("orders"),
        partitions: asked.iter().map(partition).collect(),
        ..Default::default()
    };
    let request = DeleteRecordsRequest {
        topics: vec![topic],
        ..Default::default()
    };
    let topics = ask!(test, DeleteRecords, version, request).topics;
    topics
        .into_iter()
        .flat_map(|topic| topic.partitions)
        .map(|partition| (partition.low_watermark, partition.error_code))
        .collect()
}

#[test]
fn records_are_deleted_in_every_version_each_partition_by_itself() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("orders", 2);
    for _ in 0..6 {
        let mut batch = BatchBuilder::new(0);
        batch.push(1, None, Some(b"value"));
        test.produce("orders", batch.build());
    }
    let refused = |code| (-1, code);
    for version in 0..=2_i16 {
        let before = i64::from(version) + 1;
        let asked = [(0, before), (0, 99), (5, 0), (1, 0), (1, -1)];
        let expected = [
            (before, ErrorCode::NONE),
            refused(ErrorCode::OFFSET_OUT_OF_RANGE),
            refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            (0, ErrorCode::NONE),
            (0, ErrorCode::NONE),
        ];
        assert_eq!(delete(&mut test, version, &asked), expected);
    }
    // Of two starts for one partition the later one holds.
    assert_eq!(
        delete(&mut test, 2, &[(0, 5), (0, 4)]),
        [(5, ErrorCode::NONE), (5, ErrorCode::NONE)]
    );
    test.restart();
    assert_eq!(delete(&mut test, 2, &[(0, 0)]), [(5, ErrorCode::NONE)]);
    assert_eq!(delete(&mut test, 2, &[(0, -1)]), [(6, ErrorCode::NONE)]);
}
