use ackord_machine::DeadlineReason;

use super::*;

#[test]
fn a_transaction_is_aborted_at_its_timeout_under_one_bump() {
    for (version, registered_by_leader) in [(0, false), (2, true)] {
        let mut w = World::new();
        let p = w.init("t").unwrap();
        match registered_by_leader {
            true => w.produce("t", p, "a", 0),
            false => w.add("t", p, &[("a", 0)]),
        };
        w.advance(30_000);
        // Later partitions do not prolong it.
        w.add("t", p, &[("b", 0)]);
        let deadline = w.tc.next_deadline().unwrap();
        assert_eq!(deadline.reason, DeadlineReason::TransactionTimeout);
        assert_eq!(deadline.at, MonoTime::from_millis(60_000));
        w.advance(29_999);
        assert_eq!(w.state("t"), TxnState::Ongoing);
        w.advance(1);
        let (pid, epoch, commit, marker_version, _) = marker_of(&w.sent[0]);
        assert_eq!(
            (pid, epoch, commit, marker_version),
            (p.0, 1, false, version)
        );
        w.write_markers();
        assert_eq!(
            (w.state("t"), w.pair("t")),
            (TxnState::CompleteAbort, (p.0, 1))
        );
        assert_eq!(w.tc.next_deadline(), None);
    }
}

#[test]
fn the_producer_that_timed_out_can_abort_and_go_on() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    w.advance(60_000);
    let commit = w.end("t", p, 5, true);
    let abort = w.end("t", p, 5, false);
    assert_eq!(w.ended(commit), Some(Err(ErrorCode::INVALID_TXN_STATE)));
    assert_eq!(w.ended(abort), None);
    w.write_markers();
    assert_eq!(w.ended(abort), Some(Ok((p.0, 1))));
    w.restart();
    assert_eq!(
        w.end_now("t", p, 5, true),
        Err(ErrorCode::INVALID_TXN_STATE)
    );
    assert_eq!(w.end_now("t", p, 5, false), Ok((p.0, 1)));
    // What it still sends under the old epoch is refused.
    assert_eq!(w.produce("t", p, "a", 0), ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(w.add_acks("t", p, &[0]), ErrorCode::PRODUCER_FENCED);
    assert_eq!(w.produce("t", (p.0, 1), "a", 0), ErrorCode::NONE);
    assert_eq!(w.end_now("t", (p.0, 1), 5, true), Ok((p.0, 2)));
}

#[test]
fn an_end_in_time_cancels_the_timeout() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    w.advance(59_999);
    let slot = w.end("t", p, 5, true);
    w.write_markers();
    w.advance(100_000);
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
    assert_eq!(w.state("t"), TxnState::CompleteCommit);
}

#[test]
fn the_rest_of_the_time_survives_a_restart_and_any_clock() {
    for (wall_ms, rest_ms) in [
        (1_020_000, 40_000),
        (1_060_000, 0),
        (9_000_000, 0),
        (i64::MAX, 0),
        // The clock was set back: the whole time at most.
        (10, 60_000),
        (i64::MIN, 60_000),
    ] {
        let mut w = World::new();
        let p = w.init("t").unwrap();
        w.produce("t", p, "a", 0);
        w.now = Now {
            mono: MonoTime::from_millis(5),
            wall: WallTime::from_millis(wall_ms),
        };
        w.restart();
        let deadline = w.tc.next_deadline().unwrap();
        assert_eq!(
            deadline.at,
            MonoTime::from_millis(5 + rest_ms),
            "wall {wall_ms}"
        );
        w.now.mono = deadline.at;
        w.call(|tc, ctx, _, out| tc.handle_timeout(ctx, out));
        assert_eq!(w.state("t"), TxnState::PrepareAbort);
    }
}

#[test]
fn without_a_producer_id_the_timeout_is_tried_again() {
    let mut w = World::new();
    let p = super::epochs::at_epoch(&mut w, "t", 32766);
    w.produce("t", p, "a", 0);
    w.ids.dry = true;
    w.advance(60_000);
    assert_eq!(w.state("t"), TxnState::Ongoing);
    w.ids.dry = false;
    w.advance(1000);
    assert_eq!(w.state("t"), TxnState::PrepareAbort);
}
