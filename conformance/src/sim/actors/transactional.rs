//! A producer of one transactional id.

use std::collections::BTreeMap;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, add_partitions_to_txn as add,
};

use super::staging::Stage;
use crate::sim::ctx::{Ctx, Lost};
use crate::sim::wire::{self, Stamp};
use crate::sim_call;

/// A producer of one transactional id.
#[derive(Clone, Debug)]
pub struct Transactional {
    ctx: Ctx,
    /// Transactional id.
    pub(super) tid: String,
    /// Producer id and epoch.
    pub(super) producer: (i64, i16),
    sequences: BTreeMap<(String, i32), i32>,
    /// What it staged last in a transaction that has ended.
    pub(super) old_stage: Option<Stage>,
    /// Milliseconds that a transaction may last.
    pub(super) timeout_ms: i32,
}

impl Transactional {
    /// Without a producer id.
    pub fn new(ctx: &Ctx, tid: &str) -> Self {
        Transactional {
            ctx: ctx.clone(),
            tid: tid.to_string(),
            producer: (-1, -1),
            sequences: BTreeMap::new(),
            old_stage: None,
            timeout_ms: i32::try_from(ctx.between(1, 8) * 1000).unwrap_or(5000),
        }
    }

    /// Takes a producer id and epoch that the broker gave.
    pub(super) fn become_(&mut self, id: i64, epoch: i16) {
        if (id, epoch) != self.producer {
            self.producer = (id, epoch);
            self.sequences.clear();
        }
    }

    /// Fences whoever had the transactional id, or goes on where `keep` says that it is the same.
    pub async fn init(&mut self, keep: bool) {
        let mut named = if keep { self.producer } else { (-1, -1) };
        loop {
            let request = InitProducerIdRequest {
                transactional_id: Some(self.tid.as_str().into()),
                transaction_timeout_ms: self.timeout_ms,
                producer_id: named.0,
                producer_epoch: named.1,
                ..Default::default()
            };
            match sim_call!(self.ctx, InitProducerId v 5, request) {
                Ok(response) if response.error_code == ErrorCode::NONE => {
                    self.become_(response.producer_id, response.producer_epoch);
                    return;
                }
                Ok(response) if response.error_code == ErrorCode::PRODUCER_FENCED => {
                    named = (-1, -1)
                }
                _ => {}
            }
            self.ctx.sleep(20).await;
        }
    }

    /// Begins anew as a participant of two-phase commit, or with `keep` comes back for what is
    /// prepared. Returns the pair of the transaction that was kept (KIP-939).
    pub(super) async fn init_two_phase(&mut self, keep: bool) -> Option<(i64, i16)> {
        loop {
            let request = InitProducerIdRequest {
                transactional_id: Some(self.tid.as_str().into()),
                transaction_timeout_ms: self.timeout_ms,
                producer_id: -1,
                producer_epoch: -1,
                enable_2pc: true,
                keep_prepared_txn: keep,
                ..Default::default()
            };
            if let Ok(response) = sim_call!(self.ctx, InitProducerId v 6, request)
                && response.error_code == ErrorCode::NONE
            {
                self.become_(response.producer_id, response.producer_epoch);
                let kept = (
                    response.ongoing_txn_producer_id,
                    response.ongoing_txn_producer_epoch,
                );
                return (kept.0 >= 0).then_some(kept);
            }
            self.ctx.sleep(20).await;
        }
    }

    /// Appends outputs in the transaction.
    pub(super) async fn produce(
        &mut self,
        version: i16,
        topic: &str,
        partition: i32,
        values: &[String],
    ) -> Result<ErrorCode, Lost> {
        let key = (topic.to_string(), partition);
        let stamp = Stamp {
            id: self.producer.0,
            epoch: self.producer.1,
            sequence: self.sequences.get(&key).copied().unwrap_or(0),
            transactional: true,
        };
        let request = wire::produce(Some(&self.tid), stamp, topic, partition, values);
        let mut response = sim_call!(self.ctx, Produce v version, request.clone());
        if response.is_err() {
            // The same bytes once more: the broker knows them again.
            response = sim_call!(self.ctx, Produce v version, request);
        }
        let response = response?;
        let part = response
            .responses
            .iter()
            .flat_map(|topic| topic.partition_responses.iter())
            .next();
        let code = part.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |part| part.error_code);
        if code == ErrorCode::NONE {
            let next = stamp.sequence + i32::try_from(values.len()).unwrap_or(0);
            self.sequences.insert(key, next);
        }
        Ok(code)
    }

    /// Adds a partition to a transaction of version 1.
    pub(super) async fn add_partition(&self, topic: &str, partition: i32) -> bool {
        let topic = add::AddPartitionsToTxnTopic {
            name: topic.into(),
            partitions: vec![partition],
            ..Default::default()
        };
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.tid.as_str().into(),
            v3_and_below_producer_id: self.producer.0,
            v3_and_below_producer_epoch: self.producer.1,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        for _ in 0..5 {
            let response = sim_call!(self.ctx, AddPartitionsToTxn v 3, request.clone());
            let Ok(response) = response else { continue };
            let topics = response.results_by_topic_v3_and_below.iter();
            let code = topics.flat_map(|topic| &topic.results_by_partition).next();
            let code = code.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |part| {
                part.partition_error_code
            });
            if !is_retriable(code) {
                return code == ErrorCode::NONE;
            }
            self.ctx.sleep(20).await;
        }
        false
    }

    /// Ends the transaction; asks again where it hears nothing. Whether it is known how it ended.
    pub async fn end(&mut self, txn: usize, commit: bool, version: i16) -> Result<ErrorCode, Lost> {
        self.ctx.ledger.borrow_mut().txns[txn]
            .decision
            .get_or_insert(commit);
        let request = EndTxnRequest {
            transactional_id: self.tid.as_str().into(),
            producer_id: self.producer.0,
            producer_epoch: self.producer.1,
            committed: commit,
            ..Default::default()
        };
        for _ in 0..12 {
            if let Ok(response) = sim_call!(self.ctx, EndTxn v version, request.clone()) {
                match response.error_code {
                    ErrorCode::NONE => {
                        if response.producer_id >= 0 {
                            self.become_(response.producer_id, response.producer_epoch);
                        }
                        return Ok(ErrorCode::NONE);
                    }
                    code if is_retriable(code) => {}
                    code => return Ok(code),
                }
            }
            self.ctx.sleep(40).await;
        }
        Err(Lost)
    }
}

/// Codes that pass by themselves.
pub(super) fn is_retriable(code: ErrorCode) -> bool {
    [
        ErrorCode::CONCURRENT_TRANSACTIONS,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::KAFKA_STORAGE_ERROR,
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ]
    .contains(&code)
}
