//! Metadata: brokers, topics, leaders; asking for a topic may create it.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::metadata::{
    MetadataRequestTopic, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackord_proto::messages::{MetadataRequest, MetadataResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Broker;
use super::describe_cluster::CLUSTER_OPERATIONS;
use crate::metadata::{INTERNAL_TOPICS, Topic};

/// From here on a topic can be asked for by its id.
const FIRST_BY_ID: i16 = 12;

/// Operations that apply to a topic, where nothing is forbidden: read, write, create, delete,
/// alter, describe, describe configs, alter configs.
pub(super) const TOPIC_OPERATIONS: i32 = operations([3, 4, 5, 6, 7, 8, 10, 11]);

/// One bit for each of Kafka's AclOperation codes.
pub(super) const fn operations<const N: usize>(codes: [u32; N]) -> i32 {
    let (mut set, mut at) = (0, 0);
    while at < N {
        set |= 1 << codes[at];
        at += 1;
    }
    set
}

impl Broker {
    pub(in crate::broker) fn metadata(&mut self, slot: u64, request: MetadataRequest) {
        let Some(version) = self.connections.request(slot).map(|meta| meta.version) else {
            return;
        };
        let topics = match wanted(version, request.topics.as_deref()) {
            Wanted::All => self
                .metadata
                .topics()
                .map(|topic| self.topic_answer(topic))
                .collect(),
            Wanted::Malformed(topics) => {
                let topics = topics.iter().map(malformed).collect();
                return self.respond(
                    slot,
                    MetadataResponse {
                        topics,
                        ..Default::default()
                    },
                    None,
                );
            }
            Wanted::These(topics) if topics.iter().any(|topic| !topic.topic_id.is_zero()) => {
                let mut seen = BTreeSet::new();
                let ids = topics.iter().map(|topic| topic.topic_id);
                ids.filter(|id| !id.is_zero() && seen.insert(*id))
                    .map(|id| self.topic_by_id_answer(slot, id))
                    .collect()
            }
            Wanted::These(topics) => {
                self.named_topics(slot, topics, request.allow_auto_topic_creation)
            }
        };
        let response = self.cluster_answer(version, topics, &request);
        self.respond(slot, response, self.cluster_gate());
    }

    fn named_topics(
        &mut self,
        slot: u64,
        topics: &[MetadataRequestTopic],
        create: bool,
    ) -> Vec<MetadataResponseTopic> {
        let create = create && self.config.text("auto.create.topics.enable") == "true";
        let mut seen = BTreeSet::new();
        let names = topics.iter().filter_map(|topic| topic.name.as_ref());
        names
            .filter(|name| seen.insert(*name))
            .map(|name| self.named_topic(slot, name, create))
            .collect()
    }

    fn named_topic(&mut self, slot: u64, name: &Str, create: bool) -> MetadataResponseTopic {
        if let Err(code) = self.check_topic(slot, name) {
            return refused(name, code, false);
        }
        let mut code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        if self.metadata.topic(name).is_none() {
            if create && let Err(code) = self.check_creation(slot, name) {
                return refused(name, code, is_internal(name));
            }
            if create {
                code = self
                    .create_automatically(name)
                    .err()
                    .map_or(code, |(code, _)| code);
            } else if crate::metadata::check_topic_name(name).is_err() {
                code = ErrorCode::INVALID_TOPIC_EXCEPTION;
            }
        }
        match self.metadata.topic(name) {
            Some(topic) => self.topic_answer(topic),
            None => refused(name, code, is_internal(name)),
        }
    }

    fn topic_by_id_answer(&self, slot: u64, topic_id: Uuid) -> MetadataResponseTopic {
        if let Err(error_code) = self.check_topic_id(slot, topic_id) {
            return MetadataResponseTopic {
                error_code,
                name: None,
                topic_id,
                ..Default::default()
            };
        }
        match self.metadata.topic_by_id(topic_id) {
            Some(topic) => self.topic_answer(topic),
            None => MetadataResponseTopic {
                error_code: ErrorCode::UNKNOWN_TOPIC_ID,
                name: None,
                topic_id,
                ..Default::default()
            },
        }
    }

    fn topic_answer(&self, topic: &Topic) -> MetadataResponseTopic {
        let node = self.config.node_id();
        let partitions = (0..topic.partitions).map(|partition_index| MetadataResponsePartition {
            partition_index,
            leader_id: node,
            leader_epoch: 0,
            replica_nodes: [node].into(),
            isr_nodes: [node].into(),
            ..Default::default()
        });
        MetadataResponseTopic {
            name: Some(topic.name.clone()),
            topic_id: topic.id,
            is_internal: topic.is_internal(),
            partitions: partitions.collect(),
            ..Default::default()
        }
    }

    fn cluster_answer(
        &self,
        version: i16,
        mut topics: Vec<MetadataResponseTopic>,
        request: &MetadataRequest,
    ) -> MetadataResponse {
        if version >= 8 && request.include_topic_authorized_operations {
            let named = topics.iter_mut().filter(|topic| topic.name.is_some());
            named.for_each(|topic| topic.topic_authorized_operations = TOPIC_OPERATIONS);
        }
        let mut response = MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id: self.config.node_id(),
                host: Str::from(self.config.host()),
                port: self.config.port(),
                ..Default::default()
            }],
            cluster_id: Some(self.metadata.cluster_id().clone()),
            controller_id: self.config.node_id(),
            topics,
            ..Default::default()
        };
        if (8..=10).contains(&version) && request.include_cluster_authorized_operations {
            response.cluster_authorized_operations = CLUSTER_OPERATIONS;
        }
        response
    }
}

/// What a request asks for.
enum Wanted<'a> {
    All,
    /// Asked in a way that the version does not have.
    Malformed(&'a [MetadataRequestTopic]),
    These(&'a [MetadataRequestTopic]),
}

fn wanted(version: i16, topics: Option<&[MetadataRequestTopic]>) -> Wanted<'_> {
    let by_id = |topic: &MetadataRequestTopic| topic.name.is_none() || !topic.topic_id.is_zero();
    match topics {
        None => Wanted::All,
        // Version 0 cannot say null.
        Some([]) if version == 0 => Wanted::All,
        Some(topics) if version < FIRST_BY_ID && topics.iter().any(by_id) => {
            Wanted::Malformed(topics)
        }
        Some(topics) => Wanted::These(topics),
    }
}

fn refused(name: &Str, error_code: ErrorCode, is_internal: bool) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code,
        name: Some(name.clone()),
        is_internal,
        ..Default::default()
    }
}

fn malformed(topic: &MetadataRequestTopic) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: ErrorCode::INVALID_REQUEST,
        name: Some(topic.name.clone().unwrap_or_default()),
        topic_id: topic.topic_id,
        ..Default::default()
    }
}

fn is_internal(name: &str) -> bool {
    INTERNAL_TOPICS.contains(&name)
}
