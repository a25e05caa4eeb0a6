//! DeleteTopics: by name, and from version 6 on by id.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::delete_topics::{DeletableTopicResult, DeleteTopicState};
use ackord_proto::messages::{DeleteTopicsRequest, DeleteTopicsResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::Broker;
use super::super::access::told;
use super::topic_creation::Refusal;
use crate::authorizer::{CLUSTER_NAME, ResourceType};
use crate::metadata::Topic;

/// From here on a request can name ids.
const FIRST_BY_ID: i16 = 6;

impl Broker {
    pub(in crate::broker) fn delete_topics(&mut self, slot: u64, request: DeleteTopicsRequest) {
        let Some(version) = self.connections.request(slot).map(|meta| meta.version) else {
            return;
        };
        let targets = if version < FIRST_BY_ID {
            let named = |name| DeleteTopicState {
                name: Some(name),
                ..Default::default()
            };
            request.topic_names.into_iter().map(named).collect()
        } else {
            request.topics
        };
        let mut seen = BTreeSet::new();
        // How often each topic is named, by name or id.
        let mut named: BTreeMap<Uuid, usize> = BTreeMap::new();
        for target in &targets {
            let by_name = target
                .name
                .as_ref()
                .and_then(|name| self.metadata.topic(name));
            let topic = by_name.or_else(|| self.metadata.topic_by_id(target.topic_id));
            if let Some(topic) = topic {
                *named.entry(topic.id).or_default() += 1;
            }
        }
        let judged: Vec<(DeleteTopicState, Result<Topic, Refusal>)> = targets
            .iter()
            .filter(|target| seen.insert((target.name.clone(), target.topic_id)))
            .map(|target| (target.clone(), self.deletable(slot, target, &named)))
            .collect();
        let responses = judged
            .into_iter()
            .map(|(target, judged)| match judged {
                Ok(topic) => {
                    self.delete_topic(&topic);
                    DeletableTopicResult {
                        name: Some(topic.name),
                        topic_id: topic.id,
                        ..Default::default()
                    }
                }
                Err((error_code, why)) => DeletableTopicResult {
                    name: target
                        .name
                        .or_else(|| self.shown_name(slot, target.topic_id)),
                    topic_id: target.topic_id,
                    error_code,
                    error_message: Some(Str::from(why)),
                    ..Default::default()
                },
            })
            .collect();
        let response = DeleteTopicsResponse {
            responses,
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    /// The name of a topic that may be seen and not be deleted.
    fn shown_name(&self, slot: u64, id: Uuid) -> Option<Str> {
        let name = &self.metadata.topic_by_id(id)?.name;
        let refused = self.check_topic_or_cluster(slot, name).is_err();
        (refused && self.is_shown(slot, ResourceType::Topic, name)).then(|| name.clone())
    }

    /// The topic to delete, or why not.
    fn deletable(
        &self,
        slot: u64,
        target: &DeleteTopicState,
        named: &BTreeMap<Uuid, usize>,
    ) -> Result<Topic, Refusal> {
        let invalid = |why: String| Err((ErrorCode::INVALID_REQUEST, why));
        let topic = match (&target.name, target.topic_id) {
            (None, id) if id.is_zero() => {
                return invalid("Neither topic name nor id were specified.".to_string());
            }
            (Some(_), id) if !id.is_zero() => {
                return invalid("You may not specify both topic name and topic id.".to_string());
            }
            (Some(name), _) => {
                // What may be seen and not be deleted is told apart from what does not exist.
                let cluster = self.check_each(slot, ResourceType::Cluster, CLUSTER_NAME);
                if cluster.is_err() && !self.is_shown(slot, ResourceType::Topic, name) {
                    return Err(told(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
                }
                let topic = self.metadata.topic(name).ok_or_else(|| {
                    let why = "This server does not host this topic-partition.".to_string();
                    (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why)
                })?;
                self.check_topic_or_cluster(slot, name).map_err(told)?;
                topic
            }
            (None, id) => {
                let topic = self.metadata.topic_by_id(id).ok_or_else(|| {
                    (
                        ErrorCode::UNKNOWN_TOPIC_ID,
                        "This server does not host this topic ID.".to_string(),
                    )
                })?;
                let allowed = self.check_topic_or_cluster(slot, &topic.name);
                allowed.map_err(told)?;
                topic
            }
        };
        if topic.is_internal() {
            return invalid(format!(
                "Topic '{}' is internal and cannot be deleted.",
                topic.name
            ));
        }
        if named.get(&topic.id).is_some_and(|times| *times > 1) {
            return invalid(match target.name {
                Some(_) => "Duplicate topic name.".to_string(),
                None => "Duplicate topic id.".to_string(),
            });
        }
        Ok(topic.clone())
    }
}
