//! Groups that outlive their broker. That the log tells everything is checked after each step of
//! every test by the bench.

use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;

use super::test_bench::{Bench, info};

#[test]
fn members_go_on_under_their_epochs() {
    let mut bench = Bench::new(&[("t", 2)]);
    bench.join("a", &["t"]);
    bench.join("b", &["t"]);
    bench.restart();
    // The answer before that may have been lost, so the previous epoch is good, too.
    assert_eq!(bench.beat("a", 2), "epoch 3 {1[0]}");
    assert_eq!(bench.beat("a", 3), "epoch 3 null");
    assert_eq!(bench.beat("b", 3), "epoch 3 null");
    assert_eq!(bench.beat("b", 4), "FENCED_MEMBER_EPOCH");
    bench.restart();
    assert_eq!(bench.beat("a", 2), "epoch 3 {1[0]}");
    assert_eq!(bench.group.epoch(), 3, "nothing changed");
}

#[test]
fn sessions_begin_anew() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.pass(44_999);
    bench.restart();
    assert_eq!(bench.pass(44_999), Vec::<ackord_proto::str::Str>::new());
    assert_eq!(bench.pass(1), ["a"]);
    bench.restart();
    assert!(bench.group.is_empty());
    assert_eq!(bench.beat("a", 2), "UNKNOWN_MEMBER_ID");
}

#[test]
fn what_was_being_initialised_is_asked_for_again() {
    let mut bench = Bench::new(&[("t", 1)]);
    let ticket = bench.send("a", 0, Some(&["t"]));
    assert_eq!(bench.answer(ticket), "-");
    bench.restart();
    assert_eq!(bench.requested(), [(1, 0, 1, -1)]);
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.join("a", &["t"]), "epoch 2 {1[0]}");
    // A partition that came later begins at its beginning, also when it is asked for again.
    bench.set_topic("t", Some(info(1, 2)));
    bench.restart();
    assert_eq!(bench.requested(), [(1, 1, 3, 0)]);
}

#[test]
fn what_changed_meanwhile_is_caught_up_with() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.metadata.topics.insert("t", info(1, 2));
    bench.metadata.version += 1;
    bench.restart();
    assert_eq!(bench.group.epoch(), 3);
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.beat("a", 2), "epoch 4 {1[0, 1]}");
}

#[test]
fn heartbeats_that_change_nothing_store_nothing() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.beat("a", 2);
    let stored = bench.log.len();
    for _ in 0..10 {
        assert_eq!(bench.beat("a", 2), "epoch 2 null");
        assert_eq!(bench.beat("b", 7), "UNKNOWN_MEMBER_ID");
    }
    assert_eq!(bench.log.len(), stored);
}

#[test]
fn nothing_is_left_of_a_deleted_group() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.beat("a", -1);
    assert!(bench.group.is_stored());
    bench.group.delete();
    bench.collect();
    assert!(!bench.group.is_stored());
    assert_eq!(bench.group.snapshot(), []);
    assert!(!Bench::replayed(&bench.log).is_stored());
}
