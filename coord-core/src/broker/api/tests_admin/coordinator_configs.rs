//! Configurations of coordinators and of their topics, as Kafka 4.4 shows and takes them.

use ackord_proto::error_code::ErrorCode;
use alloc::vec::Vec;

use super::configs::{BROKER, GROUP, OK, SET, TOPIC, alter, describe, one};
use crate::broker::testing::TestBroker;

/// What of a topic's configuration is its own.
fn own(test: &mut TestBroker, topic: &str) -> Vec<(alloc::string::String, alloc::string::String)> {
    let configs = describe(test, TOPIC, topic, None).configs;
    let own = configs
        .into_iter()
        .filter(|config| config.config_source == 1);
    own.map(|config| {
        let value = config.value.as_deref().unwrap_or_default();
        (config.name.as_str().into(), value.into())
    })
    .collect()
}

#[test]
fn topics_of_coordinators_say_what_they_were_created_with() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    test.join_share_group("m", "t");
    let pairs = |pairs: &[(&str, &str)]| -> Vec<_> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    };
    assert_eq!(
        own(&mut test, "__share_group_state"),
        pairs(&[
            ("cleanup.policy", "delete"),
            ("compression.type", "producer"),
            ("retention.ms", "-1"),
            ("segment.bytes", "104857600"),
        ])
    );
    assert_eq!(
        own(&mut test, "__consumer_offsets"),
        pairs(&[
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("segment.bytes", "104857600"),
        ])
    );
    let topic = "__share_group_state";
    let set = [("segment.bytes", SET, Some("1048576"))];
    assert_eq!(alter(&mut test, TOPIC, topic, &set), OK);
    let altered = one(&mut test, TOPIC, topic, "segment.bytes");
    assert_eq!(altered.value.as_deref(), Some("1048576"));
}

#[test]
fn what_kafka_keeps_to_itself_is_taken_and_shown_where_it_is_set() {
    let name = "share.assignor.offload.enable";
    let mut test = TestBroker::new(&[("group.share.assignor.offload.enable", "false")]);
    let shown = |test: &mut TestBroker, kind, resource: &str, name: &str| {
        let configs = describe(test, kind, resource, None).configs;
        configs.iter().any(|config| &*config.name == name)
    };
    assert!(!shown(&mut test, GROUP, "g", name));
    assert_eq!(
        alter(&mut test, GROUP, "g", &[(name, SET, Some("true"))]),
        OK
    );
    assert!(shown(&mut test, GROUP, "g", name));
    let (code, why) = alter(&mut test, GROUP, "g", &[(name, SET, Some("x"))]);
    assert_eq!(code, ErrorCode::INVALID_CONFIG);
    assert!(why.contains("either true or false"), "{why}");
    assert!(shown(
        &mut test,
        BROKER,
        "1",
        "group.share.assignor.offload.enable"
    ));
    let other = "group.consumer.assignor.offload.enable";
    assert!(!shown(&mut test, BROKER, "1", other));
}

#[test]
fn bounds_of_one_side_are_told_as_by_kafka() {
    let mut test = TestBroker::new(&[]);
    for (name, value, bound) in [
        (
            "streams.task.offset.interval.ms",
            "1",
            "must be greater than or equal to 15000",
        ),
        (
            "streams.num.warmup.replicas",
            "30",
            "must be less than or equal to 20",
        ),
    ] {
        let (code, why) = alter(&mut test, GROUP, "g", &[(name, SET, Some(value))]);
        assert_eq!(code, ErrorCode::INVALID_CONFIG);
        assert!(why.ends_with(bound), "{why}");
    }
}
