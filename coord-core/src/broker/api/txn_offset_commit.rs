//! TxnOffsetCommit (key 28): offsets that count when a transaction commits (KIP-98, KIP-447,
//! KIP-890).
//!
//! As with a transactional Produce the transaction coordinator is asked first: whether the group's
//! `__consumer_offsets` partition is in the producer's ongoing transaction, or, from version 5 on, to
//! add it.

use ackord_machine::{Body, Envelope, OpId, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::txn_offset_commit::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse, add_partitions_to_txn as add,
};
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::gather::Gather;
use super::offset_commit::check_partition;
use super::produce::verdict;
use crate::consumer_group::{CommitRequest, CommittedPartition};
use crate::group::partition_for_id;
use crate::metadata::OFFSETS_TOPIC;
use crate::outbox::ProducerEpoch;

/// From this version on topics are named by their ids.
pub(super) const FIRST_WITH_IDS: i16 = 6;
/// From this version on the partition is added to the transaction (KIP-890).
pub(super) const ADDS_PARTITIONS: i16 = 5;
/// From this version on a client knows that it has to abort (KIP-890).
pub(super) const KNOWS_ABORTABLE: i16 = 4;
/// Older clients do not know that a coordinator can be loading.
const KNOWS_LOADING: i16 = 2;

/// A request that waits for the transaction coordinator.
#[derive(Debug)]
pub(in crate::broker) struct TxnOffsetGather {
    version: i16,
    /// Group coordinator.
    partition: i32,
    producer: ProducerEpoch,
    commit: CommitRequest,
    response: TxnOffsetCommitResponse,
}

impl TxnOffsetGather {
    /// Puts a code at each partition that was not refused before.
    fn refused(mut self, code: ErrorCode) -> TxnOffsetCommitResponse {
        let codes = self.commit.partitions.iter().map(|_| code).collect();
        self.put(codes);
        self.response
    }

    fn put(&mut self, codes: Vec<ErrorCode>) {
        let accepted = self
            .response
            .topics
            .iter_mut()
            .flat_map(|topic| &mut topic.partitions)
            .filter(|partition| partition.error_code == ErrorCode::NONE);
        for (partition, code) in accepted.zip(codes) {
            partition.error_code = older_client_code(code, self.version);
        }
    }
}

impl Broker {
    pub(super) fn txn_offset_commit(&mut self, slot: u64, request: TxnOffsetCommitRequest) {
        if self.acknowledges(&request) {
            return self.txn_offset_acks(slot, request);
        }
        let gather = self.read_txn_offset_commit(slot, &request);
        if gather.commit.partitions.is_empty() {
            return self.respond(slot, gather.response, None);
        }
        let checked = self.check_txn_offset_commit(&request);
        let (partition, tc) = match checked {
            Ok(found) => found,
            Err(code) => return self.respond(slot, gather.refused(code), None),
        };
        let Some(log) = self.metadata.log(OFFSETS_TOPIC, partition) else {
            let code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
            return self.respond(slot, gather.refused(code), None);
        };
        let topic = add::AddPartitionsToTxnTopic {
            name: Str::from(OFFSETS_TOPIC),
            partitions: vec![partition],
            ..Default::default()
        };
        let transaction = add::AddPartitionsToTxnTransaction {
            transactional_id: request.transactional_id,
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            verify_only: gather.version < ADDS_PARTITIONS,
            topics: vec![topic],
            ..Default::default()
        };
        let body = Body::AddPartitionsToTxn(AddPartitionsToTxnRequest {
            transactions: vec![transaction],
            ..Default::default()
        });
        let gather = TxnOffsetGather {
            partition,
            ..gather
        };
        self.gathers.insert(slot, Gather::TxnOffsets(gather));
        let correlation = self.next_correlation();
        self.offset_verifications.insert(correlation, slot);
        let envelope = Envelope {
            from: Role::Leader(log),
            to: Role::Tc(tc),
            correlation,
            body,
        };
        self.inbox.push_back((envelope, None));
    }

    /// Sorts out what names no partition.
    fn read_txn_offset_commit(
        &self,
        slot: u64,
        request: &TxnOffsetCommitRequest,
    ) -> TxnOffsetGather {
        let version = self.version(slot);
        let mut gather = TxnOffsetGather {
            version,
            partition: -1,
            producer: ProducerEpoch {
                id: request.producer_id,
                epoch: request.producer_epoch,
            },
            commit: CommitRequest {
                group: request.group_id.clone(),
                member: request.member_id.clone(),
                instance: request.group_instance_id.clone(),
                generation: request.generation_id_or_member_epoch,
                partitions: Vec::new(),
            },
            response: TxnOffsetCommitResponse::default(),
        };
        for topic in &request.topics {
            let found =
                self.topic_of_offsets(slot, version >= FIRST_WITH_IDS, &topic.name, topic.topic_id);
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let error_code = check_partition(found, asked.partition_index);
                if let (Ok(found), ErrorCode::NONE) = (found, error_code) {
                    gather.commit.partitions.push(CommittedPartition {
                        topic: found.name.clone(),
                        topic_id: found.id,
                        partition: asked.partition_index,
                        offset: asked.committed_offset,
                        leader_epoch: asked.committed_leader_epoch,
                        metadata: asked.committed_metadata.clone(),
                    });
                }
                partitions.push(TxnOffsetCommitResponsePartition {
                    partition_index: asked.partition_index,
                    error_code,
                    ..Default::default()
                });
            }
            gather.response.topics.push(TxnOffsetCommitResponseTopic {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partitions,
                ..Default::default()
            });
        }
        gather
    }

    /// The group coordinator and the transaction coordinator to ask.
    fn check_txn_offset_commit(
        &mut self,
        request: &TxnOffsetCommitRequest,
    ) -> Result<(i32, i32), ErrorCode> {
        if request.group_id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        if self.is_share_group(&request.group_id) {
            return Err(ErrorCode::GROUP_ID_NOT_FOUND);
        }
        self.ensure_transaction_topic();
        let partition = self.coordinator_of_group(&request.group_id)?;
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        match self.is_tc_frozen(tc) || !self.tcs.contains_key(&tc) {
            true => Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
            false => Ok((partition, tc)),
        }
    }

    /// The transaction coordinator's verdict. `false`: nobody here has asked.
    pub(in crate::broker) fn offsets_verified(
        &mut self,
        correlation: u64,
        response: &AddPartitionsToTxnResponse,
        ordinal: i64,
        gate: Option<OpId>,
    ) -> bool {
        let Some(slot) = self.offset_verifications.remove(&correlation) else {
            return false;
        };
        let Some(Gather::TxnOffsets(mut gather)) = self.gathers.remove(&slot) else {
            return true;
        };
        let staged = match verdict(response) {
            ErrorCode::NONE => self.stage_offsets(&gather, ordinal),
            code => Err(code),
        };
        match staged {
            Ok(codes) => {
                gather.put(codes);
                let own = self.gc_gate(gather.partition);
                let gate = super::super::journal::later(gate, own);
                self.respond(slot, gather.response, gate);
            }
            Err(code) => self.respond(slot, gather.refused(code), gate),
        }
        true
    }

    fn stage_offsets(
        &mut self,
        gather: &TxnOffsetGather,
        ordinal: i64,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        let (partition, producer) = (gather.partition, gather.producer);
        if self.is_gc_frozen(partition) {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let log = self.metadata.log(OFFSETS_TOPIC, partition);
        let log = log.and_then(|log| self.logs.get_mut(&log));
        let log = log.ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
        log.set_ordinal(producer.id, ordinal);
        log.check_producer(producer)?;
        self.with_gc(partition, |gc, ctx, out| {
            gc.stage_offsets(ctx.now, producer, &gather.commit, out)
        })
        .unwrap_or(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE))
    }

    /// The transaction coordinator is being read back: its verdict will not come.
    pub(in crate::broker) fn abandon_txn_offsets(&mut self, slot: u64, gather: TxnOffsetGather) {
        let response = gather.refused(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        self.respond(slot, response, None);
    }
}

/// What a producer of this version understands.
pub(super) fn older_client_code(code: ErrorCode, version: i16) -> ErrorCode {
    let code = match code {
        ErrorCode::CONCURRENT_TRANSACTIONS if version < ADDS_PARTITIONS => {
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        }
        ErrorCode::TRANSACTION_ABORTABLE if version < KNOWS_ABORTABLE => {
            ErrorCode::INVALID_TXN_STATE
        }
        ErrorCode::STALE_MEMBER_EPOCH if version < FIRST_WITH_IDS => ErrorCode::ILLEGAL_GENERATION,
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        other => other,
    };
    match code {
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS if version < KNOWS_LOADING => {
            ErrorCode::COORDINATOR_NOT_AVAILABLE
        }
        other => other,
    }
}
