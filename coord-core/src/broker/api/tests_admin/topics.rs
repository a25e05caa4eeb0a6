//! CreateTopics, DeleteTopics, DescribeTopicPartitions.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreatableTopicResult,
};
use ackord_proto::messages::delete_topics::DeleteTopicState;
use ackord_proto::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsResponseTopic, TopicRequest,
};
use ackord_proto::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, FindCoordinatorRequest,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask};
use crate::metadata::TXN_STATE_TOPIC;

fn topic(name: &str, num_partitions: i32, replication_factor: i16) -> CreatableTopic {
    CreatableTopic {
        name: Str::from(name),
        num_partitions,
        replication_factor,
        ..Default::default()
    }
}

fn assigned(name: &str, replicas: &[(i32, &[i32])]) -> CreatableTopic {
    let assignment = |(partition_index, ids): &(i32, &[i32])| CreatableReplicaAssignment {
        partition_index: *partition_index,
        broker_ids: ids.to_vec(),
        ..Default::default()
    };
    CreatableTopic {
        assignments: replicas.iter().map(assignment).collect(),
        ..topic(name, -1, -1)
    }
}

fn configured(name: &str, config: &str, value: Option<&str>) -> CreatableTopic {
    let config = CreatableTopicConfig {
        name: Str::from(config),
        value: value.map(Str::from),
        ..Default::default()
    };
    CreatableTopic {
        configs: vec![config],
        ..topic(name, 1, 1)
    }
}

fn create(test: &mut TestBroker, topics: Vec<CreatableTopic>) -> Vec<CreatableTopicResult> {
    ask!(
        test,
        CreateTopics,
        7,
        CreateTopicsRequest {
            topics,
            ..Default::default()
        }
    )
    .topics
}

fn refusal(test: &mut TestBroker, topic: CreatableTopic) -> (ErrorCode, Str) {
    let result = create(test, vec![topic]).remove(0);
    (result.error_code, result.error_message.unwrap_or_default())
}

#[test]
fn a_topic_gets_the_partitions_that_were_asked_for_or_the_default() {
    let mut test = TestBroker::new(&[("num.partitions", "4")]);
    let results = create(&mut test, vec![topic("a", 2, 1), topic("b", -1, -1)]);
    let counts: Vec<_> = results
        .iter()
        .map(|result| (result.num_partitions, result.replication_factor))
        .collect();
    assert_eq!(counts, [(2, 1), (4, 1)]);
    let id = test.broker.cluster().topic("a").unwrap().id;
    assert_eq!(results[0].topic_id, id);
    assert!(!id.is_zero() && id != results[1].topic_id);
    for version in 2..=7 {
        let request = CreateTopicsRequest {
            topics: vec![topic("a", 1, 1)],
            ..Default::default()
        };
        let again = ask!(test, CreateTopics, version, request).topics.remove(0);
        assert_eq!(again.error_code, ErrorCode::TOPIC_ALREADY_EXISTS);
        assert_eq!(
            again.error_message.as_deref(),
            Some("Topic 'a' already exists.")
        );
    }
}

#[test]
fn creation_is_refused_for_what_cannot_be() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("my.topic", 1);
    let cases = [
        (
            topic("a b", 1, 1),
            ErrorCode::INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid",
        ),
        (
            topic("my_topic", 1, 1),
            ErrorCode::INVALID_TOPIC_EXCEPTION,
            "collides with existing topic: my.topic",
        ),
        (
            topic("__cluster_metadata", 1, 1),
            ErrorCode::INVALID_REQUEST,
            "prohibited",
        ),
        (
            topic("t", 0, 1),
            ErrorCode::INVALID_PARTITIONS,
            "invalid non-positive value",
        ),
        (
            topic("t", -2, 1),
            ErrorCode::INVALID_PARTITIONS,
            "invalid non-positive value",
        ),
        (
            topic("t", 1, 0),
            ErrorCode::INVALID_REPLICATION_FACTOR,
            "must be larger than 0",
        ),
        (
            topic("t", 1, 3),
            ErrorCode::INVALID_REPLICATION_FACTOR,
            "only 1 broker(s) are registered",
        ),
        (
            topic("t", i32::MAX, 1),
            ErrorCode::POLICY_VIOLATION,
            "at most",
        ),
        (
            topic(TXN_STATE_TOPIC, 3, 1),
            ErrorCode::INVALID_PARTITIONS,
            "has 50 partitions",
        ),
        (
            configured("t", "retention.ms", Some("x")),
            ErrorCode::INVALID_CONFIG,
            "retention.ms",
        ),
        (
            configured("t", "retention.ms", None),
            ErrorCode::INVALID_CONFIG,
            "Null value",
        ),
        (
            configured("t", "nonsense", Some("1")),
            ErrorCode::INVALID_CONFIG,
            "Unknown topic config name: nonsense",
        ),
        (
            configured("t", "cleanup.policy", Some("shred")),
            ErrorCode::INVALID_CONFIG,
            "compact, delete",
        ),
    ];
    for (topic, code, why) in cases {
        let (actual, message) = refusal(&mut test, topic);
        assert_eq!(actual, code, "{message}");
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(test.broker.cluster().topics().count(), 1);
}

#[test]
fn replicas_can_be_placed_on_this_node_only() {
    let mut test = TestBroker::new(&[]);
    let results = create(&mut test, vec![assigned("t", &[(1, &[1]), (0, &[1])])]);
    assert_eq!(
        (results[0].error_code, results[0].num_partitions),
        (ErrorCode::NONE, 2)
    );
    let invalid = ErrorCode::INVALID_REPLICA_ASSIGNMENT;
    let cases = [
        (
            assigned("u", &[(0, &[2])]),
            invalid,
            "broker 2, but no such broker",
        ),
        (assigned("u", &[(0, &[])]), invalid, "empty replica list"),
        (assigned("u", &[(0, &[1, 1])]), invalid, "more than once"),
        (
            assigned("u", &[(0, &[1]), (0, &[1])]),
            invalid,
            "multiple manual partition",
        ),
        (
            assigned("u", &[(0, &[1]), (2, &[1])]),
            invalid,
            "consecutive",
        ),
        (
            CreatableTopic {
                num_partitions: 1,
                ..assigned("u", &[(0, &[1])])
            },
            ErrorCode::INVALID_REQUEST,
            "numPartitions was not set to -1",
        ),
        (
            CreatableTopic {
                replication_factor: 1,
                ..assigned("u", &[(0, &[1])])
            },
            ErrorCode::INVALID_REQUEST,
            "replication factor was not set to -1",
        ),
    ];
    for (topic, code, why) in cases {
        let (actual, message) = refusal(&mut test, topic);
        assert_eq!(actual, code, "{message}");
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn a_topic_twice_in_a_request_is_created_not_once() {
    let mut test = TestBroker::new(&[]);
    let results = create(
        &mut test,
        vec![topic("a", 1, 1), topic("b", 1, 1), topic("a", 2, 1)],
    );
    let codes: Vec<_> = results
        .iter()
        .map(|result| (&*result.name, result.error_code))
        .collect();
    assert_eq!(
        codes,
        [("a", ErrorCode::INVALID_REQUEST), ("b", ErrorCode::NONE)]
    );
    assert!(test.broker.cluster().topic("a").is_none());
}

#[test]
fn validating_changes_nothing() {
    let mut test = TestBroker::new(&[]);
    let request = CreateTopicsRequest {
        topics: vec![topic("t", 2, 1), topic("u", 0, 1)],
        validate_only: true,
        ..Default::default()
    };
    let results = ask!(test, CreateTopics, 7, request).topics;
    assert_eq!(
        (results[0].error_code, results[0].num_partitions),
        (ErrorCode::NONE, 2)
    );
    assert!(results[0].topic_id.is_zero());
    assert_eq!(results[1].error_code, ErrorCode::INVALID_PARTITIONS);
    assert_eq!(test.broker.cluster().topics().count(), 0);
}

#[test]
fn the_answer_has_the_configs_in_force() {
    let mut test = TestBroker::new(&[("message.max.bytes", "5000")]);
    let result = create(&mut test, vec![configured("t", "retention.ms", Some("7"))]).remove(0);
    let configs = result.configs.unwrap();
    let find = |name: &str| {
        let found = configs.iter().find(|config| config.name == name).unwrap();
        (found.value.as_deref().unwrap(), found.config_source)
    };
    assert_eq!(find("retention.ms"), ("7", 1));
    assert_eq!(find("max.message.bytes"), ("5000", 4));
    assert_eq!(find("cleanup.policy"), ("delete", 5));
}

#[test]
fn creation_and_deletion_are_durable_when_they_are_answered() {
    let mut test = TestBroker::new(&[]);
    test.storage_stands_still = true;
    test.send(
        7,
        CreateTopicsRequest {
            topics: vec![topic("t", 1, 1)],
            ..Default::default()
        },
    );
    assert!(test.reply().is_none());
    test.resume_storage();
    assert!(test.reply().is_some());
    test.restart();
    let id = test.broker.cluster().topic("t").unwrap().id;

    test.storage_stands_still = true;
    test.send(6, delete(None, id));
    assert!(test.reply().is_none());
    test.resume_storage();
    assert!(test.reply().is_some());
    test.restart();
    assert_eq!(test.broker.cluster().topics().count(), 0);
}

fn state(name: Option<&str>, topic_id: Uuid) -> DeleteTopicState {
    DeleteTopicState {
        name: name.map(Str::from),
        topic_id,
        ..Default::default()
    }
}

fn delete(name: Option<&str>, topic_id: Uuid) -> DeleteTopicsRequest {
    DeleteTopicsRequest {
        topics: vec![state(name, topic_id)],
        ..Default::default()
    }
}

#[test]
fn topics_are_deleted_by_name_and_by_id() {
    let mut test = TestBroker::new(&[]);
    for version in 1..=5 {
        let id = test.create_topic("t", 1);
        let topic_names = vec![Str::from("t"), Str::from("gone")];
        let request = DeleteTopicsRequest {
            topic_names,
            ..Default::default()
        };
        let responses = ask!(test, DeleteTopics, version, request).responses;
        assert_eq!(responses[0].error_code, ErrorCode::NONE);
        assert_eq!(
            responses[1].error_code,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        );
        assert_eq!(responses[1].name.as_deref(), Some("gone"));
        assert!(test.broker.cluster().topic_by_id(id).is_none());
    }
    let id = test.create_topic("t", 1);
    let response = ask!(test, DeleteTopics, 6, delete(None, id))
        .responses
        .remove(0);
    assert_eq!(
        (response.name.as_deref(), response.topic_id),
        (Some("t"), id)
    );
    let response = ask!(test, DeleteTopics, 6, delete(None, id))
        .responses
        .remove(0);
    assert_eq!(response.error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!((response.name, response.topic_id), (None, id));
}

#[test]
fn deletion_is_refused_where_it_is_not_clear_or_not_allowed() {
    let mut test = TestBroker::new(&[]);
    let id = test.create_topic("t", 1);
    let key_type = 1;
    let transaction = FindCoordinatorRequest {
        key_type,
        key: Str::from("x"),
        ..Default::default()
    };
    ask!(test, FindCoordinator, 1, transaction);
    for request in [
        delete(Some("t"), id),
        delete(None, Uuid::ZERO),
        delete(Some(TXN_STATE_TOPIC), Uuid::ZERO),
    ] {
        let response = ask!(test, DeleteTopics, 6, request).responses.remove(0);
        assert_eq!(
            response.error_code,
            ErrorCode::INVALID_REQUEST,
            "{response:?}"
        );
    }
    for topics in [
        vec![state(Some("t"), Uuid::ZERO), state(Some("t"), Uuid::ZERO)],
        vec![state(None, id), state(Some("t"), Uuid::ZERO)],
    ] {
        let request = DeleteTopicsRequest {
            topics,
            ..Default::default()
        };
        let responses = ask!(test, DeleteTopics, 6, request).responses;
        assert!(
            responses
                .iter()
                .all(|response| response.error_code == ErrorCode::INVALID_REQUEST)
        );
    }
    assert_eq!(test.broker.cluster().topics().count(), 2);
}

fn page(
    test: &mut TestBroker,
    names: &[&str],
    limit: i32,
    cursor: Option<(&str, i32)>,
) -> DescribeTopicPartitionsResponse {
    let topic = |name: &&str| TopicRequest {
        name: Str::from(*name),
        ..Default::default()
    };
    let cursor = cursor.map(|(topic, partition_index)| Cursor {
        topic_name: Str::from(topic),
        partition_index,
        ..Default::default()
    });
    let request = DescribeTopicPartitionsRequest {
        topics: names.iter().map(topic).collect(),
        response_partition_limit: limit,
        cursor,
        ..Default::default()
    };
    ask!(test, DescribeTopicPartitions, 0, request)
}

fn listed(response: &DescribeTopicPartitionsResponse) -> Vec<(&str, Vec<i32>)> {
    let partitions = |topic: &DescribeTopicPartitionsResponseTopic| {
        topic
            .partitions
            .iter()
            .map(|partition| partition.partition_index)
            .collect()
    };
    response
        .topics
        .iter()
        .map(|topic| {
            (
                topic.name.as_ref().map_or("", |name| name.as_str()),
                partitions(topic),
            )
        })
        .collect()
}

fn next(response: &DescribeTopicPartitionsResponse) -> Option<(&str, i32)> {
    let cursor = response.next_cursor.as_ref()?;
    Some((&*cursor.topic_name, cursor.partition_index))
}

#[test]
fn partitions_are_described_page_by_page() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("b", 3);
    test.create_topic("a", 2);
    test.create_topic("c", 1);
    let whole = page(&mut test, &[], 2000, None);
    assert_eq!(
        listed(&whole),
        [("a", vec![0, 1]), ("b", vec![0, 1, 2]), ("c", vec![0])]
    );
    assert_eq!(next(&whole), None);
    let partition = &whole.topics[0].partitions[0];
    assert_eq!((partition.leader_id, partition.leader_epoch), (1, 0));
    assert_eq!(partition.eligible_leader_replicas, Some(vec![]));

    let first = page(&mut test, &[], 2, None);
    assert_eq!(
        (listed(&first), next(&first)),
        (vec![("a", vec![0, 1])], Some(("b", 0)))
    );
    let second = page(&mut test, &[], 2, Some(("b", 0)));
    assert_eq!(
        (listed(&second), next(&second)),
        (vec![("b", vec![0, 1])], Some(("b", 2)))
    );
    let third = page(&mut test, &[], 2, Some(("b", 2)));
    assert_eq!(listed(&third), [("b", vec![2]), ("c", vec![0])]);
    assert_eq!(next(&third), None);
    // The least that can be asked for is one.
    assert_eq!(next(&page(&mut test, &[], 0, None)), Some(("a", 1)));
    // A cursor behind the last partition goes on with the next topic.
    assert_eq!(
        listed(&page(&mut test, &[], 9, Some(("b", 7)))),
        [("b", vec![]), ("c", vec![0])]
    );
}

#[test]
fn a_topic_that_is_not_there_has_its_own_error() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    let response = page(&mut test, &["t", "gone", "a b"], 10, None);
    let codes: Vec<_> = response
        .topics
        .iter()
        .map(|topic| (topic.name.as_deref().unwrap(), topic.error_code))
        .collect();
    let expected = [
        ("a b", ErrorCode::INVALID_TOPIC_EXCEPTION),
        ("gone", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("t", ErrorCode::NONE),
    ];
    assert_eq!(codes, expected);
    for (names, cursor) in [(vec!["t"], ("x", 0)), (vec!["t"], ("t", -1))] {
        let response = page(&mut test, &names, 10, Some(cursor));
        assert_eq!(
            response.topics[0].error_code,
            ErrorCode::INVALID_REQUEST,
            "{cursor:?}"
        );
    }
}
