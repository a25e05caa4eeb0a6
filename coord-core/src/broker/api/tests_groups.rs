//! Members of share groups across restarts of the broker.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackord_proto::messages::{
    OffsetCommitRequest, ShareGroupDescribeRequest, ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
};
use ackord_proto::str::Str;
use alloc::string::{String, ToString};
use alloc::vec;

use crate::broker::testing::{TestBroker, ask};

fn heartbeat(
    test: &mut TestBroker,
    member: &str,
    epoch: i32,
    topic: Option<&str>,
) -> ShareGroupHeartbeatResponse {
    let request = ShareGroupHeartbeatRequest {
        group_id: Str::from("g"),
        member_id: Str::from(member),
        member_epoch: epoch,
        subscribed_topic_names: topic.map(|topic| vec![Str::from(topic)]),
        ..Default::default()
    };
    ask!(test, ShareGroupHeartbeat, 1, request)
}

#[test]
fn members_go_on_after_a_restart_and_others_join() {
    let mut test = TestBroker::new(&[("group.share.assignment.interval.ms", "0")]);
    test.create_topic("orders", 2);
    let first = heartbeat(&mut test, "m1", 0, Some("orders"));
    assert!(first.assignment.is_some());
    test.restart();
    let on = heartbeat(&mut test, "m1", first.member_epoch, None);
    assert_eq!(on.error_code, ErrorCode::NONE);
    assert_eq!((on.member_epoch, on.assignment), (first.member_epoch, None));
    let unknown = heartbeat(&mut test, "m2", first.member_epoch, None);
    assert_eq!(unknown.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    for member in ["m1", "m2"] {
        let joined = heartbeat(&mut test, member, 0, Some("orders"));
        assert_eq!(joined.error_code, ErrorCode::NONE);
        assert!(
            joined
                .assignment
                .is_some_and(|all| !all.topic_partitions.is_empty())
        );
        let steady = heartbeat(&mut test, member, joined.member_epoch, None);
        assert_eq!(steady.error_code, ErrorCode::NONE);
    }
}

#[test]
fn a_group_that_nobody_made_is_not_found() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("orders", 1);
    for epoch in [-1, 3] {
        let answer = heartbeat(&mut test, "m1", epoch, None);
        assert_eq!(answer.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    }
    heartbeat(&mut test, "m1", 0, Some("orders"));
    for epoch in [-1, 3] {
        let answer = heartbeat(&mut test, "m2", epoch, None);
        assert_eq!(answer.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    }
}

fn why_not_described(test: &mut TestBroker, group: &str) -> String {
    let request = ShareGroupDescribeRequest {
        group_ids: vec![Str::from(group)],
        ..Default::default()
    };
    let described = ask!(test, ShareGroupDescribe, 1, request).groups.remove(0);
    assert_eq!(described.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    described
        .error_message
        .map(|why| why.to_string())
        .unwrap_or_default()
}

#[test]
fn a_group_of_another_type_is_described_as_such() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("orders", 1);
    assert_eq!(why_not_described(&mut test, "c"), "Group c not found.");
    let partition = OffsetCommitRequestPartition::default();
    let topic = OffsetCommitRequestTopic {
        name: Str::from("orders"),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: Str::from("c"),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    ask!(test, OffsetCommit, 9, request);
    assert_eq!(
        why_not_described(&mut test, "c"),
        "Group c is not a share group."
    );
}
