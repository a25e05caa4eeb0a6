//! DescribeTopicPartitions: partitions page by page, in the order of topic names (KIP-966).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use ackord_proto::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};
use ackord_proto::str::Str;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::super::Broker;
use super::metadata::TOPIC_OPERATIONS;
use crate::metadata::{Topic, check_topic_name};

/// The most partitions of one page (Kafka's `max.request.partition.size.limit`).
const PAGE: i32 = 2000;

impl Broker {
    pub(in crate::broker) fn describe_topic_partitions(
        &mut self,
        slot: u64,
        request: DescribeTopicPartitionsRequest,
    ) {
        let response = match cursor_of(&request) {
            Ok(from) => self.page(slot, &request, &from),
            Err(error_code) => {
                let refused = |name: &Str| DescribeTopicPartitionsResponseTopic {
                    error_code,
                    name: Some(name.clone()),
                    ..Default::default()
                };
                let topics = request
                    .topics
                    .iter()
                    .map(|topic| refused(&topic.name))
                    .collect();
                DescribeTopicPartitionsResponse {
                    topics,
                    ..Default::default()
                }
            }
        };
        self.respond(slot, response, self.cluster_gate());
    }

    fn page(
        &self,
        slot: u64,
        request: &DescribeTopicPartitionsRequest,
        (from_topic, from_partition): &(Str, i32),
    ) -> DescribeTopicPartitionsResponse {
        let all = request.topics.is_empty();
        let names: BTreeSet<&Str> = match all {
            true => self.metadata.topics().map(|topic| &topic.name).collect(),
            false => request.topics.iter().map(|topic| &topic.name).collect(),
        };
        let (names, refused): (BTreeSet<&Str>, Vec<&Str>) = names
            .range::<Str, _>(from_topic..)
            .fold(Default::default(), |(mut allowed, mut refused), name| {
                match self.check_topic(slot, name) {
                    Ok(()) => drop(allowed.insert(*name)),
                    Err(_) => refused.push(*name),
                }
                (allowed, refused)
            });
        let mut left = request.response_partition_limit.clamp(1, PAGE);
        let mut response = DescribeTopicPartitionsResponse::default();
        for name in &names {
            if left == 0 {
                response.next_cursor = Some(cursor(name, 0));
                break;
            }
            let from = if *name == from_topic {
                *from_partition
            } else {
                0
            };
            let Some(topic) = self.metadata.topic(name) else {
                response.topics.push(unknown(name));
                continue;
            };
            let end = topic.partitions.min(from.saturating_add(left));
            response.topics.push(self.described(topic, from, end));
            left -= (end - from).max(0);
            if end < topic.partitions {
                response.next_cursor = Some(cursor(name, end));
                break;
            }
        }
        if !all {
            response.topics.extend(refused.into_iter().map(forbidden));
        }
        response
    }

    fn described(
        &self,
        topic: &Topic,
        from: i32,
        end: i32,
    ) -> DescribeTopicPartitionsResponseTopic {
        let node = self.config.node_id();
        let partition = |partition_index| DescribeTopicPartitionsResponsePartition {
            partition_index,
            leader_id: node,
            leader_epoch: 0,
            replica_nodes: [node].into(),
            isr_nodes: [node].into(),
            // Known to be none: null would read as "this broker cannot tell".
            eligible_leader_replicas: Some(Vec::new()),
            last_known_elr: Some(Vec::new()),
            ..Default::default()
        };
        DescribeTopicPartitionsResponseTopic {
            name: Some(topic.name.clone()),
            topic_id: topic.id,
            is_internal: topic.is_internal(),
            partitions: (from..end).map(partition).collect(),
            topic_authorized_operations: TOPIC_OPERATIONS,
            ..Default::default()
        }
    }
}

/// Where the page begins.
fn cursor_of(request: &DescribeTopicPartitionsRequest) -> Result<(Str, i32), ErrorCode> {
    let Some(cursor) = &request.cursor else {
        return Ok((Str::EMPTY, 0));
    };
    let asked = |name: &Str| request.topics.iter().any(|topic| topic.name == *name);
    let foreign = !request.topics.is_empty() && !asked(&cursor.topic_name);
    if foreign || cursor.partition_index < 0 {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    Ok((cursor.topic_name.clone(), cursor.partition_index))
}

fn cursor(topic: &Str, partition_index: i32) -> Cursor {
    Cursor {
        topic_name: topic.clone(),
        partition_index,
        ..Default::default()
    }
}

fn forbidden(name: &Str) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        name: Some(name.clone()),
        ..Default::default()
    }
}

fn unknown(name: &Str) -> DescribeTopicPartitionsResponseTopic {
    let error_code = match check_topic_name(name) {
        Ok(()) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Err(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
    };
    DescribeTopicPartitionsResponseTopic {
        error_code,
        name: Some(name.clone()),
        topic_authorized_operations: TOPIC_OPERATIONS,
        ..Default::default()
    }
}
