//! Dead letter queues whose configuration changes while records wait.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::IncrementalAlterConfigsRequest;
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;

use crate::Event;
use crate::broker::testing::{TestBroker, ask};
use crate::metadata::resource;

const ENABLE: &str = "errors.deadletterqueue.group.enable";

fn set(test: &mut TestBroker, resource_type: i8, owner: &str, name: &str, value: &str) {
    let config = AlterableConfig {
        name: Str::from(name),
        value: Some(Str::from(value)),
        ..Default::default()
    };
    let resource = AlterConfigsResource {
        resource_type,
        resource_name: Str::from(owner),
        configs: vec![config],
        ..Default::default()
    };
    let request = IncrementalAlterConfigsRequest {
        resources: vec![resource],
        ..Default::default()
    };
    let response = ask!(test, IncrementalAlterConfigs, 1, request);
    assert_eq!(response.responses[0].error_code, ErrorCode::NONE);
}

fn reject(test: &mut TestBroker, topic_id: Uuid, share_session_epoch: i32, offset: i64) {
    test.share_acknowledge(topic_id, share_session_epoch, [(offset, 3)].into_iter());
}

fn written(test: &TestBroker) -> u64 {
    test.broker.dead_letter_counts().written
}

fn warnings(test: &TestBroker) -> usize {
    let waits = |event: &&Event| matches!(event, Event::Warning(text) if text.contains("wait"));
    test.events.iter().filter(waits).count()
}

#[test]
fn a_changed_configuration_of_the_topic_opens_the_queue() {
    let mut test = TestBroker::new(&[]);
    let topic = test.create_topic("t", 1);
    test.create_topic("dlq.t", 1);
    set(
        &mut test,
        resource::GROUP,
        "g",
        "share.auto.offset.reset",
        "earliest",
    );
    let name = "errors.deadletterqueue.topic.name";
    set(&mut test, resource::GROUP, "g", name, "dlq.t");
    test.join_share_group("m", "t");
    let mut batch = BatchBuilder::new(0);
    (0..3).for_each(|_| batch.push(0, None, Some(b"x")));
    test.produce("t", batch.build());
    assert_eq!(test.share_fetch("m", topic, 0).len(), 1);
    reject(&mut test, topic, 1, 0);
    reject(&mut test, topic, 2, 1);
    test.pass(600_000);
    assert_eq!((written(&test), warnings(&test)), (0, 1), "warned once");
    set(&mut test, resource::TOPIC, "dlq.t", ENABLE, "true");
    assert_eq!(written(&test), 2);
    assert_eq!(test.broker.dead_letter_counts().failed, 0);
}
