//! What is known of the cluster: nodes, topics, coordinators.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{FindCoordinatorResponse, MetadataResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use crate::Endpoint;

use super::request::CoordinatorKind;

/// A topic as Metadata described it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) id: Uuid,
    /// Partition to the node that leads it; negative where nobody does.
    pub(crate) leaders: BTreeMap<i32, i32>,
}

impl Topic {
    pub(crate) fn partition_count(&self) -> i32 {
        i32::try_from(self.leaders.len()).unwrap_or(i32::MAX)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(super) nodes: BTreeMap<i32, Endpoint>,
    topics: BTreeMap<Str, Topic>,
    topic_errors: BTreeMap<Str, ErrorCode>,
    coordinators: BTreeMap<(CoordinatorKind, Str), Endpoint>,
}

/// The answer of a coordinator look-up.
pub(super) enum Found {
    Known,
    Refused(ErrorCode, Str),
    Retry(ErrorCode),
}

impl Cluster {
    pub(crate) fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.get(name)
    }

    /// Why the topic cannot be used, where waiting does not help. Told once; whoever asks for the
    /// topic again finds out anew.
    pub(crate) fn take_refusal(&mut self, name: &str) -> Option<ErrorCode> {
        let code = self
            .topic_errors
            .get(name)
            .copied()
            .filter(|code| !code.is_retriable())?;
        self.topic_errors.remove(name);
        Some(code)
    }

    /// Why the last look-up of this topic failed; NONE where it did not.
    pub(crate) fn topic_error(&self, name: &str) -> ErrorCode {
        self.topic_errors.get(name).copied().unwrap_or_default()
    }

    /// Whether a look-up of this topic was ever answered.
    pub(super) fn has_heard_of(&self, name: &str) -> bool {
        self.topics.contains_key(name) || self.topic_errors.contains_key(name)
    }

    pub(crate) fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        self.topic(topic)?
            .leaders
            .get(&partition)
            .copied()
            .filter(|leader| *leader >= 0)
    }

    pub(crate) fn forget_topic(&mut self, name: &str) {
        self.topics.remove(name);
    }

    pub(super) fn learn(&mut self, response: MetadataResponse) {
        for broker in response.brokers {
            if let Ok(port) = u16::try_from(broker.port) {
                self.nodes.insert(
                    broker.node_id,
                    Endpoint {
                        host: broker.host,
                        port,
                    },
                );
            }
        }
        for topic in response.topics {
            let Some(name) = topic.name else { continue };
            if topic.error_code.is_error() {
                self.topics.remove(&name);
                self.topic_errors.insert(name, topic.error_code);
                continue;
            }
            let partitions = topic.partitions.into_iter();
            let leaders = partitions
                .map(|part| (part.partition_index, part.leader_id))
                .collect();
            self.topic_errors.remove(&name);
            self.topics.insert(
                name,
                Topic {
                    id: topic.topic_id,
                    leaders,
                },
            );
        }
    }

    pub(crate) fn coordinator(&self, kind: CoordinatorKind, key: &Str) -> Option<&Endpoint> {
        self.coordinators.get(&(kind, key.clone()))
    }

    pub(super) fn learn_coordinator(
        &mut self,
        kind: CoordinatorKind,
        key: &Str,
        response: FindCoordinatorResponse,
    ) -> Found {
        // One answer beside the list up to v3, a list of one from v4 on.
        let (code, message, node, host, port) = match response.coordinators.into_iter().next() {
            Some(one) => (
                one.error_code,
                one.error_message,
                one.node_id,
                one.host,
                one.port,
            ),
            None => {
                let message = response.error_message;
                (
                    response.error_code,
                    message,
                    response.node_id,
                    response.host,
                    response.port,
                )
            }
        };
        if code.is_retriable() {
            return Found::Retry(code);
        }
        if code.is_error() {
            return Found::Refused(code, message.unwrap_or_else(|| "FindCoordinator".into()));
        }
        let Ok(port) = u16::try_from(port) else {
            return Found::Retry(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        };
        let endpoint = Endpoint { host, port };
        self.nodes.insert(node, endpoint.clone());
        self.coordinators.insert((kind, key.clone()), endpoint);
        Found::Known
    }

    pub(crate) fn forget_coordinator(&mut self, kind: CoordinatorKind, key: &Str) {
        self.coordinators.remove(&(kind, key.clone()));
    }

    /// Nobody answers at this address: what is said to live there has to be looked up again.
    pub(super) fn unreachable(&mut self, endpoint: &Endpoint) {
        self.coordinators.retain(|_, at| at != endpoint);
        let lost: Vec<i32> = self
            .nodes
            .iter()
            .filter(|(_, at)| *at == endpoint)
            .map(|(node, _)| *node)
            .collect();
        if !lost.is_empty() {
            self.topics
                .retain(|_, topic| !topic.leaders.values().any(|node| lost.contains(node)));
        }
    }
}
