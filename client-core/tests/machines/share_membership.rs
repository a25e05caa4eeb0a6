//! The share consumer as a member of its group.

use ackord_client_core::{
    AcknowledgementMode, ShareCommand, ShareConsumer, ShareConsumerConfig, ShareOutput,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ShareFetchResponse, ShareGroupHeartbeatResponse};

use crate::share_consumer::{consumer, fetch, heartbeat, joined, member, poll};

#[test]
fn a_member_joins_with_its_own_id_and_keeps_its_heartbeat() {
    let mut bench = consumer(AcknowledgementMode::Implicit);
    bench.call(ShareCommand::Subscribe(vec!["t".into()]));
    let sent = bench.next();
    let request = heartbeat(&sent);
    assert_eq!((&*request.group_id, request.member_epoch), ("g", 0));
    assert_eq!(request.member_id.len(), 22);
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".into()]));
    let member_id = request.member_id.clone();
    bench.answer(&sent, joined(3, &[0]));
    bench.pass(4_999);
    assert!(bench.is_silent());
    bench.pass(1);
    let sent = bench.next();
    let request = heartbeat(&sent);
    assert_eq!((&request.member_id, request.member_epoch), (&member_id, 3));
    assert_eq!(request.subscribed_topic_names, None, "unchanged");
    let call = bench.call(ShareCommand::GroupMetadata);
    let Ok(ShareOutput::Group(group)) = bench.result(call) else {
        panic!()
    };
    assert_eq!((group.member_id, group.member_epoch), (member_id, 3));
}

#[test]
fn two_seeds_give_two_member_ids() {
    let config = ShareConsumerConfig::new(["broker:9092".parse().unwrap()], "g");
    let id = |seed| {
        ShareConsumer::new(config.clone(), [seed; 32])
            .group_metadata()
            .member_id
    };
    assert_ne!(id(1), id(2));
}

#[test]
fn a_join_without_partitions_is_followed_up_soon() {
    let mut bench = consumer(AcknowledgementMode::Implicit);
    bench.call(ShareCommand::Subscribe(vec!["t".into()]));
    let sent = bench.next();
    bench.answer(&sent, joined(2, &[]));
    let before = bench.now.mono;
    let sent = bench.pass_until_sent();
    assert_eq!(heartbeat(&sent).member_epoch, 2);
    assert_eq!(bench.now.mono.since(before).as_millis(), 100);
}

#[test]
fn a_fenced_member_joins_anew() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID] {
        let mut bench = member(AcknowledgementMode::Implicit);
        bench.pass(5_000);
        let sent = bench.next();
        let response = ShareGroupHeartbeatResponse {
            error_code: code,
            ..Default::default()
        };
        bench.answer(&sent, response);
        let sent = bench.next();
        let request = heartbeat(&sent);
        assert_eq!(
            (
                request.member_epoch,
                request.subscribed_topic_names.is_some()
            ),
            (0, true)
        );
    }
}

#[test]
fn a_group_that_refuses_fails_the_poll() {
    let mut bench = consumer(AcknowledgementMode::Implicit);
    bench.call(ShareCommand::Subscribe(vec!["t".into()]));
    let call = poll(&mut bench);
    let sent = bench.next();
    let error_code = ErrorCode::GROUP_MAX_SIZE_REACHED;
    bench.answer(
        &sent,
        ShareGroupHeartbeatResponse {
            error_code,
            ..Default::default()
        },
    );
    assert_eq!(bench.result(call).unwrap_err().code(), error_code);
    assert_eq!(
        heartbeat(&bench.pass_until_sent()).member_epoch,
        0,
        "it tries again"
    );
}

#[test]
fn after_any_broken_connection_a_transactional_member_asks_before_it_fetches() {
    let mut bench = consumer(AcknowledgementMode::Transactional);
    bench.call(ShareCommand::Subscribe(vec!["t".into()]));
    let sent = bench.next();
    bench.answer(&sent, joined(3, &[0]));
    // Nothing is under way, and no session is lost that was never opened.
    bench.cut(sent.conn);
    poll(&mut bench);
    let sent = bench.pass_until_sent();
    assert_eq!(heartbeat(&sent).member_epoch, 3);
    let forgotten = ShareGroupHeartbeatResponse {
        error_code: ErrorCode::UNKNOWN_MEMBER_ID,
        ..Default::default()
    };
    bench.answer(&sent, forgotten);
    let sent = bench.next();
    assert_eq!(heartbeat(&sent).member_epoch, 0, "it joins again");
    bench.answer(&sent, joined(4, &[0]));
    fetch(&bench.next());
}

#[test]
fn a_session_that_is_lost_twice_is_asked_about_twice() {
    let mut bench = consumer(AcknowledgementMode::Transactional);
    bench.call(ShareCommand::Subscribe(vec!["t".into()]));
    let sent = bench.next();
    bench.answer(&sent, joined(3, &[0]));
    poll(&mut bench);
    for _ in 0..3 {
        let sent = bench.pass_until_sent();
        assert_eq!(fetch(&sent).share_session_epoch, 0);
        let lost = ShareFetchResponse {
            error_code: ErrorCode::SHARE_SESSION_NOT_FOUND,
            ..Default::default()
        };
        bench.answer(&sent, lost);
        let sent = bench.pass_until_sent();
        assert_eq!(heartbeat(&sent).member_epoch, 3);
        bench.answer(&sent, joined(3, &[0]));
    }
}
