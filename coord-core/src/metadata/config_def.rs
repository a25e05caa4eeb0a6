//! Configurations by their Kafka names: one line for each.

use alloc::format;
use alloc::string::{String, ToString};

use super::config_kind::{BIG, ConfigKind, INT};
use super::consumer_configs::check_consumer_config;

/// One configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigDef {
    /// Kafka's name.
    pub name: &'static str,
    /// The value where none is set.
    pub default: &'static str,
    /// What values are allowed.
    pub kind: ConfigKind,
}

impl ConfigDef {
    /// Checks a value.
    ///
    /// # Errors
    /// A sentence in the form of Kafka's `INVALID_CONFIG` answers.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let policy = |word: &str| matches!(word.trim(), "" | "compact" | "delete");
        let checked = match self.name {
            "cleanup.policy" | "log.cleanup.policy" if !value.split(',').all(policy) => {
                Err("String must be one of: compact, delete".to_string())
            }
            "group.consumer.assignors" | "group.consumer.migration.policy" => {
                check_consumer_config(self.name, value)
            }
            _ => self.kind.check(value),
        };
        checked.map_err(|why| {
            format!(
                "Invalid value {value} for configuration {}: {why}",
                self.name
            )
        })
    }
}

/// Finds a configuration by its name.
pub fn find(defs: &'static [ConfigDef], name: &str) -> Option<&'static ConfigDef> {
    defs.iter().find(|def| def.name == name)
}

pub(super) const fn def(name: &'static str, default: &'static str, kind: ConfigKind) -> ConfigDef {
    ConfigDef {
        name,
        default,
        kind,
    }
}

const TIMESTAMP_TYPES: &[&str] = &["CreateTime", "LogAppendTime"];

/// Configurations of a topic (Kafka 4.4).
pub const TOPIC_CONFIGS: &[ConfigDef] = &[
    def("cleanup.policy", "delete", ConfigKind::List),
    def("compression.gzip.level", "-1", ConfigKind::Int(-1, 9)),
    def("compression.lz4.level", "9", ConfigKind::Int(1, 17)),
    def(
        "compression.type",
        "producer",
        ConfigKind::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]),
    ),
    def("compression.zstd.level", "3", ConfigKind::Int(-131_072, 22)),
    def("delete.retention.ms", "86400000", ConfigKind::Long(0, BIG)),
    def(
        "errors.deadletterqueue.group.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def("file.delete.delay.ms", "60000", ConfigKind::Long(0, BIG)),
    def(
        "flush.messages",
        "9223372036854775807",
        ConfigKind::Long(1, BIG),
    ),
    def("flush.ms", "9223372036854775807", ConfigKind::Long(0, BIG)),
    def(
        "follower.replication.throttled.replicas",
        "",
        ConfigKind::List,
    ),
    def("index.interval.bytes", "4096", ConfigKind::Int(0, INT)),
    def(
        "leader.replication.throttled.replicas",
        "",
        ConfigKind::List,
    ),
    def("local.retention.bytes", "-2", ConfigKind::Long(-2, BIG)),
    def("local.retention.ms", "-2", ConfigKind::Long(-2, BIG)),
    def(
        "max.compaction.lag.ms",
        "9223372036854775807",
        ConfigKind::Long(1, BIG),
    ),
    def("max.message.bytes", "1048588", ConfigKind::Int(0, INT)),
    def(
        "message.timestamp.after.max.ms",
        "3600000",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "message.timestamp.before.max.ms",
        "9223372036854775807",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "message.timestamp.type",
        "CreateTime",
        ConfigKind::OneOf(TIMESTAMP_TYPES),
    ),
    def("min.cleanable.dirty.ratio", "0.5", ConfigKind::Fraction),
    def("min.compaction.lag.ms", "0", ConfigKind::Long(0, BIG)),
    def("min.insync.replicas", "1", ConfigKind::Int(1, INT)),
    def("preallocate", "false", ConfigKind::Boolean),
    def("remote.log.copy.disable", "false", ConfigKind::Boolean),
    def("remote.log.delete.on.disable", "false", ConfigKind::Boolean),
    def("remote.storage.enable", "false", ConfigKind::Boolean),
    def("retention.bytes", "-1", ConfigKind::Long(-1, BIG)),
    def("retention.ms", "604800000", ConfigKind::Long(-1, BIG)),
    def(
        "segment.bytes",
        "1073741824",
        ConfigKind::Int(1_048_576, INT),
    ),
    def("segment.index.bytes", "10485760", ConfigKind::Int(4, INT)),
    def("segment.jitter.ms", "0", ConfigKind::Long(0, BIG)),
    def("segment.ms", "604800000", ConfigKind::Long(1, BIG)),
    def(
        "unclean.leader.election.enable",
        "false",
        ConfigKind::Boolean,
    ),
];

/// Configurations of the broker that have an effect.
pub const BROKER_CONFIGS: &[ConfigDef] = &[
    def("advertised.listeners", "", ConfigKind::Text),
    def("auto.create.topics.enable", "true", ConfigKind::Boolean),
    def("broker.id", "1", ConfigKind::Int(0, INT)),
    def(
        "errors.deadletterqueue.auto.create.topics.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def(
        "errors.deadletterqueue.topic.name.prefix",
        "dlq.",
        ConfigKind::Text,
    ),
    def("fetch.max.bytes", "57671680", ConfigKind::Int(1024, INT)),
    def(
        "group.consumer.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.consumer.assignors",
        "uniform,range",
        ConfigKind::List,
    ),
    def(
        "group.consumer.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.max.assignment.interval.ms",
        "15000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.consumer.max.heartbeat.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.max.session.timeout.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.max.size",
        "2147483647",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.migration.policy",
        "bidirectional",
        ConfigKind::Text,
    ),
    def(
        "group.consumer.min.assignment.interval.ms",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.consumer.min.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.min.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.initial.rebalance.delay.ms",
        "3000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.max.session.timeout.ms",
        "1800000",
        ConfigKind::Int(1, INT),
    ),
    def("group.max.size", "2147483647", ConfigKind::Int(1, INT)),
    def(
        "group.min.session.timeout.ms",
        "6000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.share.delivery.count.limit",
        "5",
        ConfigKind::Int(2, 10),
    ),
    def(
        "group.share.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.max.assignment.interval.ms",
        "15000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.share.max.delivery.count.limit",
        "10",
        ConfigKind::Int(5, 25),
    ),
    def(
        "group.share.max.heartbeat.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.max.partition.max.record.locks",
        "4000",
        ConfigKind::Int(100, 10_000),
    ),
    def(
        "group.share.max.record.lock.duration.ms",
        "60000",
        ConfigKind::Int(1000, 3_600_000),
    ),
    def(
        "group.share.max.session.timeout.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.max.share.sessions",
        "2000",
        ConfigKind::Int(1, INT),
    ),
    def("group.share.max.size", "200", ConfigKind::Int(1, 1000)),
    def(
        "group.share.min.assignment.interval.ms",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.share.min.delivery.count.limit",
        "2",
        ConfigKind::Int(2, 10),
    ),
    def(
        "group.share.min.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.min.partition.max.record.locks",
        "100",
        ConfigKind::Int(100, 10_000),
    ),
    def(
        "group.share.min.record.lock.duration.ms",
        "15000",
        ConfigKind::Int(1000, 30_000),
    ),
    def(
        "group.share.min.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.partition.max.record.locks",
        "2000",
        ConfigKind::Int(100, 10_000),
    ),
    def(
        "group.share.record.lock.duration.ms",
        "30000",
        ConfigKind::Int(1000, 3_600_000),
    ),
    def(
        "group.share.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.initial.rebalance.delay.ms",
        "3000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.max.assignment.interval.ms",
        "15000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.max.heartbeat.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.max.session.timeout.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.max.standby.replicas",
        "2",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.min.assignment.interval.ms",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.min.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.min.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.num.standby.replicas",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def("log.cleanup.policy", "delete", ConfigKind::List),
    def(
        "log.message.timestamp.after.max.ms",
        "3600000",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "log.message.timestamp.before.max.ms",
        "9223372036854775807",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "log.message.timestamp.type",
        "CreateTime",
        ConfigKind::OneOf(TIMESTAMP_TYPES),
    ),
    def("log.retention.bytes", "-1", ConfigKind::Long(-1, BIG)),
    def(
        "log.retention.check.interval.ms",
        "300000",
        ConfigKind::Long(1, BIG),
    ),
    def("log.retention.hours", "168", ConfigKind::Int(-1, INT)),
    def("log.retention.minutes", "", ConfigKind::Int(-1, INT)),
    def("log.retention.ms", "", ConfigKind::Long(-1, BIG)),
    def("log.roll.hours", "168", ConfigKind::Int(1, INT)),
    def("log.roll.ms", "", ConfigKind::Long(1, BIG)),
    def(
        "log.segment.bytes",
        "1073741824",
        ConfigKind::Int(1_048_576, INT),
    ),
    def("max.connections", "20000", ConfigKind::Int(0, INT)),
    def("message.max.bytes", "1048588", ConfigKind::Int(0, INT)),
    def("node.id", "1", ConfigKind::Int(0, INT)),
    def("num.partitions", "1", ConfigKind::Int(1, INT)),
    def("offset.metadata.max.bytes", "4096", ConfigKind::Int(0, INT)),
    def(
        "offsets.retention.check.interval.ms",
        "600000",
        ConfigKind::Long(1, BIG),
    ),
    def(
        "offsets.retention.minutes",
        "10080",
        ConfigKind::Int(1, INT),
    ),
    def(
        "offsets.topic.num.partitions",
        "50",
        ConfigKind::Int(1, INT),
    ),
    def(
        "producer.id.expiration.ms",
        "86400000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "300000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.snapshot.update.records.per.snapshot",
        "500",
        ConfigKind::Int(0, 500),
    ),
    def(
        "share.coordinator.state.topic.num.partitions",
        "50",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.state.topic.prune.interval.ms",
        "300000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "socket.request.max.bytes",
        "104857600",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.max.timeout.ms",
        "900000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.state.log.num.partitions",
        "50",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.two.phase.commit.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def(
        "transactional.id.expiration.ms",
        "604800000",
        ConfigKind::Int(1, INT),
    ),
    // Here: the draft of TxnShareAcknowledge (key 95).
    def("unstable.api.versions.enable", "false", ConfigKind::Boolean),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_valid_value_and_names_are_sorted() {
        for defs in [TOPIC_CONFIGS, super::super::GROUP_CONFIGS, BROKER_CONFIGS] {
            for def in defs.iter().filter(|def| !def.default.is_empty()) {
                assert_eq!(def.check(def.default), Ok(()), "{}", def.name);
            }
            assert!(defs.windows(2).all(|pair| pair[0].name < pair[1].name));
        }
    }

    #[test]
    fn a_bad_value_names_itself_and_its_bounds() {
        let def = find(TOPIC_CONFIGS, "retention.bytes").unwrap();
        assert_eq!(
            def.check("-2").unwrap_err(),
            "Invalid value -2 for configuration retention.bytes: Value must be at least -1"
        );
        let ratio = find(TOPIC_CONFIGS, "min.cleanable.dirty.ratio").unwrap();
        assert!(ratio.check("1.0").is_ok() && ratio.check("0.25").is_ok());
        for bad in ["1.5", ".", "-1", "2", "x", "1.01"] {
            assert!(ratio.check(bad).is_err(), "{bad}");
        }
    }
}
