//! The transactional producer.

use ackord_client_core::{
    CallId, ClientError, Producer, ProducerCommand, ProducerConfig, ProducerOutput,
};
use ackord_proto::api::{ApiKey, Request};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use ackord_proto::messages::produce::{PartitionProduceResponse, TopicProduceResponse};
use ackord_proto::messages::{
    AddPartitionsToTxnResponse, EndTxnRequest, EndTxnResponse, InitProducerIdResponse,
    ProduceResponse,
};
use ackord_proto::records::{BatchHeader, RecordIter};
use bytes::Bytes;

use crate::bench::{Bench, Sent, TOPIC_ID};

pub(crate) fn producer() -> Bench<Producer> {
    let config = ProducerConfig::new(["broker:9092".parse().unwrap()], "copy");
    Bench::new(Producer::new(config, [1; 32]))
}

pub(crate) fn init(bench: &mut Bench<Producer>, producer_id: i64, producer_epoch: i16) {
    let call = bench.call(ProducerCommand::InitTransactions);
    let sent = bench.next();
    bench.answer(&sent, initialized(producer_id, producer_epoch));
    assert_eq!(bench.result(call), Ok(ProducerOutput::Done));
}

pub(crate) fn initialized(producer_id: i64, producer_epoch: i16) -> InitProducerIdResponse {
    InitProducerIdResponse {
        producer_id,
        producer_epoch,
        ..Default::default()
    }
}

pub(crate) fn begin(bench: &mut Bench<Producer>) {
    let call = bench.call(ProducerCommand::BeginTransaction);
    assert_eq!(bench.result(call), Ok(ProducerOutput::Done));
}

pub(crate) fn send(bench: &mut Bench<Producer>, partition: i32, value: &'static str) -> CallId {
    bench.call(ProducerCommand::Send {
        topic: "t".into(),
        partition: Some(partition),
        key: None,
        value: Some(Bytes::from_static(value.as_bytes())),
        headers: Vec::new(),
    })
}

/// Partition, header and values of the batch in a Produce request.
pub(crate) fn batch(sent: &Sent) -> (i32, BatchHeader, Vec<String>) {
    let Request::Produce(request) = &sent.request else {
        panic!("{sent:?}")
    };
    let data = &request.topic_data[0].partition_data[0];
    let bytes = data.records.as_ref().expect("records").to_bytes();
    let values = RecordIter::new(&bytes).expect("a batch").map(|record| {
        let value = record.expect("a record").value.expect("a value");
        String::from_utf8(value.to_vec()).expect("text")
    });
    let values = values.collect();
    (
        data.index,
        BatchHeader::parse(&bytes).expect("a batch"),
        values,
    )
}

pub(crate) fn produced(sent: &Sent, error_code: ErrorCode, base_offset: i64) -> ProduceResponse {
    let (index, ..) = batch(sent);
    let partition = PartitionProduceResponse {
        index,
        error_code,
        base_offset,
        ..Default::default()
    };
    let topic = TopicProduceResponse {
        name: "t".into(),
        topic_id: TOPIC_ID,
        partition_responses: vec![partition],
        ..Default::default()
    };
    ProduceResponse {
        responses: vec![topic],
        ..Default::default()
    }
}

pub(crate) fn end(sent: &Sent) -> (i16, &EndTxnRequest) {
    match &sent.request {
        Request::EndTxn(request) => (sent.version, request),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn ended(producer_id: i64, producer_epoch: i16) -> EndTxnResponse {
    EndTxnResponse {
        producer_id,
        producer_epoch,
        ..Default::default()
    }
}

fn refused(error_code: ErrorCode) -> EndTxnResponse {
    EndTxnResponse {
        error_code,
        ..Default::default()
    }
}

#[test]
fn version_two_takes_over_the_epoch_of_each_end() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    for (epoch, base) in [(0, 0), (1, 10)] {
        begin(&mut bench);
        let record = send(&mut bench, 1, "a");
        let sent = bench.next();
        assert_eq!(sent.version, 13);
        let (partition, header, values) = batch(&sent);
        assert_eq!((partition, values), (1, vec!["a".to_owned()]));
        assert_eq!(
            (
                header.producer_id,
                header.producer_epoch,
                header.base_sequence
            ),
            (40, epoch, 0)
        );
        assert!(header.is_transactional());
        bench.answer(&sent, produced(&sent, ErrorCode::NONE, base));
        let sent_output = ProducerOutput::Sent {
            partition: 1,
            offset: base,
        };
        assert_eq!(bench.result(record), Ok(sent_output));
        let commit = bench.call(ProducerCommand::CommitTransaction);
        let sent = bench.next();
        let (version, request) = end(&sent);
        assert_eq!(
            (version, request.committed, request.producer_epoch),
            (5, true, epoch)
        );
        bench.answer(&sent, ended(40, epoch + 1));
        assert_eq!(bench.result(commit), Ok(ProducerOutput::Done));
    }
    assert!(bench.is_silent());
}

#[test]
fn records_that_wait_leave_together_and_sequences_go_on() {
    let mut bench = producer();
    init(&mut bench, 40, 3);
    begin(&mut bench);
    send(&mut bench, 0, "a");
    let calls = [send(&mut bench, 0, "b"), send(&mut bench, 0, "c")];
    let flush = bench.call(ProducerCommand::Flush);
    let first = bench.next();
    assert!(bench.is_silent(), "one batch of a partition at a time");
    bench.answer(&first, produced(&first, ErrorCode::NONE, 0));
    assert!(!bench.is_done(flush));
    let second = bench.next();
    let (_, header, values) = batch(&second);
    assert_eq!(
        (header.base_sequence, values),
        (1, vec!["b".to_owned(), "c".to_owned()])
    );
    bench.answer(&second, produced(&second, ErrorCode::NONE, 7));
    assert_eq!(bench.result(flush), Ok(ProducerOutput::Done));
    for (call, offset) in calls.into_iter().zip(7..) {
        assert_eq!(
            bench.result(call),
            Ok(ProducerOutput::Sent {
                partition: 0,
                offset
            })
        );
    }
}

#[test]
fn partitions_are_chosen_by_key_or_in_turn() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    let mut chosen = Vec::new();
    for key in [Some("foobar"), None, None, None, None] {
        bench.call(ProducerCommand::Send {
            topic: "t".into(),
            partition: None,
            key: key.map(Bytes::from),
            value: Some("v".into()),
            headers: Vec::new(),
        });
        let sent = bench.next();
        chosen.push(batch(&sent).0);
        bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
    }
    let hash = ackord_client_core::murmur2(b"foobar") & i32::MAX;
    assert_eq!(chosen, [hash % 3, 0, 1, 2, 0]);
}

#[test]
fn version_one_registers_partitions_first_and_keeps_its_epoch() {
    let mut bench = producer();
    bench.transaction_version = 1;
    init(&mut bench, 40, 5);
    for base_sequence in [0, 1] {
        begin(&mut bench);
        send(&mut bench, 2, "a");
        let sent = bench.next();
        assert_eq!(
            (sent.request.key(), sent.version),
            (ApiKey::AddPartitionsToTxn, 3)
        );
        assert!(bench.is_silent(), "the batch waits");
        bench.answer(&sent, added(2, ErrorCode::NONE));
        let sent = bench.next();
        assert_eq!(sent.version, 11);
        let (_, header, _) = batch(&sent);
        assert_eq!(
            (header.producer_epoch, header.base_sequence),
            (5, base_sequence)
        );
        bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
        let commit = bench.call(ProducerCommand::CommitTransaction);
        let sent = bench.next();
        assert_eq!(end(&sent).0, 4);
        bench.answer(&sent, EndTxnResponse::default());
        assert!(bench.result(commit).is_ok());
    }
}

fn added(partition_index: i32, partition_error_code: ErrorCode) -> AddPartitionsToTxnResponse {
    let partition = AddPartitionsToTxnPartitionResult {
        partition_index,
        partition_error_code,
        ..Default::default()
    };
    let topic = AddPartitionsToTxnTopicResult {
        name: "t".into(),
        results_by_partition: vec![partition],
        ..Default::default()
    };
    AddPartitionsToTxnResponse {
        results_by_topic_v3_and_below: vec![topic],
        ..Default::default()
    }
}

#[test]
fn version_one_bumps_its_epoch_after_a_lost_batch() {
    let mut bench = producer();
    bench.transaction_version = 1;
    init(&mut bench, 40, 5);
    begin(&mut bench);
    let record = send(&mut bench, 2, "a");
    let sent = bench.next();
    bench.answer(&sent, added(2, ErrorCode::NONE));
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::MESSAGE_TOO_LARGE, -1));
    assert!(bench.result(record).unwrap_err().is_abortable());
    let abort = bench.call(ProducerCommand::AbortTransaction);
    let sent = bench.next();
    bench.answer(&sent, EndTxnResponse::default());
    let sent = bench.next();
    let Request::InitProducerId(request) = &sent.request else {
        panic!("{sent:?}")
    };
    assert_eq!((request.producer_id, request.producer_epoch), (40, 5));
    bench.answer(&sent, initialized(40, 6));
    assert!(bench.result(abort).is_ok());
    begin(&mut bench);
    send(&mut bench, 2, "b");
    let sent = bench.next();
    bench.answer(&sent, added(2, ErrorCode::NONE));
    let (_, header, _) = batch(&bench.next());
    assert_eq!((header.producer_epoch, header.base_sequence), (6, 0));
}

#[test]
fn an_untouched_transaction_ends_without_the_broker() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    for command in [
        ProducerCommand::CommitTransaction,
        ProducerCommand::AbortTransaction,
    ] {
        begin(&mut bench);
        let call = bench.call(command);
        assert_eq!(bench.result(call), Ok(ProducerOutput::Done));
        assert!(bench.is_silent());
    }
}

#[test]
fn retriable_codes_send_the_same_batch_again() {
    for code in [
        ErrorCode::CONCURRENT_TRANSACTIONS,
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::NOT_ENOUGH_REPLICAS,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
    ] {
        let mut bench = producer();
        init(&mut bench, 40, 0);
        begin(&mut bench);
        let record = send(&mut bench, 1, "a");
        let first = bench.next();
        bench.answer(&first, produced(&first, code, -1));
        assert!(bench.is_silent() && !bench.is_done(record));
        let second = bench.pass_until_sent();
        assert_eq!(first.request, second.request, "{code}");
        // The first attempt had been stored after all.
        bench.answer(
            &second,
            produced(&second, ErrorCode::DUPLICATE_SEQUENCE_NUMBER, -1),
        );
        assert_eq!(
            bench.result(record),
            Ok(ProducerOutput::Sent {
                partition: 1,
                offset: -1
            })
        );
    }
}

#[test]
fn a_failed_record_refuses_the_commit_until_the_abort() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    let record = send(&mut bench, 1, "a");
    let waiting = send(&mut bench, 1, "b");
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::TRANSACTION_ABORTABLE, -1));
    let commit = bench.call(ProducerCommand::CommitTransaction);
    let late = send(&mut bench, 0, "c");
    for call in [record, waiting, commit, late] {
        let error = bench.result(call).unwrap_err();
        assert_eq!(
            (error.is_abortable(), error.code()),
            (true, ErrorCode::TRANSACTION_ABORTABLE)
        );
    }
    assert!(bench.is_silent(), "nothing is committed");
    let abort = bench.call(ProducerCommand::AbortTransaction);
    let sent = bench.next();
    assert!(!end(&sent).1.committed);
    bench.answer(&sent, ended(40, 1));
    assert!(bench.result(abort).is_ok());
    begin(&mut bench);
    send(&mut bench, 1, "a");
    let (_, header, values) = batch(&bench.next());
    assert_eq!((header.producer_epoch, header.base_sequence), (1, 0));
    assert_eq!(values, ["a"], "nothing of the aborted transaction is left");
}

#[test]
fn a_record_fails_while_the_commit_waits_for_it() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    send(&mut bench, 1, "a");
    let commit = bench.call(ProducerCommand::CommitTransaction);
    let sent = bench.next();
    bench.answer(
        &sent,
        produced(&sent, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
    );
    assert!(bench.result(commit).unwrap_err().is_abortable());
    assert!(bench.is_silent());
}

#[test]
fn a_fenced_producer_learns_it_from_the_coordinator() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    let record = send(&mut bench, 1, "a");
    let sent = bench.next();
    bench.answer(
        &sent,
        produced(&sent, ErrorCode::INVALID_PRODUCER_EPOCH, -1),
    );
    assert!(bench.result(record).unwrap_err().is_abortable());
    let abort = bench.call(ProducerCommand::AbortTransaction);
    let sent = bench.next();
    bench.answer(&sent, refused(ErrorCode::PRODUCER_FENCED));
    let fenced = ClientError::Fenced {
        code: ErrorCode::PRODUCER_FENCED,
    };
    assert_eq!(bench.result(abort), Err(fenced.clone()));
    for command in [
        ProducerCommand::BeginTransaction,
        ProducerCommand::InitTransactions,
    ] {
        let call = bench.call(command);
        assert_eq!(bench.result(call), Err(fenced.clone()));
    }
}

#[test]
fn a_timed_out_transaction_is_aborted_and_the_producer_goes_on() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    send(&mut bench, 1, "a");
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
    let commit = bench.call(ProducerCommand::CommitTransaction);
    let sent = bench.next();
    bench.answer(&sent, refused(ErrorCode::TRANSACTION_ABORTABLE));
    assert!(bench.result(commit).unwrap_err().is_abortable());
    let abort = bench.call(ProducerCommand::AbortTransaction);
    let sent = bench.next();
    bench.answer(&sent, ended(40, 2));
    assert!(bench.result(abort).is_ok());
    begin(&mut bench);
}

#[test]
fn a_lost_answer_to_the_commit_is_asked_for_again() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    send(&mut bench, 1, "a");
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
    let commit = bench.call(ProducerCommand::CommitTransaction);
    let first = bench.next();
    bench.cut(first.conn);
    let second = bench.pass_until_sent();
    assert_eq!(first.request, second.request);
    bench.answer(&second, refused(ErrorCode::CONCURRENT_TRANSACTIONS));
    let third = bench.pass_until_sent();
    bench.answer(&third, ended(40, 1));
    assert!(bench.result(commit).is_ok());
}

#[test]
fn a_commit_in_doubt_can_be_repeated_and_nothing_else_goes() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    send(&mut bench, 1, "a");
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
    let commit = bench.call(ProducerCommand::CommitTransaction);
    bench.next();
    bench.refuse_connections = true;
    bench.pass(30_000);
    assert!(matches!(
        bench.pass_until_done(commit),
        Err(ClientError::TimedOut { .. })
    ));
    for command in [
        ProducerCommand::AbortTransaction,
        ProducerCommand::BeginTransaction,
    ] {
        let call = bench.call(command);
        assert!(matches!(
            bench.result(call),
            Err(ClientError::IllegalState(_))
        ));
    }
    bench.refuse_connections = false;
    let again = bench.call(ProducerCommand::CommitTransaction);
    let sent = bench.pass_until_sent();
    assert!(end(&sent).1.committed);
    bench.answer(&sent, ended(40, 1));
    assert!(bench.result(again).is_ok());
}

#[test]
fn a_coordinator_that_moved_is_found_again() {
    let mut bench = producer();
    bench
        .coordinator_codes
        .push_back(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    let call = bench.call(ProducerCommand::InitTransactions);
    assert!(bench.is_silent());
    let finds = |bench: &Bench<Producer>| {
        bench
            .look_ups
            .iter()
            .filter(|(_, r)| r.key() == ApiKey::FindCoordinator)
            .count()
    };
    let sent = bench.pass_until_sent();
    assert_eq!(finds(&bench), 2);
    let error_code = ErrorCode::NOT_COORDINATOR;
    bench.answer(
        &sent,
        InitProducerIdResponse {
            error_code,
            ..Default::default()
        },
    );
    let sent = bench.pass_until_sent();
    assert_eq!(finds(&bench), 3);
    bench.answer(&sent, initialized(1, 0));
    assert!(bench.result(call).is_ok());
}

#[test]
fn a_refused_look_up_ends_the_call() {
    let mut bench = producer();
    bench
        .coordinator_codes
        .push_back(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    let call = bench.call(ProducerCommand::InitTransactions);
    let error = bench.result(call).unwrap_err();
    assert_eq!(
        error.code(),
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    );
}

#[test]
fn an_unknown_topic_ends_in_an_abortable_time_out() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    bench.partitions = 0;
    let record = send(&mut bench, 1, "a");
    let error = bench.pass_until_done(record).unwrap_err();
    let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!((error.is_abortable(), error.code()), (true, code));
    let abort = bench.call(ProducerCommand::AbortTransaction);
    assert!(bench.result(abort).is_ok(), "no broker knew of it");
}

#[test]
fn calls_out_of_order_are_refused() {
    let mut bench = producer();
    let early = [
        bench.call(ProducerCommand::BeginTransaction),
        send(&mut bench, 0, "a"),
        bench.call(ProducerCommand::CommitTransaction),
    ];
    init(&mut bench, 40, 0);
    let late = [
        bench.call(ProducerCommand::InitTransactions),
        bench.call(ProducerCommand::AbortTransaction),
    ];
    for call in early.into_iter().chain(late) {
        assert!(matches!(
            bench.result(call),
            Err(ClientError::IllegalState(_))
        ));
    }
    begin(&mut bench);
    let twice = bench.call(ProducerCommand::BeginTransaction);
    assert!(matches!(
        bench.result(twice),
        Err(ClientError::IllegalState(_))
    ));
}
