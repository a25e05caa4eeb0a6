use super::*;

#[test]
fn partitions_begin_a_transaction_and_repeats_write_nothing() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    assert_eq!(w.add("t", p, &[]), ErrorCode::NONE);
    assert_eq!(w.state("t"), TxnState::Empty);
    assert_eq!(
        w.add("t", p, &[("a", 1), ("b", 0), ("a", 1), ("a", 0)]),
        ErrorCode::NONE
    );
    assert_eq!(w.state("t"), TxnState::Ongoing);
    let written = w.log.len();
    assert_eq!(w.add("t", p, &[("a", 0), ("b", 0)]), ErrorCode::NONE);
    assert_eq!(w.log.len(), written);
    let transaction = w.tc.transaction("t").unwrap();
    let partitions: Vec<_> = transaction
        .partitions()
        .map(|(t, n)| (t.as_str(), n))
        .collect();
    assert_eq!(partitions, [("a", vec![0, 1]), ("b", vec![0])]);
    assert_eq!(transaction.start_ms, 1_000_000);
    assert!(w.tc.is_under_way(p.0) && w.tc.holds(p.0, "a", 1));
    assert!(!w.tc.holds(p.0, "a", 2) && !w.tc.is_under_way(p.0 + 1));
}

#[test]
fn who_may_add() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    let a = [("a", 0)];
    let plain = AddKind::Partitions;
    for (id, pair, version, kind, error) in [
        ("", p, 3, plain, ErrorCode::INVALID_REQUEST),
        ("x", p, 3, plain, ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        (
            "t",
            (5, 0),
            3,
            plain,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
        ),
        ("t", (p.0, 1), 3, plain, ErrorCode::PRODUCER_FENCED),
        ("t", (p.0, -1), 2, plain, ErrorCode::PRODUCER_FENCED),
        ("t", (p.0, 1), 1, plain, ErrorCode::INVALID_PRODUCER_EPOCH),
        (
            "t",
            (p.0, 1),
            0,
            AddKind::ShareAcks,
            ErrorCode::PRODUCER_FENCED,
        ),
        (
            "t",
            (5, 0),
            0,
            AddKind::ShareAcks,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
        ),
    ] {
        assert_eq!(
            w.add_with(id, pair, version, kind, &a),
            error,
            "{id} {pair:?} v{version}"
        );
        assert_eq!(
            w.add_with(id, pair, version, kind, &[]),
            error,
            "{id} {pair:?} v{version}"
        );
    }
    assert_eq!(w.log.len(), 1);
    assert_eq!(w.tc.check_producer("t", p.0, 0), Ok(()));
    assert_eq!(
        w.tc.check_producer("t", p.0, 1),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    let mapping = Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(w.tc.check_producer("t", 5, 0), mapping);
    assert_eq!(w.tc.check_producer("x", p.0, 0), mapping);
}

#[test]
fn nothing_joins_while_the_last_transaction_ends() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.add("t", p, &[("a", 0)]);
    w.end("t", p, 3, true);
    assert_eq!(
        w.add("t", p, &[("a", 0)]),
        ErrorCode::CONCURRENT_TRANSACTIONS
    );
    assert_eq!(w.add_acks("t", p, &[0]), ErrorCode::CONCURRENT_TRANSACTIONS);
    assert!(w.tc.holds(p.0, "a", 0));
    let busy = vec![ErrorCode::CONCURRENT_TRANSACTIONS];
    let marker = w.sent.clone();
    assert_eq!(
        w.register(Role::Sgc(0), "t", p, true, SHARE, &[0]),
        (busy.clone(), 0)
    );
    assert_eq!(
        w.register(Role::Sgc(0), "t", p, false, SHARE, &[0]),
        (busy, 0)
    );
    w.sent = marker;
    w.write_markers();
    assert!(!w.tc.is_under_way(p.0));
    // When the last one began is told until the next InitProducerId.
    assert!(w.tc.transaction("t").unwrap().start_ms >= 0);
    assert_eq!(w.add("t", p, &[("b", 0)]), ErrorCode::NONE);
    assert!(!w.tc.holds(p.0, "a", 0));
}

#[test]
fn verification_tells_members_from_strangers() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    let leader = || Gone::default().role("a", 0).unwrap();
    let abortable = ErrorCode::TRANSACTION_ABORTABLE;
    // Nothing ongoing.
    assert_eq!(
        w.register(leader(), "t", p, true, "a", &[0]),
        (vec![abortable], 0)
    );
    w.add("t", p, &[("a", 0), (SHARE, 3)]);
    let start = w.tc.transaction("t").unwrap().start_ms;
    assert_eq!(
        w.register(leader(), "t", p, true, "a", &[0, 1]),
        (vec![ErrorCode::NONE, abortable], start)
    );
    assert_eq!(
        w.register(Role::Sgc(3), "t", p, true, SHARE, &[3, 4]),
        (vec![ErrorCode::NONE, ErrorCode::INVALID_TXN_STATE], start)
    );
    let sgc = || Role::Sgc(3);
    for (id, pair, error) in [
        ("x", p, ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        ("t", (9, 0), ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        ("t", (p.0, 1), ErrorCode::INVALID_PRODUCER_EPOCH),
    ] {
        assert_eq!(w.register(sgc(), id, pair, true, SHARE, &[3]).0, [error]);
        assert_eq!(w.register(leader(), id, pair, false, "a", &[1]).0, [error]);
    }
    assert!(!w.tc.holds(p.0, "a", 1));
}

#[test]
fn a_leader_registers_for_the_client_and_gets_the_ordinal() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    let leader = Gone::default().role("a", 0).unwrap();
    assert_eq!(
        w.register(leader.clone(), "t", p, false, "a", &[0, 2]),
        (vec![ErrorCode::NONE; 2], 1_000_000)
    );
    // The answer waits for the record.
    assert_eq!(w.trace[2..], ["append", "chained"]);
    assert!(w.tc.holds(p.0, "a", 2));
    let written = w.log.len();
    assert_eq!(
        w.register(leader, "t", p, false, "a", &[0]).0,
        [ErrorCode::NONE]
    );
    assert_eq!(w.log.len(), written);
}

#[test]
fn ordinals_of_one_id_only_grow() {
    let mut w = World::new();
    let mut p = w.init("t").unwrap();
    let mut last = 0;
    for round in 0..6 {
        // The clock stands still, then goes back; the process restarts on the way.
        if round == 2 {
            w.now.wall = WallTime::from_millis(500);
        }
        if round == 4 {
            w.restart();
            p = w.init("t").unwrap();
        }
        w.produce("t", p, "a", 0);
        let start = w.tc.transaction("t").unwrap().start_ms;
        assert!(start > last, "{start} after {last}");
        last = start;
        let slot = w.end("t", p, 5, round % 2 == 0);
        assert_eq!(marker_of(&w.sent[0]).4, start);
        w.write_markers();
        p = w.ended(slot).unwrap().unwrap();
    }
}

#[test]
fn strays_are_ignored() {
    let mut w = World::new();
    w.init("t").unwrap();
    let body = Body::WriteShareGroupState(Default::default());
    let envelope = Envelope {
        from: Role::Sgc(1),
        to: Role::Tc(7),
        correlation: 1,
        body,
    };
    w.call(|tc, ctx, _, out| tc.handle_envelope(ctx.now, envelope, out));
    assert_eq!(w.trace, ["append", "reply"]);
}
