//! CreateTopics: topics by name, number of partitions and configuration.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult,
};
use ackord_proto::messages::{CreateTopicsRequest, CreateTopicsResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::Broker;
use super::describe_configs::topic_configs;
use super::incremental_alter_configs::check_topic_config;
use super::topic_creation::Refusal;
use crate::metadata::INTERNAL_TOPICS;

/// A topic that may be created.
struct NewTopic {
    partitions: i32,
    configs: Vec<(Str, Str)>,
}

impl Broker {
    pub(in crate::broker) fn create_topics(&mut self, slot: u64, request: CreateTopicsRequest) {
        let mut seen = BTreeSet::new();
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            if !seen.insert(&topic.name) {
                continue;
            }
            let twice = request
                .topics
                .iter()
                .filter(|other| other.name == topic.name)
                .nth(1);
            let checked = match twice {
                Some(_) => Err((
                    ErrorCode::INVALID_REQUEST,
                    "Duplicate topic name.".to_string(),
                )),
                None => self.new_topic(slot, topic),
            };
            topics.push(match checked {
                Ok(new) => self.create(&topic.name, &new, request.validate_only),
                Err((error_code, why)) => CreatableTopicResult {
                    name: topic.name.clone(),
                    error_code,
                    error_message: Some(Str::from(why)),
                    configs: Some(Vec::new()),
                    ..Default::default()
                },
            });
        }
        let response = CreateTopicsResponse {
            topics,
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    fn create(&mut self, name: &Str, new: &NewTopic, validate_only: bool) -> CreatableTopicResult {
        if !validate_only {
            self.create_topic(name, new.partitions, &new.configs);
        }
        let set: BTreeMap<Str, Str> = new.configs.iter().cloned().collect();
        let configs =
            topic_configs(&self.config, &set)
                .into_iter()
                .map(|config| CreatableTopicConfigs {
                    name: config.name,
                    value: config.value,
                    read_only: config.read_only,
                    config_source: config.config_source,
                    ..Default::default()
                });
        CreatableTopicResult {
            name: name.clone(),
            topic_id: self
                .metadata
                .topic(name)
                .map_or(Uuid::ZERO, |topic| topic.id),
            num_partitions: new.partitions,
            replication_factor: 1,
            configs: Some(configs.collect()),
            ..Default::default()
        }
    }

    fn new_topic(&self, slot: u64, topic: &CreatableTopic) -> Result<NewTopic, Refusal> {
        let allowed = self.check_topic_or_cluster(slot, &topic.name);
        allowed.map_err(|code| (code, "Authorization failed.".to_string()))?;
        self.check_new_topic(&topic.name)?;
        let mut configs = Vec::with_capacity(topic.configs.len());
        for config in &topic.configs {
            let Some(value) = &config.value else {
                let why = format!(
                    "Null value not supported for topic configs: {}",
                    config.name
                );
                return Err((ErrorCode::INVALID_CONFIG, why));
            };
            check_topic_config(&config.name, value)
                .map_err(|why| (ErrorCode::INVALID_CONFIG, why))?;
            configs.push((config.name.clone(), value.clone()));
        }
        let partitions = if topic.assignments.is_empty() {
            self.placed(topic)?
        } else {
            self.assigned(topic)?
        };
        self.check_internal_partitions(&topic.name, partitions)?;
        self.check_room(partitions)
            .map_err(|why| (ErrorCode::POLICY_VIOLATION, why))?;
        Ok(NewTopic {
            partitions,
            configs,
        })
    }

    /// Partitions of a topic whose replicas the broker places: all here.
    fn placed(&self, topic: &CreatableTopic) -> Result<i32, Refusal> {
        let refuse = |code, why: &str| Err((code, why.to_string()));
        match (topic.replication_factor, topic.num_partitions) {
            (..=-2 | 0, _) => refuse(
                ErrorCode::INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            ),
            (_, ..=-2 | 0) => refuse(
                ErrorCode::INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            ),
            (factor @ 2.., _) => refuse(
                ErrorCode::INVALID_REPLICATION_FACTOR,
                &format!(
                    "Unable to replicate the partition {factor} time(s): The target replication \
                     factor of {factor} cannot be reached because only 1 broker(s) are registered."
                ),
            ),
            (_, -1) => Ok(self.default_partitions(&topic.name)),
            (_, partitions) => Ok(partitions),
        }
    }

    /// Partitions of a topic whose replicas the client has placed.
    fn assigned(&self, topic: &CreatableTopic) -> Result<i32, Refusal> {
        let given = "A manual partition assignment was specified, but";
        if topic.replication_factor != -1 {
            let why = format!("{given} replication factor was not set to -1.");
            return Err((ErrorCode::INVALID_REQUEST, why));
        }
        if topic.num_partitions != -1 {
            let why = format!("{given} numPartitions was not set to -1.");
            return Err((ErrorCode::INVALID_REQUEST, why));
        }
        let invalid = |why: String| (ErrorCode::INVALID_REPLICA_ASSIGNMENT, why);
        let mut partitions = BTreeSet::new();
        for assignment in &topic.assignments {
            let index = assignment.partition_index;
            if !partitions.insert(index) {
                return Err(invalid(format!(
                    "Found multiple manual partition assignments for partition {index}"
                )));
            }
            self.check_replicas(&assignment.broker_ids)
                .map_err(invalid)?;
        }
        if !partitions.iter().copied().eq((0..).take(partitions.len())) {
            let why = "partitions should be a consecutive 0-based integer sequence";
            return Err(invalid(why.to_string()));
        }
        Ok(i32::try_from(partitions.len()).unwrap_or(i32::MAX))
    }

    pub(super) fn check_replicas(&self, broker_ids: &[i32]) -> Result<(), String> {
        let node = self.config.node_id();
        let given = "The manual partition assignment includes";
        if broker_ids.is_empty() {
            return Err(format!("{given} an empty replica list."));
        }
        if let Some(other) = broker_ids.iter().find(|id| **id != node) {
            return Err(format!(
                "{given} broker {other}, but no such broker is registered."
            ));
        }
        if broker_ids.len() > 1 {
            return Err(format!("{given} the broker {node} more than once."));
        }
        Ok(())
    }

    /// Coordinators rely on the number of partitions that the configuration says.
    fn check_internal_partitions(&self, name: &str, partitions: i32) -> Result<(), Refusal> {
        let internal = INTERNAL_TOPICS.contains(&name);
        let needed = self.default_partitions(name);
        if internal && partitions != needed {
            let why = format!("Internal topic '{name}' has {needed} partitions.");
            return Err((ErrorCode::INVALID_PARTITIONS, why));
        }
        Ok(())
    }
}
