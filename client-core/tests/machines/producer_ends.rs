//! How transactions and producers end when calls meet each other, or nobody waits for them.

use ackord_client_core::{ClientError, Producer, ProducerCommand, ProducerOutput};
use ackord_proto::error_code::ErrorCode;

use crate::bench::{Bench, Sent};
use crate::producer::{begin, end, ended, init, initialized, produced, producer, send};

#[test]
fn closing_aborts_what_is_open() {
    let mut bench = producer();
    init(&mut bench, 40, 0);
    begin(&mut bench);
    let record = send(&mut bench, 0, "a");
    let sent = bench.next();
    let close = bench.call(ProducerCommand::Close);
    bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
    assert!(bench.result(record).is_ok());
    let sent = bench.next();
    assert!(!end(&sent).1.committed);
    bench.answer(&sent, ended(40, 1));
    assert_eq!(bench.result(close), Ok(ProducerOutput::Done));
    assert!(bench.open.is_empty());
    let late = bench.call(ProducerCommand::BeginTransaction);
    assert_eq!(bench.result(late), Err(ClientError::Closed));
}

#[test]
fn a_repeated_end_waits_for_the_one_under_way() {
    for (command, epoch) in [
        (ProducerCommand::CommitTransaction, 1),
        (ProducerCommand::AbortTransaction, 1),
    ] {
        let mut bench = producer();
        init(&mut bench, 7, 0);
        begin(&mut bench);
        send(&mut bench, 0, "a");
        let sent = bench.next();
        bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
        let first = bench.call(command.clone());
        let sent = bench.next();
        let second = bench.call(command);
        assert!(matches!(
            bench.result(first),
            Err(ClientError::IllegalState(_))
        ));
        bench.answer(&sent, ended(7, epoch));
        assert_eq!(bench.result(second), Ok(ProducerOutput::Done));
    }
}

/// A producer whose transaction ends, and the request that asks for it.
fn ending(command: ProducerCommand) -> (Bench<Producer>, Sent) {
    let mut bench = producer();
    init(&mut bench, 7, 0);
    begin(&mut bench);
    send(&mut bench, 0, "a");
    let sent = bench.next();
    bench.answer(&sent, produced(&sent, ErrorCode::NONE, 0));
    bench.call(command);
    let sent = bench.next();
    (bench, sent)
}

#[test]
fn another_end_than_the_one_under_way_is_told_which() {
    use ProducerCommand::{AbortTransaction, BeginTransaction, CommitTransaction};
    for (first, second, why) in [
        (CommitTransaction, AbortTransaction, "a commit is under way"),
        (AbortTransaction, CommitTransaction, "an abort is under way"),
        (CommitTransaction, BeginTransaction, "has not ended"),
        (AbortTransaction, BeginTransaction, "has not ended"),
    ] {
        let (mut bench, sent) = ending(first);
        let call = bench.call(second);
        let refused = bench.result(call);
        let told = matches!(&refused, Err(ClientError::IllegalState(what)) if what.contains(why));
        assert!(told, "{refused:?}");
        bench.answer(&sent, ended(7, 1));
        begin(&mut bench);
    }
}

#[test]
fn a_repeated_init_waits_for_the_one_under_way() {
    let mut bench = producer();
    let first = bench.call(ProducerCommand::InitTransactions);
    let sent = bench.next();
    let early = bench.call(ProducerCommand::BeginTransaction);
    let refused = bench.result(early);
    let told = matches!(&refused, Err(ClientError::IllegalState(what)) if what.contains("init"));
    assert!(told, "{refused:?}");
    let second = bench.call(ProducerCommand::InitTransactions);
    assert!(matches!(
        bench.result(first),
        Err(ClientError::IllegalState(_))
    ));
    bench.answer(&sent, initialized(7, 0));
    assert_eq!(bench.result(second), Ok(ProducerOutput::Done));
    assert!(bench.is_silent());
    begin(&mut bench);
}

#[test]
fn errors_say_what_to_do() {
    let code = ErrorCode::PRODUCER_FENCED;
    let message = "refused";
    for (error, advice) in [
        (
            ClientError::Abortable {
                code,
                message: message.into(),
            },
            "abort the transaction",
        ),
        (
            ClientError::Fatal {
                code,
                message: message.into(),
            },
            "begin again with a new one",
        ),
        (ClientError::Fenced { code }, "close this one"),
        (
            ClientError::TimedOut {
                last: ErrorCode::NONE,
            },
            "bootstrap addresses",
        ),
        (
            ClientError::TimedOut { last: code },
            "whether it happened is open",
        ),
        (
            ClientError::Unsupported {
                api: "AddShareAcksToTxn",
            },
            "newer broker",
        ),
    ] {
        let told = error.to_string();
        assert!(told.contains(advice), "{told}");
    }
}
