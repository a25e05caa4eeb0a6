//! Share acknowledgements in a transaction (KIP-1289).

use ackord_client_core::{
    AcknowledgeType, CallId, ClientError, ConsumerRecord, GapRange, PolledRecords, Producer,
    ProducerCommand, ProducerOutput, ShareAcknowledgements, ShareGroupMetadata,
};
use ackord_proto::api::{ApiKey, Request};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::{ADD_SHARE_ACKS_TO_TXN_KEY, TXN_SHARE_ACKNOWLEDGE_KEY};
use ackord_proto::messages::add_share_acks_to_txn::{
    AddShareAcksToTxnPartitionResult, AddShareAcksToTxnTopicResult,
};
use ackord_proto::messages::txn_share_acknowledge::{
    TxnShareAcknowledgePartitionResponse, TxnShareAcknowledgeTopicResponse,
};
use ackord_proto::messages::{AddShareAcksToTxnResponse, TxnShareAcknowledgeResponse};

use crate::bench::{Bench, TOPIC_ID};
use crate::producer::{begin, end, ended, init, producer};

fn acks(kind: AcknowledgeType) -> ShareAcknowledgements {
    let record = |offset, delivery_count| ConsumerRecord {
        topic: "t".into(),
        topic_id: TOPIC_ID,
        partition: 2,
        offset,
        delivery_count,
        ..Default::default()
    };
    let gap = GapRange {
        topic: "t".into(),
        topic_id: TOPIC_ID,
        partition: 2,
        first_offset: 12,
        last_offset: 13,
        delivery_count: 1,
    };
    let records = vec![record(10, 1), record(11, 1), record(14, 3)];
    let polled = PolledRecords {
        records,
        gaps: vec![gap],
        ..Default::default()
    };
    ShareAcknowledgements::from_records(&polled, kind)
}

fn group() -> ShareGroupMetadata {
    ShareGroupMetadata {
        group_id: "g".into(),
        member_id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        member_epoch: 4,
    }
}

fn send_acks(bench: &mut Bench<Producer>, acknowledgements: ShareAcknowledgements) -> CallId {
    bench.call(ProducerCommand::SendShareAcksToTransaction {
        acknowledgements,
        group: group(),
    })
}

fn ready() -> Bench<Producer> {
    let mut bench = producer();
    init(&mut bench, 40, 7);
    begin(&mut bench);
    bench
}

fn staged(code: ErrorCode, partition_code: ErrorCode) -> TxnShareAcknowledgeResponse {
    let partition = TxnShareAcknowledgePartitionResponse {
        partition_index: 2,
        error_code: partition_code,
        error_message: partition_code
            .is_error()
            .then(|| "record 10 is not held".into()),
        ..Default::default()
    };
    let topic = TxnShareAcknowledgeTopicResponse {
        topic_id: TOPIC_ID,
        partitions: vec![partition],
        ..Default::default()
    };
    TxnShareAcknowledgeResponse {
        error_code: code,
        responses: vec![topic],
        ..Default::default()
    }
}

/// Registers the acknowledgements; the stage comes next.
fn register(bench: &mut Bench<Producer>) {
    let sent = bench.next();
    assert_eq!(sent.request.key(), ApiKey::AddShareAcksToTxn);
    bench.answer(&sent, AddShareAcksToTxnResponse::default());
}

#[test]
fn they_are_registered_then_staged_then_committed() {
    let mut bench = ready();
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    let commit = bench.call(ProducerCommand::CommitTransaction);
    let sent = bench.next();
    let Request::AddShareAcksToTxn(request) = &sent.request else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (&*request.transactional_id, &*request.group_id),
        ("copy", "g")
    );
    assert_eq!((request.producer_id, request.producer_epoch), (40, 7));
    assert_eq!(
        (&*request.topics[0].name, &request.topics[0].partitions[..]),
        ("t", &[2][..])
    );
    bench.answer(&sent, AddShareAcksToTxnResponse::default());
    let sent = bench.next();
    assert_eq!(sent.version, 1);
    let Request::TxnShareAcknowledge(request) = &sent.request else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (&*request.member_id, request.member_epoch),
        ("AAAAAAAAAAAAAAAAAAAAAQ", 4)
    );
    let topic = &request.topics[0];
    assert_eq!(
        (topic.topic_id, topic.partitions[0].partition),
        (TOPIC_ID, 2)
    );
    let batches = topic.partitions[0].acknowledgement_batches.iter();
    let batches: Vec<_> = batches
        .map(|b| {
            (
                b.first_offset,
                b.last_offset,
                b.delivery_count,
                b.acknowledge_types.to_vec(),
            )
        })
        .collect();
    assert_eq!(
        batches,
        [
            (10, 11, 1, vec![1]),
            (12, 13, 1, vec![0]),
            (14, 14, 3, vec![1])
        ]
    );
    assert!(
        bench.is_silent() && !bench.is_done(commit),
        "the commit waits for the stage"
    );
    bench.answer(&sent, staged(ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!(bench.result(call), Ok(ProducerOutput::Done));
    let sent = bench.next();
    assert_eq!((end(&sent).0, end(&sent).1.committed), (5, true));
    bench.answer(&sent, ended(40, 8));
    assert!(bench.result(commit).is_ok());
}

#[test]
fn a_refused_record_makes_the_transaction_abortable() {
    for (code, partition_code) in [
        (ErrorCode::NONE, ErrorCode::INVALID_RECORD_STATE),
        (ErrorCode::STALE_MEMBER_EPOCH, ErrorCode::NONE),
        (ErrorCode::UNKNOWN_MEMBER_ID, ErrorCode::NONE),
        (ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::NONE),
        (ErrorCode::INVALID_PRODUCER_EPOCH, ErrorCode::NONE),
    ] {
        let mut bench = ready();
        let call = send_acks(&mut bench, acks(AcknowledgeType::Reject));
        register(&mut bench);
        let sent = bench.next();
        bench.answer(&sent, staged(code, partition_code));
        let error = bench.result(call).unwrap_err();
        let expected = if code.is_error() {
            code
        } else {
            partition_code
        };
        assert_eq!((error.is_abortable(), error.code()), (true, expected));
        let commit = bench.call(ProducerCommand::CommitTransaction);
        assert!(bench.result(commit).unwrap_err().is_abortable());
        let abort = bench.call(ProducerCommand::AbortTransaction);
        let sent = bench.next();
        assert!(!end(&sent).1.committed);
        bench.answer(&sent, ended(40, 8));
        assert!(bench.result(abort).is_ok());
    }
}

#[test]
fn coordinators_that_moved_get_the_same_requests_again() {
    let mut bench = ready();
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    let first = bench.next();
    let error_code = ErrorCode::CONCURRENT_TRANSACTIONS;
    bench.answer(
        &first,
        AddShareAcksToTxnResponse {
            error_code,
            ..Default::default()
        },
    );
    let second = bench.pass_until_sent();
    assert_eq!(first.request, second.request);
    bench.answer(&second, AddShareAcksToTxnResponse::default());
    let first = bench.next();
    bench.answer(&first, staged(ErrorCode::NOT_COORDINATOR, ErrorCode::NONE));
    let second = bench.pass_until_sent();
    assert_eq!(first.request, second.request);
    bench.answer(&second, staged(ErrorCode::NONE, ErrorCode::NONE));
    assert!(bench.result(call).is_ok());
}

#[test]
fn a_partition_that_cannot_be_registered_names_the_cause() {
    let mut bench = ready();
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    let sent = bench.next();
    let result = |error_code| AddShareAcksToTxnPartitionResult {
        error_code,
        ..Default::default()
    };
    let topic = AddShareAcksToTxnTopicResult {
        name: "t".into(),
        partitions: vec![
            result(ErrorCode::OPERATION_NOT_ATTEMPTED),
            result(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        ],
        ..Default::default()
    };
    bench.answer(
        &sent,
        AddShareAcksToTxnResponse {
            topics: vec![topic],
            ..Default::default()
        },
    );
    let error = bench.result(call).unwrap_err();
    let code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert_eq!((error.is_abortable(), error.code()), (true, code));
}

#[test]
fn outside_of_a_transaction_nothing_is_bound() {
    let mut bench = producer();
    init(&mut bench, 40, 7);
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    assert!(matches!(
        bench.result(call),
        Err(ClientError::IllegalState(_))
    ));
}

#[test]
fn a_fenced_producer_cannot_register() {
    let mut bench = ready();
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    let sent = bench.next();
    let error_code = ErrorCode::PRODUCER_FENCED;
    bench.answer(
        &sent,
        AddShareAcksToTxnResponse {
            error_code,
            ..Default::default()
        },
    );
    assert_eq!(
        bench.result(call),
        Err(ClientError::Fenced { code: error_code })
    );
    let abort = bench.call(ProducerCommand::AbortTransaction);
    assert_eq!(
        bench.result(abort),
        Err(ClientError::Fenced { code: error_code })
    );
}

#[test]
fn a_broker_without_the_apis_is_told_apart_at_once() {
    let mut bench = producer();
    bench.offers.remove(&ADD_SHARE_ACKS_TO_TXN_KEY);
    init(&mut bench, 40, 7);
    begin(&mut bench);
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    assert_eq!(
        bench.result(call),
        Err(ClientError::Unsupported {
            api: "AddShareAcksToTxn"
        })
    );
    let commit = bench.call(ProducerCommand::CommitTransaction);
    assert!(bench.result(commit).is_ok(), "the transaction is as it was");

    let mut bench = producer();
    bench.offers.insert(TXN_SHARE_ACKNOWLEDGE_KEY, (0, 0));
    init(&mut bench, 40, 7);
    begin(&mut bench);
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    register(&mut bench);
    assert!(
        bench.result(call).unwrap_err().is_abortable(),
        "version 0 fences nothing"
    );

    let mut bench = producer();
    bench.transaction_version = 1;
    init(&mut bench, 40, 7);
    begin(&mut bench);
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    let api = "transaction.version 2";
    assert_eq!(bench.result(call), Err(ClientError::Unsupported { api }));
}

/// Asks for the fall-back; `take_away` says what the broker does not offer.
fn fall_back(take_away: impl Fn(&mut Bench<Producer>)) -> (Bench<Producer>, CallId) {
    let mut bench = producer();
    take_away(&mut bench);
    init(&mut bench, 40, 7);
    begin(&mut bench);
    let call = bench.call(ProducerCommand::SendShareAcksOrFallBack {
        acknowledgements: acks(AcknowledgeType::Accept),
        group: group(),
    });
    (bench, call)
}

/// Makes the broker an older one.
type TakeAway<'a> = &'a dyn Fn(&mut Bench<Producer>);

#[test]
fn acknowledgements_come_back_where_the_broker_has_no_transaction_for_them() {
    let first_key = |bench: &mut Bench<Producer>| {
        bench.offers.remove(&ADD_SHARE_ACKS_TO_TXN_KEY);
    };
    let second_key = |bench: &mut Bench<Producer>| {
        bench.offers.insert(TXN_SHARE_ACKNOWLEDGE_KEY, (0, 0));
    };
    let feature = |bench: &mut Bench<Producer>| bench.transaction_version = 1;
    let cases: [(TakeAway<'_>, &str, bool); 3] = [
        (&first_key, "AddShareAcksToTxn", false),
        (&second_key, "TxnShareAcknowledge", true),
        (&feature, "transaction.version 2", false),
    ];
    for (take_away, missing, registers) in cases {
        let (mut bench, call) = fall_back(take_away);
        if registers {
            register(&mut bench);
        }
        let Ok(ProducerOutput::FallenBack(plain)) = bench.result(call) else {
            panic!("{missing}: no fall-back");
        };
        assert_eq!((plain.missing(), plain.group()), (missing, &group()));
        assert_eq!(plain.acknowledgements(), &acks(AcknowledgeType::Accept));
        let commit = bench.call(ProducerCommand::CommitTransaction);
        if registers {
            let sent = bench.next();
            assert!(end(&sent).1.committed, "the transaction is as it was");
            bench.answer(&sent, ended(40, 8));
        }
        assert!(bench.is_silent() && bench.result(commit).is_ok());
    }
}

#[test]
fn nothing_falls_back_where_the_broker_takes_them_or_refuses_them() {
    let (mut bench, call) = fall_back(|_| ());
    register(&mut bench);
    let sent = bench.next();
    bench.answer(&sent, staged(ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!(bench.result(call), Ok(ProducerOutput::Done));

    let (mut bench, call) = fall_back(|_| ());
    register(&mut bench);
    let sent = bench.next();
    bench.answer(
        &sent,
        staged(ErrorCode::NONE, ErrorCode::INVALID_RECORD_STATE),
    );
    assert!(bench.result(call).unwrap_err().is_abortable());
}

#[test]
fn what_a_transaction_cannot_carry_is_refused_here() {
    let mut bench = ready();
    for kind in [AcknowledgeType::Release, AcknowledgeType::Renew] {
        let call = send_acks(&mut bench, acks(kind));
        assert!(matches!(
            bench.result(call),
            Err(ClientError::InvalidArgument(_))
        ));
    }
    let nothing = send_acks(&mut bench, ShareAcknowledgements::new());
    assert_eq!(bench.result(nothing), Ok(ProducerOutput::Done));
    assert!(bench.is_silent());
}

#[test]
fn an_abort_waits_for_the_stage_on_the_wire() {
    let mut bench = ready();
    let call = send_acks(&mut bench, acks(AcknowledgeType::Accept));
    register(&mut bench);
    let sent = bench.next();
    let abort = bench.call(ProducerCommand::AbortTransaction);
    assert!(bench.result(call).unwrap_err().is_abortable());
    assert!(
        bench.is_silent(),
        "a stage must not arrive behind the marker"
    );
    bench.answer(&sent, staged(ErrorCode::NOT_COORDINATOR, ErrorCode::NONE));
    let sent = bench.next();
    assert!(!end(&sent).1.committed);
    bench.answer(&sent, ended(40, 8));
    assert!(bench.result(abort).is_ok());
}
