//! Every API that is served, asked by somebody who has no right at all; and what single rights give.

mod asked;

use ackord_proto::api::{ApiKey, Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages as m;
use ackord_proto::printer::Printer;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::super::api::api_versions::{SERVED, advertised};
use super::super::testing::{TestBroker, ask};
use crate::authorizer::Principal;
use asked::{batch, name, request};

const STANDARD: (&str, &str) = (
    "authorizer.class.name",
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
);
const SUPER_USERS: (&str, &str) = ("super.users", "User:ANONYMOUS");

/// Topic `orders` with a record, share group `g` with a member, transactional id `txn`.
fn filled() -> (TestBroker, Uuid) {
    let mut test = TestBroker::new(&[
        STANDARD,
        SUPER_USERS,
        ("unstable.api.versions.enable", "true"),
        ("transaction.two.phase.commit.enable", "true"),
    ]);
    let id = test.create_topic("orders", 1);
    test.produce("orders", batch());
    test.join_share_group("m", "orders");
    let init = m::InitProducerIdRequest {
        transactional_id: Some(Str::from("txn")),
        transaction_timeout_ms: 60_000,
        ..Default::default()
    };
    assert!(!ask!(test, InitProducerId, 4, init).error_code.is_error());
    (test, id)
}

fn printed(response: &Response, version: i16) -> String {
    let mut printer = Printer::default();
    response.print(version, &mut printer);
    printer.finish()
}

/// APIs that refuse nobody: they show what may be seen, which is nothing here.
const SHOW_NOTHING: [ApiKey; 4] = [
    ApiKey::DescribePendingShareAcks,
    ApiKey::ListGroups,
    ApiKey::ListTransactions,
    ApiKey::Metadata,
];
/// APIs that need no right.
const OPEN: [ApiKey; 2] = [ApiKey::ApiVersions, ApiKey::DescribeCluster];

#[test]
fn who_has_no_right_is_refused_by_every_api_and_learns_no_name() {
    let (mut test, id) = filled();
    for api in SERVED {
        let version = *advertised(api, &test.broker.config).end();
        let before = test.broker.metadata.clone();
        test.connect_as(Principal::user("nobody"));
        let response = test.ask(version, request(api, id));
        let text = printed(&response, version);
        let refused = text.contains("_AUTHORIZATION_FAILED");
        let open = OPEN.contains(&api) || SHOW_NOTHING.contains(&api);
        assert_eq!(refused, !open, "{text}");
        if SHOW_NOTHING.contains(&api) {
            for secret in ["\"orders\"", "\"g\"", "\"txn\""] {
                assert!(!text.contains(secret), "{text}");
            }
        }
        assert_eq!(
            test.broker.metadata,
            before,
            "{} changed something",
            api.name()
        );
    }
}

#[test]
fn a_super_user_is_refused_nothing() {
    for api in SERVED {
        // Anew, since some of them delete what others need.
        let (mut test, id) = filled();
        let version = *advertised(api, &test.broker.config).end();
        let response = test.ask(version, request(api, id));
        let text = printed(&response, version);
        assert!(!text.contains("_AUTHORIZATION_FAILED"), "{text}");
    }
}

fn allow(test: &mut TestBroker, operation: i8, resource_type: i8, resource: &str) {
    let acl = m::create_acls::AclCreation {
        resource_type,
        resource_name: name(resource),
        principal: name("User:alice"),
        host: name("*"),
        operation,
        permission_type: 3,
        ..Default::default()
    };
    let request = m::CreateAclsRequest {
        creations: vec![acl],
        ..Default::default()
    };
    test.connect_as(Principal::default());
    let response = ask!(test, CreateAcls, 3, request);
    assert!(
        response
            .results
            .iter()
            .all(|own| !own.error_code.is_error())
    );
    test.connect_as(Principal::user("alice"));
}

/// Codes of the wire.
mod code {
    pub(super) const READ: i8 = 3;
    pub(super) const WRITE: i8 = 4;
    pub(super) const CREATE: i8 = 5;
    pub(super) const DELETE: i8 = 6;
    pub(super) const DESCRIBE: i8 = 8;
    pub(super) const DESCRIBE_CONFIGS: i8 = 10;
    pub(super) const IDEMPOTENT_WRITE: i8 = 12;
    pub(super) const TOPIC: i8 = 2;
    pub(super) const GROUP: i8 = 3;
    pub(super) const CLUSTER: i8 = 4;
    pub(super) const TXN: i8 = 5;
}

const CLUSTER: &str = "kafka-cluster";

fn metadata(test: &mut TestBroker, topics: Option<&[&str]>) -> Vec<(String, ErrorCode, i32)> {
    let named = |own: &&str| m::metadata::MetadataRequestTopic {
        name: Some(name(own)),
        ..Default::default()
    };
    let request = m::MetadataRequest {
        topics: topics.map(|own| own.iter().map(named).collect()),
        allow_auto_topic_creation: true,
        include_topic_authorized_operations: true,
        ..Default::default()
    };
    let response = ask!(test, Metadata, 12, request);
    let topics = response.topics.into_iter().map(|own| {
        let name = own.name.unwrap_or_default().to_string();
        (name, own.error_code, own.topic_authorized_operations)
    });
    topics.collect()
}

#[test]
fn metadata_shows_what_may_be_described_and_creates_what_may_be_created() {
    let (mut test, id) = filled();
    const REFUSED: ErrorCode = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    test.connect_as(Principal::user("alice"));
    let refused = |own: &str| (own.to_string(), REFUSED, i32::MIN);
    assert_eq!(metadata(&mut test, None), []);
    let both = Some(["orders", "ghost"].as_slice());
    assert_eq!(
        metadata(&mut test, both),
        [refused("orders"), refused("ghost")]
    );
    let by_id = m::MetadataRequest {
        topics: Some(vec![m::metadata::MetadataRequestTopic {
            topic_id: id,
            name: None,
            ..Default::default()
        }]),
        ..Default::default()
    };
    let answer = ask!(test, Metadata, 12, by_id);
    let own = answer.topics.first().expect("one topic");
    assert_eq!((own.error_code, &own.name), (REFUSED, &None));
    allow(&mut test, code::DESCRIBE, code::TOPIC, "orders");
    let seen = ("orders".to_string(), ErrorCode::NONE, 1 << code::DESCRIBE);
    assert_eq!(metadata(&mut test, None), core::slice::from_ref(&seen));
    // What may be seen may not be created yet.
    allow(&mut test, code::DESCRIBE, code::TOPIC, "new");
    let both = Some(["orders", "new"].as_slice());
    assert_eq!(metadata(&mut test, both), [seen, refused("new")]);
    allow(&mut test, code::CREATE, code::TOPIC, "new");
    let created = metadata(&mut test, Some(&["new"]));
    let operations = 1 << code::DESCRIBE | 1 << code::CREATE;
    assert_eq!(created, [("new".to_string(), ErrorCode::NONE, operations)]);
}

#[test]
fn an_idempotent_producer_needs_a_right_of_the_cluster_or_any_topic_to_write_to() {
    let (mut test, _) = filled();
    test.connect_as(Principal::user("alice"));
    let init = |test: &mut TestBroker| {
        ask!(test, InitProducerId, 4, m::InitProducerIdRequest::default()).error_code
    };
    assert_eq!(init(&mut test), ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    allow(&mut test, code::READ, code::TOPIC, "orders");
    assert_eq!(init(&mut test), ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    allow(&mut test, code::WRITE, code::TOPIC, "orders");
    assert_eq!(init(&mut test), ErrorCode::NONE);
    let (mut test, _) = filled();
    allow(&mut test, code::IDEMPOTENT_WRITE, code::CLUSTER, CLUSTER);
    assert_eq!(init(&mut test), ErrorCode::NONE);
}

#[test]
fn topics_are_created_with_a_right_of_their_own_or_of_the_cluster() {
    let (mut test, _) = filled();
    test.connect_as(Principal::user("alice"));
    let create = |test: &mut TestBroker, topic: &str| {
        let request = m::CreateTopicsRequest {
            topics: vec![m::create_topics::CreatableTopic {
                name: name(topic),
                num_partitions: 1,
                replication_factor: 1,
                ..Default::default()
            }],
            ..Default::default()
        };
        let mut topics = ask!(test, CreateTopics, 7, request).topics;
        topics.remove(0)
    };
    assert_eq!(
        create(&mut test, "t").error_code,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED
    );
    allow(&mut test, code::CREATE, code::TOPIC, "t");
    let created = create(&mut test, "t");
    assert_eq!(created.error_code, ErrorCode::NONE);
    // What it is configured with is another right.
    let hidden = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert_eq!(
        (created.topic_config_error_code, created.num_partitions),
        (hidden, -1)
    );
    allow(&mut test, code::CREATE, code::CLUSTER, CLUSTER);
    allow(&mut test, code::DESCRIBE_CONFIGS, code::TOPIC, "u");
    let created = create(&mut test, "u");
    assert_eq!(
        (created.topic_config_error_code, created.num_partitions),
        (ErrorCode::NONE, 1)
    );
}

#[test]
fn topics_are_deleted_with_a_right_of_their_own_or_of_the_cluster() {
    let (mut test, id) = filled();
    let hidden = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    test.connect_as(Principal::user("alice"));
    let delete = |test: &mut TestBroker, state: m::delete_topics::DeleteTopicState| {
        let request = m::DeleteTopicsRequest {
            topics: vec![state],
            ..Default::default()
        };
        let answer = ask!(test, DeleteTopics, 6, request).responses.remove(0);
        (answer.error_code, answer.name)
    };
    let by_name = |own: &str| m::delete_topics::DeleteTopicState {
        name: Some(name(own)),
        ..Default::default()
    };
    let by_id = || m::delete_topics::DeleteTopicState {
        topic_id: id,
        ..Default::default()
    };
    assert_eq!(
        delete(&mut test, by_name("ghost")),
        (hidden, Some(name("ghost")))
    );
    assert_eq!(delete(&mut test, by_id()), (hidden, None));
    allow(&mut test, code::DESCRIBE, code::TOPIC, "orders");
    allow(&mut test, code::DESCRIBE, code::TOPIC, "ghost");
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(
        delete(&mut test, by_name("ghost")),
        (unknown, Some(name("ghost")))
    );
    assert_eq!(delete(&mut test, by_id()), (hidden, Some(name("orders"))));
    allow(&mut test, code::DELETE, code::CLUSTER, CLUSTER);
    assert_eq!(
        delete(&mut test, by_id()),
        (ErrorCode::NONE, Some(name("orders")))
    );
}

#[test]
fn a_produce_without_an_answer_closes_the_connection() {
    let (mut test, id) = filled();
    test.connect_as(Principal::user("nobody"));
    let Request::Produce(mut request) = request(ApiKey::Produce, id) else {
        panic!("another request")
    };
    request.acks = 0;
    test.send(13, request);
    assert_eq!(test.closed.len(), 1, "{:?}", test.closed);
    assert_eq!(test.reply(), None);
}

#[test]
fn operations_are_those_that_are_allowed() {
    let (mut test, _) = filled();
    allow(&mut test, code::READ, code::GROUP, "g");
    let request = m::ShareGroupDescribeRequest {
        group_ids: vec![name("g")],
        include_authorized_operations: true,
        ..Default::default()
    };
    allow(&mut test, code::DESCRIBE, code::TOPIC, "orders");
    let response = ask!(test, ShareGroupDescribe, 1, request);
    let group = response.groups.first().expect("one group");
    let operations = 1 << code::READ | 1 << code::DESCRIBE;
    assert_eq!(group.authorized_operations, operations, "{group:?}");
    let cluster = |test: &mut TestBroker| {
        let request = m::DescribeClusterRequest {
            include_cluster_authorized_operations: true,
            endpoint_type: 1,
            ..Default::default()
        };
        ask!(test, DescribeCluster, 1, request).cluster_authorized_operations
    };
    allow(&mut test, code::CREATE, code::CLUSTER, CLUSTER);
    assert_eq!(cluster(&mut test), 0);
    allow(&mut test, code::DESCRIBE, code::CLUSTER, CLUSTER);
    let operations = 1 << code::CREATE | 1 << code::DESCRIBE;
    assert_eq!(cluster(&mut test), operations);
}

#[test]
fn coordinators_are_found_by_who_may_describe() {
    let (mut test, id) = filled();
    test.connect_as(Principal::user("alice"));
    let find = |test: &mut TestBroker, key_type: i8, key: &str| {
        let request = m::FindCoordinatorRequest {
            key_type,
            coordinator_keys: vec![name(key)],
            ..Default::default()
        };
        ask!(test, FindCoordinator, 6, request)
            .coordinators
            .remove(0)
            .error_code
    };
    let share = format!("g:{id}:0");
    assert_eq!(
        find(&mut test, 0, "g"),
        ErrorCode::GROUP_AUTHORIZATION_FAILED
    );
    let refused = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    assert_eq!(find(&mut test, 1, "txn"), refused);
    assert_eq!(
        find(&mut test, 2, &share),
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED
    );
    allow(&mut test, code::READ, code::GROUP, "g");
    allow(&mut test, code::WRITE, code::TXN, "txn");
    assert_eq!(find(&mut test, 0, "g"), ErrorCode::NONE);
    assert_eq!(find(&mut test, 1, "txn"), ErrorCode::NONE);
}

#[test]
fn older_versions_have_their_own_places_for_a_refusal() {
    const GROUP: ErrorCode = ErrorCode::GROUP_AUTHORIZATION_FAILED;
    const TOPIC: ErrorCode = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    let (mut test, _) = filled();
    test.connect_as(Principal::user("nobody"));
    let offsets = || m::OffsetFetchRequest {
        group_id: name("g"),
        topics: Some(vec![m::offset_fetch::OffsetFetchRequestTopic {
            name: name("orders"),
            partition_indexes: vec![0],
            ..Default::default()
        }]),
        ..Default::default()
    };
    let fetched = ask!(test, OffsetFetch, 1, offsets());
    let partitions = fetched.topics.iter().flat_map(|own| &own.partitions);
    assert!(partitions.map(|own| own.error_code).eq([GROUP]));
    let fetched = ask!(test, OffsetFetch, 5, offsets());
    assert_eq!((fetched.error_code, fetched.topics.len()), (GROUP, 0));
    let find = m::FindCoordinatorRequest {
        key: name("g"),
        ..Default::default()
    };
    let found = ask!(test, FindCoordinator, 3, find);
    assert_eq!((found.error_code, found.node_id), (GROUP, -1));
    assert_eq!(
        found.error_message,
        Some(name("Group authorization failed."))
    );
    let join = m::JoinGroupRequest {
        group_id: name("g"),
        ..Default::default()
    };
    let joined = ask!(test, JoinGroup, 2, join);
    assert_eq!((joined.error_code, joined.generation_id), (GROUP, -1));
    let all = m::MetadataRequest {
        topics: Some(Vec::new()),
        ..Default::default()
    };
    assert_eq!(ask!(test, Metadata, 0, all).topics, []);
    let delete = m::DeleteTopicsRequest {
        topic_names: vec![name("orders")],
        ..Default::default()
    };
    let deleted = ask!(test, DeleteTopics, 5, delete);
    let codes = deleted.responses.iter().map(|own| own.error_code);
    assert!(codes.eq([TOPIC]));
}
