//! What answers may show: names that somebody may not see do not leave, and the operations that an
//! answer lists are those that are allowed.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages as m;
use ackord_proto::str::Str;
use alloc::vec::Vec;

use super::super::Broker;
use super::needs::{DESCRIBE_CLUSTER, Right};
use crate::authorizer::{CLUSTER_NAME, Operation, ResourceType};

/// Why a group is not described.
const UNSEEN_TOPICS: &str =
    "The group has described topic(s) that the client is not authorized to describe.";

/// Whether a topic is named only because it was asked for, to say that it, or its group, may not be seen.
fn is_refusal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::TOPIC_AUTHORIZATION_FAILED
    )
}

impl Broker {
    /// Takes out of an answer what who asked may not see.
    pub(in crate::broker) fn hide(&self, slot: u64, response: &mut Response) {
        match response {
            Response::ConsumerGroupDescribe(own) => self.hide_consumer_groups(slot, own),
            Response::CreateTopics(own) => self.hide_topic_configs(slot, own),
            Response::DescribeCluster(own) => {
                self.limit_cluster(slot, &mut own.cluster_authorized_operations);
            }
            Response::DescribeGroups(own) => {
                for group in &mut own.groups {
                    self.limit_group(slot, &group.group_id, &mut group.authorized_operations);
                }
            }
            Response::DescribePendingShareAcks(own) => self.hide_pending(slot, own),
            Response::DescribeShareGroupOffsets(own) => {
                for group in &mut own.groups {
                    group.topics.retain(|topic| {
                        let refused = topic
                            .partitions
                            .iter()
                            .any(|part| is_refusal(part.error_code));
                        refused || self.shows_topic(slot, &topic.topic_name)
                    });
                }
            }
            Response::DescribeTopicPartitions(own) => {
                for topic in &mut own.topics {
                    let operations = &mut topic.topic_authorized_operations;
                    self.limit_topic(slot, topic.name.as_ref(), operations);
                }
            }
            Response::DescribeTransactions(own) => {
                for transaction in &mut own.transaction_states {
                    let topics = &mut transaction.topics;
                    topics.retain(|own| self.shows_topic(slot, &own.topic));
                }
            }
            Response::ListGroups(own) => self.hide_groups(slot, own),
            Response::ListTransactions(own) => own.transaction_states.retain(|own| {
                let id = &own.transactional_id;
                self.is_shown(slot, ResourceType::TransactionalId, id)
            }),
            Response::Metadata(own) => self.hide_topics(slot, own),
            Response::OffsetFetch(own) => self.hide_offsets(slot, own),
            Response::ShareGroupDescribe(own) => self.hide_share_groups(slot, own),
            _ => {}
        }
    }

    fn shows_topic(&self, slot: u64, name: &str) -> bool {
        self.is_shown(slot, ResourceType::Topic, name)
    }

    /// A group with a topic that may not be seen is not described at all, as in Kafka.
    fn hide_consumer_groups(&self, slot: u64, response: &mut m::ConsumerGroupDescribeResponse) {
        for group in &mut response.groups {
            let mut members = group.members.iter();
            let shows = |own: &m::consumer_group_describe::Assignment| {
                let mut topics = own.topic_partitions.iter();
                topics.all(|topic| self.shows_topic(slot, &topic.topic_name))
            };
            if members.all(|own| shows(&own.assignment) && shows(&own.target_assignment)) {
                self.limit_group(slot, &group.group_id, &mut group.authorized_operations);
                continue;
            }
            *group = m::consumer_group_describe::DescribedGroup {
                group_id: group.group_id.clone(),
                error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                error_message: Some(Str::from(UNSEEN_TOPICS)),
                ..Default::default()
            };
        }
    }

    fn hide_share_groups(&self, slot: u64, response: &mut m::ShareGroupDescribeResponse) {
        for group in &mut response.groups {
            let assignments = group.members.iter().map(|member| &member.assignment);
            let mut topics = assignments.flat_map(|own| &own.topic_partitions);
            if topics.all(|topic| self.shows_topic(slot, &topic.topic_name)) {
                self.limit_group(slot, &group.group_id, &mut group.authorized_operations);
                continue;
            }
            *group = m::share_group_describe::DescribedGroup {
                group_id: group.group_id.clone(),
                error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                error_message: Some(Str::from(UNSEEN_TOPICS)),
                ..Default::default()
            };
        }
    }

    fn hide_topic_configs(&self, slot: u64, response: &mut m::CreateTopicsResponse) {
        for topic in &mut response.topics {
            if !topic.error_code.is_error() && !self.shows_topic(slot, &topic.name) {
                topic.topic_config_error_code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
                (topic.num_partitions, topic.replication_factor) = (-1, -1);
                topic.configs = Some(Vec::new());
            }
        }
    }

    /// Whoever may describe the cluster sees all groups.
    fn hide_groups(&self, slot: u64, response: &mut m::ListGroupsResponse) {
        if self.is_shown(slot, ResourceType::Cluster, CLUSTER_NAME) {
            return;
        }
        let groups = &mut response.groups;
        groups.retain(|own| self.is_shown(slot, ResourceType::Group, &own.group_id));
    }

    /// What is held is shown to whoever may see group and topic; whose it is to whoever may see the
    /// transactional id, too. A refusal says of which partition to whoever may see the topic.
    fn hide_pending(&self, slot: u64, response: &mut m::DescribePendingShareAcksResponse) {
        let shows_group = |id: &Str| self.is_shown(slot, ResourceType::Group, id);
        response.refused.retain(|own| shows_group(&own.group_id));
        response.pending.retain(|own| {
            let topic = own.topic_name.as_deref().unwrap_or_default();
            shows_group(&own.group_id) && self.shows_topic(slot, topic)
        });
        for own in &mut response.refused {
            if let Some((label, why)) = own.reason.split_once(": ")
                && let Some((topic, _)) = label.rsplit_once('-')
                && self.metadata.topic(topic).is_some()
                && !self.shows_topic(slot, topic)
            {
                own.reason = Str::from(why);
            }
        }
        for own in &mut response.pending {
            let id = own.transactional_id.as_deref();
            if id.is_some_and(|id| !self.is_shown(slot, ResourceType::TransactionalId, id)) {
                own.transactional_id = None;
                (own.producer_id, own.producer_epoch) = (-1, -1);
            }
        }
    }

    /// Topics that were asked for by name have been judged; those that are left out are of a request
    /// for all.
    fn hide_topics(&self, slot: u64, response: &mut m::MetadataResponse) {
        response.topics.retain(|topic| {
            let name = topic.name.as_deref();
            let refused = is_refusal(topic.error_code);
            refused || name.is_none_or(|name| self.shows_topic(slot, name))
        });
        for topic in &mut response.topics {
            let operations = &mut topic.topic_authorized_operations;
            match is_refusal(topic.error_code) {
                true => *operations = i32::MIN,
                false => self.limit_topic(slot, topic.name.as_ref(), operations),
            }
        }
        self.limit_cluster(slot, &mut response.cluster_authorized_operations);
    }

    /// Offsets that were asked for topic by topic have been judged.
    fn hide_offsets(&self, slot: u64, response: &mut m::OffsetFetchResponse) {
        let shows =
            |name: &Str, refused: bool| refused || name.is_empty() || self.shows_topic(slot, name);
        response.topics.retain(|own| {
            let refused = own
                .partitions
                .iter()
                .any(|part| is_refusal(part.error_code));
            shows(&own.name, refused)
        });
        for group in &mut response.groups {
            group.topics.retain(|own| {
                let refused = own
                    .partitions
                    .iter()
                    .any(|part| is_refusal(part.error_code));
                shows(&own.name, refused)
            });
        }
    }

    /// Whoever may not describe the cluster may nothing that the answer could list.
    fn limit_cluster(&self, slot: u64, operations: &mut i32) {
        if *operations == i32::MIN {
            return;
        }
        match self.may(slot, DESCRIBE_CLUSTER, CLUSTER_NAME) {
            true => self.limit(slot, ResourceType::Cluster, CLUSTER_NAME, operations),
            false => *operations = 0,
        }
    }

    fn limit_group(&self, slot: u64, id: &Str, operations: &mut i32) {
        self.limit(slot, ResourceType::Group, id, operations);
    }

    fn limit_topic(&self, slot: u64, name: Option<&Str>, operations: &mut i32) {
        if let Some(name) = name {
            self.limit(slot, ResourceType::Topic, name, operations);
        }
    }

    /// Of the operations that apply to a resource (one bit for each of Kafka's codes) those that are
    /// allowed; the lowest number means that they were not asked for.
    fn limit(&self, slot: u64, resource: ResourceType, name: &str, operations: &mut i32) {
        if *operations == i32::MIN {
            return;
        }
        let all = *operations;
        let applies = (0_i8..31).filter(|code| all & (1 << code) != 0);
        let allowed = applies.filter(|code| {
            Operation::from_code(*code).is_some_and(|operation| {
                let right = Right {
                    operation,
                    resource,
                };
                self.may(slot, right, name)
            })
        });
        *operations = allowed.fold(0, |all, code| all | 1 << code);
    }
}
