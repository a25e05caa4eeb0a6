//! DescribeConfigs, IncrementalAlterConfigs.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult,
};
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest};
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask};
use crate::metadata::config_def::{BROKER_CONFIGS, ConfigDef, TOPIC_CONFIGS};
use crate::metadata::{GROUP_CONFIGS, is_internal};

pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const GROUP: i8 = 32;
pub(super) const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

pub(super) fn describe(
    test: &mut TestBroker,
    resource_type: i8,
    name: &str,
    keys: Option<&[&str]>,
) -> DescribeConfigsResult {
    let resource = DescribeConfigsResource {
        resource_type,
        resource_name: Str::from(name),
        configuration_keys: keys.map(|keys| keys.iter().map(|key| Str::from(*key)).collect()),
        ..Default::default()
    };
    let request = DescribeConfigsRequest {
        resources: vec![resource],
        include_synonyms: true,
        ..Default::default()
    };
    ask!(test, DescribeConfigs, 4, request).results.remove(0)
}

pub(super) fn one(
    test: &mut TestBroker,
    kind: i8,
    name: &str,
    key: &str,
) -> DescribeConfigsResourceResult {
    let mut result = describe(test, kind, name, Some(&[key]));
    assert_eq!(result.configs.len(), 1, "{result:?}");
    result.configs.remove(0)
}

fn places(config: &DescribeConfigsResourceResult) -> Vec<(&str, &str, i8)> {
    let places = config.synonyms.iter();
    places
        .map(|at| (&*at.name, at.value.as_deref().unwrap_or("null"), at.source))
        .collect()
}

fn resource(kind: i8, name: &str, changes: &[(&str, i8, Option<&str>)]) -> AlterConfigsResource {
    let config = |(name, operation, value): &(&str, i8, Option<&str>)| AlterableConfig {
        name: Str::from(*name),
        config_operation: *operation,
        value: value.map(Str::from),
        ..Default::default()
    };
    AlterConfigsResource {
        resource_type: kind,
        resource_name: Str::from(name),
        configs: changes.iter().map(config).collect(),
        ..Default::default()
    }
}

pub(super) fn alter(
    test: &mut TestBroker,
    kind: i8,
    name: &str,
    changes: &[(&str, i8, Option<&str>)],
) -> (ErrorCode, Str) {
    let resources = vec![resource(kind, name, changes)];
    let request = IncrementalAlterConfigsRequest {
        resources,
        ..Default::default()
    };
    let response = ask!(test, IncrementalAlterConfigs, 1, request)
        .responses
        .remove(0);
    (
        response.error_code,
        response.error_message.unwrap_or_default(),
    )
}

pub(super) const OK: (ErrorCode, Str) = (ErrorCode::NONE, Str::EMPTY);

#[test]
fn a_topic_config_says_where_it_comes_from() {
    let mut test = TestBroker::new(&[("message.max.bytes", "5000")]);
    test.create_topic("t", 1);
    assert_eq!(
        alter(
            &mut test,
            TOPIC,
            "t",
            &[("retention.ms", SET, Some("60000"))]
        ),
        OK
    );
    let own = one(&mut test, TOPIC, "t", "retention.ms");
    assert_eq!(
        (own.value.as_deref(), own.config_source, own.config_type),
        (Some("60000"), 1, 5)
    );
    assert!(!own.read_only && own.documentation.is_none());
    assert_eq!(places(&own), [("retention.ms", "60000", 1)]);
    let inherited = one(&mut test, TOPIC, "t", "max.message.bytes");
    assert_eq!(
        (inherited.value.as_deref(), inherited.config_source),
        (Some("5000"), 4)
    );
    let expected = [
        ("message.max.bytes", "5000", 4),
        ("message.max.bytes", "1048588", 5),
    ];
    assert_eq!(places(&inherited), expected);
    let default = one(&mut test, TOPIC, "t", "segment.ms");
    assert_eq!((default.config_source, places(&default)), (5, vec![]));
    let default = one(&mut test, TOPIC, "t", "cleanup.policy");
    assert_eq!(places(&default), [("log.cleanup.policy", "delete", 5)]);
    assert_eq!(default.config_type, 7);
}

#[test]
fn all_names_or_those_that_are_asked_for() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    let count = |test: &mut TestBroker, kind, name: &str, keys: Option<&[&str]>| {
        describe(test, kind, name, keys).configs.len()
    };
    assert_eq!(count(&mut test, TOPIC, "t", None), TOPIC_CONFIGS.len());
    assert_eq!(count(&mut test, TOPIC, "t", Some(&[])), TOPIC_CONFIGS.len());
    assert_eq!(
        count(&mut test, TOPIC, "t", Some(&["retention.ms", "nonsense"])),
        1
    );
    // Without those that Kafka keeps to itself.
    let shown = |defs: &[ConfigDef]| defs.iter().filter(|def| !is_internal(def.name)).count();
    assert_eq!(count(&mut test, GROUP, "g", None), shown(GROUP_CONFIGS));
    assert_eq!(count(&mut test, BROKER, "1", None), shown(BROKER_CONFIGS));
    for version in 1..=4 {
        let resource = DescribeConfigsResource {
            resource_type: TOPIC,
            resource_name: Str::from("t"),
            ..Default::default()
        };
        let request = DescribeConfigsRequest {
            resources: vec![resource],
            ..Default::default()
        };
        let result = ask!(test, DescribeConfigs, version, request)
            .results
            .remove(0);
        assert!(
            result
                .configs
                .iter()
                .all(|config| config.synonyms.is_empty())
        );
    }
}

#[test]
fn the_brokers_own_configs_are_read_only() {
    let mut test = TestBroker::new(&[("node.id", "2"), ("num.partitions", "3")]);
    let set = one(&mut test, BROKER, "2", "num.partitions");
    assert_eq!(
        (set.value.as_deref(), set.config_source, set.read_only),
        (Some("3"), 4, true)
    );
    assert_eq!(
        places(&set),
        [("num.partitions", "3", 4), ("num.partitions", "1", 5)]
    );
    // The defaults of the whole cluster: none is set.
    let cluster = describe(&mut test, BROKER, "", None);
    assert_eq!(
        (cluster.error_code, cluster.configs.len()),
        (ErrorCode::NONE, 0)
    );
    for name in ["1", "x"] {
        let result = describe(&mut test, BROKER, name, None);
        assert_eq!(result.error_code, ErrorCode::INVALID_REQUEST, "{name}");
    }
}

#[test]
fn what_cannot_be_described_has_its_error() {
    let mut test = TestBroker::new(&[]);
    let cases = [
        (TOPIC, "gone", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode::INVALID_TOPIC_EXCEPTION),
        (GROUP, "", ErrorCode::INVALID_REQUEST),
        (8, "1", ErrorCode::INVALID_REQUEST),
        (0, "x", ErrorCode::INVALID_REQUEST),
    ];
    for (kind, name, code) in cases {
        let result = describe(&mut test, kind, name, None);
        assert_eq!(
            (result.error_code, result.configs.len()),
            (code, 0),
            "{kind} {name}"
        );
    }
}

#[test]
fn group_configs_are_set_and_fall_back_to_the_broker() {
    let mut test = TestBroker::new(&[("group.share.record.lock.duration.ms", "20000")]);
    let name = "share.record.lock.duration.ms";
    let inherited = one(&mut test, GROUP, "g", name);
    assert_eq!(
        (inherited.value.as_deref(), inherited.config_source),
        (Some("20000"), 4)
    );
    assert_eq!(
        alter(&mut test, GROUP, "g", &[(name, SET, Some("40000"))]),
        OK
    );
    let own = one(&mut test, GROUP, "g", name);
    assert_eq!(
        (own.value.as_deref(), own.config_source),
        (Some("40000"), 8)
    );
    let inherited = "group.share.record.lock.duration.ms";
    let expected = [
        (name, "40000", 8),
        (inherited, "20000", 4),
        (inherited, "30000", 5),
    ];
    assert_eq!(places(&own), expected);
    test.restart();
    assert_eq!(
        one(&mut test, GROUP, "g", name).value.as_deref(),
        Some("40000")
    );
    assert_eq!(alter(&mut test, GROUP, "g", &[(name, DELETE, None)]), OK);
    assert_eq!(
        one(&mut test, GROUP, "g", name).value.as_deref(),
        Some("20000")
    );
}

#[test]
fn a_group_config_without_a_broker_config_has_its_own_default() {
    let mut test = TestBroker::new(&[]);
    let name = "share.isolation.level";
    let default = one(&mut test, GROUP, "g", name);
    assert_eq!(places(&default), [(name, "read_uncommitted", 5)]);
    assert_eq!((default.config_source, default.config_type), (5, 2));
}

#[test]
fn the_broker_bounds_what_a_group_may_ask_for() {
    let mut test = TestBroker::new(&[]);
    let lock = "share.record.lock.duration.ms";
    let cases = [
        (
            lock,
            "14999",
            "must be in the range 15000 to 60000 inclusive.",
        ),
        (
            lock,
            "60001",
            "must be in the range 15000 to 60000 inclusive.",
        ),
        (lock, "soon", "Invalid value soon"),
        ("share.isolation.level", "none", "String must be one of"),
        ("nonsense", "1", "Unknown group config name: nonsense"),
    ];
    for (name, value, why) in cases {
        let (code, message) = alter(&mut test, GROUP, "g", &[(name, SET, Some(value))]);
        assert_eq!(code, ErrorCode::INVALID_CONFIG, "{message}");
        assert!(message.contains(why), "{message}");
    }
    let mut test = TestBroker::new(&[
        ("group.share.min.session.timeout.ms", "1000"),
        ("group.share.max.heartbeat.interval.ms", "60000"),
    ]);
    let session = ("share.session.timeout.ms", SET, Some("5000"));
    let (code, message) = alter(&mut test, GROUP, "g", &[session]);
    assert_eq!(code, ErrorCode::INVALID_CONFIG);
    assert!(
        message.contains("must be greater than share.heartbeat.interval.ms"),
        "{message}"
    );
}

#[test]
fn lists_grow_and_shrink() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    let name = "cleanup.policy";
    let mut value = |operation, value| {
        assert_eq!(
            alter(&mut test, TOPIC, "t", &[(name, operation, Some(value))]),
            OK
        );
        one(&mut test, TOPIC, "t", name).value.unwrap_or_default()
    };
    assert_eq!(value(APPEND, "compact,delete"), "delete,compact");
    assert_eq!(value(SUBTRACT, "delete"), "compact");
    assert_eq!(value(SET, "delete"), "delete");
    for (operation, verb) in [(APPEND, "APPEND to"), (SUBTRACT, "SUBTRACT to")] {
        let (code, message) = alter(
            &mut test,
            TOPIC,
            "t",
            &[("retention.ms", operation, Some("1"))],
        );
        assert_eq!(code, ErrorCode::INVALID_CONFIG);
        assert!(
            message.contains(verb) && message.contains("not LIST"),
            "{message}"
        );
    }
}

#[test]
fn an_alteration_is_all_or_nothing() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    let good = ("retention.ms", SET, Some("60000"));
    let bad = ("segment.bytes", SET, Some("1"));
    assert_eq!(
        alter(&mut test, TOPIC, "t", &[good, bad]).0,
        ErrorCode::INVALID_CONFIG
    );
    assert_eq!(one(&mut test, TOPIC, "t", "retention.ms").config_source, 5);
    let request = IncrementalAlterConfigsRequest {
        resources: vec![resource(TOPIC, "t", &[good])],
        validate_only: true,
        ..Default::default()
    };
    let response = ask!(test, IncrementalAlterConfigs, 0, request)
        .responses
        .remove(0);
    assert_eq!(
        (response.error_code, response.error_message),
        (ErrorCode::NONE, None)
    );
    assert_eq!(one(&mut test, TOPIC, "t", "retention.ms").config_source, 5);
    // Deleting what is not set succeeds.
    assert_eq!(
        alter(&mut test, TOPIC, "t", &[("retention.ms", DELETE, None)]),
        OK
    );
}

#[test]
fn malformed_alterations_are_refused() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    let good = ("retention.ms", SET, Some("60000"));
    let invalid = ErrorCode::INVALID_REQUEST;
    let cases = [
        (
            TOPIC,
            "t",
            vec![good, good],
            invalid,
            "duplicate config keys",
        ),
        (
            TOPIC,
            "t",
            vec![("retention.ms", SET, None)],
            invalid,
            "Null value not supported for : retention.ms",
        ),
        (
            TOPIC,
            "t",
            vec![("retention.ms", 9, Some("1"))],
            invalid,
            "Unknown operation 9",
        ),
        (TOPIC, "", vec![good], invalid, "Default topic"),
        (
            TOPIC,
            "gone",
            vec![good],
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            "The topic 'gone' does not exist.",
        ),
        (
            TOPIC,
            "t",
            vec![("nonsense", SET, Some("1"))],
            ErrorCode::INVALID_CONFIG,
            "Unknown topic config name: nonsense",
        ),
        (GROUP, "", vec![good], invalid, "Default group"),
        (
            TOPIC,
            "a b",
            vec![good],
            ErrorCode::INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid",
        ),
        (BROKER, "1", vec![good], invalid, "cannot be altered here"),
        (16, "x", vec![good], invalid, "Unknown resource type 16"),
    ];
    for (kind, name, changes, code, why) in cases {
        let (actual, message) = alter(&mut test, kind, name, &changes);
        assert_eq!(actual, code, "{message}");
        assert!(message.contains(why), "{message}");
    }
    let resources = vec![resource(TOPIC, "t", &[good]), resource(TOPIC, "t", &[good])];
    let request = IncrementalAlterConfigsRequest {
        resources,
        ..Default::default()
    };
    let responses = ask!(test, IncrementalAlterConfigs, 1, request).responses;
    assert_eq!(responses.len(), 2);
    assert!(
        responses
            .iter()
            .all(|response| response.error_code == invalid)
    );
}

#[test]
fn a_changed_topic_config_holds_for_the_log_at_once() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    let change = [("max.message.bytes", SET, Some("77"))];
    assert_eq!(alter(&mut test, TOPIC, "t", &change), OK);
    let log = test
        .broker
        .log(ackord_machine::LogId {
            topic,
            partition: 0,
        })
        .unwrap();
    assert_eq!(log.config().max_message_bytes, 77);
}

#[test]
fn an_alteration_is_durable_when_it_is_answered() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    test.storage_stands_still = true;
    let resources = vec![resource(
        TOPIC,
        "t",
        &[("retention.ms", SET, Some("60000"))],
    )];
    test.send(
        1,
        IncrementalAlterConfigsRequest {
            resources,
            ..Default::default()
        },
    );
    assert!(test.reply().is_none());
    test.resume_storage();
    assert!(test.reply().is_some());
    test.restart();
    assert_eq!(
        one(&mut test, TOPIC, "t", "retention.ms").value.as_deref(),
        Some("60000")
    );
}

#[test]
fn values_are_read_as_java_reads_them() {
    let mut test = TestBroker::new(&[]);
    let mut set = |name: &str, value: &str| {
        let (code, message) = alter(&mut test, GROUP, "g", &[(name, SET, Some(value))]);
        (code == ErrorCode::NONE, message)
    };
    for (name, value) in [
        ("share.auto.offset.reset", " earliest "),
        ("share.auto.offset.reset", "by_duration:PT1H"),
        ("share.renew.acknowledge.enable", "TRUE"),
        ("share.heartbeat.interval.ms", " 5000 "),
        ("errors.deadletterqueue.topic.name", "dlq.x"),
        ("streams.rack.aware.assignment.tags", "a, b"),
        ("consumer.session.timeout.ms", "60000"),
    ] {
        assert!(set(name, value).0, "{name} {value}");
    }
    for (name, value, why) in [
        (
            "share.auto.offset.reset",
            "by_duration:-PT1H",
            "by_duration:<PnDTnHnMn.nS>",
        ),
        (
            "share.auto.offset.reset",
            "LATEST",
            "either 'earliest', 'latest' or",
        ),
        (
            "share.renew.acknowledge.enable",
            "yes",
            "either true or false",
        ),
        (
            "share.isolation.level",
            "x",
            "one of: read_committed, read_uncommitted",
        ),
        (
            "share.session.timeout.ms",
            "99999999999",
            "Not a number of type INT",
        ),
        (
            "consumer.session.timeout.ms",
            "60001",
            "in the range 45000 to 60000 inclusive",
        ),
        (
            "share.assignment.interval.ms",
            "15001",
            "in the range 0 to 15000 inclusive",
        ),
        (
            "streams.num.standby.replicas",
            "3",
            "less than or equal to 2",
        ),
        ("streams.rack.aware.assignment.tags", "a,a", "duplicate"),
        ("streams.assignor.name", "x", "[sticky]"),
        (
            "errors.deadletterqueue.topic.name",
            "__x",
            "must not start with '__'",
        ),
    ] {
        let (done, message) = set(name, value);
        assert!(!done && message.contains(why), "{name} {value}: {message}");
    }
}

#[test]
fn blanks_around_a_value_do_not_count() {
    let mut test = TestBroker::new(&[("group.share.heartbeat.interval.ms", " 6000 ")]);
    let interval = |test: &mut TestBroker| {
        let settings = test.broker.share_settings("g");
        (settings.heartbeat_interval_ms, settings.renew_enabled)
    };
    assert_eq!(interval(&mut test), (6000, true));
    let changes = [
        ("share.heartbeat.interval.ms", SET, Some(" 7000 ")),
        ("share.renew.acknowledge.enable", SET, Some("False")),
    ];
    assert_eq!(alter(&mut test, GROUP, "g", &changes), OK);
    assert_eq!(interval(&mut test), (7000, false));
}

#[test]
fn group_configs_are_documented_on_request() {
    let mut test = TestBroker::new(&[]);
    let request = DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource {
            resource_type: GROUP,
            resource_name: Str::from("g"),
            ..Default::default()
        }],
        include_documentation: true,
        ..Default::default()
    };
    let response = ask!(test, DescribeConfigs, 4, request);
    let configs = &response.results[0].configs;
    assert!(configs.iter().all(|config| {
        config
            .documentation
            .as_ref()
            .is_some_and(|text| !text.is_empty())
    }));
}
