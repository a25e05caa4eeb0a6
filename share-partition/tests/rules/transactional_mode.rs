//! Plain acknowledgement in a group that acknowledges in transactions only.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{AckRange, Config, Span};

use crate::common::{
    ACCEPT, Bench, GAP, REJECT, RELEASE, RENEW, ack, batches, list, owner, staged,
};

fn bench(last: i64) -> Bench {
    Bench::acquired(
        Config {
            transactional: true,
            ..Config::default()
        },
        "m",
        last,
    )
}

/// Whether some record was refused, and the window afterwards.
fn each(bench: &mut Bench, member: &str, ranges: &[AckRange]) -> bool {
    let refused = bench.ack(member, ranges).expect("good form").refused;
    assert!(refused.is_none_or(|error| error.code == ErrorCode::INVALID_RECORD_STATE));
    refused.is_some()
}

#[test]
fn plain_accept_and_reject_never_acknowledge() {
    let mut bench = bench(9);
    let before = bench.show();
    assert!(each(&mut bench, "m", &[ack(0, 9, &[ACCEPT])]));
    assert!(each(&mut bench, "m", &[ack(0, 9, &[REJECT])]));
    assert!(each(&mut bench, "m", &[ack(0, 9, &[GAP])]));
    assert_eq!(bench.show(), before);
}

#[test]
fn the_others_of_a_request_are_done() {
    let mut bench = bench(3);
    let change = bench
        .ack("m", &[ack(0, 2, &[ACCEPT, RELEASE, RENEW])])
        .expect("good form");
    assert!(change.refused.is_some());
    assert_eq!(batches(&change.batches), "1-1 AVAILABLE x1");
}

#[test]
fn what_a_transaction_ended_alike_may_be_settled() {
    let mut bench = bench(4);
    let ranges = [
        staged(1, 1, ACCEPT),
        staged(2, 2, REJECT),
        staged(3, 3, GAP),
    ];
    bench.stage("m", owner(7, 0), &ranges);
    assert!(
        each(&mut bench, "m", &[ack(1, 1, &[ACCEPT])]),
        "still pending"
    );
    bench.commit(7, 1);
    assert!(!each(&mut bench, "m", &[ack(1, 3, &[ACCEPT, REJECT, GAP])]));
    assert!(each(&mut bench, "m", &[ack(1, 1, &[REJECT])]));
    assert!(each(&mut bench, "m", &[ack(2, 2, &[ACCEPT])]));
}

#[test]
fn release_always_succeeds_and_frees_only_what_is_held() {
    let mut bench = bench(4);
    bench.stage("m", owner(7, 0), &[staged(0, 0, ACCEPT)]);
    let before = bench.show();
    assert!(
        !each(&mut bench, "n", &[ack(0, 4, &[RELEASE])]),
        "of another member's"
    );
    assert!(
        !each(&mut bench, "m", &[ack(0, 0, &[RELEASE])]),
        "of a pending one"
    );
    assert!(
        !each(&mut bench, "m", &[ack(5, 9, &[RELEASE])]),
        "of one that is not known"
    );
    assert_eq!(bench.show(), before);
    assert!(!each(&mut bench, "m", &[ack(0, 4, &[RELEASE])]));
    assert!(bench.show().ends_with("1-4 AVAILABLE x1"));
}

#[test]
fn renew_needs_the_lock() {
    let mut bench = bench(1);
    bench.stage("m", owner(7, 0), &[staged(0, 0, ACCEPT)]);
    assert!(!each(&mut bench, "m", &[ack(1, 1, &[RENEW])]));
    assert!(each(&mut bench, "m", &[ack(0, 0, &[RENEW])]));
    assert!(each(&mut bench, "n", &[ack(1, 1, &[RENEW])]));
}

#[test]
fn a_gap_counts_where_the_log_has_no_record() {
    let mut bench = bench(9);
    let member = Str::from("m");
    let gap = [ack(2, 5, &[GAP])];
    let holes = [Span::new(0, 3)];
    let change = bench
        .partition
        .acknowledge_with_holes(bench.now, &member, &gap, &holes)
        .expect("good form");
    assert!(change.refused.is_some());
    assert_eq!(batches(&change.batches), "2-3 ARCHIVED x1");
    let holes = [Span::new(0, 3), Span::new(4, 6)];
    let change = bench
        .partition
        .acknowledge_with_holes(bench.now, &member, &gap, &holes)
        .expect("good form");
    assert_eq!(
        (change.refused, batches(&change.batches).as_str()),
        (None, "4-5 ARCHIVED x1")
    );
}

#[test]
fn an_aborted_record_that_is_accepted_late_stays_undone() {
    let mut bench = bench(0);
    bench.stage("m", owner(7, 0), &[staged(0, 0, ACCEPT)]);
    bench.abort(7, 1);
    assert_eq!(list(&bench.acquire("m", 0, 0)), "0-0@2");
    assert!(each(&mut bench, "m", &[ack(0, 0, &[ACCEPT])]));
    assert_eq!(bench.partition.start_offset(), 0);
}

#[test]
fn below_the_start_and_behind_the_end() {
    let mut bench = bench(4);
    bench.stage("m", owner(7, 0), &[staged(0, 1, ACCEPT)]);
    bench.commit(7, 1);
    assert!(!each(&mut bench, "m", &[ack(0, 1, &[REJECT])]));
    assert!(each(&mut bench, "m", &[ack(5, 5, &[ACCEPT])]));
    assert_eq!(
        bench.refused("m", &[ack(3, 2, &[ACCEPT])]),
        ErrorCode::INVALID_REQUEST
    );
}
