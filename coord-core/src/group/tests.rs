//! Whole groups, driven as a broker drives them.

use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{DeadlineReason, MonoTime};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ShareGroupHeartbeatRequest;

use super::test_bench::{Bench, info, reply};
use super::{GroupConfig, MemberView};

#[test]
fn the_first_answer_brings_the_partitions_once_they_have_a_state() {
    let mut bench = Bench::new(&[("t", 3)]);
    let ticket = bench.send("a", 0, Some(&["t"]));
    assert_eq!(bench.answer(ticket), "-");
    assert_eq!(
        bench.requested(),
        [(1, 0, 1, -1), (1, 1, 1, -1), (1, 2, 1, -1)]
    );
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.answer(ticket), "epoch 2 {1[0, 1, 2]}");
    assert_eq!(bench.replies[&ticket].heartbeat_interval_ms, 5000);
    assert_eq!(bench.replies[&ticket].member_id, Some("a".into()));
    assert_eq!(bench.beat("a", 2), "epoch 2 null");
}

#[test]
fn the_answer_waits_for_all_share_coordinators() {
    let mut bench = Bench::new(&[("t", 2)]);
    let ticket = bench.send("a", 0, Some(&["t"]));
    let asked = core::mem::take(&mut bench.asked);
    assert_eq!(asked.len(), 2);
    bench.deliver(&reply(&asked[1], ErrorCode::NONE));
    assert_eq!(bench.answer(ticket), "-");
    bench.deliver(&reply(&asked[0], ErrorCode::NONE));
    assert_eq!(bench.answer(ticket), "epoch 2 {1[0, 1]}");
    // A repeated answer changes nothing.
    bench.deliver(&reply(&asked[0], ErrorCode::NONE));
    assert_eq!(bench.group.epoch(), 2);
}

#[test]
fn partitions_of_one_share_coordinator_go_in_one_request() {
    let mut bench = Bench::new(&[("t", 200)]);
    bench.send("a", 0, Some(&["t"]));
    assert!(bench.asked.len() <= 50, "{}", bench.asked.len());
    assert_eq!(bench.requested().len(), 200);
}

#[test]
fn a_second_member_takes_its_part_and_the_first_hears_of_it() {
    let mut bench = Bench::new(&[("t", 2)]);
    assert_eq!(bench.join("a", &["t"]), "epoch 2 {1[0, 1]}");
    assert_eq!(bench.join("b", &["t"]), "epoch 3 {1[1]}");
    assert_eq!(bench.beat("a", 2), "epoch 3 {1[0]}");
    assert_eq!(bench.join("c", &["t"]), "epoch 4 {1[0]}");
    // Nothing changed for a, so only its epoch moves.
    assert_eq!(bench.beat("a", 3), "epoch 4 null");
    assert_eq!(bench.beat("a", 4), "epoch 4 null");
}

#[test]
fn invalid_requests() {
    let mut bench = Bench::new(&[("t", 1)]);
    let valid = ShareGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "a".into(),
        subscribed_topic_names: Some(vec!["t".into()]),
        ..ShareGroupHeartbeatRequest::default()
    };
    let long = "x".repeat(37);
    let invalid = [
        ShareGroupHeartbeatRequest {
            group_id: "".into(),
            ..valid.clone()
        },
        ShareGroupHeartbeatRequest {
            member_id: "".into(),
            ..valid.clone()
        },
        ShareGroupHeartbeatRequest {
            member_id: long.as_str().into(),
            ..valid.clone()
        },
        ShareGroupHeartbeatRequest {
            rack_id: Some("".into()),
            ..valid.clone()
        },
        ShareGroupHeartbeatRequest {
            member_epoch: -2,
            ..valid.clone()
        },
        ShareGroupHeartbeatRequest {
            subscribed_topic_names: None,
            ..valid.clone()
        },
        ShareGroupHeartbeatRequest {
            subscribed_topic_names: Some(vec![]),
            ..valid.clone()
        },
    ];
    for request in invalid {
        let ticket = bench.request(&request);
        assert_eq!(bench.answer(ticket), "INVALID_REQUEST", "{request:?}");
        assert_eq!(bench.group.state(), "Empty");
    }
    let longest = "ü".repeat(36);
    let ticket = bench.request(&ShareGroupHeartbeatRequest {
        member_id: longest.as_str().into(),
        ..valid
    });
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.answer(ticket), "epoch 2 {1[0]}");
}

#[test]
fn unknown_and_fenced_members() {
    let mut bench = Bench::new(&[("t", 1)]);
    assert_eq!(bench.beat("a", 1), "GROUP_ID_NOT_FOUND");
    assert_eq!(bench.beat("a", -1), "GROUP_ID_NOT_FOUND");
    assert_eq!(bench.join("a", &["t"]), "epoch 2 {1[0]}");
    assert_eq!(bench.beat("z", 1), "UNKNOWN_MEMBER_ID");
    assert_eq!(bench.beat("z", -1), "UNKNOWN_MEMBER_ID");
    bench.join("b", &["t"]);
    assert_eq!(bench.beat("a", 2), "epoch 3 null");
    bench.join("c", &["t"]);
    assert_eq!(bench.beat("a", 3), "epoch 4 null");
    assert_eq!(bench.beat("a", 2), "FENCED_MEMBER_EPOCH");
    assert_eq!(bench.beat("a", 5), "FENCED_MEMBER_EPOCH");
    // KAFKA-19233: the same id joins again.
    assert_eq!(bench.join("a", &["t"]), "epoch 4 {1[0]}");
    assert_eq!(bench.group.members().count(), 3);
}

#[test]
fn a_repeated_heartbeat_gets_the_same_answer() {
    let mut bench = Bench::new(&[("t", 2)]);
    assert_eq!(bench.join("a", &["t"]), "epoch 2 {1[0, 1]}");
    assert_eq!(bench.join("a", &["t"]), "epoch 2 {1[0, 1]}");
    bench.join("b", &["t"]);
    for _ in 0..3 {
        assert_eq!(bench.beat("a", 2), "epoch 3 {1[0]}");
    }
    // Also where the group has moved on meanwhile; the next heartbeat brings that.
    bench.beat("b", -1);
    assert_eq!(bench.beat("a", 2), "epoch 3 {1[0]}");
    assert_eq!(bench.beat("a", 3), "epoch 4 {1[0, 1]}");
}

#[test]
fn a_full_group_takes_no_new_member_but_old_ones_again() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.group.set_config(GroupConfig {
        max_size: 1,
        ..GroupConfig::default()
    });
    bench.join("a", &["t"]);
    assert_eq!(bench.join("b", &["t"]), "GROUP_MAX_SIZE_REACHED");
    assert!(!bench.group.is_member("b"));
    assert_eq!(bench.join("a", &["t"]), "epoch 2 {1[0]}");
}

#[test]
fn leaving_gives_the_partitions_to_the_others() {
    let mut bench = Bench::new(&[("t", 2)]);
    bench.join("a", &["t"]);
    bench.join("b", &["t"]);
    assert_eq!(bench.beat("a", -1), "epoch -1 null");
    assert_eq!(bench.group.take_departed(), ["a"]);
    assert_eq!(bench.group.take_departed(), [""; 0]);
    assert_eq!(bench.beat("b", 3), "epoch 4 {1[0, 1]}");
    assert_eq!(bench.beat("b", -1), "epoch -1 null");
    // KAFKA-20442: the empty group is whole, and the next member starts from it.
    assert_eq!((bench.group.state(), bench.group.epoch()), ("Empty", 5));
    assert_eq!(bench.group.next_deadline(), None);
    assert_eq!(bench.join("c", &["t"]), "epoch 6 {1[0, 1]}");
    assert_eq!(bench.group.state(), "Stable");
}

#[test]
fn a_silent_member_is_removed() {
    let mut bench = Bench::new(&[("t", 2)]);
    bench.join("a", &["t"]);
    bench.join("b", &["t"]);
    assert_eq!(bench.pass(30_000), [""; 0]);
    assert_eq!(bench.beat("b", 3), "epoch 3 null");
    let deadline = bench.group.next_deadline().unwrap();
    assert_eq!(
        (deadline.at, deadline.reason),
        (MonoTime::from_millis(46_000), DeadlineReason::MemberSession)
    );
    assert_eq!(bench.pass(14_999), [""; 0]);
    assert_eq!(bench.pass(1), ["a"]);
    assert_eq!(bench.group.take_departed(), [""; 0]);
    assert_eq!(bench.beat("a", 3), "UNKNOWN_MEMBER_ID");
    assert_eq!(bench.beat("b", 3), "epoch 4 {1[0, 1]}");
    assert_eq!(bench.pass(45_000), ["b"]);
    assert_eq!(bench.group.next_deadline(), None);
}

#[test]
fn a_refused_heartbeat_does_not_prolong_the_session() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.pass(44_000);
    assert_eq!(bench.beat("a", 9), "FENCED_MEMBER_EPOCH");
    assert_eq!(bench.pass(1000), ["a"]);
}

#[test]
fn failed_initialisation_is_tried_again_each_second() {
    let mut bench = Bench::new(&[("t", 1)]);
    let ticket = bench.send("a", 0, Some(&["t"]));
    let first = bench.requested();
    bench.serve(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    bench.pass(999);
    assert_eq!(bench.asked, []);
    bench.pass(1);
    assert_eq!(bench.requested(), first);
    assert_eq!(bench.answer(ticket), "-");
    // This one is lost, and the next is answered.
    bench.asked.clear();
    bench.pass(1000);
    assert_eq!(bench.requested(), first);
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.answer(ticket), "epoch 2 {1[0]}");
    assert_eq!(
        bench.group.next_deadline().unwrap().reason,
        DeadlineReason::MemberSession
    );
}

#[test]
fn an_answer_waits_three_seconds_at_most() {
    let mut bench = Bench::new(&[("t", 1), ("u", 1)]);
    let ticket = bench.send("a", 0, Some(&["t", "u"]));
    let asked = core::mem::take(&mut bench.asked);
    bench.deliver(&reply(&asked[0], ErrorCode::NONE));
    bench.pass(2999);
    assert_eq!(bench.answer(ticket), "-");
    bench.pass(1);
    let got = bench.answer(ticket);
    assert!(
        ["epoch 2 {1[0]}", "epoch 2 {2[0]}"].contains(&got.as_str()),
        "{got}"
    );
    // The rest comes with a later heartbeat, which does not wait.
    let ticket = bench.send("a", 2, None);
    assert_eq!(bench.answer(ticket), "epoch 2 null");
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.beat("a", 2), "epoch 3 {1[0] 2[0]}");
}

#[test]
fn a_state_that_exists_is_as_good_as_a_new_one() {
    let mut bench = Bench::new(&[("t", 1)]);
    let ticket = bench.send("a", 0, Some(&["t"]));
    bench.serve(ErrorCode::FENCED_STATE_EPOCH);
    assert_eq!(bench.answer(ticket), "epoch 2 {1[0]}");
}

#[test]
fn a_join_that_is_repeated_while_it_waits_replaces_the_first() {
    let mut bench = Bench::new(&[("t", 1)]);
    let first = bench.send("a", 0, Some(&["t"]));
    let second = bench.send("a", 0, Some(&["t"]));
    assert_eq!(bench.answer(first), "epoch 1 {}");
    assert_eq!(bench.answer(second), "-");
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.answer(second), "epoch 2 {1[0]}");
    // Whichever of the answers it took, the member goes on.
    assert_eq!(bench.beat("a", 1), "epoch 2 {1[0]}");
    assert_eq!(bench.beat("a", 2), "epoch 2 null");
}

#[test]
fn joining_again_waits_as_the_first_time_did() {
    let mut bench = Bench::new(&[("t", 1)]);
    let first = bench.send("a", 0, Some(&["t"]));
    bench.pass(3000);
    assert_eq!(bench.answer(first), "epoch 1 {}");
    let again = bench.send("a", 0, Some(&["t"]));
    assert_eq!(bench.answer(again), "-");
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.answer(again), "epoch 2 {1[0]}");
}

#[test]
fn leaving_ends_a_join_that_waits() {
    let mut bench = Bench::new(&[("t", 1)]);
    let join = bench.send("a", 0, Some(&["t"]));
    assert_eq!(bench.beat("a", -1), "epoch -1 null");
    assert_eq!(bench.answer(join), "UNKNOWN_MEMBER_ID");
    assert_eq!(bench.group.next_deadline(), None);
    // The answers that came too late count for the next member.
    assert_eq!(bench.join("b", &["t"]), "epoch 3 {1[0]}");
}

#[test]
fn other_subscriptions() {
    let mut bench = Bench::new(&[("t", 1), ("u", 1)]);
    assert_eq!(bench.join("a", &["t", "missing"]), "epoch 2 {1[0]}");
    // The same topics in another order, or twice, are the same subscription.
    assert_eq!(
        bench.ask("a", 2, Some(&["missing", "t", "t"])),
        "epoch 2 null"
    );
    assert_eq!(bench.ask("a", 2, Some(&["u"])), "epoch 4 {2[0]}");
    assert_eq!(bench.ask("a", 4, Some(&["u"])), "epoch 4 null");
    assert_eq!(bench.ask("a", 4, Some(&[])), "epoch 5 {}");
    // Topic t has its state from before.
    let ticket = bench.send("a", 5, Some(&["t"]));
    assert_eq!(bench.asked, []);
    assert_eq!(bench.answer(ticket), "epoch 6 {1[0]}");
}

#[test]
fn a_topic_that_is_missing_is_not_waited_for() {
    let mut bench = Bench::new(&[]);
    let ticket = bench.send("a", 0, Some(&["t"]));
    assert_eq!(bench.answer(ticket), "epoch 1 {}");
    bench.set_topic("t", Some(info(1, 2)));
    assert_eq!(bench.requested(), [(1, 0, 2, -1), (1, 1, 2, -1)]);
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.beat("a", 1), "epoch 3 {1[0, 1]}");
}

#[test]
fn partitions_that_are_added_start_at_their_beginning() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.set_topic("t", Some(info(1, 3)));
    assert_eq!(bench.requested(), [(1, 1, 3, 0), (1, 2, 3, 0)]);
    let ticket = bench.send("a", 2, None);
    assert_eq!(bench.answer(ticket), "epoch 3 null");
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.beat("a", 3), "epoch 4 {1[0, 1, 2]}");
}

#[test]
fn deleted_topics_are_taken_and_a_new_one_of_the_name_starts_anew() {
    let mut bench = Bench::new(&[("t", 1), ("u", 1)]);
    bench.join("a", &["t", "u"]);
    bench.set_topic("t", None);
    assert_eq!(bench.beat("a", 2), "epoch 3 {2[0]}");
    assert_eq!(
        bench.group.share_partitions(),
        [(info(2, 1).id, [0].into())].into()
    );
    bench.set_topic("t", Some(info(7, 1)));
    assert_eq!(bench.requested(), [(7, 0, 4, -1)]);
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.beat("a", 3), "epoch 5 {2[0] 7[0]}");
}

#[test]
fn other_topics_change_nothing() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.set_topic("other", Some(info(9, 4)));
    assert_eq!(bench.asked, []);
    assert_eq!(bench.beat("a", 2), "epoch 2 null");
}

#[test]
fn a_heartbeat_notices_new_metadata_by_itself() {
    let mut bench = Bench::new(&[("t", 1)]);
    bench.join("a", &["t"]);
    bench.metadata.topics.remove("t");
    bench.metadata.version += 1;
    assert_eq!(bench.beat("a", 2), "epoch 3 {}");
}

#[test]
fn who_may_acknowledge_in_a_transaction() {
    let mut bench = Bench::new(&[("t", 1)]);
    assert_eq!(
        bench.group.check_member("a", 1),
        ErrorCode::UNKNOWN_MEMBER_ID
    );
    let ticket = bench.send("a", 0, Some(&["t"]));
    for epoch in -1..3 {
        assert_eq!(
            bench.group.check_member("a", epoch),
            ErrorCode::STALE_MEMBER_EPOCH
        );
    }
    bench.serve(ErrorCode::NONE);
    assert_eq!(bench.answer(ticket), "epoch 2 {1[0]}");
    for (member, epoch) in [("b", 2), ("c", 3)] {
        bench.join(member, &["t"]);
        bench.beat("a", epoch);
    }
    let checks: Vec<ErrorCode> = (-1..6)
        .map(|epoch| bench.group.check_member("a", epoch))
        .collect();
    let stale = ErrorCode::STALE_MEMBER_EPOCH;
    assert_eq!(
        checks,
        [
            stale,
            stale,
            stale,
            stale,
            ErrorCode::NONE,
            ErrorCode::NONE,
            stale
        ]
    );
    bench.beat("a", -1);
    assert_eq!(
        bench.group.check_member("a", 4),
        ErrorCode::UNKNOWN_MEMBER_ID
    );
}

#[test]
fn describe() {
    let mut bench = Bench::new(&[("t", 2)]);
    bench.join("b", &["t"]);
    bench.join("a", &["t", "missing"]);
    let members: Vec<MemberView<'_>> = bench.group.members().collect();
    let ids: Vec<&str> = members
        .iter()
        .map(|member| member.member_id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(
        (members[0].epoch, members[1].epoch, bench.group.epoch()),
        (3, 2, 3)
    );
    assert_eq!(
        (
            members[0].client.client_id.as_str(),
            members[0].client.host.as_str()
        ),
        ("app", "host")
    );
    assert_eq!(
        members[0].subscribed_topic_names,
        &["missing".into(), "t".into()].into()
    );
    assert_eq!(members[0].assignment, &[(info(1, 2).id, [1].into())].into());
    assert_eq!(members[1].assignment, &[(info(1, 2).id, [0].into())].into());
    assert_eq!(
        bench.group.share_partitions(),
        [(info(1, 2).id, [0, 1].into())].into()
    );
}
