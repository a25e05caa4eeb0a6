//! What a configuration is: its Kafka name, its default, what it may be.

use alloc::format;
use alloc::string::{String, ToString};

pub use super::broker_configs::BROKER_CONFIGS;
use super::config_kind::ConfigKind;
use super::consumer_configs::check_consumer_config;
use super::coordinator_configs::check_coordinator_config;
pub use super::topic_configs::TOPIC_CONFIGS;

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
            "group.coordinator.rebalance.protocols"
            | "group.share.assignors"
            | "group.streams.assignors" => check_coordinator_config(self.name, value),
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

pub(super) const TIMESTAMP_TYPES: &[&str] = &["CreateTime", "LogAppendTime"];
