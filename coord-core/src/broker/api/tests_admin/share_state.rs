//! Initialize, Read, Write and DeleteShareGroupState from outside.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddShareAcksToTxnRequest, DeleteShareGroupStateRequest, InitProducerIdRequest,
    InitializeShareGroupStateRequest, ReadShareGroupStateRequest, TxnShareAcknowledgeRequest,
    WriteShareGroupStateRequest, add_share_acks_to_txn as register,
    delete_share_group_state as delete, initialize_share_group_state as initialize,
    read_share_group_state as read, txn_share_acknowledge as stage,
    write_share_group_state as write,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask, write_share_state};

fn initialize(test: &mut TestBroker, group: &str, topic_id: Uuid, partition: i32) -> ErrorCode {
    let data = initialize::PartitionData {
        partition,
        state_epoch: 1,
        start_offset: 3,
        ..Default::default()
    };
    let topic = initialize::InitializeStateData {
        topic_id,
        partitions: vec![data],
        ..Default::default()
    };
    let request = InitializeShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    };
    let response = ask!(test, InitializeShareGroupState, 0, request);
    response.results[0].partitions[0].error_code
}

fn read(
    test: &mut TestBroker,
    group: &str,
    topic_id: Uuid,
    partition: i32,
) -> read::PartitionResult {
    let data = read::PartitionData {
        partition,
        ..Default::default()
    };
    let topic = read::ReadStateData {
        topic_id,
        partitions: vec![data],
        ..Default::default()
    };
    let request = ReadShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    };
    ask!(test, ReadShareGroupState, 0, request)
        .results
        .remove(0)
        .partitions
        .remove(0)
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
    write_share_state(group, topic_id, data)
}

fn write(test: &mut TestBroker, group: &str, topic: Uuid, partition: i32) -> ErrorCode {
    let request = write_request(group, topic, partition);
    let response = ask!(test, WriteShareGroupState, 1, request);
    response.results[0].partitions[0].error_code
}

fn delete(test: &mut TestBroker, group: &str, topic_id: Uuid, partition: i32) -> ErrorCode {
    let data = delete::PartitionData {
        partition,
        ..Default::default()
    };
    let topic = delete::DeleteStateData {
        topic_id,
        partitions: vec![data],
        ..Default::default()
    };
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
    assert_eq!(
        (begun.error_code, begun.state_epoch, begun.start_offset),
        (ErrorCode::NONE, 1, 3)
    );
    assert_eq!(write(&mut test, "g", topic, 1), ErrorCode::NONE);
    test.restart();
    let changed = read(&mut test, "g", topic, 1);
    assert_eq!(changed.start_offset, 4);
    let batch = changed.state_batches.first().unwrap();
    assert_eq!(
        (batch.first_offset, batch.last_offset, batch.delivery_state),
        (5, 6, 2)
    );
    assert_eq!(delete(&mut test, "g", topic, 1), ErrorCode::NONE);
    assert_eq!(
        read(&mut test, "g", topic, 1).error_code,
        ErrorCode::INVALID_REQUEST
    );
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
        assert_eq!(delete(&mut test, group, topic, partition), code);
        // What does not exist has no state, as what is not initialised.
        let none = ErrorCode::INVALID_REQUEST;
        assert_eq!(read(&mut test, group, topic, partition).error_code, none);
        assert_eq!(write(&mut test, group, topic, partition), none);
    }
}

#[test]
fn a_negative_leader_epoch_is_refused() {
    let mut test = TestBroker::new(&[]);
    let topic_id = test.create_topic("t", 1);
    assert_eq!(initialize(&mut test, "g", topic_id, 0), ErrorCode::NONE);
    let data = read::PartitionData {
        leader_epoch: -1,
        ..Default::default()
    };
    let topic = read::ReadStateData {
        topic_id,
        partitions: vec![data],
        ..Default::default()
    };
    let request = ReadShareGroupStateRequest {
        group_id: Str::from("g"),
        topics: vec![topic],
        ..Default::default()
    };
    let response = ask!(test, ReadShareGroupState, 0, request);
    let code = response.results[0].partitions[0].error_code;
    assert_eq!(code, ErrorCode::INVALID_REQUEST);
}

#[test]
fn older_epochs_are_fenced() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    assert_eq!(initialize(&mut test, "g", topic, 0), ErrorCode::NONE);
    let mut request = write_request("g", topic, 0);
    request.topics[0].partitions[0].state_epoch = 0;
    let response = ask!(test, WriteShareGroupState, 0, request);
    assert_eq!(
        response.results[0].partitions[0].error_code,
        ErrorCode::FENCED_STATE_EPOCH
    );
}

fn fetch(test: &mut TestBroker, topic_id: Uuid, session_epoch: i32) -> Vec<(i64, i64)> {
    let acquired = test.share_fetch("m", topic_id, session_epoch);
    let ranges = acquired.iter();
    ranges
        .map(|range| (range.first_offset, range.last_offset))
        .collect()
}

/// A member of `g` that holds the records from offset 3 on of a topic of 6.
fn with_member() -> (TestBroker, Uuid) {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    let mut batch = BatchBuilder::new(0);
    (0..6).for_each(|_| batch.push(1, None, Some(b"x")));
    test.produce("t", batch.build());
    assert_eq!(initialize(&mut test, "g", topic, 0), ErrorCode::NONE);
    test.join_share_group("m", "t");
    assert_eq!(fetch(&mut test, topic, 0), [(3, 5)]);
    (test, topic)
}

#[test]
fn what_the_leader_has_in_memory_gives_way_to_a_state_from_outside() {
    let (mut test, topic) = with_member();
    assert_eq!(fetch(&mut test, topic, 1), []);
    // Offset 5 is done by this, and the leader forgets who holds the other two.
    assert_eq!(write(&mut test, "g", topic, 0), ErrorCode::NONE);
    assert_eq!(fetch(&mut test, topic, 2), [(4, 4)]);
}

#[test]
fn what_a_transaction_holds_is_left_alone() {
    let (mut test, topic_id) = with_member();
    let transactional_id = Str::from("txn");
    let init = InitProducerIdRequest {
        transactional_id: Some(transactional_id.clone()),
        transaction_timeout_ms: 60_000,
        ..Default::default()
    };
    let producer = ask!(test, InitProducerId, 5, init);
    let (producer_id, producer_epoch) = (producer.producer_id, producer.producer_epoch);
    let topic = register::AddShareAcksToTxnTopic {
        name: Str::from("t"),
        partitions: vec![0],
        ..Default::default()
    };
    let request = AddShareAcksToTxnRequest {
        transactional_id: transactional_id.clone(),
        producer_id,
        producer_epoch,
        group_id: Str::from("g"),
        topics: vec![topic],
        ..Default::default()
    };
    let registered = ask!(test, AddShareAcksToTxn, 0, request);
    assert_eq!(
        registered.topics[0].partitions[0].error_code,
        ErrorCode::NONE
    );
    let batch = stage::AcknowledgementBatch {
        first_offset: 4,
        last_offset: 4,
        acknowledge_type: 1,
        ..Default::default()
    };
    let partition = stage::TxnShareAcknowledgePartition {
        acknowledgement_batches: vec![batch],
        ..Default::default()
    };
    let topic = stage::TxnShareAcknowledgeTopic {
        topic_id,
        partitions: vec![partition],
        ..Default::default()
    };
    let request = TxnShareAcknowledgeRequest {
        group_id: Str::from("g"),
        transactional_id,
        producer_id,
        producer_epoch,
        topics: vec![topic],
        ..Default::default()
    };
    let staged = ask!(test, TxnShareAcknowledge, 0, request);
    assert_eq!(
        staged.responses[0].partitions[0].error_code,
        ErrorCode::NONE
    );

    let before = read(&mut test, "g", topic_id, 0);
    assert_eq!(before.error_code, ErrorCode::NONE);
    assert_eq!(
        write(&mut test, "g", topic_id, 0),
        ErrorCode::INVALID_TXN_STATE
    );
    assert_eq!(
        delete(&mut test, "g", topic_id, 0),
        ErrorCode::INVALID_TXN_STATE
    );
    assert_eq!(
        initialize(&mut test, "g", topic_id, 0),
        ErrorCode::INVALID_TXN_STATE
    );
    assert_eq!(read(&mut test, "g", topic_id, 0), before);
    // Nor does another group have to wait.
    assert_eq!(initialize(&mut test, "other", topic_id, 0), ErrorCode::NONE);
}
