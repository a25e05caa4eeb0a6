//! What the broker's configuration comes down to for groups of the consumer protocol (KIP-848).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::broker_config::BrokerConfig;
use super::cluster::Metadata;
use super::resource;
use super::settings::value_of;
use crate::consumer_group::{Assignor, ConsumerGroupConfig, MigrationPolicy};

/// An assignor by its name, or by that of Kafka's class.
fn assignor(word: &str) -> Option<Assignor> {
    match word.trim() {
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor" => Some(Assignor::Range),
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor" => Some(Assignor::Uniform),
        name => Assignor::from_name(name),
    }
}

/// Checks what only names something that the broker has.
pub(super) fn check_consumer_config(name: &str, value: &str) -> Result<(), String> {
    let assignors = name == "group.consumer.assignors";
    let assignor = |word: &str| assignor(word).is_some();
    let known = match assignors {
        true => value.split(',').all(assignor),
        false => MigrationPolicy::from_name(value).is_some(),
    };
    match known {
        true => Ok(()),
        false if assignors => Err("Assignors are uniform and range".to_string()),
        false => {
            Err("String must be one of: bidirectional, disabled, downgrade, upgrade".to_string())
        }
    }
}

/// What `group.consumer.assignors` allows, the default first.
pub fn consumer_assignors(broker: &BrokerConfig) -> Vec<Assignor> {
    let names = broker.text("group.consumer.assignors").split(',');
    names.filter_map(assignor).collect()
}

/// The settings of one consumer group: its own configuration, else the broker's.
pub fn consumer_group_config(
    broker: &BrokerConfig,
    metadata: &Metadata,
    group: &str,
) -> ConsumerGroupConfig {
    let own = metadata.configs(resource::GROUP, group);
    let int = |name| {
        value_of(broker, own, name)
            .parse::<i32>()
            .unwrap_or_default()
    };
    ConsumerGroupConfig {
        assignment_interval_ms: int("consumer.assignment.interval.ms"),
        assignors: consumer_assignors(broker),
        heartbeat_interval_ms: int("consumer.heartbeat.interval.ms"),
        max_size: broker.size("group.consumer.max.size"),
        migration_policy: MigrationPolicy::from_name(
            broker.text("group.consumer.migration.policy"),
        )
        .unwrap_or_default(),
        session_timeout_ms: int("consumer.session.timeout.ms"),
    }
}
