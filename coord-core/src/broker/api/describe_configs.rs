//! DescribeConfigs: values in force, and where they come from (KIP-226, KIP-569).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult,
    DescribeConfigsSynonym,
};
use ackord_proto::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use ackord_proto::str::Str;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::access::told;
use super::once::once_by;
use super::topic_creation::Refusal;
use crate::authorizer::{CLUSTER_NAME, ResourceType};
use crate::metadata::config_def::{BROKER_CONFIGS, ConfigDef, TOPIC_CONFIGS, find};
use crate::metadata::{
    BrokerConfig, GROUP_CONFIGS, broker_name, check_topic_name, documentation, inherited_name,
    internal_topic_configs, is_internal, resource, topic_value,
};

/// Where a value comes from, by Kafka's codes.
mod source {
    pub(super) const TOPIC: i8 = 1;
    pub(super) const STATIC_BROKER: i8 = 4;
    pub(super) const DEFAULT: i8 = 5;
    pub(super) const GROUP: i8 = 8;
}

impl Broker {
    pub(in crate::broker) fn describe_configs(
        &mut self,
        slot: u64,
        mut request: DescribeConfigsRequest,
    ) {
        let resources = once_by(core::mem::take(&mut request.resources), |asked| {
            (asked.resource_type, asked.resource_name.clone())
        });
        let results = resources.iter().map(|asked| {
            let mut result = DescribeConfigsResult {
                error_message: Some(Str::EMPTY),
                resource_type: asked.resource_type,
                resource_name: asked.resource_name.clone(),
                ..Default::default()
            };
            match self.configs_of(slot, asked) {
                Ok(configs) => result.configs = select(configs, asked, &request),
                Err((code, why)) => {
                    result.error_code = code;
                    result.error_message = Some(Str::from(why));
                }
            }
            result
        });
        let response = DescribeConfigsResponse {
            results: results.collect(),
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    /// Whether the API of a request may be used on the configuration of a resource; that of brokers
    /// belongs to the cluster.
    pub(super) fn check_configs(&self, slot: u64, kind: i8, name: &str) -> Result<(), ErrorCode> {
        match kind {
            resource::TOPIC => self.check_topic(slot, name),
            resource::GROUP => self.check_group(slot, name),
            _ => self.check_each(slot, ResourceType::Cluster, CLUSTER_NAME),
        }
    }

    fn configs_of(
        &self,
        slot: u64,
        asked: &DescribeConfigsResource,
    ) -> Result<Vec<DescribeConfigsResourceResult>, Refusal> {
        let name = &asked.resource_name;
        self.check_configs(slot, asked.resource_type, name)
            .map_err(told)?;
        let invalid = |why| Err((ErrorCode::INVALID_REQUEST, why));
        match asked.resource_type {
            resource::TOPIC => {
                check_topic_name(name).map_err(|why| (ErrorCode::INVALID_TOPIC_EXCEPTION, why))?;
                if self.metadata.topic(name).is_none() {
                    let why = "This server does not host this topic-partition.".to_string();
                    return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why));
                }
                let set = self.metadata.configs(resource::TOPIC, name);
                let created_with = internal_topic_configs(&self.config, name);
                if created_with.is_empty() {
                    return Ok(topic_configs(&self.config, set));
                }
                let mut all: BTreeMap<Str, Str> = created_with
                    .into_iter()
                    .map(|(name, value)| (Str::from(name), Str::from(value)))
                    .collect();
                all.extend(set.clone());
                Ok(topic_configs(&self.config, &all))
            }
            resource::BROKER => match name.parse::<i32>() {
                // The defaults of the whole cluster, of which none can be set.
                _ if name.is_empty() => Ok(Vec::new()),
                Ok(node) if node == self.config.node_id() => Ok(broker_configs(&self.config)),
                Ok(_) => invalid(format!(
                    "Unexpected broker id, expected {} or empty string, but received {name}",
                    self.config.node_id()
                )),
                Err(_) => invalid(format!("Broker id must be an integer, but it is: {name}")),
            },
            resource::GROUP if name.is_empty() => {
                invalid("Group name must not be empty".to_string())
            }
            resource::GROUP => {
                let set = self.metadata.configs(resource::GROUP, name);
                Ok(group_configs(&self.config, set))
            }
            other => invalid(format!("Unsupported resource type: {other}")),
        }
    }
}

/// The configs of a topic with these settings.
pub(super) fn topic_configs(
    broker: &BrokerConfig,
    set: &BTreeMap<Str, Str>,
) -> Vec<DescribeConfigsResourceResult> {
    let inherited = |def: &ConfigDef| match broker_name(def.name) {
        "" => Vec::new(),
        name => match find(BROKER_CONFIGS, name) {
            Some(known) => broker_places(broker, known),
            None => vec![place(name, def.default, source::DEFAULT)],
        },
    };
    TOPIC_CONFIGS
        .iter()
        .map(|def| {
            let value = topic_value(broker, set, def.name);
            let own = set
                .get(def.name)
                .map(|value| place(def.name, value, source::TOPIC));
            entry(
                def,
                &value,
                own.into_iter().chain(inherited(def)).collect(),
                false,
            )
        })
        .collect()
}

fn group_configs(
    broker: &BrokerConfig,
    set: &BTreeMap<Str, Str>,
) -> Vec<DescribeConfigsResourceResult> {
    GROUP_CONFIGS
        .iter()
        .filter(|def| !is_internal(def.name) || set.contains_key(def.name))
        .map(|def| {
            let value = crate::metadata::value_of(broker, set, def.name);
            let own = set
                .get(def.name)
                .map(|value| place(def.name, value, source::GROUP));
            let name = inherited_name(def.name);
            let inherited = match find(BROKER_CONFIGS, &name) {
                Some(known) => broker_places(broker, known),
                None => vec![place(&name, def.default, source::DEFAULT)],
            };
            entry(
                def,
                value,
                own.into_iter().chain(inherited).collect(),
                false,
            )
        })
        .collect()
}

/// The broker's own configs, which come from its start only.
fn broker_configs(broker: &BrokerConfig) -> Vec<DescribeConfigsResourceResult> {
    let described =
        |def: &ConfigDef| entry(def, broker.text(def.name), broker_places(broker, def), true);
    let shown = |def: &&ConfigDef| !is_internal(def.name) || broker.is_set(def.name);
    BROKER_CONFIGS.iter().filter(shown).map(described).collect()
}

/// Where the broker has a value of a config, the one in force first.
fn broker_places(broker: &BrokerConfig, def: &ConfigDef) -> Vec<DescribeConfigsSynonym> {
    let set = broker.is_set(def.name);
    let given = set.then(|| place(def.name, broker.text(def.name), source::STATIC_BROKER));
    // Without a value there is no default either.
    let default = (!def.default.is_empty()).then(|| place(def.name, def.default, source::DEFAULT));
    given.into_iter().chain(default).collect()
}

fn place(name: &str, value: &str, source: i8) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym {
        name: Str::from(name),
        value: Some(Str::from(value)),
        source,
        ..Default::default()
    }
}

fn entry(
    def: &ConfigDef,
    value: &str,
    synonyms: Vec<DescribeConfigsSynonym>,
    read_only: bool,
) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult {
        name: Str::from(def.name),
        value: Some(Str::from(value)),
        read_only,
        config_source: synonyms
            .first()
            .map_or(source::DEFAULT, |place| place.source),
        synonyms,
        config_type: def.kind.code(),
        ..Default::default()
    }
}

/// Those that are asked for; no names are all names.
fn select(
    configs: Vec<DescribeConfigsResourceResult>,
    asked: &DescribeConfigsResource,
    request: &DescribeConfigsRequest,
) -> Vec<DescribeConfigsResourceResult> {
    let names = asked.configuration_keys.as_deref().unwrap_or_default();
    configs
        .into_iter()
        .filter(|config| names.is_empty() || names.contains(&config.name))
        .map(|mut config| {
            if !request.include_synonyms {
                config.synonyms.clear();
            }
            if request.include_documentation && asked.resource_type == resource::GROUP {
                config.documentation = Some(Str::from(documentation(&config.name)));
            }
            config
        })
        .collect()
}
