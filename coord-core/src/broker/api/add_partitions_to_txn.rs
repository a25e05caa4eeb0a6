//! AddPartitionsToTxn (key 24): the client's form up to version 3, the batched form from 4 on.

use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::OpId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};
use ackord_proto::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
use ackord_proto::str::Str;

use super::super::Broker;
use super::super::gather::{Gather, Missing};
use crate::group::partition_for_id;
use crate::metadata::Topic;
use crate::outbox::Ticket;
use crate::txn::{AddKind, AddPartitions};

/// The transactions of a request with what became of them.
#[derive(Debug)]
pub(in crate::broker) struct AddPartitionsGather {
    version: i16,
    results: Vec<AddPartitionsToTxnResult>,
    missing: Missing,
}

impl AddPartitionsGather {
    /// Takes the coordinator's verdict on one transaction; true when it was the last.
    pub(in crate::broker) fn arrived(
        &mut self,
        part: u32,
        error: ErrorCode,
        gate: Option<OpId>,
    ) -> bool {
        if let Some(result) = self.results.get_mut(part as usize) {
            set_all(result, error);
        }
        self.missing.arrived(gate);
        self.missing.is_complete()
    }

    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    pub(in crate::broker) fn into_response(self) -> AddPartitionsToTxnResponse {
        if self.version >= 4 {
            return AddPartitionsToTxnResponse {
                results_by_transaction: self.results,
                ..Default::default()
            };
        }
        let topics = self
            .results
            .into_iter()
            .next()
            .map(|result| result.topic_results);
        AddPartitionsToTxnResponse {
            results_by_topic_v3_and_below: topics.unwrap_or_default(),
            ..Default::default()
        }
    }
}

impl Broker {
    pub(super) fn add_partitions_to_txn(&mut self, slot: u64, request: AddPartitionsToTxnRequest) {
        let version = self.version(slot);
        self.ensure_transaction_topic();
        let transactions = match version {
            4.. => request.transactions,
            _ => vec![AddPartitionsToTxnTransaction {
                transactional_id: request.v3_and_below_transactional_id,
                producer_id: request.v3_and_below_producer_id,
                producer_epoch: request.v3_and_below_producer_epoch,
                verify_only: false,
                topics: request.v3_and_below_topics,
                ..Default::default()
            }],
        };
        let results = transactions.iter().map(empty_result).collect();
        let mut missing = Missing::default();
        // One more than there are, so that no answer leaves before all were asked.
        (0..=transactions.len()).for_each(|_| missing.one_more());
        let gather = AddPartitionsGather {
            version,
            results,
            missing,
        };
        self.gathers.insert(slot, Gather::AddPartitions(gather));
        for (part, transaction) in transactions.into_iter().enumerate() {
            let ticket = Ticket {
                slot,
                part: u32::try_from(part).unwrap_or(u32::MAX),
            };
            self.add_partitions_of(ticket, version, transaction);
        }
        self.finish_add_partitions(slot, u32::MAX, ErrorCode::NONE);
    }

    fn add_partitions_of(
        &mut self,
        ticket: Ticket,
        version: i16,
        transaction: AddPartitionsToTxnTransaction,
    ) {
        if self.refuse_partitions(ticket, &transaction) {
            return self.finish_add_partitions(ticket.slot, u32::MAX, ErrorCode::NONE);
        }
        let tc = partition_for_id(&transaction.transactional_id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
            return self.finish_add_partitions(ticket.slot, ticket.part, code);
        }
        if transaction.verify_only {
            return self.verify_partitions(ticket, tc, &transaction);
        }
        let request = AddPartitions {
            version,
            kind: AddKind::Partitions,
            transactional_id: transaction.transactional_id,
            producer_id: transaction.producer_id,
            producer_epoch: transaction.producer_epoch,
            partitions: partitions_of(&transaction.topics),
        };
        self.with_tc(tc, None, |tc, ctx, out| {
            tc.add_partitions(ctx.now, ticket, request, out)
        });
    }

    /// Whether the partitions are in the transaction, without adding any.
    fn verify_partitions(
        &mut self,
        ticket: Ticket,
        tc: i32,
        transaction: &AddPartitionsToTxnTransaction,
    ) {
        let Some(tc) = self.tcs.get(&tc) else { return };
        let producer = tc.check_producer(
            &transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
        );
        let verdict = |topic: &str, partition| match producer {
            Err(ErrorCode::INVALID_PRODUCER_EPOCH) => ErrorCode::PRODUCER_FENCED,
            Err(code) => code,
            Ok(()) if tc.holds(transaction.producer_id, topic, partition) => ErrorCode::NONE,
            Ok(()) => ErrorCode::TRANSACTION_ABORTABLE,
        };
        let verdicts = of_each(&transaction.topics, verdict);
        self.set_verdicts(ticket, verdicts);
        self.finish_add_partitions(ticket.slot, u32::MAX, ErrorCode::NONE);
    }

    /// What speaks against a partition: it does not exist, or a client has no business there. Only the
    /// coordinators themselves put the logs of coordinators into a transaction.
    fn check_partition(&self, topic: &str, index: i32, verify_only: bool) -> Result<(), ErrorCode> {
        let internal = self.metadata.topic(topic).is_some_and(Topic::is_internal);
        if internal && !verify_only {
            return Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        let log = self.metadata.log(topic, index);
        log.map(|_| ()).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }

    /// All or nothing: one partition that cannot be added refuses the others too.
    fn refuse_partitions(
        &mut self,
        ticket: Ticket,
        transaction: &AddPartitionsToTxnTransaction,
    ) -> bool {
        let verdict = |topic: &str, index| {
            // Brokers have shown that they are brokers.
            let allowed = match self.version(ticket.slot) {
                4.. => Ok(()),
                _ => self.check_topic(ticket.slot, topic),
            };
            let checked =
                allowed.and_then(|()| self.check_partition(topic, index, transaction.verify_only));
            checked.err().unwrap_or(ErrorCode::OPERATION_NOT_ATTEMPTED)
        };
        let verdicts = of_each(&transaction.topics, verdict);
        let refuses = |code: &ErrorCode| *code != ErrorCode::OPERATION_NOT_ATTEMPTED;
        if !verdicts.iter().flatten().any(refuses) {
            return false;
        }
        self.set_verdicts(ticket, verdicts);
        true
    }

    /// One code for each partition that one transaction of a request names.
    fn set_verdicts(&mut self, ticket: Ticket, verdicts: Vec<Vec<ErrorCode>>) {
        if let Some(Gather::AddPartitions(gather)) = self.gathers.get_mut(&ticket.slot)
            && let Some(result) = gather.results.get_mut(ticket.part as usize)
        {
            for (topic, codes) in result.topic_results.iter_mut().zip(verdicts) {
                for (partition, code) in topic.results_by_partition.iter_mut().zip(codes) {
                    partition.partition_error_code = code;
                }
            }
        }
    }

    fn finish_add_partitions(&mut self, slot: u64, part: u32, error: ErrorCode) {
        if let Some(Gather::AddPartitions(gather)) = self.gathers.get_mut(&slot)
            && gather.arrived(part, error, None)
            && let Some(Gather::AddPartitions(mut gather)) = self.gathers.remove(&slot)
        {
            let missing = *gather.missing();
            self.respond_whole(slot, gather.into_response(), missing);
        }
    }
}

/// One code for each partition, topic by topic.
fn of_each(
    topics: &[AddPartitionsToTxnTopic],
    verdict: impl Fn(&str, i32) -> ErrorCode,
) -> Vec<Vec<ErrorCode>> {
    let topics = topics.iter().map(|topic| {
        let codes = topic.partitions.iter();
        codes.map(|index| verdict(&topic.name, *index)).collect()
    });
    topics.collect()
}

fn partitions_of(topics: &[AddPartitionsToTxnTopic]) -> Vec<(Str, i32)> {
    topics
        .iter()
        .flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(|index| (topic.name.clone(), *index))
        })
        .collect()
}

fn empty_result(transaction: &AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult {
    let topic_result = |topic: &AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        name: topic.name.clone(),
        results_by_partition: topic
            .partitions
            .iter()
            .map(|&partition_index| AddPartitionsToTxnPartitionResult {
                partition_index,
                // Until its coordinator has spoken.
                partition_error_code: ErrorCode::COORDINATOR_NOT_AVAILABLE,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    AddPartitionsToTxnResult {
        transactional_id: transaction.transactional_id.clone(),
        topic_results: transaction.topics.iter().map(topic_result).collect(),
        ..Default::default()
    }
}

fn set_all(result: &mut AddPartitionsToTxnResult, error: ErrorCode) {
    for topic in &mut result.topic_results {
        for partition in &mut topic.results_by_partition {
            partition.partition_error_code = error;
        }
    }
}
