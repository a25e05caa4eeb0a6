//! Fetches, plain acknowledgement, locks, limits and the window.

use crate::common::{
    ACCEPT, Bench, GAP, REJECT, RELEASE, RENEW, ack, at, batches, list, owner, show, staged,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::AcquireMode::{BatchOptimized, RecordLimit};
use ackord_share_partition::{Config, RecordState, SharePartition, Span, StateBatch};

fn config() -> Config {
    Config::default()
}

#[test]
fn batch_optimized_goes_on_to_the_end_of_the_log_batch() {
    let mut bench = Bench::new(config());
    let got = bench.fetch("m", &[(0, 4), (5, 9), (10, 14)], 7, 500, BatchOptimized);
    assert_eq!(list(&got), "0-9@1");
    assert_eq!(bench.partition.next_fetch_offset(), 10);
    assert_eq!(bench.partition.in_flight(), 10);
}

#[test]
fn answer_ranges_end_with_the_log_batch_that_reaches_the_batch_size() {
    let mut bench = Bench::new(config());
    let got = bench.fetch(
        "m",
        &[(0, 1), (2, 5), (6, 6), (7, 9)],
        100,
        3,
        BatchOptimized,
    );
    assert_eq!(list(&got), "0-5@1 6-9@1");
}

#[test]
fn record_limit_is_never_passed() {
    let mut bench = Bench::new(config());
    assert_eq!(
        list(&bench.fetch("m", &[(0, 9)], 3, 1, RecordLimit)),
        "0-2@1"
    );
    // The rest of the log batch is there for others.
    assert_eq!(bench.partition.next_fetch_offset(), 3);
    assert_eq!(
        list(&bench.fetch("n", &[(0, 9), (10, 19)], 9, 1, RecordLimit)),
        "3-11@1"
    );
    assert!(bench.fetch("n", &[(0, 19)], 0, 1, RecordLimit).is_empty());
    assert!(
        bench
            .fetch("n", &[(0, 19)], -1, 1, BatchOptimized)
            .is_empty()
    );
}

#[test]
fn record_limit_counts_redelivered_and_new_records_together() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.ack("m", &[ack(1, 2, &[RELEASE])]).expect("held");
    assert_eq!(
        list(&bench.fetch("m", &[(0, 9)], 4, 500, RecordLimit)),
        "1-2@2 5-6@1"
    );
}

#[test]
fn the_window_is_a_hard_limit() {
    let mut bench = Bench::new(Config {
        max_record_locks: 10,
        ..config()
    });
    assert_eq!(
        list(&bench.fetch("m", &[(0, 99)], 50, 500, BatchOptimized)),
        "0-9@1"
    );
    assert!(!bench.partition.can_acquire());
    assert!(bench.acquire("n", 10, 99).is_empty());
    // An acknowledged hole counts; the start offset has to move.
    let change = bench.ack("m", &[ack(1, 3, &[ACCEPT])]).expect("held");
    assert_eq!((change.start_moved, change.available_again), (false, false));
    assert!(bench.acquire("n", 10, 99).is_empty());
    let change = bench.ack("m", &[ack(0, 0, &[ACCEPT])]).expect("held");
    assert_eq!(
        (
            change.start_offset,
            change.start_moved,
            change.available_again
        ),
        (4, true, true)
    );
    assert_eq!(list(&bench.acquire("n", 0, 99)), "10-13@1");
    // What comes back inside a full window is delivered.
    bench.ack("m", &[ack(5, 5, &[RELEASE])]).expect("held");
    assert!(bench.partition.can_acquire());
    assert_eq!(list(&bench.acquire("n", 0, 99)), "5-5@2");
}

#[test]
fn holes_of_the_log_are_archived_and_never_block() {
    let mut bench = Bench::new(config());
    let got = bench.fetch("m", &[(3, 4), (8, 9)], 500, 500, BatchOptimized);
    assert_eq!(list(&got), "3-4@1 8-9@1");
    assert_eq!(bench.partition.start_offset(), 3);
    assert_eq!(
        bench.show(),
        "3-4 ACQUIRED x1 member m until 0:00:30.000000; 5-7 ARCHIVED x0; \
         8-9 ACQUIRED x1 member m until 0:00:30.000000"
    );
    let change = bench.ack("m", &[ack(3, 4, &[ACCEPT])]).expect("held");
    assert_eq!((change.start_offset, change.start_moved), (8, true));
    assert_eq!(batches(&change.batches), "3-4 ACKNOWLEDGED x1");
}

#[test]
fn a_hole_larger_than_the_window_passes_when_nothing_is_held_back() {
    let mut bench = Bench::new(Config {
        max_record_locks: 10,
        ..config()
    });
    assert_eq!(list(&bench.acquire("m", 1000, 1004)), "1000-1004@1");
    assert_eq!(bench.partition.start_offset(), 1000);
    // 1000 to 1004 are held now, so the next hole has to wait.
    assert!(bench.acquire("m", 2000, 2004).is_empty());
    assert!(bench.partition.end_offset() <= 1010);
    bench.ack("m", &[ack(1000, 1004, &[ACCEPT])]).expect("held");
    assert_eq!(list(&bench.acquire("m", 2000, 2004)), "2000-2004@1");
}

#[test]
fn compaction_inside_the_window_archives_what_was_released() {
    let mut bench = Bench::acquired(config(), "m", 9);
    bench.ack("m", &[ack(0, 9, &[RELEASE])]).expect("held");
    let got = bench.fetch("m", &[(0, 1), (5, 9)], 500, 500, BatchOptimized);
    assert_eq!(list(&got), "0-1@2 5-9@2");
    assert!(bench.show().contains("2-4 ARCHIVED x1"), "{}", bench.show());
}

#[test]
fn offsets_below_the_start_are_never_acquired() {
    let mut bench = Bench::new(config());
    bench.partition = SharePartition::new(config(), 5);
    assert_eq!(list(&bench.acquire("m", 0, 9)), "5-9@1");
}

#[test]
fn each_type_has_its_effect() {
    let mut bench = Bench::acquired(config(), "m", 5);
    let change = bench
        .ack("m", &[ack(0, 4, &[RELEASE, ACCEPT, REJECT, GAP, RENEW])])
        .expect("held");
    assert_eq!(
        batches(&change.batches),
        "0-0 AVAILABLE x1; 1-1 ACKNOWLEDGED x1; 2-3 ARCHIVED x1"
    );
    assert!(change.available_again);
    assert!(!change.start_moved);
    assert_eq!(change.delivery_complete_count, 3);
    assert_eq!(bench.partition.next_fetch_offset(), 0);
}

#[test]
fn renew_starts_the_lock_anew_and_stores_nothing() {
    let mut bench = Bench::acquired(config(), "m", 0);
    bench.now = at(20_000);
    assert!(
        bench
            .ack("m", &[ack(0, 0, &[RENEW])])
            .expect("held")
            .is_empty()
    );
    assert_eq!(
        bench.show(),
        "0-0 ACQUIRED x1 member m until 0:00:50.000000"
    );
    bench.partition.set_config(Config {
        renew_enabled: false,
        ..config()
    });
    assert_eq!(
        bench.refused("m", &[ack(0, 0, &[RENEW])]),
        ErrorCode::INVALID_RECORD_STATE
    );
}

#[test]
fn an_acknowledgement_of_bad_form_changes_nothing() {
    let mut bench = Bench::acquired(config(), "m", 9);
    let bad = [
        vec![ack(3, 2, &[ACCEPT])],
        vec![ack(0, 1, &[])],
        vec![ack(0, 2, &[ACCEPT, ACCEPT])],
        vec![ack(0, 0, &[ACCEPT, ACCEPT])],
        vec![ack(0, 0, &[5])],
        vec![ack(0, 0, &[-1])],
        vec![ack(0, 3, &[ACCEPT]), ack(2, 4, &[ACCEPT])],
        vec![ack(5, 6, &[ACCEPT]), ack(0, 1, &[ACCEPT])],
        vec![ack(i64::MIN, i64::MAX, &[ACCEPT, ACCEPT])],
        vec![ack(-5, 1, &[ACCEPT])],
        vec![ack(0, 0, &[ACCEPT]), ack(-1, -1, &[ACCEPT])],
        // Good form, but never delivered.
        vec![ack(9, 10, &[ACCEPT])],
        vec![ack(0, i64::MAX, &[ACCEPT])],
    ];
    for ranges in bad {
        assert_eq!(
            bench.refused("m", &ranges),
            ErrorCode::INVALID_REQUEST,
            "{ranges:?}"
        );
    }
}

/// As Kafka answers: overlap is bad form, but for the last offset of the range before.
#[test]
fn ranges_that_touch_and_ranges_behind_what_was_acquired() {
    let state = ErrorCode::INVALID_RECORD_STATE;
    let request = ErrorCode::INVALID_REQUEST;
    let mut bench = Bench::new(config());
    assert_eq!(bench.refused("m", &[ack(0, 0, &[ACCEPT])]), state);
    // Three records of a log batch of five.
    bench.fetch("m", &[(0, 4)], 3, 3, RecordLimit);
    let refusals = [
        (vec![ack(1, 1, &[ACCEPT]), ack(1, 1, &[ACCEPT])], state),
        (vec![ack(1, 1, &[RELEASE]), ack(1, 1, &[RELEASE])], state),
        (vec![ack(1, 1, &[ACCEPT]), ack(1, 1, &[RENEW])], state),
        (vec![ack(0, 1, &[ACCEPT]), ack(1, 2, &[ACCEPT])], state),
        (vec![ack(0, 2, &[ACCEPT]), ack(1, 1, &[ACCEPT])], request),
        (vec![ack(0, 2, &[ACCEPT]), ack(0, 2, &[ACCEPT])], request),
        (vec![ack(1, 2, &[ACCEPT]), ack(0, 0, &[ACCEPT])], request),
        (vec![ack(0, 4, &[ACCEPT])], state),
        (vec![ack(3, 4, &[ACCEPT])], state),
        (vec![ack(2, 2, &[ACCEPT]), ack(3, 3, &[ACCEPT])], state),
        (vec![ack(5, 5, &[ACCEPT])], request),
        (vec![ack(0, 1, &[ACCEPT]), ack(1, 5, &[ACCEPT])], request),
        (
            vec![
                ack(1, 1, &[ACCEPT]),
                ack(1, 1, &[ACCEPT]),
                ack(9, 9, &[ACCEPT]),
            ],
            state,
        ),
        (vec![ack(9, 9, &[ACCEPT]), ack(9, 9, &[ACCEPT])], request),
        (vec![ack(-1, 5, &[ACCEPT])], request),
    ];
    for (ranges, code) in refusals {
        assert_eq!(bench.refused("m", &ranges), code, "{ranges:?}");
    }
    let twice = [ack(1, 1, &[RENEW]), ack(1, 1, &[RENEW])];
    bench
        .ack("m", &twice)
        .expect("a renewed record stays acquired");
    bench
        .ack("m", &[ack(-1, 0, &[ACCEPT])])
        .expect("-1 is below the start");
    let below = [ack(0, 0, &[ACCEPT]), ack(0, 1, &[ACCEPT])];
    bench.ack("m", &below).expect("0 is below the start");
    let then = [ack(2, 2, &[RENEW]), ack(2, 2, &[ACCEPT])];
    let change = bench.ack("m", &then).expect("renewed and accepted");
    assert_eq!(change.start_offset, 3);
    // The rest of the batch is known of, and the batch behind it is not.
    assert_eq!(bench.refused("m", &[ack(4, 4, &[ACCEPT])]), state);
    assert_eq!(bench.refused("m", &[ack(5, 5, &[ACCEPT])]), request);
    bench.fetch("m", &[(0, 4)], 9, 9, RecordLimit);
    bench.ack("m", &[ack(3, 4, &[ACCEPT])]).expect("held");
    assert_eq!(bench.refused("m", &[ack(5, 5, &[ACCEPT])]), state);
}

#[test]
fn one_bad_record_refuses_the_whole_partition() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.acquire("n", 5, 9);
    let good = ack(0, 4, &[ACCEPT]);
    let others = ack(5, 5, &[ACCEPT]);
    assert_eq!(
        bench.refused("m", &[good.clone(), others]),
        ErrorCode::INVALID_RECORD_STATE
    );
    bench.ack("n", &[ack(7, 7, &[RELEASE])]).expect("held");
    assert_eq!(
        bench.refused("n", &[ack(6, 7, &[ACCEPT])]),
        ErrorCode::INVALID_RECORD_STATE
    );
    bench.ack("m", &[good]).expect("held");
}

#[test]
fn below_the_start_everything_is_accepted() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.ack("m", &[ack(0, 1, &[ACCEPT])]).expect("held");
    let change = bench
        .ack("n", &[ack(0, 1, &[REJECT])])
        .expect("below the start");
    assert!(change.is_empty());
    // Partly below: the rest counts.
    assert_eq!(
        bench
            .ack("m", &[ack(0, 2, &[ACCEPT])])
            .expect("held")
            .start_offset,
        3
    );
}

#[test]
fn a_lock_ends_at_its_deadline_even_before_anybody_expires_it() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.now = at(29_999);
    bench
        .ack("m", &[ack(0, 0, &[ACCEPT])])
        .expect("one millisecond left");
    bench.now = at(30_000);
    assert_eq!(
        bench.refused("m", &[ack(1, 1, &[ACCEPT])]),
        ErrorCode::INVALID_RECORD_STATE
    );
    assert_eq!(
        bench.stage_refused("m", owner(1, 0), &[staged(1, 1, ACCEPT)]),
        ErrorCode::INVALID_RECORD_STATE
    );
}

#[test]
fn locks_expire_one_by_one_in_time() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.now = at(1_000);
    bench.acquire("n", 5, 9);
    assert_eq!(bench.partition.next_expiry(), Some(at(30_000)));
    assert!(bench.partition.expire(at(29_999)).is_empty());
    let change = bench.partition.expire(at(30_000));
    assert_eq!(batches(&change.batches), "0-4 AVAILABLE x1");
    assert!(change.available_again);
    assert_eq!(bench.partition.next_expiry(), Some(at(31_000)));
    bench.partition.expire(at(60_000));
    assert_eq!(bench.partition.next_expiry(), None);
    assert_eq!(bench.show(), "0-9 AVAILABLE x1");
}

#[test]
fn a_session_that_ends_gives_its_records_back() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.acquire("n", 5, 9);
    let change = bench.partition.release_member(bench.now, &Str::from("m"));
    assert_eq!(batches(&change.batches), "0-4 AVAILABLE x1");
    assert!(
        bench
            .show()
            .ends_with("5-9 ACQUIRED x1 member n until 0:00:30.000000")
    );
    assert!(
        bench
            .partition
            .release_member(bench.now, &Str::from("m"))
            .is_empty()
    );
}

/// Delivers offset 0 until its count is at the limit of 2.
fn at_the_limit(transactional: bool) -> Bench {
    let config = Config {
        delivery_count_limit: 2,
        transactional,
        ..config()
    };
    let mut bench = Bench::acquired(config, "m", 0);
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
    assert_eq!(list(&bench.acquire("m", 0, 0)), "0-0@2");
    bench
}

#[test]
fn at_the_limit_whatever_comes_back_is_given_up() {
    let mut bench = at_the_limit(false);
    let change = bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
    assert_eq!(batches(&change.batches), "0-0 ARCHIVED x2");
    assert_eq!(change.start_offset, 1);

    let mut bench = at_the_limit(false);
    assert_eq!(
        batches(&bench.partition.expire(at(30_000)).batches),
        "0-0 ARCHIVED x2"
    );

    let mut bench = at_the_limit(false);
    let change = bench.partition.release_member(at(0), &Str::from("m"));
    assert_eq!(batches(&change.batches), "0-0 ARCHIVED x2");
}

#[test]
fn in_transactional_mode_the_limit_gives_nothing_up() {
    let mut bench = at_the_limit(true);
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
    assert_eq!(bench.show(), "0-0 AVAILABLE x2");
    // The count stays at the limit.
    assert_eq!(list(&bench.acquire("m", 0, 0)), "0-0@2");
    bench.partition.expire(at(30_000));
    assert_eq!(list(&bench.acquire("m", 0, 0)), "0-0@2");
    bench.partition.release_member(at(0), &Str::from("m"));
    assert_eq!(bench.show(), "0-0 AVAILABLE x2");
}

#[test]
fn a_lower_limit_never_lowers_a_count() {
    let mut bench = Bench::acquired(config(), "m", 0);
    for _ in 0..2 {
        bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
        bench.acquire("m", 0, 0);
    }
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
    bench.partition.set_config(Config {
        delivery_count_limit: 2,
        ..config()
    });
    assert_eq!(list(&bench.acquire("m", 0, 0)), "0-0@3");
}

#[test]
fn suspects_are_delivered_alone_and_fewer_each_time() {
    let mut bench = Bench::new(config());
    let log = [(0, 7), (8, 15)];
    for delivery in 1..=3 {
        let got = bench.fetch("m", &log, 500, 500, BatchOptimized);
        assert_eq!(list(&got), format!("0-15@{delivery}"));
        bench.ack("m", &[ack(0, 15, &[RELEASE])]).expect("held");
    }
    // Delivered three times of five: half of what was acquired together, then the other half of it...
    assert_eq!(
        list(&bench.fetch("m", &log, 500, 500, BatchOptimized)),
        "0-7@4"
    );
    bench
        .ack("m", &[ack(0, 0, &[RELEASE]), ack(1, 7, &[ACCEPT])])
        .expect("held");
    // ... and on the last attempt one by one.
    assert_eq!(
        list(&bench.fetch("m", &log, 500, 500, BatchOptimized)),
        "0-0@5"
    );
    assert_eq!(
        list(&bench.fetch("m", &log, 500, 500, BatchOptimized)),
        "8-15@4"
    );
}

#[test]
fn a_suspect_is_not_mixed_with_others() {
    let mut bench = Bench::acquired(config(), "m", 0);
    for _ in 0..2 {
        bench.ack("m", &[ack(0, 0, &[RELEASE])]).expect("held");
        bench.acquire("m", 0, 0);
    }
    bench.acquire("m", 1, 3);
    bench.ack("m", &[ack(0, 2, &[RELEASE])]).expect("held");
    assert_eq!(
        bench.show().split(" m").next(),
        Some("0-0 AVAILABLE x3; 1-2 AVAILABLE x1; 3-3 ACQUIRED x1")
    );
    assert_eq!(list(&bench.acquire("n", 0, 9)), "0-0@4");
    assert_eq!(list(&bench.acquire("n", 0, 9)), "1-2@2 4-9@1");
}

#[test]
fn a_suspect_waits_behind_others() {
    let mut bench = Bench::acquired(config(), "m", 3);
    for _ in 0..2 {
        bench.ack("m", &[ack(2, 2, &[RELEASE])]).expect("held");
        bench.acquire("m", 2, 2);
    }
    bench.ack("m", &[ack(0, 3, &[RELEASE])]).expect("held");
    // Half of the four that were acquired together is two, and the suspect would be the third: there
    // is no bound. New records wait.
    assert_eq!(list(&bench.acquire("n", 0, 9)), "0-1@2 2-2@4 3-3@2");
    assert_eq!(list(&bench.acquire("n", 0, 9)), "4-9@1");
}

#[test]
fn the_log_start_archives_what_is_free_and_waits_for_what_is_held() {
    let mut bench = Bench::acquired(config(), "m", 9);
    bench.ack("m", &[ack(2, 9, &[RELEASE])]).expect("held");
    let change = bench.partition.archive_below(5);
    assert_eq!(batches(&change.batches), "2-4 ARCHIVED x1");
    assert!(!change.start_moved);
    bench.ack("m", &[ack(0, 0, &[ACCEPT])]).expect("still held");
    let change = bench.partition.expire(at(30_000));
    assert_eq!(batches(&change.batches), "1-1 ARCHIVED x1");
    assert_eq!(change.start_offset, 5);
}

#[test]
fn a_log_start_behind_the_end_moves_both() {
    let mut bench = Bench::new(config());
    let change = bench.partition.archive_below(100);
    assert_eq!((change.start_offset, change.start_moved), (100, true));
    assert_eq!(bench.partition.next_fetch_offset(), 100);

    let mut bench = Bench::acquired(config(), "m", 4);
    bench.partition.archive_below(100);
    assert_eq!(
        (
            bench.partition.start_offset(),
            bench.partition.next_fetch_offset()
        ),
        (0, 100)
    );
    assert_eq!(
        bench
            .ack("m", &[ack(0, 4, &[RELEASE])])
            .expect("held")
            .start_offset,
        100
    );
    // The log start never moves back.
    bench.partition.archive_below(50);
    assert_eq!(list(&bench.acquire("m", 90, 109)), "100-109@1");
}

#[test]
fn aborted_data_is_archived_inside_and_behind_the_window() {
    let mut bench = Bench::acquired(config(), "m", 4);
    bench.ack("m", &[ack(3, 4, &[RELEASE])]).expect("held");
    let change = bench.partition.archive_range(2, 9);
    assert_eq!(batches(&change.batches), "3-4 ARCHIVED x1; 5-9 ARCHIVED x0");
    assert_eq!(bench.partition.next_fetch_offset(), 10);
    // A range that does not touch the end says nothing about what lies between.
    assert!(bench.partition.archive_range(20, 29).is_empty());
    assert_eq!(bench.partition.end_offset(), 10);
}

#[test]
fn a_loaded_partition_delivers_what_was_not_done() {
    let batch = |first, last, state, delivery_count| StateBatch {
        first,
        last,
        state,
        delivery_count,
    };
    let stored = [
        batch(2, 3, RecordState::Acknowledged, 1),
        batch(5, 5, RecordState::Available, 2),
        batch(7, 8, RecordState::Archived, 5),
        batch(9, 9, RecordState::Archiving, 5),
    ];
    let mut loaded = SharePartition::load(config(), 0, &stored, &[]);
    assert_eq!(
        show(&loaded),
        "0-1 AVAILABLE x0; 2-3 ACKNOWLEDGED x1; 4-4 AVAILABLE x0; 5-5 AVAILABLE x2; \
         6-6 AVAILABLE x0; 7-8 ARCHIVED x5; 9-9 ARCHIVING x5"
    );
    assert_eq!((loaded.next_fetch_offset(), loaded.end_offset()), (0, 10));
    let change = loaded.dead_letters_written(&[Span::new(9, 9)]);
    assert_eq!(batches(&change.batches), "9-9 ARCHIVED x5");
    assert_eq!(change.delivery_complete_count, 5);
}

#[test]
fn loading_survives_nonsense_and_passes_a_finished_prefix() {
    let batch = |first, last, state| StateBatch {
        first,
        last,
        state,
        delivery_count: 1,
    };
    let stored = [
        batch(0, 4, RecordState::Acknowledged),
        batch(9, 3, RecordState::Acknowledged),
        batch(6, i64::MAX, RecordState::Acknowledged),
        batch(5, 5, RecordState::Acquired),
        batch(7, 7, RecordState::TxPending),
    ];
    let mut loaded = SharePartition::load(config(), 2, &stored, &[]);
    assert_eq!(loaded.start_offset(), 5);
    assert!(
        loaded.archive_range(0, 0).start_moved,
        "the stored start offset is behind"
    );
    assert_eq!(loaded.next_fetch_offset(), 5);
}
