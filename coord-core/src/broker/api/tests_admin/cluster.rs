//! ApiVersions, Metadata, FindCoordinator, DescribeCluster.

use ackord_proto::api::{ApiKey, RequestHeader, encode_request_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::metadata::{MetadataRequestTopic, MetadataResponseTopic};
use ackord_proto::messages::{
    ApiVersionsRequest, DescribeClusterRequest, FindCoordinatorRequest, MetadataRequest,
};
use ackord_proto::str::Str;
use ackord_proto::tags::UnknownTags;
use ackord_proto::uuid::Uuid;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use bytes::BytesMut;

use crate::broker::api::api_versions::is_served;
use crate::broker::testing::{TestBroker, ask};
use crate::metadata::BrokerConfig;
use crate::metadata::{SHARE_STATE_TOPIC, TXN_STATE_TOPIC};

fn client(name: &str) -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: Str::from(name),
        client_software_version: Str::from("1.0"),
        ..Default::default()
    }
}

#[test]
fn every_api_is_announced_with_its_versions() {
    let mut test = TestBroker::new(&[]);
    for version in 0..=5 {
        let response = ask!(test, ApiVersions, version, client("test"));
        assert_eq!(response.error_code, ErrorCode::NONE);
        let served = ApiKey::ALL
            .iter()
            .filter(|api| is_served(**api, &BrokerConfig::default()));
        assert_eq!(response.api_keys.len(), served.count());
    }
    let response = ask!(test, ApiVersions, 4, client("test"));
    let produce = response
        .api_keys
        .iter()
        .find(|api| api.api_key == 0)
        .unwrap();
    assert_eq!((produce.min_version, produce.max_version), (0, 13));
    assert!(response.finalized_features_epoch >= 0);
    let level = |name: &str| {
        let found = response
            .finalized_features
            .iter()
            .find(|feature| feature.name == name);
        found.map(|feature| feature.max_version_level)
    };
    assert_eq!(
        (level("transaction.version"), level("share.version")),
        (Some(2), Some(2))
    );
    assert_eq!(level("group.version"), Some(1));
}

#[test]
fn an_api_versions_from_the_future_is_answered_in_version_0() {
    let mut test = TestBroker::new(&[]);
    let header = |api_version| RequestHeader {
        api_key: ApiKey::ApiVersions,
        api_version,
        correlation_id: 9,
        client_id: None,
        unknown_tags: UnknownTags::default(),
    };
    let chunks = encode_request_frame(&header(5), &client("test")).unwrap();
    let mut bytes = BytesMut::new();
    chunks
        .iter()
        .for_each(|chunk| bytes.extend_from_slice(chunk));
    let mut frame = bytes.split_off(4);
    frame[2..4].copy_from_slice(&99_i16.to_be_bytes());
    test.send_frame(header(99), frame.freeze());
    let Some(ackord_proto::api::Response::ApiVersions(response)) = test.reply() else {
        panic!("no answer")
    };
    assert_eq!(response.error_code, ErrorCode::UNSUPPORTED_VERSION);
    let only = response.api_keys.first().unwrap();
    assert_eq!(
        (response.api_keys.len(), only.api_key, only.max_version),
        (1, 18, 5)
    );
}

#[test]
fn a_bad_client_name_and_another_cluster_are_refused() {
    let mut test = TestBroker::new(&[("node.id", "3")]);
    let response = ask!(test, ApiVersions, 3, client("not a name"));
    assert_eq!(response.error_code, ErrorCode::INVALID_REQUEST);
    assert_eq!(
        ask!(test, ApiVersions, 2, client("")).error_code,
        ErrorCode::NONE
    );
    let own = test.broker.cluster().cluster_id().clone();
    let cases = [
        (Some(own.clone()), 3, ErrorCode::NONE),
        (None, -1, ErrorCode::NONE),
        (Some(own), 4, ErrorCode::REBOOTSTRAP_REQUIRED),
        (Some(Str::from("other")), 3, ErrorCode::REBOOTSTRAP_REQUIRED),
    ];
    for (cluster_id, node_id, code) in cases {
        let request = ApiVersionsRequest {
            cluster_id,
            node_id,
            ..client("test")
        };
        assert_eq!(
            ask!(test, ApiVersions, 5, request).error_code,
            code,
            "node {node_id}"
        );
    }
}

fn named(names: &[&str]) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic {
        name: Some(Str::from(*name)),
        ..Default::default()
    };
    MetadataRequest {
        topics: Some(names.iter().map(topic).collect()),
        allow_auto_topic_creation: false,
        ..Default::default()
    }
}

/// Requests below version 4 cannot say that nothing shall be created.
fn in_version(version: i16, request: MetadataRequest) -> MetadataRequest {
    MetadataRequest {
        allow_auto_topic_creation: version < 4,
        ..request
    }
}

fn by_id(ids: &[Uuid]) -> MetadataRequest {
    let topic = |topic_id: &Uuid| MetadataRequestTopic {
        topic_id: *topic_id,
        ..Default::default()
    };
    MetadataRequest {
        topics: Some(ids.iter().map(topic).collect()),
        ..named(&[])
    }
}

fn codes(topics: &[MetadataResponseTopic]) -> Vec<(&str, ErrorCode)> {
    topics
        .iter()
        .map(|topic| {
            (
                topic.name.as_ref().map_or("", |name| name.as_str()),
                topic.error_code,
            )
        })
        .collect()
}

#[test]
fn metadata_names_this_node_as_leader_of_everything() {
    let mut test = TestBroker::new(&[("node.id", "5")]);
    let id = test.create_topic("t", 2);
    for version in 0..=13 {
        let response = ask!(
            test,
            Metadata,
            version,
            in_version(version, named(&["t", "t"]))
        );
        let broker = response.brokers.first().unwrap();
        assert_eq!(
            (broker.node_id, &*broker.host, broker.port),
            (5, "broker.test", 9092)
        );
        let [topic] = &response.topics[..] else {
            panic!("one topic")
        };
        assert_eq!(topic.partitions.len(), 2);
        let partition = topic.partitions.last().unwrap();
        assert_eq!((partition.partition_index, partition.leader_id), (1, 5));
        assert_eq!(
            (&partition.replica_nodes[..], &partition.isr_nodes[..]),
            (&[5][..], &[5][..])
        );
        if version >= 10 {
            assert_eq!(topic.topic_id, id);
        }
        if version >= 2 {
            assert_eq!(
                response.cluster_id.as_ref(),
                Some(test.broker.cluster().cluster_id())
            );
        }
    }
}

#[test]
fn metadata_of_all_topics_is_null_or_in_version_0_empty() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("b", 1);
    test.create_topic("a", 1);
    let all = MetadataRequest {
        topics: None,
        ..named(&[])
    };
    let response = ask!(test, Metadata, 1, in_version(1, all));
    assert_eq!(
        codes(&response.topics),
        [("a", ErrorCode::NONE), ("b", ErrorCode::NONE)]
    );
    assert_eq!(
        ask!(test, Metadata, 0, in_version(0, named(&[])))
            .topics
            .len(),
        2
    );
    assert_eq!(
        ask!(test, Metadata, 1, in_version(1, named(&[])))
            .topics
            .len(),
        0
    );
}

#[test]
fn topics_are_found_by_id_from_version_12_on() {
    let mut test = TestBroker::new(&[]);
    let id = test.create_topic("t", 1);
    let unknown = Uuid([9; 16]);
    let response = ask!(test, Metadata, 12, by_id(&[id, unknown, id]));
    let [known, missing] = &response.topics[..] else {
        panic!("two topics")
    };
    assert_eq!(known.name.as_deref(), Some("t"));
    assert_eq!(
        (missing.error_code, missing.topic_id),
        (ErrorCode::UNKNOWN_TOPIC_ID, unknown)
    );
    assert_eq!(missing.name, None);
    let response = ask!(test, Metadata, 11, by_id(&[id]));
    assert_eq!(codes(&response.topics), [("", ErrorCode::INVALID_REQUEST)]);
}

#[test]
fn asking_for_a_topic_may_create_it() {
    let mut test = TestBroker::new(&[("num.partitions", "3")]);
    let response = ask!(test, Metadata, 13, named(&["new", "a b"]));
    let expected = [
        ("new", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode::INVALID_TOPIC_EXCEPTION),
    ];
    assert_eq!(codes(&response.topics), expected);
    let create = MetadataRequest {
        allow_auto_topic_creation: true,
        ..named(&["new", "a b", "x.y", "x_y"])
    };
    let response = ask!(test, Metadata, 13, create);
    let invalid = ErrorCode::INVALID_TOPIC_EXCEPTION;
    let expected = [
        ("new", ErrorCode::NONE),
        ("a b", invalid),
        ("x.y", ErrorCode::NONE),
        ("x_y", invalid),
    ];
    assert_eq!(codes(&response.topics), expected);
    assert_eq!(response.topics[0].partitions.len(), 3);
    // Below version 4 every request may create.
    let old = in_version(3, named(&["old"]));
    assert_eq!(
        codes(&ask!(test, Metadata, 3, old).topics),
        [("old", ErrorCode::NONE)]
    );

    let mut test = TestBroker::new(&[("auto.create.topics.enable", "false")]);
    let create = MetadataRequest {
        allow_auto_topic_creation: true,
        ..named(&["new"])
    };
    let unknown = [("new", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)];
    assert_eq!(codes(&ask!(test, Metadata, 13, create).topics), unknown);
}

#[test]
fn a_topic_created_by_metadata_is_durable_when_it_is_answered() {
    let mut test = TestBroker::new(&[]);
    test.storage_stands_still = true;
    test.send(
        13,
        MetadataRequest {
            allow_auto_topic_creation: true,
            ..named(&["new"])
        },
    );
    assert!(test.reply().is_none());
    test.resume_storage();
    assert!(test.reply().is_some());
    test.restart();
    assert_eq!(
        codes(&ask!(test, Metadata, 13, named(&["new"])).topics),
        [("new", ErrorCode::NONE)]
    );
}

#[test]
fn authorized_operations_come_where_asked_for() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    let asking = MetadataRequest {
        include_cluster_authorized_operations: true,
        include_topic_authorized_operations: true,
        ..named(&["t"])
    };
    let response = ask!(test, Metadata, 8, asking);
    assert_eq!(response.cluster_authorized_operations, 8096);
    assert_eq!(response.topics[0].topic_authorized_operations, 3576);
    let response = ask!(test, Metadata, 8, named(&["t"]));
    assert_eq!(response.cluster_authorized_operations, i32::MIN);
    assert_eq!(response.topics[0].topic_authorized_operations, i32::MIN);
    let response = ask!(test, DescribeCluster, 2, DescribeClusterRequest::default());
    assert_eq!(response.cluster_authorized_operations, i32::MIN);
    let asking = DescribeClusterRequest {
        include_cluster_authorized_operations: true,
        ..Default::default()
    };
    assert_eq!(
        ask!(test, DescribeCluster, 0, asking).cluster_authorized_operations,
        8096
    );
}

#[test]
fn the_cluster_is_one_broker() {
    let mut test = TestBroker::new(&[]);
    for version in 0..=2 {
        let response = ask!(
            test,
            DescribeCluster,
            version,
            DescribeClusterRequest::default()
        );
        assert_eq!(
            (response.error_code, response.controller_id),
            (ErrorCode::NONE, 1)
        );
        assert_eq!(&response.cluster_id, test.broker.cluster().cluster_id());
        let [broker] = &response.brokers[..] else {
            panic!("one broker")
        };
        assert_eq!(
            (broker.broker_id, &*broker.host, broker.port),
            (1, "broker.test", 9092)
        );
    }
    for (endpoint_type, code) in [
        (2, ErrorCode::MISMATCHED_ENDPOINT_TYPE),
        (7, ErrorCode::UNSUPPORTED_ENDPOINT_TYPE),
    ] {
        let request = DescribeClusterRequest {
            endpoint_type,
            ..Default::default()
        };
        assert_eq!(ask!(test, DescribeCluster, 1, request).error_code, code);
    }
}

fn find(key_type: i8, key: &str) -> FindCoordinatorRequest {
    let key = Str::from(key);
    FindCoordinatorRequest {
        key: key.clone(),
        key_type,
        coordinator_keys: vec![key],
        ..Default::default()
    }
}

#[test]
fn coordinators_are_here() {
    let mut test = TestBroker::new(&[]);
    for key_type in [0, 1] {
        let single = FindCoordinatorRequest {
            coordinator_keys: vec![],
            ..find(key_type, "x")
        };
        let response = ask!(test, FindCoordinator, 3, single);
        assert_eq!(
            (response.error_code, response.node_id),
            (ErrorCode::NONE, 1)
        );
        assert_eq!((&*response.host, response.port), ("broker.test", 9092));
        assert_eq!(response.error_message.as_deref(), Some("NONE"));
        let batch = FindCoordinatorRequest {
            key: Str::EMPTY,
            coordinator_keys: vec![Str::from("x"), Str::from("y")],
            ..find(key_type, "")
        };
        let response = ask!(test, FindCoordinator, 4, batch);
        let keys: Vec<&str> = response
            .coordinators
            .iter()
            .map(|found| &*found.key)
            .collect();
        assert_eq!(keys, ["x", "y"]);
        assert!(response.coordinators.iter().all(|found| found.port == 9092));
        let mut messages = response.coordinators.iter();
        assert!(messages.all(|found| found.error_message.as_deref() == Some("")));
    }
    assert!(test.broker.cluster().topic(TXN_STATE_TOPIC).is_some());
    assert!(test.broker.cluster().topic(SHARE_STATE_TOPIC).is_none());
    let version_0 = FindCoordinatorRequest {
        coordinator_keys: vec![],
        ..find(0, "g")
    };
    assert_eq!(
        ask!(test, FindCoordinator, 0, version_0).error_code,
        ErrorCode::NONE
    );
}

#[test]
fn share_partitions_have_coordinators_from_version_6_on() {
    let mut test = TestBroker::new(&[]);
    let key = format!("g:{}:0", Uuid([1; 16]));
    let code = |test: &mut TestBroker, version, key_type, key: &str| {
        let request = FindCoordinatorRequest {
            key: Str::EMPTY,
            ..find(key_type, key)
        };
        let response = ask!(test, FindCoordinator, version, request);
        let found = response.coordinators.first().unwrap();
        assert_eq!(found.error_code.is_error(), found.node_id == -1);
        found.error_code
    };
    assert_eq!(code(&mut test, 5, 2, &key), ErrorCode::INVALID_REQUEST);
    assert_eq!(code(&mut test, 6, 2, "g:x:0"), ErrorCode::INVALID_REQUEST);
    assert_eq!(code(&mut test, 6, 3, &key), ErrorCode::INVALID_REQUEST);
    assert!(test.broker.cluster().topic(SHARE_STATE_TOPIC).is_none());
    assert_eq!(code(&mut test, 6, 2, &key), ErrorCode::NONE);
    assert!(test.broker.cluster().topic(SHARE_STATE_TOPIC).is_some());
}
