//! DescribeProducers: the producers that a partition remembers, and where their open transactions
//! began (KIP-664).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_producers::{PartitionResponse, ProducerState, TopicResponse};
use ackord_proto::messages::{DescribeProducersRequest, DescribeProducersResponse};
use ackord_proto::str::Str;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::access::sentence;
use super::super::journal::later;
use super::once::{once, once_by};
use crate::log::ProducerInfo;

impl Broker {
    pub(in crate::broker) fn describe_producers(
        &mut self,
        slot: u64,
        request: DescribeProducersRequest,
    ) {
        let mut gate = self.cluster_gate();
        let mut topics = Vec::new();
        for topic in once_by(request.topics, |topic| topic.name.clone()) {
            let mut partitions = Vec::new();
            for index in once(topic.partition_indexes) {
                if let Some(log) = self.metadata.log(&topic.name, index) {
                    gate = later(gate, self.journal.newest(log));
                }
                partitions.push(self.producers_of(slot, &topic.name, index));
            }
            topics.push(TopicResponse {
                name: topic.name,
                partitions,
                ..Default::default()
            });
        }
        let response = DescribeProducersResponse {
            topics,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn producers_of(&self, slot: u64, topic: &str, partition_index: i32) -> PartitionResponse {
        let refuse = |error_code, why: &str| PartitionResponse {
            partition_index,
            error_code,
            error_message: Some(Str::from(why)),
            ..Default::default()
        };
        if let Err(code) = self.check_topic(slot, topic) {
            return refuse(code, sentence(code));
        }
        let Some(id) = self.metadata.log(topic, partition_index) else {
            let why = "the topic does not exist, or has no such partition";
            return refuse(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why);
        };
        match self.logs.get(&id) {
            Some(log) if !self.frozen.contains(&id) => PartitionResponse {
                partition_index,
                active_producers: log.producers().map(state).collect(),
                ..Default::default()
            },
            _ => {
                let why = "the log of the partition is being read back; try again";
                refuse(ErrorCode::NOT_LEADER_OR_FOLLOWER, why)
            }
        }
    }
}

fn state(producer: ProducerInfo) -> ProducerState {
    ProducerState {
        producer_id: producer.producer_id,
        producer_epoch: i32::from(producer.producer_epoch),
        last_sequence: producer.last_sequence,
        last_timestamp: producer.last_timestamp,
        coordinator_epoch: producer.coordinator_epoch,
        current_txn_start_offset: producer.transaction_start.unwrap_or(-1),
        ..Default::default()
    }
}
