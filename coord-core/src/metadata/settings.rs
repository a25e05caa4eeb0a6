//! What a share group's configuration comes down to.

use alloc::collections::BTreeMap;

use ackord_proto::str::Str;
use ackord_share_partition::Config;

use super::broker_config::BrokerConfig;
use super::config_def::find;
use super::config_kind::parse_boolean;
use super::group_configs::{GROUP_CONFIGS, OffsetReset, TRANSACTIONAL, inherited_name};
use crate::group::GroupConfig;

/// What the broker allows a group to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupBounds {
    /// Least value.
    pub low: i64,
    /// Greatest value.
    pub high: i64,
}

/// The settings of one share group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareGroupSettings {
    /// `share.assignment.interval.ms`.
    pub assignment_interval_ms: i32,
    /// `errors.deadletterqueue.copy.record.enable`: dead letters have key and value.
    pub dead_letter_copy: bool,
    /// `errors.deadletterqueue.topic.name` is set.
    pub dead_letters: bool,
    /// `share.delivery.count.limit`.
    pub delivery_count_limit: i16,
    /// `share.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// Members (`group.share.max.size`).
    pub max_size: usize,
    /// `share.partition.max.record.locks`.
    pub max_record_locks: usize,
    /// `share.auto.offset.reset`.
    pub offset_reset: OffsetReset,
    /// `share.isolation.level`: deliver no aborted records, none of open transactions.
    pub read_committed: bool,
    /// `share.record.lock.duration.ms`.
    pub record_lock_ms: i32,
    /// `share.renew.acknowledge.enable`.
    pub renew_enabled: bool,
    /// `share.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// `share.acknowledgement.mode=transactional`: only transactions acknowledge (KIP-1289).
    pub transactional: bool,
}

impl ShareGroupSettings {
    /// From the group's own configuration and the broker's defaults.
    pub fn new(broker: &BrokerConfig, group: &BTreeMap<Str, Str>) -> Self {
        let int = |name: &str| {
            let value = value_of(broker, group, name);
            value.parse::<i32>().unwrap_or_default()
        };
        let text = |name: &str| value_of(broker, group, name);
        ShareGroupSettings {
            assignment_interval_ms: int("share.assignment.interval.ms"),
            dead_letter_copy: text("errors.deadletterqueue.copy.record.enable") == "true",
            dead_letters: !text("errors.deadletterqueue.topic.name").is_empty(),
            delivery_count_limit: i16::try_from(int("share.delivery.count.limit"))
                .unwrap_or(i16::MAX),
            heartbeat_interval_ms: int("share.heartbeat.interval.ms"),
            max_size: broker.size("group.share.max.size"),
            max_record_locks: usize::try_from(int("share.partition.max.record.locks"))
                .unwrap_or_default(),
            offset_reset: OffsetReset::parse(text("share.auto.offset.reset"))
                .unwrap_or(OffsetReset::Latest),
            read_committed: text("share.isolation.level") == "read_committed",
            record_lock_ms: int("share.record.lock.duration.ms"),
            renew_enabled: parse_boolean(text("share.renew.acknowledge.enable")) == Some(true),
            session_timeout_ms: int("share.session.timeout.ms"),
            transactional: text("share.acknowledgement.mode") == TRANSACTIONAL,
        }
    }

    /// For the membership machine.
    pub fn group_config(&self) -> GroupConfig {
        GroupConfig {
            assignment_interval_ms: self.assignment_interval_ms,
            session_timeout_ms: self.session_timeout_ms,
            heartbeat_interval_ms: self.heartbeat_interval_ms,
            max_size: self.max_size,
            ..GroupConfig::default()
        }
    }

    /// For the delivery state.
    pub fn partition_config(&self) -> Config {
        Config {
            max_record_locks: self.max_record_locks,
            delivery_count_limit: self.delivery_count_limit,
            record_lock_ms: i64::from(self.record_lock_ms),
            renew_enabled: self.renew_enabled,
            dead_letters: self.dead_letters,
            transactional: self.transactional,
        }
    }
}

/// The value in force without blanks around it: the group's own, else the broker's default for groups, else Kafka's.
pub fn value_of<'a>(
    broker: &'a BrokerConfig,
    group: &'a BTreeMap<Str, Str>,
    name: &str,
) -> &'a str {
    if let Some(value) = group.get(name) {
        return value.trim();
    }
    match broker.text(&inherited_name(name)) {
        "" => find(GROUP_CONFIGS, name).map_or("", |def| def.default),
        value => value,
    }
}
