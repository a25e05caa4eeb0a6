//! Two-phase commit of the producer (KIP-939).

use ackord_client_core::{
    ClientError, PreparedTxnState, Producer, ProducerCommand, ProducerConfig, ProducerOutput,
    TxnCompletion,
};
use ackord_proto::api::Request;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::InitProducerIdResponse;

use crate::bench::Bench;
use crate::producer::{begin, end, ended, produced, send};

fn participant() -> Bench<Producer> {
    let mut config = ProducerConfig::new(["broker:9092".parse().unwrap()], "copy");
    config.two_phase_commit = true;
    Bench::new(Producer::new(config, [1; 32]))
}

/// The first call, which is answered with `kept` as the ongoing transaction.
fn init(bench: &mut Bench<Producer>, command: ProducerCommand, epoch: i16, kept: (i64, i16)) {
    let keeps = command == ProducerCommand::InitTransactionsKeepingPrepared;
    let call = bench.call(command);
    let sent = bench.next();
    let Request::InitProducerId(request) = &sent.request else {
        panic!("{sent:?}")
    };
    assert_eq!(sent.version, 6);
    assert!(request.enable_2pc);
    assert_eq!(request.keep_prepared_txn, keeps);
    let response = InitProducerIdResponse {
        producer_id: 40,
        producer_epoch: epoch,
        ongoing_txn_producer_id: kept.0,
        ongoing_txn_producer_epoch: kept.1,
        ..Default::default()
    };
    bench.answer(&sent, response);
    assert_eq!(bench.result(call), Ok(ProducerOutput::Done));
}

const NOTHING_KEPT: (i64, i16) = (-1, -1);

#[test]
fn preparing_waits_for_the_records_and_then_only_the_end_is_left() {
    let mut bench = participant();
    init(
        &mut bench,
        ProducerCommand::InitTransactions,
        3,
        NOTHING_KEPT,
    );
    begin(&mut bench);
    let record = send(&mut bench, 0, "a");
    let prepare = bench.call(ProducerCommand::PrepareTransaction);
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::NONE, 7));
    assert!(bench.result(record).is_ok());
    let Ok(ProducerOutput::Prepared(state)) = bench.result(prepare) else {
        panic!("not prepared")
    };
    assert_eq!(state.to_string(), "40:3");
    for refused in [
        ProducerCommand::BeginTransaction,
        ProducerCommand::PrepareTransaction,
        ProducerCommand::Flush,
    ] {
        let call = bench.call(refused);
        assert!(matches!(
            bench.result(call),
            Err(ClientError::IllegalState(_))
        ));
    }
    let complete = bench.call(ProducerCommand::CompleteTransaction(state));
    let sent = bench.next();
    let (version, request) = end(&sent);
    assert_eq!((version, request.committed), (5, true));
    bench.answer(&sent, ended(40, 4));
    let committed = ProducerOutput::Completed(TxnCompletion::Committed);
    assert_eq!(bench.result(complete), Ok(committed));
    begin(&mut bench);
}

#[test]
fn a_later_instance_completes_by_the_stored_state() {
    for (stored, completion) in [
        ("40:3", TxnCompletion::Committed),
        ("40:2", TxnCompletion::Aborted),
        ("", TxnCompletion::Aborted),
    ] {
        let mut bench = participant();
        let keep = ProducerCommand::InitTransactionsKeepingPrepared;
        init(&mut bench, keep, 4, (40, 3));
        let state: PreparedTxnState = stored.parse().unwrap();
        let complete = bench.call(ProducerCommand::CompleteTransaction(state));
        let sent = bench.next();
        let (_, request) = end(&sent);
        assert_eq!((request.producer_id, request.producer_epoch), (40, 4));
        assert_eq!(request.committed, completion == TxnCompletion::Committed);
        bench.answer(&sent, ended(40, 5));
        assert_eq!(
            bench.result(complete),
            Ok(ProducerOutput::Completed(completion))
        );
    }
}

#[test]
fn with_nothing_prepared_completing_changes_nothing() {
    let mut bench = participant();
    let keep = ProducerCommand::InitTransactionsKeepingPrepared;
    init(&mut bench, keep, 4, NOTHING_KEPT);
    let state: PreparedTxnState = "40:3".parse().unwrap();
    let complete = bench.call(ProducerCommand::CompleteTransaction(state));
    let nothing = ProducerOutput::Completed(TxnCompletion::NothingPrepared);
    assert_eq!(bench.result(complete), Ok(nothing));
}

#[test]
fn a_prepared_transaction_outlives_its_producer() {
    let mut bench = participant();
    let keep = ProducerCommand::InitTransactionsKeepingPrepared;
    init(&mut bench, keep, 4, (40, 3));
    let close = bench.call(ProducerCommand::Close);
    // No EndTxn.
    assert_eq!(bench.result(close), Ok(ProducerOutput::Done));
}

#[test]
fn only_participants_prepare() {
    let mut bench = crate::producer::producer();
    crate::producer::init(&mut bench, 40, 0);
    begin(&mut bench);
    let call = bench.call(ProducerCommand::PrepareTransaction);
    assert!(matches!(
        bench.result(call),
        Err(ClientError::IllegalState(_))
    ));
}

#[test]
fn states_are_read_as_they_are_written() {
    for text in ["", "0:0", "123:45", "9223372036854775807:32767"] {
        let state: PreparedTxnState = text.parse().unwrap();
        assert_eq!(state.to_string(), text);
    }
    for bad in ["x", "1", "1:", ":1", "-1:0", "1:-1", "1:40000", "1:2:3"] {
        assert!(bad.parse::<PreparedTxnState>().is_err(), "{bad}");
    }
}
