//! Initialize, Read, Write and DeleteShareGroupState from outside.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    DeleteShareGroupStateRequest, InitializeShareGroupStateRequest, ReadShareGroupStateRequest,
    WriteShareGroupStateRequest, delete_share_group_state as delete,
    initialize_share_group_state as initialize, read_share_group_state as read,
    write_share_group_state as write,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;

use crate::broker::testing::{TestBroker, ask};

fn initialize(test: &mut TestBroker, group: &str, topic_id: Uuid, partition: i32) -> ErrorCode {
    let data = initialize::PartitionData {
        partition,
        state_epoch: 1,
        start_offset: 3,
        ..Default::default()
    };
    let topic =
        initialize::InitializeStateData { topic_id, partitions: vec![data], ..Default::default() };
    let request = InitializeShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    };
    let response = ask!(test, InitializeShareGroupState, 0, request);
    response.results[0].partitions[0].error_code
}

fn read(test: &mut TestBroker, group: &str, topic_id: Uuid, partition: i32) -> read::PartitionResult {
    let data = read::PartitionData { partition, ..Default::default() };
    let topic = read::ReadStateData { topic_id, partitions: vec![data], ..Default::default() };
    let request = ReadShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    };
    ask!(test, ReadShareGroupState, 0, request).results.remove(0).partitions.remove(0)
}

fn write_request(group: &str, topic_id: Uuid, partition: i32) -> WriteShareGroupStateRequest {
    let batch = write::StateBatch {
        first_offset: 5,
        last_offset: 6,
        delivery_state: 2,
        delivery_count: 1,
        ..Default::default()
    };
    let data = write::PartitionData {
        partition,
        state_epoch: 1,
        start_offset: 4,
        state_batches: vec![batch],
        ..Default::default()
    };
    let topic = write::WriteStateData { topic_id, partitions: vec![data], ..Default::default() };
    WriteShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    }
}

fn write(test: &mut TestBroker, group: &str, topic: Uuid, partition: i32) -> ErrorCode {
    let request = write_request(group, topic, partition);
    let response = ask!(test, WriteShareGroupState, 1, request);
    response.results[0].partitions[0].error_code
}

fn delete(test: &mut TestBroker, group: &str, topic_id: Uuid, partition: i32) -> ErrorCode {
    let data = delete::PartitionData { partition, ..Default::default() };
    let topic = delete::DeleteStateData { topic_id, partitions: vec![data], ..Default::default() };
    let request = DeleteShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    };
    let response = ask!(test, DeleteShareGroupState, 0, request);
    response.results[0].partitions[0].error_code
}

#[test]
fn a_state_begins_changes_and_ends() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 2);
    let before = read(&mut test, "g", topic, 1);
    assert_eq!(before.error_code, ErrorCode::INVALID_REQUEST);
    assert_eq!(write(&mut test, "g", topic, 1), ErrorCode::INVALID_REQUEST);
    assert_eq!(initialize(&mut test, "g", topic, 1), ErrorCode::NONE);
    let begun = read(&mut test, "g", topic, 1);
    assert_eq!((begun.error_code, begun.state_epoch, begun.start_offset), (ErrorCode::NONE, 1, 3));
    assert_eq!(write(&mut test, "g", topic, 1), ErrorCode::NONE);
    test.restart();
    let changed = read(&mut test, "g", topic, 1);
    assert_eq!(changed.start_offset, 4);
    let batch = changed.state_batches.first().unwrap();
    assert_eq!((batch.first_offset, batch.last_offset, batch.delivery_state), (5, 6, 2));
    assert_eq!(delete(&mut test, "g", topic, 1), ErrorCode::NONE);
    assert_eq!(read(&mut test, "g", topic, 1).error_code, ErrorCode::INVALID_REQUEST);
    // What is not there is deleted.
    assert_eq!(delete(&mut test, "g", topic, 1), ErrorCode::NONE);
}

#[test]
fn a_write_is_durable_when_it_is_answered() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    assert_eq!(initialize(&mut test, "g", topic, 0), ErrorCode::NONE);
    test.storage_stands_still = true;
    test.send(0, write_request("g", topic, 0));
    assert!(test.reply().is_none());
    test.resume_storage();
    assert!(test.reply().is_some());
}

#[test]
fn keys_that_name_nothing_are_refused() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    let cases = [
        ("", topic, 0, ErrorCode::INVALID_REQUEST),
        ("g", topic, -1, ErrorCode::INVALID_REQUEST),
        ("g", topic, 1, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("g", Uuid([3; 16]), 0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
    ];
    for (group, topic, partition, code) in cases {
        assert_eq!(initialize(&mut test, group, topic, partition), code);
        assert_eq!(read(&mut test, group, topic, partition).error_code, code);
        assert_eq!(write(&mut test, group, topic, partition), code);
        assert_eq!(delete(&mut test, group, topic, partition), code);
    }
}

#[test]
fn older_epochs_are_fenced() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    assert_eq!(initialize(&mut test, "g", topic, 0), ErrorCode::NONE);
    let mut request = write_request("g", topic, 0);
    request.topics[0].partitions[0].state_epoch = 0;
    let response = ask!(test, WriteShareGroupState, 0, request);
    assert_eq!(response.results[0].partitions[0].error_code, ErrorCode::FENCED_STATE_EPOCH);
}
