//! Configurations of a group: the table, what they fall back to, what the broker allows.

use alloc::format;
use alloc::string::{String, ToString};

use super::broker_config::BrokerConfig;
use super::config_def::{ConfigDef, def, find};
use super::config_kind::{BIG, ConfigKind, INT};
use super::duration::parse_duration_ms;

/// Configurations of a group (KIP-848, KIP-932, KIP-1071, KIP-1191, KIP-1240, KIP-1263). The
/// defaults of most are those of the broker. Those of another type of group change nothing for a
/// share group.
pub const GROUP_CONFIGS: &[ConfigDef] = &[
    def(
        "consumer.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "consumer.assignor.offload.enable",
        "true",
        ConfigKind::Boolean,
    ),
    def(
        "consumer.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "consumer.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "errors.deadletterqueue.copy.record.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def("errors.deadletterqueue.topic.name", "", ConfigKind::Text),
    def(
        "share.acknowledgement.mode",
        "implicit",
        ConfigKind::OneOf(ACKNOWLEDGEMENT_MODES),
    ),
    def(
        "share.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def("share.assignor.offload.enable", "true", ConfigKind::Boolean),
    def("share.auto.offset.reset", "latest", ConfigKind::OffsetReset),
    def("share.delivery.count.limit", "5", ConfigKind::Int(2, INT)),
    def(
        "share.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.isolation.level",
        "read_uncommitted",
        ConfigKind::OneOf(ISOLATION),
    ),
    def(
        "share.partition.max.record.locks",
        "2000",
        ConfigKind::Int(100, INT),
    ),
    def(
        "share.record.lock.duration.ms",
        "30000",
        ConfigKind::Int(1000, INT),
    ),
    def(
        "share.renew.acknowledge.enable",
        "true",
        ConfigKind::Boolean,
    ),
    def("share.session.timeout.ms", "45000", ConfigKind::Int(1, INT)),
    def(
        "streams.acceptable.recovery.lag",
        "10000",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "streams.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def("streams.assignor.name", "sticky", ConfigKind::Text),
    def(
        "streams.assignor.offload.enable",
        "true",
        ConfigKind::Boolean,
    ),
    def(
        "streams.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "streams.initial.rebalance.delay.ms",
        "3000",
        ConfigKind::Int(0, INT),
    ),
    def("streams.num.standby.replicas", "0", ConfigKind::Int(0, INT)),
    def("streams.num.warmup.replicas", "2", ConfigKind::Int(0, INT)),
    def("streams.rack.aware.assignment.tags", "", ConfigKind::List),
    def(
        "streams.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "streams.task.offset.interval.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
];

const ISOLATION: &[&str] = &["read_committed", "read_uncommitted"];

/// How a group acknowledges (KIP-1289). The first two differ in the client only.
const ACKNOWLEDGEMENT_MODES: &[&str] = &["implicit", "explicit", TRANSACTIONAL];

/// The value of `share.acknowledgement.mode` with which only transactions acknowledge.
pub(super) const TRANSACTIONAL: &str = "transactional";

/// What each is for, as DescribeConfigs tells it on request.
const DOCUMENTATION: &[(&str, &str)] = &[
    (
        "consumer.assignment.interval.ms",
        "Least time between two assignments of a consumer group, in milliseconds.",
    ),
    (
        "consumer.assignor.offload.enable",
        "Whether assignments are computed beside the coordinator in Kafka; here they never hold it up.",
    ),
    (
        "consumer.heartbeat.interval.ms",
        "Time between heartbeats that members of a consumer group keep, in milliseconds.",
    ),
    (
        "consumer.session.timeout.ms",
        "Time without a heartbeat after which a consumer group removes a member, in milliseconds.",
    ),
    (
        "errors.deadletterqueue.copy.record.enable",
        "Whether key, value and headers of a record go to the dead letter queue, or only where it came from.",
    ),
    (
        "errors.deadletterqueue.topic.name",
        "Topic that takes the records a share group gave up. Empty: there is none.",
    ),
    (
        "share.acknowledgement.mode",
        "transactional: records are acknowledged in transactions only. implicit, explicit: as each consumer does it.",
    ),
    (
        "share.assignment.interval.ms",
        "Least time between two assignments of a share group, in milliseconds.",
    ),
    (
        "share.assignor.offload.enable",
        "Whether assignments are computed beside the coordinator in Kafka; here they never hold it up.",
    ),
    (
        "share.auto.offset.reset",
        "Where a share partition begins: earliest, latest, or by_duration:PnDTnHnMn.nS for records at most that old.",
    ),
    (
        "share.delivery.count.limit",
        "How often a record is delivered at most.",
    ),
    (
        "share.heartbeat.interval.ms",
        "Time between heartbeats that members of a share group keep, in milliseconds.",
    ),
    (
        "share.isolation.level",
        "read_committed: records of open and aborted transactions are not delivered. read_uncommitted: all are.",
    ),
    (
        "share.partition.max.record.locks",
        "Most records of a share partition that are under way at once.",
    ),
    (
        "share.record.lock.duration.ms",
        "How long a delivered record is locked for its consumer, in milliseconds.",
    ),
    (
        "share.renew.acknowledge.enable",
        "Whether a consumer may renew the lock of a record.",
    ),
    (
        "share.session.timeout.ms",
        "Time without a heartbeat after which a share group removes a member, in milliseconds.",
    ),
    (
        "streams.acceptable.recovery.lag",
        "Records that a task may lack to count as caught up in a streams group.",
    ),
    (
        "streams.assignment.interval.ms",
        "Least time between two assignments of a streams group, in milliseconds.",
    ),
    (
        "streams.assignor.name",
        "The task assignor of a streams group.",
    ),
    (
        "streams.assignor.offload.enable",
        "Whether assignments are computed beside the coordinator in Kafka; here they never hold it up.",
    ),
    (
        "streams.heartbeat.interval.ms",
        "Time between heartbeats that members of a streams group keep, in milliseconds.",
    ),
    (
        "streams.initial.rebalance.delay.ms",
        "How long a new streams group waits for more members before its first assignment, in milliseconds.",
    ),
    (
        "streams.num.standby.replicas",
        "Standby replicas of each task.",
    ),
    (
        "streams.num.warmup.replicas",
        "Most replicas of a streams group that warm up at once.",
    ),
    (
        "streams.rack.aware.assignment.tags",
        "Client tags over which standby replicas are spread.",
    ),
    (
        "streams.session.timeout.ms",
        "Time without a heartbeat after which a streams group removes a member, in milliseconds.",
    ),
    (
        "streams.task.offset.interval.ms",
        "Time between reports of task offsets by members of a streams group, in milliseconds.",
    ),
];

/// What a configuration is for; empty where nothing is said.
pub fn documentation(name: &str) -> &'static str {
    let own = DOCUMENTATION.iter().find(|(own, _)| *own == name);
    own.map_or("", |(_, text)| text)
}

/// The broker's configuration that a group's falls back to; the name itself where there is none.
pub fn inherited_name(name: &str) -> String {
    match name {
        "share.acknowledgement.mode"
        | "share.auto.offset.reset"
        | "share.isolation.level"
        | "share.renew.acknowledge.enable" => name.to_string(),
        "streams.assignor.name" => "group.streams.assignors".to_string(),
        _ if name.starts_with("errors.") => name.to_string(),
        _ => format!("group.{name}"),
    }
}

/// Checks a value, also against the bounds that the broker sets.
///
/// # Errors
/// A sentence in the form of Kafka's `INVALID_CONFIG` answers.
pub fn check_group_config(broker: &BrokerConfig, name: &str, value: &str) -> Result<(), String> {
    let def =
        find(GROUP_CONFIGS, name).ok_or_else(|| format!("Unknown group config name: {name}"))?;
    def.check(value)?;
    let value = value.trim();
    let number = value.parse::<i64>().unwrap_or_default();
    match name {
        "errors.deadletterqueue.topic.name" if value.starts_with("__") => {
            Err(format!("{name}: DLQ topic name must not start with '__'"))
        }
        "streams.assignor.name" if value != "sticky" => Err(format!(
            "{name} '{value}' is not a registered task assignor. Registered assignors are: [sticky]."
        )),
        "streams.num.standby.replicas" | "streams.num.warmup.replicas" => {
            let bound = name.replace("streams.num.", "group.streams.max.");
            match broker.number(&bound) {
                most if number > most => {
                    Err(format!("{name} must be less than or equal to {most}"))
                }
                _ => Ok(()),
            }
        }
        "streams.task.offset.interval.ms" => {
            match broker.number("group.streams.min.task.offset.interval.ms") {
                least if number < least => {
                    Err(format!("{name} must be greater than or equal to {least}"))
                }
                _ => Ok(()),
            }
        }
        "streams.rack.aware.assignment.tags" if has_repeated_words(value) => {
            Err(format!("{name} must not contain duplicate tag keys."))
        }
        _ => match broker.group_bounds(name) {
            Some(bounds) if !(bounds.low..=bounds.high).contains(&number) => Err(format!(
                "{name} must be in the range {} to {} inclusive.",
                bounds.low, bounds.high
            )),
            _ => Ok(()),
        },
    }
}

fn has_repeated_words(list: &str) -> bool {
    let mut seen = alloc::collections::BTreeSet::new();
    !list.split(',').all(|word| seen.insert(word.trim()))
}

/// Where a share partition begins that has no state yet (`share.auto.offset.reset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetReset {
    /// At the first record that is at most this old, in milliseconds.
    ByDuration(i64),
    /// At the first record of the log.
    Earliest,
    /// Behind the last one.
    Latest,
}

impl OffsetReset {
    /// Reads `earliest`, `latest` or `by_duration:PnDTnHnMn.nS`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "earliest" => Some(OffsetReset::Earliest),
            "latest" => Some(OffsetReset::Latest),
            _ => {
                let duration = text.strip_prefix("by_duration:")?;
                parse_duration_ms(duration).map(OffsetReset::ByDuration)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_is_documented_in_the_same_order() {
        let names = |def: &ConfigDef| def.name;
        assert!(
            GROUP_CONFIGS
                .iter()
                .map(names)
                .eq(DOCUMENTATION.iter().map(|(name, _)| *name))
        );
    }

    #[test]
    fn where_a_share_partition_begins() {
        assert_eq!(OffsetReset::parse("earliest"), Some(OffsetReset::Earliest));
        let hour = Some(OffsetReset::ByDuration(3_600_000));
        assert_eq!(OffsetReset::parse("by_duration:PT1H"), hour);
        for bad in ["LATEST", "none", "", "by_duration", "BY_DURATION:PT1H"] {
            assert_eq!(OffsetReset::parse(bad), None, "{bad}");
        }
    }
}
