use super::*;

const FENCED: Result<Pair, ErrorCode> = Err(ErrorCode::PRODUCER_FENCED);
const INVALID: Result<Pair, ErrorCode> = Err(ErrorCode::INVALID_TXN_STATE);

#[test]
fn the_answer_comes_when_the_outcome_is_visible() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    w.produce("t", p, "a", 1);
    w.trace.clear();
    let slot = w.end("t", p, 5, true);
    assert_eq!(w.trace, ["append", "barrier", "chained", "chained"]);
    assert_eq!(w.state("t"), TxnState::PrepareCommit);
    w.trace.clear();
    w.write_markers();
    assert_eq!(w.trace, ["append", "reply"]);
    assert_eq!(w.state("t"), TxnState::CompleteCommit);
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
}

#[test]
fn version_five_bumps_the_epoch_and_repeats_get_the_same_answer() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    let first = w.end("t", p, 5, true);
    assert_eq!(marker_of(&w.sent[0]), (p.0, 1, true, 2, 1_000_000));
    // A repeat waits with the first, the other outcome is refused at once.
    let again = w.end("t", p, 5, true);
    let other = w.end("t", p, 5, false);
    assert_eq!(w.ended(other), Some(INVALID));
    assert_eq!(w.ended(again), None);
    // Nobody was told the new epoch, so nobody can use it.
    assert_eq!(w.end_now("t", (p.0, 1), 5, true), FENCED);
    w.sent.clear();
    w.advance(100);
    w.write_markers();
    assert_eq!(w.ended(first), Some(Ok((p.0, 1))));
    assert_eq!(w.ended(again), Some(Ok((p.0, 1))));
    for restarted in [false, true] {
        if restarted {
            w.restart();
        }
        assert_eq!(w.end_now("t", p, 5, true), Ok((p.0, 1)));
        assert_eq!(w.end_now("t", p, 5, false), INVALID);
        // Under the new epoch there is nothing to commit.
        assert_eq!(w.end_now("t", (p.0, 1), 5, true), INVALID);
    }
    // A late repeat must not decide the next transaction (KAFKA-17754).
    w.produce("t", (p.0, 1), "a", 0);
    assert_eq!(w.end_now("t", p, 5, true), FENCED);
    assert_eq!(w.state("t"), TxnState::Ongoing);
    assert_eq!(w.end_now("t", (p.0, 1), 5, false), Ok((p.0, 2)));
    assert_eq!(w.end_now("t", p, 5, true), FENCED);
    assert_eq!(
        w.end_now("t", p, 1, true),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
}

#[test]
fn version_one_keeps_the_epoch() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    for committed in [true, false] {
        w.add("t", p, &[("a", 0)]);
        let slot = w.end("t", p, 3, committed);
        let (pid, epoch, commit, version, _) = marker_of(&w.sent[0]);
        assert_eq!((pid, epoch, commit, version), (p.0, 0, committed, 0));
        let again = w.end("t", p, 3, committed);
        let other = w.end("t", p, 3, !committed);
        assert_eq!(w.ended(other), Some(INVALID));
        w.write_markers();
        assert_eq!(w.ended(slot), Some(Ok(p)));
        assert_eq!(w.ended(again), Some(Ok(p)));
        w.restart();
        assert_eq!(w.end_now("t", p, 3, committed), Ok(p));
        assert_eq!(w.end_now("t", p, 3, !committed), INVALID);
        assert_eq!(w.end_now("t", p, 5, true), INVALID);
    }
}

#[test]
fn who_may_end() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    assert_eq!(w.end_now("t", p, 3, true), INVALID);
    assert_eq!(w.end_now("t", p, 3, false), INVALID);
    w.add("t", p, &[("a", 0)]);
    let mapping = Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    for (id, pair, version, error) in [
        ("", p, 5, Err(ErrorCode::INVALID_REQUEST)),
        ("x", p, 5, mapping),
        ("t", (4, 0), 5, mapping),
        ("t", (p.0, 1), 5, FENCED),
        ("t", (p.0, -1), 2, FENCED),
        ("t", (p.0, 1), 1, Err(ErrorCode::INVALID_PRODUCER_EPOCH)),
    ] {
        for committed in [true, false] {
            assert_eq!(
                w.end_now(id, pair, version, committed),
                error,
                "{id} {pair:?} v{version}"
            );
        }
    }
    assert_eq!(w.state("t"), TxnState::Ongoing);
}

#[test]
fn an_empty_transaction_can_be_aborted_in_version_five_only() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    assert_eq!(w.end_now("t", p, 5, true), INVALID);
    assert_eq!(w.end_now("t", p, 4, false), INVALID);
    assert_eq!(w.pair("t"), p);
    assert_eq!(w.end_now("t", p, 5, false), Ok((p.0, 1)));
    assert_eq!(w.state("t"), TxnState::CompleteAbort);
    assert_eq!(w.end_now("t", p, 5, false), Ok((p.0, 1)), "a repeat");
    assert_eq!(w.end_now("t", (p.0, 1), 5, false), Ok((p.0, 2)), "the next");
    assert!(w.sent.is_empty());
    assert_eq!(w.end_now("t", (p.0, 2), 4, false), INVALID, "not a repeat");
    // After a commit too.
    w.produce("t", (p.0, 2), "a", 0);
    assert_eq!(w.end_now("t", (p.0, 2), 5, true), Ok((p.0, 3)));
    assert_eq!(w.end_now("t", (p.0, 3), 4, false), INVALID);
    assert_eq!(w.end_now("t", (p.0, 3), 5, false), Ok((p.0, 4)));
}

#[test]
fn a_client_that_changes_to_version_five_bumps_from_then_on() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.add("t", p, &[("a", 0)]);
    assert_eq!(w.end_now("t", p, 3, true), Ok(p));
    assert_eq!(w.end_now("t", p, 5, false), Ok((p.0, 1)));
    w.add("t", (p.0, 1), &[("a", 0)]);
    assert_eq!(w.end_now("t", (p.0, 1), 5, true), Ok((p.0, 2)));
}

#[test]
fn below_version_five_the_epoch_stays_however_partitions_came_in() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    for committed in [true, false, true] {
        assert_eq!(w.produce("t", p, "a", 0), ErrorCode::NONE);
        w.sent.clear();
        let slot = w.end("t", p, 4, committed);
        let (pid, epoch, commit, version, _) = marker_of(&w.sent[0]);
        assert_eq!((pid, epoch, commit, version), (p.0, 0, committed, 0));
        w.write_markers();
        assert_eq!(w.ended(slot), Some(Ok(p)));
        w.restart();
        assert_eq!(w.end_now("t", p, 4, committed), Ok(p), "a repeat");
        assert_eq!(w.end_now("t", p, 4, !committed), INVALID);
    }
}

#[test]
fn share_acknowledgements_below_version_five_can_only_be_aborted() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.add("t", p, &[("a", 0), (SHARE, 4)]);
    // Known already, but the transaction has to become version 2.
    assert_eq!(w.add_acks("t", p, &[4]), ErrorCode::NONE);
    w.restart();
    assert_eq!(w.end_now("t", p, 3, true), INVALID);
    assert_eq!(w.state("t"), TxnState::Ongoing);
    let slot = w.end("t", p, 3, false);
    assert_eq!(
        w.sent.iter().map(|e| e.to.clone()).collect::<Vec<_>>(),
        [Role::Sgc(4), Gone::default().role("a", 0).unwrap(),]
    );
    let (_, epoch, commit, version, _) = marker_of(&w.sent[0]);
    assert_eq!((epoch, commit, version), (1, false, 2));
    w.write_markers();
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
    assert_eq!(w.end_now("t", p, 3, false), Ok((p.0, 1)), "a repeat");
    // A late registration of the same client cannot begin a transaction.
    assert_eq!(w.add_acks("t", p, &[4]), ErrorCode::PRODUCER_FENCED);
}

#[test]
fn share_acknowledgements_alone_make_a_transaction() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    assert_eq!(w.add_acks("t", p, &[1, 2, 1]), ErrorCode::NONE);
    let slot = w.end("t", p, 5, true);
    assert_eq!(w.sent.len(), 2);
    w.write_markers();
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
}

#[test]
fn the_batch_form_from_a_client_stays_version_one() {
    // Some clients add with AddPartitionsToTxn v5 and end with EndTxn v4.
    let mut w = World::new();
    let p = w.init("t").unwrap();
    assert_eq!(
        w.add_with("t", p, 5, AddKind::Partitions, &[("a", 0)]),
        ErrorCode::NONE
    );
    assert_eq!(w.end_now("t", p, 4, true), Ok(p));
}
