//! Acknowledgement inside a transaction (KIP-1289).

use crate::common::{
    ABORT, ACCEPT, Bench, GAP, REJECT, RELEASE, RENEW, ack, at, batches, list, owner, pending_of,
    show, staged,
};
use ackord_machine::{PendingAck, StageVerdict, StagedRange};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{Config, SharePartition, TxnOutcome};

const STATE: ErrorCode = ErrorCode::INVALID_RECORD_STATE;

fn bench(last: i64) -> Bench {
    Bench::acquired(Config::default(), "m", last)
}

fn pending(first_offset: i64, last_offset: i64, acknowledge_type: i8) -> PendingAck {
    PendingAck {
        first_offset,
        last_offset,
        acknowledge_type,
        delivery_count: 1,
        owner: owner(7, 0),
        dead_letter: false,
    }
}

#[test]
fn a_stage_stops_the_lock_and_says_what_to_store() {
    let mut bench = bench(9);
    let ranges = [
        staged(0, 3, ACCEPT),
        staged(4, 4, GAP),
        staged(6, 9, REJECT),
    ];
    let verdict = bench.stage("m", owner(7, 0), &ranges);
    let expected = vec![
        pending(0, 3, ACCEPT),
        pending(4, 4, GAP),
        pending(6, 9, REJECT),
    ];
    assert_eq!(verdict, StageVerdict::Staged(expected));
    assert_eq!(bench.partition.pending_count(), 9);
    let change = bench.partition.expire(at(90_000));
    assert_eq!(
        batches(&change.batches),
        "5-5 AVAILABLE x1",
        "only what was not staged"
    );
    assert_eq!(bench.partition.next_expiry(), None);
    assert!(
        bench.acquire("n", 0, 4).is_empty(),
        "pending is never delivered"
    );
}

#[test]
fn commit_gives_each_type_its_end() {
    let mut bench = bench(3);
    let ranges = [
        staged(1, 1, ACCEPT),
        staged(2, 2, REJECT),
        staged(3, 3, GAP),
    ];
    bench.stage("m", owner(7, 0), &ranges);
    let change = bench.commit(7, 1);
    assert_eq!(
        batches(&change.batches),
        "1-1 ACKNOWLEDGED x1; 2-3 ARCHIVED x1"
    );
    assert_eq!(
        (change.start_offset, change.delivery_complete_count),
        (0, 3)
    );
    assert_eq!(
        bench
            .ack("m", &[ack(0, 0, &[ACCEPT])])
            .expect("held")
            .start_offset,
        4
    );
    assert!(
        bench.commit(7, 1).is_empty(),
        "a repeated marker finds nothing"
    );
}

#[test]
fn pending_holds_the_start_offset_and_the_window() {
    let config = Config {
        max_record_locks: 5,
        ..Config::default()
    };
    let mut bench = Bench::acquired(config, "m", 4);
    bench.stage("m", owner(7, 0), &[staged(0, 0, ACCEPT)]);
    bench.ack("m", &[ack(1, 4, &[ACCEPT])]).expect("held");
    assert_eq!(bench.partition.start_offset(), 0);
    assert!(!bench.partition.can_acquire());
    let change = bench.commit(7, 1);
    assert_eq!((change.start_offset, change.available_again), (5, true));
}

#[test]
fn abort_makes_available_at_once_and_keeps_the_count() {
    let mut bench = bench(4);
    bench.stage("m", owner(7, 0), &[staged(0, 4, REJECT)]);
    let change = bench.abort(7, 1);
    assert_eq!(batches(&change.batches), "0-4 AVAILABLE x1");
    assert!(change.available_again);
    assert_eq!(list(&bench.acquire("n", 0, 4)), "0-4@2");
    assert!(bench.abort(7, 1).is_empty());
}

#[test]
fn abort_at_the_limit_loses_nothing() {
    let config = Config {
        delivery_count_limit: 1,
        ..Config::default()
    };
    let mut bench = Bench::acquired(config, "m", 0);
    for epoch in 0..3 {
        bench.stage("m", owner(7, epoch), &[staged(0, 0, ACCEPT)]);
        assert_eq!(
            batches(&bench.abort(7, epoch + 1).batches),
            "0-0 AVAILABLE x1"
        );
        assert_eq!(
            list(&bench.acquire("m", 0, 0)),
            "0-0@1",
            "the count is at its limit"
        );
    }
    // The plain ways back are limited as ever.
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
    assert_eq!(bench.partition.start_offset(), 1);
}

#[test]
fn a_marker_ends_all_and_only_its_own() {
    let mut bench = bench(5);
    for (offset, who) in [
        (0, owner(7, 0)),
        (1, owner(7, 1)),
        (2, owner(7, 2)),
        (3, owner(8, 0)),
    ] {
        bench.stage("m", who, &[staged(offset, offset, ACCEPT)]);
    }
    let news = pending_of(&bench.partition, 7, 2);
    let change = bench.partition.resolve_ranges(&news, ABORT);
    assert_eq!(batches(&change.batches), "0-1 AVAILABLE x1");
    // H2: a copy does not reach what was staged later, not where it names those records either.
    bench.acquire("m", 0, 5);
    bench.stage("m", owner(7, 2), &[staged(0, 0, ACCEPT)]);
    let wide = PendingAck {
        last_offset: 5,
        ..news[0]
    };
    for late in [news, vec![wide]] {
        assert!(bench.partition.resolve_ranges(&late, ABORT).is_empty());
    }
    let next = pending_of(&bench.partition, 7, 3);
    let change = bench.partition.resolve_ranges(&next, ABORT);
    assert_eq!(
        batches(&change.batches),
        "0-0 AVAILABLE x2; 2-2 AVAILABLE x1"
    );
    assert_eq!(bench.partition.pending_count(), 1);
    assert!(bench.show().contains("4-5 ACQUIRED"), "{}", bench.show());
}

#[test]
fn a_marker_of_a_double_bump_still_reaches_its_records() {
    let mut bench = bench(0);
    bench.stage("m", owner(7, 3), &[staged(0, 0, ACCEPT)]);
    assert!(bench.abort(7, 5).available_again);
}

#[test]
fn a_stage_of_bad_form_is_an_invalid_request() {
    let mut bench = bench(9);
    let bad = [
        vec![staged(3, 2, ACCEPT)],
        vec![staged(0, 3, ACCEPT), staged(3, 4, ACCEPT)],
        vec![staged(5, 6, ACCEPT), staged(0, 1, ACCEPT)],
        vec![staged(0, 0, RELEASE)],
        vec![staged(0, 0, ACCEPT), staged(1, 1, RENEW)],
        vec![staged(0, 0, 5)],
        vec![staged(0, 0, -1)],
    ];
    for ranges in bad {
        let code = bench.stage_refused("m", owner(7, 0), &ranges);
        assert_eq!(code, ErrorCode::INVALID_REQUEST, "{ranges:?}");
    }
}

#[test]
fn only_acquired_records_of_the_member_can_be_staged() {
    let mut bench = bench(9);
    bench
        .ack(
            "m",
            &[
                ack(0, 0, &[ACCEPT]),
                ack(4, 4, &[RELEASE]),
                ack(5, 5, &[ACCEPT]),
            ],
        )
        .expect("held");
    for (first, last) in [
        (0, 0),
        (0, 1),
        (3, 4),
        (5, 6),
        (9, 10),
        (20, 20),
        (i64::MIN, i64::MAX),
    ] {
        let code = bench.stage_refused("m", owner(7, 0), &[staged(first, last, ACCEPT)]);
        assert_eq!(code, STATE, "{first}-{last}");
    }
    // All or none, whichever range is the bad one.
    let ranges = [staged(1, 3, ACCEPT), staged(4, 4, ACCEPT)];
    assert_eq!(bench.stage_refused("m", owner(7, 0), &ranges), STATE);
    assert_eq!(
        bench.stage_refused("n", owner(7, 0), &[staged(1, 1, ACCEPT)]),
        STATE
    );
    // Version 0 names no member.
    let any = bench.partition.stage(
        at(0),
        None,
        owner(7, 0),
        ErrorCode::NONE,
        &[staged(1, 1, ACCEPT)],
    );
    assert_eq!(any, StageVerdict::Staged(vec![pending(1, 1, ACCEPT)]));
    let late = bench.partition.stage(
        at(30_000),
        None,
        owner(7, 0),
        ErrorCode::NONE,
        &[staged(2, 2, ACCEPT)],
    );
    assert!(matches!(
        late,
        StageVerdict::Refused {
            code: STATE,
            whole_request: false,
            ..
        }
    ));
}

#[test]
fn a_record_that_was_delivered_again_is_not_the_one_that_was_meant() {
    let mut bench = bench(0);
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
    bench.acquire("m", 0, 0);
    for acknowledge_type in [GAP, ACCEPT, REJECT] {
        let range = StagedRange {
            delivery_count: Some(1),
            ..staged(0, 0, acknowledge_type)
        };
        assert_eq!(bench.stage_refused("m", owner(7, 0), &[range]), STATE);
    }
    let range = StagedRange {
        delivery_count: Some(2),
        ..staged(0, 0, ACCEPT)
    };
    assert!(matches!(
        bench.stage("m", owner(7, 0), &[range]),
        StageVerdict::Staged(_)
    ));
}

#[test]
fn the_identical_retry_is_known_before_the_member_is_looked_at() {
    let mut bench = bench(4);
    bench.stage("m", owner(7, 0), &[staged(0, 4, ACCEPT)]);
    bench.partition.release_member(at(0), &Str::from("m"));
    assert_eq!(
        bench.partition.pending_count(),
        5,
        "the session does not own it any more"
    );
    let retry = [staged(0, 2, ACCEPT), staged(3, 4, ACCEPT)];
    let left = ErrorCode::UNKNOWN_MEMBER_ID;
    let verdict =
        bench
            .partition
            .stage(at(99_000), Some(&Str::from("n")), owner(7, 0), left, &retry);
    assert_eq!(verdict, StageVerdict::Repeated);
    assert_eq!(bench.stage("m", owner(7, 0), &[]), StageVerdict::Repeated);
}

#[test]
fn pending_records_take_no_other_decision() {
    let mut bench = bench(4);
    bench.stage("m", owner(7, 0), &[staged(0, 4, ACCEPT)]);
    for (who, kind) in [
        (owner(7, 0), REJECT),
        (owner(7, 1), ACCEPT),
        (owner(8, 0), ACCEPT),
    ] {
        assert_eq!(bench.stage_refused("m", who, &[staged(0, 4, kind)]), STATE);
    }
    for kind in [GAP, ACCEPT, RELEASE, REJECT, RENEW] {
        assert_eq!(bench.refused("m", &[ack(2, 2, &[kind])]), STATE);
    }
}

#[test]
fn a_retry_with_more_stages_only_what_is_new() {
    let mut bench = bench(9);
    bench.stage("m", owner(7, 0), &[staged(2, 4, ACCEPT)]);
    let verdict = bench.stage("m", owner(7, 0), &[staged(0, 9, ACCEPT)]);
    let new = vec![pending(0, 1, ACCEPT), pending(5, 9, ACCEPT)];
    assert_eq!(verdict, StageVerdict::Staged(new));
    assert!(
        bench.show().starts_with("0-9 TX_PENDING x1"),
        "{}",
        bench.show()
    );
}

#[test]
fn an_error_of_the_member_stands_for_the_whole_request() {
    let mut bench = bench(4);
    let stale = ErrorCode::STALE_MEMBER_EPOCH;
    let before = bench.show();
    for ranges in [
        vec![staged(0, 4, ACCEPT)],
        vec![staged(4, 0, ACCEPT)],
        vec![staged(99, 99, GAP)],
    ] {
        let verdict =
            bench
                .partition
                .stage(at(0), Some(&Str::from("m")), owner(7, 0), stale, &ranges);
        let StageVerdict::Refused {
            code,
            whole_request,
            ..
        } = verdict
        else {
            panic!("it has to be refused");
        };
        assert_eq!((code, whole_request), (stale, true));
    }
    assert_eq!(bench.show(), before);
}

#[test]
fn a_failed_stage_goes_back_under_the_old_lock() {
    let mut bench = bench(4);
    let before = bench.show();
    let StageVerdict::Staged(ranges) = bench.stage("m", owner(7, 0), &[staged(1, 2, ACCEPT)])
    else {
        panic!("it has to be staged");
    };
    assert!(
        bench
            .partition
            .unstage(at(5), owner(8, 0), &ranges)
            .is_empty(),
        "not the owner"
    );
    assert!(
        bench
            .partition
            .unstage(at(5), owner(7, 0), &ranges)
            .is_empty()
    );
    assert_eq!(bench.show(), before);
    // Once more, and this time the lock runs out meanwhile.
    bench.stage("m", owner(7, 0), &[staged(1, 2, ACCEPT)]);
    bench.partition.expire(at(30_000));
    let change = bench.partition.unstage(at(30_001), owner(7, 0), &ranges);
    assert_eq!(batches(&change.batches), "1-2 AVAILABLE x1");
    assert!(change.available_again);
}

#[test]
fn a_failed_stage_of_a_member_that_left_becomes_available() {
    let mut bench = bench(4);
    let StageVerdict::Staged(ranges) = bench.stage("m", owner(7, 0), &[staged(0, 4, ACCEPT)])
    else {
        panic!("it has to be staged");
    };
    assert!(
        bench
            .partition
            .release_member(at(1), &Str::from("m"))
            .is_empty()
    );
    let change = bench.partition.unstage(at(5), owner(7, 0), &ranges);
    assert_eq!(batches(&change.batches), "0-4 AVAILABLE x1");
}

#[test]
fn below_the_log_start_both_outcomes_archive() {
    for commit in [true, false] {
        let mut bench = bench(9);
        bench.stage("m", owner(7, 0), &[staged(0, 9, ACCEPT)]);
        let change = bench.partition.archive_below(5);
        assert_eq!(
            (change.is_empty(), bench.partition.pending_count()),
            (true, 10)
        );
        let outcome = if commit { TxnOutcome::Commit } else { ABORT };
        let news = pending_of(&bench.partition, 7, 1);
        let change = bench.partition.resolve_ranges(&news, outcome);
        let (above, start) = if commit {
            ("ACKNOWLEDGED", 10)
        } else {
            ("AVAILABLE", 5)
        };
        assert_eq!(
            batches(&change.batches),
            format!("0-4 ARCHIVED x1; 5-9 {above} x1")
        );
        assert_eq!(change.start_offset, start);
    }
}

#[test]
fn a_loaded_pending_record_waits_for_its_transaction() {
    let stored = [
        pending(2, 3, REJECT),
        PendingAck {
            delivery_count: 4,
            ..pending(4, 4, ACCEPT)
        },
    ];
    let mut loaded = SharePartition::load(Config::default(), 0, &[], &stored);
    assert_eq!(
        show(&loaded),
        "0-1 AVAILABLE x0; 2-3 TX_PENDING x1 producer 7 epoch 0 type 3; \
         4-4 TX_PENDING x4 producer 7 epoch 0 type 1"
    );
    // The retry of the stage is known after a restart too, through either version.
    let retry = [
        staged(2, 3, REJECT),
        StagedRange {
            delivery_count: Some(4),
            ..staged(4, 4, ACCEPT)
        },
    ];
    let verdict = loaded.stage(
        at(0),
        Some(&Str::from("m")),
        owner(7, 0),
        ErrorCode::NONE,
        &retry,
    );
    assert_eq!(verdict, StageVerdict::Repeated);
    let other = loaded.stage(
        at(0),
        None,
        owner(7, 0),
        ErrorCode::NONE,
        &[staged(2, 3, GAP)],
    );
    assert!(
        matches!(other, StageVerdict::Refused { code: STATE, .. }),
        "gap is not reject"
    );
    let change = loaded.resolve_ranges(&stored, ABORT);
    assert_eq!(
        batches(&change.batches),
        "2-3 AVAILABLE x1; 4-4 AVAILABLE x4"
    );
}
