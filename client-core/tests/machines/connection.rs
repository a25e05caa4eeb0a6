//! Handshake, versions, reconnecting, look-ups: seen through the admin client.

use ackord_client_core::{
    Admin, AdminCommand, AdminConfig, AdminOutput, ClientError, ConfigResource, Isolation,
    NetworkInput, NewTopic, OffsetSpec,
};
use ackord_proto::api::{ApiKey, Request};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::CreatableTopicResult;
use ackord_proto::messages::incremental_alter_configs::AlterConfigsResourceResponse;
use ackord_proto::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use ackord_proto::messages::{
    CreateTopicsResponse, IncrementalAlterConfigsResponse, ListOffsetsResponse,
};
use bytes::Bytes;

use crate::bench::{Bench, Sent};

fn admin() -> Bench<Admin> {
    let config = AdminConfig::new(["broker:9092".parse().unwrap()]);
    Bench::new(Admin::new(config, [1; 32]))
}

fn create() -> AdminCommand {
    AdminCommand::CreateTopics(vec![NewTopic::new("t", 3)])
}

fn created(code: ErrorCode) -> CreateTopicsResponse {
    let topic = CreatableTopicResult {
        name: "t".into(),
        error_code: code,
        ..Default::default()
    };
    CreateTopicsResponse {
        topics: vec![topic],
        ..Default::default()
    }
}

fn handshakes(bench: &Bench<Admin>) -> Vec<i16> {
    let look_ups = bench.look_ups.iter();
    look_ups
        .filter(|(_, r)| r.key() == ApiKey::ApiVersions)
        .map(|(version, _)| *version)
        .collect()
}

fn code_of(output: Result<AdminOutput, ClientError>) -> ErrorCode {
    match output {
        Ok(AdminOutput::Items(items)) => items[0].code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_request_shakes_hands_and_takes_the_highest_common_version() {
    let mut bench = admin();
    bench.offers.insert(ApiKey::CreateTopics.key(), (2, 5));
    let call = bench.call(create());
    assert_eq!(handshakes(&bench), [4]);
    let Request::ApiVersions(hello) = &bench.look_ups[0].1 else {
        panic!()
    };
    assert_eq!(hello.client_software_name, "ackord");
    let sent = bench.next();
    assert_eq!(
        (sent.request.key(), sent.version),
        (ApiKey::CreateTopics, 5)
    );
    bench.answer(&sent, created(ErrorCode::NONE));
    assert_eq!(code_of(bench.result(call)), ErrorCode::NONE);
}

#[test]
fn an_older_broker_is_asked_again_in_a_version_that_it_has() {
    for (has, asked) in [(3, vec![4, 3]), (0, vec![4, 0])] {
        let mut bench = admin();
        bench.api_versions_max = has;
        bench.call(create());
        assert_eq!(handshakes(&bench), asked);
        assert_eq!(bench.next().request.key(), ApiKey::CreateTopics);
    }
}

#[test]
fn a_missing_api_fails_at_once() {
    let mut bench = admin();
    bench.offers.remove(&ApiKey::CreateTopics.key());
    let call = bench.call(create());
    assert_eq!(
        bench.result(call),
        Err(ClientError::Unsupported {
            api: "CreateTopics"
        })
    );
    let mut newer = admin();
    newer.offers.insert(ApiKey::CreateTopics.key(), (9, 12));
    let call = newer.call(create());
    assert_eq!(
        newer.result(call),
        Err(ClientError::Unsupported {
            api: "CreateTopics"
        })
    );
}

#[test]
fn a_broken_connection_is_opened_again_and_the_request_repeated() {
    let mut bench = admin();
    let call = bench.call(create());
    let first = bench.next();
    bench.cut(first.conn);
    assert!(bench.is_silent(), "it pauses first");
    let second = bench.pass_until_sent();
    assert_ne!(first.conn, second.conn);
    assert_eq!(first.request, second.request);
    bench.answer(&second, created(ErrorCode::NONE));
    assert!(bench.is_done(call));
}

#[test]
fn nobody_there_ends_in_a_time_out_and_pauses_grow() {
    let mut bench = admin();
    bench.refuse_connections = true;
    let call = bench.call(create());
    let result = bench.pass_until_done(call);
    assert_eq!(
        result,
        Err(ClientError::TimedOut {
            last: ErrorCode::NONE
        })
    );
    // 60 s with pauses from 50 ms to 1 s.
    assert!((50..100).contains(&bench.connects), "{}", bench.connects);
}

#[test]
fn a_broker_that_never_answers_is_given_up() {
    let mut bench = admin();
    let call = bench.call(create());
    let silent = bench.next();
    bench.pass(29_000);
    assert!(bench.open.contains(&silent.conn));
    bench.pass(1_000);
    assert!(!bench.open.contains(&silent.conn), "request.timeout.ms");
    let result = bench.pass_until_done(call);
    assert_eq!(
        result,
        Err(ClientError::TimedOut {
            last: ErrorCode::NONE
        })
    );
}

#[test]
fn nonsense_closes_the_connection_and_the_request_goes_out_again() {
    for nonsense in [&[][..], &[0, 0, 0, 99][..], &[0, 0, 0, 1, 0, 0, 0][..]] {
        let mut bench = admin();
        bench.call(create());
        let sent = bench.next();
        let bytes = Bytes::copy_from_slice(nonsense);
        bench.network(NetworkInput::Frame {
            conn: sent.conn,
            bytes,
        });
        assert!(!bench.open.contains(&sent.conn), "{nonsense:?}");
        assert_eq!(bench.pass_until_sent().request, sent.request);
    }
}

#[test]
fn retriable_codes_are_retried_and_others_told() {
    let mut bench = admin();
    let call = bench.call(create());
    let sent = bench.next();
    bench.answer(&sent, created(ErrorCode::NOT_CONTROLLER));
    assert!(!bench.is_done(call));
    let again = bench.pass_until_sent();
    bench.answer(&again, created(ErrorCode::TOPIC_ALREADY_EXISTS));
    assert_eq!(code_of(bench.result(call)), ErrorCode::TOPIC_ALREADY_EXISTS);
}

#[test]
fn replies_of_one_connection_find_their_requests() {
    let mut bench = admin();
    let create = bench.call(create());
    let configs = vec![
        (
            "share.isolation.level".into(),
            Some("read_committed".into()),
        ),
        ("share.auto.offset.reset".into(), None),
    ];
    let resource = ConfigResource::Group("g".into());
    let alter = bench.call(AdminCommand::AlterConfigs { resource, configs });
    let (first, second) = (bench.next(), bench.next());
    assert_eq!(first.conn, second.conn);
    let Request::IncrementalAlterConfigs(body) = &second.request else {
        panic!()
    };
    assert_eq!(
        (
            body.resources[0].resource_type,
            &*body.resources[0].resource_name
        ),
        (32, "g")
    );
    let operations: Vec<_> = body.resources[0]
        .configs
        .iter()
        .map(|one| one.config_operation)
        .collect();
    assert_eq!(operations, [0, 1]);
    bench.answer(&first, created(ErrorCode::NONE));
    assert!(bench.is_done(create) && !bench.is_done(alter));
    let refused = AlterConfigsResourceResponse {
        error_code: ErrorCode::INVALID_CONFIG,
        error_message: Some("no such value".into()),
        ..Default::default()
    };
    let response = IncrementalAlterConfigsResponse {
        responses: vec![refused],
        ..Default::default()
    };
    bench.answer(&second, response);
    let message = "no such value".into();
    let code = ErrorCode::INVALID_CONFIG;
    assert_eq!(
        bench.result(alter),
        Err(ClientError::Refused { code, message })
    );
}

fn offset(sent: &Sent, code: ErrorCode) -> ListOffsetsResponse {
    let Request::ListOffsets(request) = &sent.request else {
        panic!("{sent:?}")
    };
    let partition = ListOffsetsPartitionResponse {
        partition_index: 2,
        error_code: code,
        offset: 17,
        ..Default::default()
    };
    let topic = ListOffsetsTopicResponse {
        name: request.topics[0].name.clone(),
        partitions: vec![partition],
        ..Default::default()
    };
    ListOffsetsResponse {
        topics: vec![topic],
        ..Default::default()
    }
}

#[test]
fn a_leader_is_looked_up_and_looked_up_again_when_it_has_moved() {
    let mut bench = admin();
    let call = bench.call(AdminCommand::ListOffset {
        topic: "t".into(),
        partition: 2,
        spec: OffsetSpec::Latest,
        isolation: Isolation::ReadCommitted,
    });
    let look_ups = |bench: &Bench<Admin>| {
        bench
            .look_ups
            .iter()
            .filter(|(_, r)| r.key() == ApiKey::Metadata)
            .count()
    };
    let sent = bench.next();
    assert_eq!(look_ups(&bench), 1);
    bench.answer(&sent, offset(&sent, ErrorCode::NOT_LEADER_OR_FOLLOWER));
    let sent = bench.pass_until_sent();
    assert_eq!(look_ups(&bench), 2);
    bench.answer(&sent, offset(&sent, ErrorCode::NONE));
    assert_eq!(
        bench.result(call),
        Ok(AdminOutput::Offset {
            offset: 17,
            timestamp: -1
        })
    );
}

#[test]
fn closing_ends_everything() {
    let mut bench = admin();
    let create = bench.call(create());
    let close = bench.call(AdminCommand::Close);
    assert_eq!(bench.result(create), Err(ClientError::Closed));
    assert_eq!(bench.result(close), Ok(AdminOutput::Done));
    assert!(bench.open.is_empty());
    let late = bench.call(AdminCommand::DeleteTopics(vec!["t".into()]));
    assert_eq!(bench.result(late), Err(ClientError::Closed));
}
