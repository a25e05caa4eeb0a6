//! IncrementalAlterConfigs: setting what topics and groups are configured with (KIP-339).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig,
};
use ackord_proto::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};
use ackord_proto::str::Str;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::Broker;
use super::super::access::told;
use super::topic_creation::Refusal;
use crate::metadata::config_def::{ConfigDef, TOPIC_CONFIGS, find};
use crate::metadata::config_kind::ConfigKind;
use crate::metadata::{
    GROUP_CONFIGS, Metadata, check_group_config, check_topic_name, resource, value_of,
};

/// What to do with a config, by the codes of the request.
mod operation {
    pub(super) const SET: i8 = 0;
    pub(super) const DELETE: i8 = 1;
    pub(super) const APPEND: i8 = 2;
    pub(super) const SUBTRACT: i8 = 3;
}

/// A changed config; no value: it falls back to its default.
type Change = (Str, Option<Str>);

impl Broker {
    pub(in crate::broker) fn incremental_alter_configs(
        &mut self,
        slot: u64,
        request: IncrementalAlterConfigsRequest,
    ) {
        let all = &request.resources;
        let mut responses = Vec::with_capacity(all.len());
        for resource in all {
            let same = |other: &&AlterConfigsResource| {
                other.resource_type == resource.resource_type
                    && other.resource_name == resource.resource_name
            };
            let changes = if all.iter().filter(same).count() > 1 {
                Err(invalid("Each resource must appear at most once."))
            } else {
                self.changes(slot, resource)
            };
            let mut response = AlterConfigsResourceResponse {
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                ..Default::default()
            };
            match changes {
                Ok(changes) if !request.validate_only => self.change(resource, &changes),
                Ok(_) => {}
                Err((code, why)) => {
                    response.error_code = code;
                    response.error_message = Some(Str::from(why));
                }
            }
            responses.push(response);
        }
        let response = IncrementalAlterConfigsResponse {
            responses,
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    fn change(&mut self, resource: &AlterConfigsResource, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let (kind, owner) = (resource.resource_type, &resource.resource_name);
        let records: Vec<_> = changes
            .iter()
            .map(|(name, value)| Metadata::set_config(kind, owner, name, value.as_ref()))
            .collect();
        self.append_cluster(&records);
        self.apply_config_change(kind, owner);
    }

    /// What the request comes down to; all of it or nothing.
    fn changes(&self, slot: u64, resource: &AlterConfigsResource) -> Result<Vec<Change>, Refusal> {
        check_request(resource)?;
        let owner = &resource.resource_name;
        self.check_configs(slot, resource.resource_type, owner)
            .map_err(told)?;
        match resource.resource_type {
            resource::TOPIC if owner.is_empty() => {
                Err(invalid("Default topic resources are not allowed."))
            }
            resource::TOPIC => {
                check_topic_name(owner).map_err(|why| (ErrorCode::INVALID_TOPIC_EXCEPTION, why))?;
                if self.metadata.topic(owner).is_none() {
                    let why = format!("The topic '{owner}' does not exist.");
                    return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why));
                }
                self.changes_by(resource, TOPIC_CONFIGS, check_topic_config)
            }
            resource::GROUP if owner.is_empty() => {
                Err(invalid("Default group resources are not allowed."))
            }
            resource::GROUP => {
                let check = |name: &str, value: &str| check_group_config(&self.config, name, value);
                let changes = self.changes_by(resource, GROUP_CONFIGS, check)?;
                self.check_group_together(owner, &changes)?;
                Ok(changes)
            }
            resource::BROKER => Err(invalid(
                "The configuration of a broker comes from its start and cannot be altered here.",
            )),
            other => Err(invalid(&format!("Unknown resource type {other}"))),
        }
    }

    fn changes_by(
        &self,
        resource: &AlterConfigsResource,
        defs: &'static [ConfigDef],
        check: impl Fn(&str, &str) -> Result<(), String>,
    ) -> Result<Vec<Change>, Refusal> {
        let set = self
            .metadata
            .configs(resource.resource_type, &resource.resource_name);
        let mut changes = Vec::with_capacity(resource.configs.len());
        for config in &resource.configs {
            let value = changed_value(config, defs, set)?;
            if let Some(value) = &value {
                check(&config.name, value).map_err(|why| (ErrorCode::INVALID_CONFIG, why))?;
            }
            // A config that is not set needs no record to stay so.
            if value.is_some() || set.contains_key(&config.name) {
                changes.push((config.name.clone(), value));
            }
        }
        Ok(changes)
    }

    /// Rules about two configs at once.
    fn check_group_together(&self, group: &str, changes: &[Change]) -> Result<(), Refusal> {
        let mut after: BTreeMap<Str, Str> = self.metadata.configs(resource::GROUP, group).clone();
        for (name, value) in changes {
            match value {
                Some(value) => after.insert(name.clone(), value.clone()),
                None => after.remove(name),
            };
        }
        let number = |name: &str| {
            value_of(&self.config, &after, name)
                .parse::<i64>()
                .unwrap_or_default()
        };
        for kind in ["consumer", "share", "streams"] {
            let session = format!("{kind}.session.timeout.ms");
            let heartbeat = format!("{kind}.heartbeat.interval.ms");
            if number(&session) <= number(&heartbeat) {
                let why = format!("{session} must be greater than {heartbeat}");
                return Err((ErrorCode::INVALID_CONFIG, why));
            }
        }
        Ok(())
    }
}

/// Checks a config of a topic.
pub(super) fn check_topic_config(name: &str, value: &str) -> Result<(), String> {
    let def =
        find(TOPIC_CONFIGS, name).ok_or_else(|| format!("Unknown topic config name: {name}"))?;
    def.check(value)
}

fn invalid(why: &str) -> Refusal {
    (ErrorCode::INVALID_REQUEST, why.to_string())
}

fn check_request(resource: &AlterConfigsResource) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    if !resource
        .configs
        .iter()
        .all(|config| seen.insert(&config.name))
    {
        return Err(invalid("Error due to duplicate config keys"));
    }
    let valueless = |config: &&AlterableConfig| {
        config.value.is_none() && config.config_operation != operation::DELETE
    };
    let names: Vec<&str> = resource
        .configs
        .iter()
        .filter(valueless)
        .map(|config| config.name.as_str())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(invalid(&format!(
        "Null value not supported for : {}",
        names.join(",")
    )))
}

/// The value that a config has afterwards, of its own.
fn changed_value(
    config: &AlterableConfig,
    defs: &'static [ConfigDef],
    set: &BTreeMap<Str, Str>,
) -> Result<Option<Str>, Refusal> {
    let name = &config.name;
    let value = config.value.clone().unwrap_or_default();
    let verb = match config.config_operation {
        operation::SET => return Ok(Some(value)),
        operation::DELETE => return Ok(None),
        operation::APPEND => "APPEND",
        operation::SUBTRACT => "SUBTRACT",
        other => {
            return Err(invalid(&format!(
                "Unknown operation {other} on config {name}"
            )));
        }
    };
    let def = find(defs, name).filter(|def| def.kind == ConfigKind::List);
    let Some(def) = def else {
        let why = format!("Can't {verb} to key {name} because its type is not LIST.");
        return Err((ErrorCode::INVALID_CONFIG, why));
    };
    let words = |text: &str| -> Vec<String> {
        let words = text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty());
        words.map(ToString::to_string).collect()
    };
    let mut list = words(set.get(name).map_or(def.default, Str::as_str));
    let given = words(&value);
    if config.config_operation == operation::SUBTRACT {
        list.retain(|word| !given.contains(word));
    } else {
        for word in given {
            if !list.contains(&word) {
                list.push(word);
            }
        }
    }
    Ok(Some(Str::from(list.join(","))))
}
