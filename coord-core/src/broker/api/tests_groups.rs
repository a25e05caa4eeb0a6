//! Members of share groups across restarts of the broker.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackord_proto::str::Str;
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
