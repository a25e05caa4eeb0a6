//! The value in force of a topic's configuration: its own, else what the broker says under another
//! name, else Kafka's default.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::ToString;

use ackord_proto::str::Str;

use super::broker_config::BrokerConfig;
use super::config_def::{self, BROKER_CONFIGS, TOPIC_CONFIGS};

/// The broker config that a topic config falls back to, where its name is another. Kafka's
/// broker has no value of its own for those with an empty name.
const BROKER_NAMES: [(&str, &str); 29] = [
    ("cleanup.policy", "log.cleanup.policy"),
    ("delete.retention.ms", "log.cleaner.delete.retention.ms"),
    ("file.delete.delay.ms", "log.segment.delete.delay.ms"),
    ("flush.messages", "log.flush.interval.messages"),
    ("flush.ms", ""),
    ("follower.replication.throttled.replicas", ""),
    ("index.interval.bytes", "log.index.interval.bytes"),
    ("leader.replication.throttled.replicas", ""),
    ("local.retention.bytes", "log.local.retention.bytes"),
    ("local.retention.ms", "log.local.retention.ms"),
    ("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    ("max.message.bytes", "message.max.bytes"),
    (
        "message.timestamp.after.max.ms",
        "log.message.timestamp.after.max.ms",
    ),
    (
        "message.timestamp.before.max.ms",
        "log.message.timestamp.before.max.ms",
    ),
    ("message.timestamp.type", "log.message.timestamp.type"),
    (
        "min.cleanable.dirty.ratio",
        "log.cleaner.min.cleanable.ratio",
    ),
    ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"),
    ("preallocate", "log.preallocate"),
    ("remote.copy.lag.bytes", "log.remote.copy.lag.bytes"),
    ("remote.copy.lag.ms", "log.remote.copy.lag.ms"),
    ("remote.log.copy.disable", ""),
    ("remote.log.delete.on.disable", ""),
    ("remote.storage.enable", ""),
    ("retention.bytes", "log.retention.bytes"),
    ("retention.ms", ""),
    ("segment.bytes", "log.segment.bytes"),
    ("segment.index.bytes", "log.index.size.max.bytes"),
    ("segment.jitter.ms", ""),
    ("segment.ms", ""),
];

/// Topic configs in milliseconds that the broker may give in other units: the first that is set
/// holds, and one unit has this many milliseconds.
const TIMES: [(&str, &[(&str, i64)]); 2] = [
    (
        "retention.ms",
        &[
            ("log.retention.ms", 1),
            ("log.retention.minutes", 60_000),
            ("log.retention.hours", 3_600_000),
        ],
    ),
    (
        "segment.ms",
        &[("log.roll.ms", 1), ("log.roll.hours", 3_600_000)],
    ),
];

/// The broker's name for a topic config; empty where it has none.
pub fn broker_name(topic_config: &str) -> &str {
    let renamed = BROKER_NAMES
        .iter()
        .find(|(topic, _)| *topic == topic_config);
    renamed.map_or(topic_config, |(_, name)| name)
}

/// A time that the broker gives in one of its units, in milliseconds.
fn time_set(broker: &BrokerConfig, topic_config: &str) -> Option<i64> {
    let (_, units) = TIMES.iter().find(|(topic, _)| *topic == topic_config)?;
    let (name, unit) = units.iter().find(|(name, _)| broker.is_set(name))?;
    let number = broker.number(name);
    Some(if number < 0 {
        -1
    } else {
        number.saturating_mul(*unit)
    })
}

/// The value in force of a topic with these settings of its own.
pub fn topic_value<'a>(
    broker: &'a BrokerConfig,
    own: &'a BTreeMap<Str, Str>,
    name: &str,
) -> Cow<'a, str> {
    if let Some(value) = own.get(name) {
        return Cow::Borrowed(value);
    }
    if let Some(ms) = time_set(broker, name) {
        return Cow::Owned(ms.to_string());
    }
    let inherited = broker_name(name);
    if config_def::find(BROKER_CONFIGS, inherited).is_some() {
        return Cow::Borrowed(broker.text(inherited));
    }
    Cow::Borrowed(config_def::find(TOPIC_CONFIGS, name).map_or("", |def| def.default))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(set: &[(&str, &str)], name: &str) -> alloc::string::String {
        let broker = BrokerConfig::from_pairs(set.iter().map(|(name, value)| (*name, *value)))
            .expect("values are allowed");
        topic_value(&broker, &BTreeMap::new(), name).into_owned()
    }

    #[test]
    fn the_finest_unit_that_is_set_holds() {
        let name = "retention.ms";
        assert_eq!(value(&[], name), "604800000");
        let hours = ("log.retention.hours", "2");
        assert_eq!(value(&[hours], name), "7200000");
        let minutes = ("log.retention.minutes", "3");
        assert_eq!(value(&[minutes, hours], name), "180000");
        let ms = ("log.retention.ms", "-1");
        assert_eq!(value(&[hours, ms, minutes], name), "-1");
        assert_eq!(value(&[("log.retention.hours", "-1")], name), "-1");
    }

    #[test]
    fn a_topic_falls_back_to_the_broker_by_its_other_name() {
        let set = [
            ("log.cleanup.policy", "compact"),
            ("log.segment.bytes", "1048576"),
        ];
        assert_eq!(value(&set, "cleanup.policy"), "compact");
        assert_eq!(value(&set, "segment.bytes"), "1048576");
        assert_eq!(value(&set, "segment.ms"), "604800000");
        assert_eq!(value(&set, "max.message.bytes"), "1048588");
    }
}
