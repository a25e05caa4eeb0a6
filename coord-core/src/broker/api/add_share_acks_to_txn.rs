//! AddShareAcksToTxn (KIP-1289): registers the state partitions of share partitions in a transaction.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::add_share_acks_to_txn::{
    AddShareAcksToTxnPartitionResult, AddShareAcksToTxnTopic, AddShareAcksToTxnTopicResult,
};
use ackord_proto::messages::{AddShareAcksToTxnRequest, AddShareAcksToTxnResponse};
use ackord_proto::str::Str;

use super::super::Broker;
use super::super::gather::Gather;
use crate::group::partition_for_id;
use crate::outbox::Ticket;
use crate::txn::{AddKind, AddPartitions};

/// What a request asked for, repeated entries merged.
#[derive(Debug)]
pub(in crate::broker) struct AddShareAcksGather {
    topics: BTreeMap<Str, Vec<i32>>,
}

impl AddShareAcksGather {
    /// Errors of producer and transaction are those of the whole request.
    pub(in crate::broker) fn into_response(self, error: ErrorCode) -> AddShareAcksToTxnResponse {
        if error != ErrorCode::NONE {
            return AddShareAcksToTxnResponse {
                error_code: error,
                ..Default::default()
            };
        }
        respond(&self.topics, |_, _| ErrorCode::NONE)
    }
}

fn respond(
    topics: &BTreeMap<Str, Vec<i32>>,
    code: impl Fn(&str, i32) -> ErrorCode,
) -> AddShareAcksToTxnResponse {
    let topic = |(name, partitions): (&Str, &Vec<i32>)| AddShareAcksToTxnTopicResult {
        name: name.clone(),
        partitions: partitions
            .iter()
            .map(|&partition_index| AddShareAcksToTxnPartitionResult {
                partition_index,
                error_code: code(name, partition_index),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    AddShareAcksToTxnResponse {
        topics: topics.iter().map(topic).collect(),
        ..Default::default()
    }
}

fn merged(topics: &[AddShareAcksToTxnTopic]) -> BTreeMap<Str, Vec<i32>> {
    let mut merged: BTreeMap<Str, Vec<i32>> = BTreeMap::new();
    for topic in topics {
        let partitions = merged.entry(topic.name.clone()).or_default();
        partitions.extend(&topic.partitions);
        partitions.sort_unstable();
        partitions.dedup();
    }
    merged
}

impl Broker {
    pub(super) fn add_share_acks_to_txn(&mut self, slot: u64, request: AddShareAcksToTxnRequest) {
        let topics = merged(&request.topics);
        if request.group_id.is_empty() {
            let error_code = ErrorCode::INVALID_GROUP_ID;
            let response = AddShareAcksToTxnResponse {
                error_code,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let check = |topic: &str, index| {
            self.check_topic(slot, topic)?;
            let log = self.metadata.log(topic, index);
            log.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
        };
        let all_pass = topics
            .iter()
            .all(|(name, indexes)| indexes.iter().all(|index| check(name, *index).is_ok()));
        if !all_pass {
            let response = respond(&topics, |name, index| match check(name, index) {
                Ok(_) => ErrorCode::OPERATION_NOT_ATTEMPTED,
                Err(code) => code,
            });
            return self.respond(slot, response, None);
        }
        self.ensure_transaction_topic();
        self.ensure_share_state_topic();
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            let error_code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
            let response = AddShareAcksToTxnResponse {
                error_code,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let logs = topics.iter().flat_map(|(name, indexes)| {
            let all = indexes.iter();
            all.filter_map(|index| self.metadata.log(name, *index))
        });
        let command = AddPartitions {
            version: 0,
            kind: AddKind::ShareAcks,
            transactional_id: request.transactional_id.clone(),
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            partitions: self.state_partitions_of(&request.group_id, logs),
        };
        self.gathers
            .insert(slot, Gather::AddShareAcks(AddShareAcksGather { topics }));
        let ticket = Ticket { slot, part: 0 };
        self.with_tc(tc, None, |tc, ctx, out| {
            tc.add_partitions(ctx.now, ticket, command, out)
        });
    }
}
