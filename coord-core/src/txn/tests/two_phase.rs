use ackord_machine::TxnOwner;

use super::epochs::at_epoch;
use super::*;

/// InitProducerId v6 of a producer that takes part in two-phase commit: its pair, and that of the
/// transaction that was kept.
fn init(w: &mut World, id: &str, keep: bool) -> Result<(Pair, Option<Pair>), ErrorCode> {
    let request = InitProducerIdRequest {
        transactional_id: Some(id.into()),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        enable_2pc: true,
        keep_prepared_txn: keep,
        ..Default::default()
    };
    let slot = w.call(|tc, ctx, ticket, out| tc.init_producer_id(ctx, ticket, &request, 6, out));
    match w.replies.remove(&slot) {
        Some(TxnReply::InitProducerId {
            error,
            producer_id,
            producer_epoch,
            kept,
        }) => {
            let kept = kept.map(|own: TxnOwner| (own.producer_id, own.producer_epoch));
            pair_or(error, producer_id, producer_epoch).map(|pair| (pair, kept))
        }
        other => panic!("no answer to InitProducerId: {other:?}"),
    }
}

fn world() -> World {
    let mut w = World::new();
    w.tc.config.two_phase_commit = true;
    w.replica.config.two_phase_commit = true;
    w
}

#[test]
fn a_participant_has_no_timeout_also_after_a_restart() {
    let mut w = world();
    let (p, kept) = init(&mut w, "t", false).unwrap();
    assert_eq!(kept, None);
    assert_eq!(w.produce("t", p, "a", 0), ErrorCode::NONE);
    assert_eq!(w.tc.next_deadline(), None);
    w.advance(10_000_000);
    w.restart();
    assert_eq!(w.tc.next_deadline(), None);
    assert_eq!(w.state("t"), TxnState::Ongoing);
    assert_eq!(w.end_now("t", p, 5, true), Ok((p.0, 1)));
}

#[test]
fn keeping_fences_the_old_client_and_leaves_the_transaction() {
    let mut w = world();
    let (p, _) = init(&mut w, "t", false).unwrap();
    assert_eq!(w.produce("t", p, "a", 0), ErrorCode::NONE);
    assert_eq!(w.add_acks("t", p, &[3]), ErrorCode::NONE);
    for round in 1..=3 {
        let (next, kept) = init(&mut w, "t", true).unwrap();
        assert_eq!((next, kept), ((p.0, round), Some(p)));
        assert_eq!((w.state("t"), w.pair("t")), (TxnState::Ongoing, p));
        w.restart();
    }
    let next = (p.0, 3);
    for fenced in [p, (p.0, 2)] {
        assert_eq!(
            w.end_now("t", fenced, 5, true),
            Err(ErrorCode::PRODUCER_FENCED)
        );
        assert_eq!(w.add_acks("t", fenced, &[3]), ErrorCode::PRODUCER_FENCED);
    }
    // What is staged may be staged again; nothing joins any more.
    assert_eq!(w.add_acks("t", next, &[3]), ErrorCode::NONE);
    assert_eq!(w.add("t", next, &[(SHARE, 3)]), ErrorCode::NONE);
    assert_eq!(w.add_acks("t", next, &[4]), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(w.produce("t", next, "a", 0), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(w.add("t", next, &[("b", 0)]), ErrorCode::INVALID_TXN_STATE);
    let verified = w.register(Role::Sgc(3), "t", next, true, SHARE, &[3]);
    assert_eq!(verified.0, [ErrorCode::NONE]);

    let commit = w.end("t", next, 5, true);
    let (pid, epoch, committed, _, _) = marker_of(&w.sent[0]);
    assert_eq!((pid, epoch, committed), (p.0, 4, true));
    w.restart();
    w.write_markers();
    assert_eq!(w.ended(commit), None, "the broker that was asked is gone");
    assert_eq!(
        (w.state("t"), w.pair("t")),
        (TxnState::CompleteCommit, (p.0, 4))
    );
    // The answer was lost.
    assert_eq!(w.end_now("t", next, 5, true), Ok((p.0, 4)));
    assert_eq!(w.produce("t", (p.0, 4), "a", 0), ErrorCode::NONE);
    assert_eq!(w.end_now("t", (p.0, 4), 5, true), Ok((p.0, 5)));
}

#[test]
fn without_a_transaction_keeping_is_like_starting() {
    let mut w = world();
    let (p, kept) = init(&mut w, "t", true).unwrap();
    assert_eq!((p.1, kept), (0, None));
    assert_eq!(init(&mut w, "t", true), Ok(((p.0, 1), None)));
    w.produce("t", (p.0, 1), "a", 0);
    let slot = w.end("t", (p.0, 1), 5, true);
    assert_eq!(
        init(&mut w, "t", true),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS)
    );
    w.write_markers();
    assert_eq!(w.ended(slot), Some(Ok((p.0, 2))));
}

#[test]
fn only_participants_are_kept_and_only_where_the_broker_offers_it() {
    let mut w = world();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    assert_eq!(init(&mut w, "t", true), Err(ErrorCode::INVALID_TXN_STATE));
    assert_eq!(w.state("t"), TxnState::Ongoing);
    assert_eq!(w.end_now("t", p, 5, true), Ok((p.0, 1)));
    w.tc.config.two_phase_commit = false;
    let refused = Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert_eq!(init(&mut w, "t", true), refused);
    assert_eq!(init(&mut w, "t", false), refused);
}

#[test]
fn an_abandoned_participant_is_freed_by_whoever_starts_without_keeping() {
    let mut w = world();
    let (p, _) = init(&mut w, "t", false).unwrap();
    w.produce("t", p, "a", 0);
    init(&mut w, "t", true).unwrap();
    assert_eq!(w.init("t"), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    let (pid, epoch, committed, _, _) = marker_of(&w.sent[0]);
    assert_eq!((pid, epoch, committed), (p.0, 2, false));
    w.write_markers();
    assert_eq!(w.state("t"), TxnState::CompleteAbort);
    assert_eq!(w.init("t"), Ok((p.0, 3)));
}

#[test]
fn used_up_epochs_give_the_client_a_new_producer_id_and_the_transaction_keeps_its_own() {
    for rounds in [1, 2] {
        let mut w = world();
        at_epoch(&mut w, "t", i16::MAX - 1 - rounds);
        let (p, _) = init(&mut w, "t", false).unwrap();
        w.produce("t", p, "a", 0);
        let mut next = p;
        for _ in 0..rounds {
            let (given, kept) = init(&mut w, "t", true).unwrap();
            assert_eq!(kept, Some(p));
            next = given;
        }
        assert!(next.0 != p.0 && next.1 == 0, "{next:?}");
        assert!(w.tc.claims(p.0) && w.tc.claims(next.0));
        w.restart();
        let commit = w.end("t", next, 5, true);
        let (pid, epoch, _, _, _) = marker_of(&w.sent[0]);
        assert_eq!(pid, p.0);
        assert!(epoch > p.1);
        w.write_markers();
        assert_eq!(w.ended(commit), Some(Ok((next.0, next.1 + 1))));
        assert_eq!(w.end_now("t", next, 5, true), Ok((next.0, next.1 + 1)));
    }
}
