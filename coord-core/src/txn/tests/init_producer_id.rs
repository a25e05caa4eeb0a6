use super::*;

#[test]
fn a_new_id_begins_at_epoch_zero_and_each_producer_fences_the_one_before() {
    let mut w = World::new();
    assert_eq!(w.init("t"), Ok((1001, 0)));
    assert_eq!(w.init("t"), Ok((1001, 1)));
    assert_eq!(w.init("u"), Ok((1002, 0)));
    assert_eq!(
        w.add("t", (1001, 0), &[("a", 0)]),
        ErrorCode::PRODUCER_FENCED
    );
    assert_eq!(w.state("t"), TxnState::Empty);
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut w = World::new();
    let ask = |id: Option<&str>, timeout| InitProducerIdRequest {
        transactional_id: id.map(Str::from),
        transaction_timeout_ms: timeout,
        ..Default::default()
    };
    let mut two_phase = ask(Some("t"), 1000);
    two_phase.enable_2pc = true;
    let mut keep = ask(Some("t"), 1000);
    keep.keep_prepared_txn = true;
    let mut half = ask(Some("t"), 1000);
    half.producer_id = 4;
    let long = "x".repeat(40_000);
    for (request, error) in [
        (ask(None, 1000), ErrorCode::INVALID_REQUEST),
        (ask(Some(""), 1000), ErrorCode::INVALID_REQUEST),
        (ask(Some(&long), 1000), ErrorCode::INVALID_REQUEST),
        (half, ErrorCode::INVALID_REQUEST),
        // It is not offered.
        (two_phase, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (keep, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (ask(Some("t"), 0), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (ask(Some("t"), -5), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (
            ask(Some("t"), 900_001),
            ErrorCode::INVALID_TRANSACTION_TIMEOUT,
        ),
    ] {
        assert_eq!(w.init_with(request, 6), Err(error));
    }
    w.ids.dry = true;
    assert_eq!(w.init("t"), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    assert!(w.log.is_empty());
    w.ids.dry = false;
    assert!(w.init_with(ask(Some("t"), 900_000), 6).is_ok());
}

#[test]
fn an_ongoing_transaction_is_aborted_first() {
    let mut w = World::new();
    let old = w.init("t").unwrap();
    w.produce("t", old, "a", 0);
    assert_eq!(w.init("t"), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(w.init("t"), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    let (pid, epoch, commit, version, _) = marker_of(&w.sent[0]);
    assert_eq!((pid, epoch, commit, version), (old.0, 1, false, 2));
    w.write_markers();
    assert_eq!(w.state("t"), TxnState::CompleteAbort);
    // The fenced producer must not learn the epoch of the fence.
    assert_eq!(
        w.end_now("t", old, 5, false),
        Err(ErrorCode::PRODUCER_FENCED)
    );
    assert_eq!(w.init_as("t", old, 5), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(w.init("t"), Ok((old.0, 2)));
    assert_eq!(
        w.end_now("t", old, 5, true),
        Err(ErrorCode::PRODUCER_FENCED)
    );
}

#[test]
fn a_producer_that_names_its_pair_goes_on_after_its_own_abort() {
    let mut w = World::new();
    let old = w.init("t").unwrap();
    w.produce("t", old, "a", 0);
    assert_eq!(
        w.init_as("t", old, 5),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS)
    );
    w.write_markers();
    assert_eq!(w.init_as("t", old, 5), Ok((old.0, 1)));
}

#[test]
fn a_retry_with_the_pair_before_gets_the_same_epoch_also_after_a_restart() {
    let mut w = World::new();
    let first = w.init("t").unwrap();
    assert_eq!(w.init_as("t", first, 5), Ok((first.0, 1)));
    assert_eq!(w.init_as("t", first, 5), Ok((first.0, 1)));
    w.restart();
    assert_eq!(w.init_as("t", first, 5), Ok((first.0, 1)));
    // A new producer in between: the old one is fenced.
    assert_eq!(w.init("t"), Ok((first.0, 2)));
    w.restart();
    for stale in [0, 1, 3] {
        assert_eq!(
            w.init_as("t", (first.0, stale), 5),
            Err(ErrorCode::PRODUCER_FENCED)
        );
    }
    assert_eq!(
        w.init_as("t", (first.0, 0), 3),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    assert_eq!(w.init_as("t", (5, 2), 5), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(w.pair("t"), (first.0, 2));
}

#[test]
fn a_pair_of_a_forgotten_id_is_replaced() {
    let mut w = World::new();
    assert_eq!(w.init_as("t", (77, 9), 5), Ok((1001, 0)));
}

#[test]
fn a_stale_pair_does_not_abort_what_is_ongoing() {
    let mut w = World::new();
    let old = w.init("t").unwrap();
    let new = w.init("t").unwrap();
    w.produce("t", new, "a", 0);
    assert_eq!(w.init_as("t", old, 5), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(w.state("t"), TxnState::Ongoing);
}

#[test]
fn the_reply_follows_the_record() {
    let mut w = World::new();
    w.init("t").unwrap();
    assert_eq!(w.trace, ["append", "reply"]);
}
