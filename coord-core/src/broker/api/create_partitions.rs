//! CreatePartitions: a topic grows.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_partitions::{
    CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use ackord_proto::messages::{CreatePartitionsRequest, CreatePartitionsResponse};
use ackord_proto::str::Str;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::access::told;
use super::topic_creation::Refusal;
use crate::metadata::Topic;

impl Broker {
    pub(in crate::broker) fn create_partitions(
        &mut self,
        slot: u64,
        request: CreatePartitionsRequest,
    ) {
        let mut seen = BTreeSet::new();
        let mut results = Vec::with_capacity(request.topics.len());
        for asked in &request.topics {
            if !seen.insert(&asked.name) {
                continue;
            }
            let same = |other: &&CreatePartitionsTopic| other.name == asked.name;
            let grown = if request.topics.iter().filter(same).count() > 1 {
                Err((
                    ErrorCode::INVALID_REQUEST,
                    "Duplicate topic name.".to_string(),
                ))
            } else {
                self.grown(slot, asked)
            };
            let mut result = CreatePartitionsTopicResult {
                name: asked.name.clone(),
                ..Default::default()
            };
            match grown {
                Ok(topic) if !request.validate_only => self.grow_topic(&topic, asked.count),
                Ok(_) => {}
                Err((code, why)) => {
                    result.error_code = code;
                    result.error_message = Some(Str::from(why));
                }
            }
            results.push(result);
        }
        let response = CreatePartitionsResponse {
            results,
            ..Default::default()
        };
        self.respond(slot, response, self.cluster_gate());
    }

    /// The topic, where it may grow as asked.
    fn grown(&self, slot: u64, asked: &CreatePartitionsTopic) -> Result<Topic, Refusal> {
        self.check_topic(slot, &asked.name).map_err(told)?;
        let topic = self.metadata.topic(&asked.name).ok_or_else(|| {
            let why = "This server does not host this topic-partition.".to_string();
            (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why)
        })?;
        let invalid = |why| Err((ErrorCode::INVALID_PARTITIONS, why));
        if topic.is_internal() {
            // Its keys are spread over the partitions that there are.
            let why = format!("Internal topic '{}' keeps its partitions.", topic.name);
            return invalid(why);
        }
        let (now, wanted) = (topic.partitions, asked.count);
        if wanted == now {
            return invalid(format!("Topic already has {now} partition(s)."));
        }
        if wanted < now {
            return invalid(format!(
                "The topic {} currently has {now} partition(s); {wanted} would not be an increase.",
                topic.name
            ));
        }
        let added = wanted - now;
        if let Some(assignments) = &asked.assignments {
            if usize::try_from(added).ok() != Some(assignments.len()) {
                let why = format!(
                    "Attempted to add {added} additional partition(s), but only {} assignment(s) \
                     were specified.",
                    assignments.len()
                );
                return Err((ErrorCode::INVALID_REPLICA_ASSIGNMENT, why));
            }
            for assignment in assignments {
                self.check_replicas(&assignment.broker_ids)
                    .map_err(|why| (ErrorCode::INVALID_REPLICA_ASSIGNMENT, why))?;
            }
        }
        self.check_room(added)
            .map_err(|why| (ErrorCode::POLICY_VIOLATION, why))?;
        Ok(topic.clone())
    }
}
