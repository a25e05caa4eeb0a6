//! Configurations of coordinators and of their topics.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::broker_config::BrokerConfig;
use super::{OFFSETS_TOPIC, SHARE_STATE_TOPIC, TXN_STATE_TOPIC};

/// Configurations that Kafka keeps to itself: it takes them, and shows them only where they are set.
const INTERNAL_CONFIGS: [&str; 13] = [
    "consumer.assignor.offload.enable",
    "group.consumer.assignor.offload.enable",
    "group.consumer.regex.refresh.interval.ms",
    "group.share.assignor.offload.enable",
    "group.share.dlq.manager.class.name",
    "group.share.initialize.retry.interval.ms",
    "group.share.persister.class.name",
    "group.streams.assignor.offload.enable",
    "share.assignor.offload.enable",
    "share.coordinator.cold.partition.snapshot.interval.ms",
    "share.coordinator.state.topic.prune.interval.ms",
    "streams.assignor.offload.enable",
    "unstable.api.versions.enable",
];

/// Whether DescribeConfigs leaves a configuration out while nobody has set it.
pub fn is_internal(name: &str) -> bool {
    INTERNAL_CONFIGS.contains(&name)
}

/// Checks what only names something that the broker has.
pub(super) fn check_coordinator_config(name: &str, value: &str) -> Result<(), String> {
    let mut words = value.split(',').map(str::trim);
    match name {
        "group.share.assignors" => match words.all(is_share_assignor) {
            true => Ok(()),
            false => Err("The assignor of share groups is simple".to_string()),
        },
        "group.streams.assignors" => match words.all(|word| word == "sticky") {
            true => Ok(()),
            false => Err("The assignor of streams groups is sticky".to_string()),
        },
        _ => {
            let words: Vec<&str> = words.collect();
            let known = ["classic", "consumer", "share", "streams"];
            match words.iter().all(|word| known.contains(word))
                && ["classic", "consumer"]
                    .iter()
                    .all(|own| words.contains(own))
            {
                true => Ok(()),
                false => Err("Protocols classic and consumer cannot be turned off".to_string()),
            }
        }
    }
}

/// The assignor by its name, or by that of Kafka's class.
fn is_share_assignor(word: &str) -> bool {
    let class = "org.apache.kafka.coordinator.group.assignor.SimpleAssignor";
    word == "simple" || word == class
}

/// What a topic of coordinators is created with. One node makes no use of replicas, so how many of
/// them have to be in sync is only said where the broker's configuration says it.
pub fn internal_topic_configs(broker: &BrokerConfig, topic: &str) -> Vec<(&'static str, String)> {
    let (policy, compression, prefix) = match topic {
        OFFSETS_TOPIC => ("compact", "producer", "offsets.topic"),
        SHARE_STATE_TOPIC => ("delete", "producer", "share.coordinator.state.topic"),
        TXN_STATE_TOPIC => ("compact", "uncompressed", "transaction.state.log"),
        _ => return Vec::new(),
    };
    let named = |suffix: &str| [prefix, suffix].concat();
    let mut configs = Vec::from([
        ("cleanup.policy", policy.to_string()),
        ("compression.type", compression.to_string()),
        (
            "segment.bytes",
            broker.text(&named(".segment.bytes")).to_string(),
        ),
    ]);
    let in_sync = named(".min.isr");
    if broker.is_set(&in_sync) {
        configs.push(("min.insync.replicas", broker.text(&in_sync).to_string()));
    }
    match topic {
        SHARE_STATE_TOPIC => configs.push(("retention.ms", "-1".to_string())),
        TXN_STATE_TOPIC => configs.push(("unclean.leader.election.enable", "false".to_string())),
        _ => {}
    }
    configs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignors_and_protocols_that_are_not_there_are_refused() {
        let refused = |name: &str, value: &str| {
            let pairs = [(name, value)];
            let outcome = BrokerConfig::from_pairs(pairs.iter().copied());
            outcome.err().unwrap_or_default()
        };
        let share = "group.share.assignors";
        assert_eq!(refused(share, "simple"), "");
        let why = refused(share, "simple,com.example.Mine");
        assert!(
            why.ends_with("The assignor of share groups is simple"),
            "{why}"
        );
        let protocols = "group.coordinator.rebalance.protocols";
        assert_eq!(refused(protocols, "classic,consumer,streams"), "");
        let why = refused(protocols, "classic");
        assert!(why.ends_with("cannot be turned off"), "{why}");
    }

    #[test]
    fn topics_of_coordinators_are_not_those_of_clients() {
        let pairs = [("share.coordinator.state.topic.segment.bytes", "1048576")];
        let broker = BrokerConfig::from_pairs(pairs).expect("values are allowed");
        let configs = internal_topic_configs(&broker, SHARE_STATE_TOPIC);
        assert!(configs.contains(&("segment.bytes", "1048576".to_string())));
        assert!(configs.contains(&("retention.ms", "-1".to_string())));
        assert!(
            !configs
                .iter()
                .any(|(name, _)| *name == "min.insync.replicas")
        );
        assert_eq!(internal_topic_configs(&broker, "orders"), []);
    }
}
