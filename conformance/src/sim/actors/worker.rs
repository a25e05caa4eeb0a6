//! A worker: takes records, writes an output for each, and has both become true together.

use std::collections::BTreeMap;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddShareAcksToTxnRequest, EndTxnRequest, InitProducerIdRequest, TxnShareAcknowledgeRequest,
    add_share_acks_to_txn as register, txn_share_acknowledge as stage,
};

use super::{Got, INPUT, Member, OUTPUT};
use crate::sim::ctx::{Ctx, Lost};
use crate::sim::wire::{self, Stamp};
use crate::sim_call;

/// How a worker behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Temper {
    /// Of a hundred transactions, those that it aborts.
    pub aborts: u64,
    /// Of a hundred, those that it leaves behind.
    pub vanishes: u64,
    /// Of a hundred, those in which it is slow.
    pub dawdles: u64,
    /// Of a hundred, those that stage nothing, or only acknowledgements.
    pub odd: u64,
    /// Of a hundred records, those that it rejects.
    pub rejects: u64,
}

/// A producer of one transactional id.
#[derive(Clone, Debug)]
pub(super) struct Transactional {
    ctx: Ctx,
    /// Transactional id.
    pub(super) tid: String,
    /// Producer id and epoch.
    pub(super) producer: (i64, i16),
    sequences: BTreeMap<(String, i32), i32>,
    /// What it staged last in a transaction that has ended.
    old_stage: Option<(i16, TxnShareAcknowledgeRequest)>,
    /// Milliseconds that a transaction may last.
    pub(super) timeout_ms: i32,
}

impl Transactional {
    /// Without a producer id.
    pub(super) fn new(ctx: &Ctx, tid: &str) -> Self {
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
    pub(super) async fn init(&mut self, keep: bool) {
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

    /// Ends the transaction; asks again where it hears nothing. Whether it is known how it ended.
    pub(super) async fn end(
        &mut self,
        txn: usize,
        commit: bool,
        version: i16,
    ) -> Result<ErrorCode, Lost> {
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

/// Copies until the run stops; `partitions` of the input topic.
pub async fn worker(ctx: Ctx, group: String, tid: String, temper: Temper) {
    let mut member = Member::new(&ctx, &group);
    let mut producer = Transactional::new(&ctx, &tid);
    member.join().await;
    producer.init(false).await;
    while !ctx.stopping() {
        if ctx.percent(10) {
            member.stay().await;
        }
        let most = ctx.pick(&[1, 2, 4, 8, 30]);
        let Ok(got) = member.fetch(2, &Vec::new(), most, 300).await else {
            continue;
        };
        if got.is_empty() {
            ctx.sleep(30).await;
            continue;
        }
        let txn = ctx
            .ledger
            .borrow_mut()
            .begin(&producer.tid, producer.producer);
        let mut work = Work {
            ctx: &ctx,
            member: &mut member,
            producer: &mut producer,
            txn,
            temper,
        };
        if ctx.percent(10) {
            work.stage_late().await;
        }
        match work.transaction(&got).await {
            Next::GoOn => {}
            Next::Anew => producer.init(ctx.percent(50)).await,
            Next::Vanish => {
                member.hang_up().await;
                ctx.sleep(200).await;
                if ctx.percent(50) {
                    member.join().await;
                }
                producer.init(false).await;
            }
        }
    }
    if ctx.percent(50) {
        member.leave().await;
    }
}

/// Stages records in a transaction and leaves it open.
pub(super) async fn hold(
    ctx: &Ctx,
    member: &mut Member,
    producer: &mut Transactional,
    txn: usize,
    got: &[Got],
) -> bool {
    let temper = Temper::default();
    let mut work = Work {
        ctx,
        member,
        producer,
        txn,
        temper,
    };
    work.acknowledge(got).await
}

enum Next {
    GoOn,
    Anew,
    Vanish,
}

struct Work<'a> {
    ctx: &'a Ctx,
    member: &'a mut Member,
    producer: &'a mut Transactional,
    txn: usize,
    temper: Temper,
}

impl Work<'_> {
    async fn transaction(&mut self, got: &[Got]) -> Next {
        let ctx = self.ctx;
        let only_acks = ctx.percent(self.temper.odd);
        let mut well = true;
        if !only_acks {
            well &= self.outputs(got).await;
        }
        if ctx.percent(self.temper.vanishes) {
            return Next::Vanish;
        }
        if ctx.percent(self.temper.dawdles) {
            let most = ctx.between(100, 9000);
            ctx.sleep(most).await;
        }
        let aborts = ctx.percent(self.temper.aborts);
        if well || aborts {
            let staged = self.acknowledge(got).await;
            well &= staged;
        }
        if ctx.percent(self.temper.vanishes) {
            return Next::Vanish;
        }
        if ctx.percent(self.temper.dawdles) {
            let most = ctx.between(100, 9000);
            ctx.sleep(most).await;
        }
        let commit = well && !aborts;
        match self.producer.end(self.txn, commit, 5).await {
            Ok(ErrorCode::NONE) => Next::GoOn,
            Ok(ErrorCode::INVALID_TXN_STATE) if !commit => Next::Anew,
            _ => Next::Anew,
        }
    }

    /// What it said in its last transaction it says again, now that this one is over and somebody has
    /// the records perhaps. Nobody must listen.
    async fn stage_late(&mut self) {
        if let Some((version, request)) = self.producer.old_stage.take()
            && (request.producer_id, request.producer_epoch) != self.producer.producer
        {
            let _ = self.try_stage(version, &request).await;
        }
    }

    /// An output for each record, over both partitions of the output topic.
    async fn outputs(&mut self, got: &[Got]) -> bool {
        let spread = self.ctx.percent(50);
        for partition in 0..2 {
            let mut values = Vec::new();
            for record in got {
                let place = if spread {
                    i32::try_from(record.offset % 2).unwrap_or(0)
                } else {
                    0
                };
                if place == partition {
                    let of = format!(
                        "{}/{}/{}",
                        self.member.group, record.partition, record.offset
                    );
                    let key = (OUTPUT.to_string(), partition);
                    values.push(self.ctx.ledger.borrow_mut().output(self.txn, key, &of));
                }
            }
            if values.is_empty() {
                continue;
            }
            let code = self.producer.produce(12, OUTPUT, partition, &values).await;
            if code != Ok(ErrorCode::NONE) {
                return false;
            }
        }
        true
    }

    async fn register(&mut self, partitions: &[i32]) -> Result<ErrorCode, Lost> {
        let topic = register::AddShareAcksToTxnTopic {
            name: INPUT.into(),
            partitions: partitions.to_vec(),
            ..Default::default()
        };
        let request = AddShareAcksToTxnRequest {
            transactional_id: self.producer.tid.as_str().into(),
            producer_id: self.producer.producer.0,
            producer_epoch: self.producer.producer.1,
            group_id: self.member.group.as_str().into(),
            topics: vec![topic],
            ..Default::default()
        };
        for _ in 0..5 {
            let response = sim_call!(self.ctx, AddShareAcksToTxn v 0, request.clone());
            let Ok(response) = response else { continue };
            let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
            let worst = parts
                .map(|part| part.error_code)
                .find(|code| code.is_error());
            let code = worst.unwrap_or(response.error_code);
            if !is_retriable(code) {
                return Ok(code);
            }
            self.ctx.sleep(20).await;
        }
        Err(Lost)
    }

    /// Registers and stages all records; whether everything was taken.
    async fn acknowledge(&mut self, got: &[Got]) -> bool {
        let mut partitions: Vec<i32> = got.iter().map(|record| record.partition).collect();
        partitions.dedup();
        // Careless clients forget to register, and are refused.
        let careless = self.ctx.percent(3);
        if !careless && self.register(&partitions).await != Ok(ErrorCode::NONE) {
            return false;
        }
        let version = i16::from(self.ctx.percent(80));
        let kinds: Vec<i8> = got.iter().map(|record| self.kind(record)).collect();
        let halves = got.len() > 1 && self.ctx.percent(25);
        let middle = if halves { got.len() / 2 } else { got.len() };
        for range in [0..middle, middle..got.len()] {
            if range.is_empty() {
                continue;
            }
            let (records, kinds) = (&got[range.clone()], &kinds[range]);
            let request = self.stage(version, records, kinds);
            self.producer.old_stage = Some((version, request.clone()));
            let mut well = self.try_stage(version, &request).await;
            for _ in 0..3 {
                if well.is_err() {
                    well = self.try_stage(version, &request).await;
                }
            }
            if well == Ok(ErrorCode::UNKNOWN_MEMBER_ID) {
                self.member.join().await;
            }
            if well != Ok(ErrorCode::NONE) {
                return false;
            }
            let mut ledger = self.ctx.ledger.borrow_mut();
            for (record, kind) in records.iter().zip(kinds) {
                let key = (
                    self.member.group.clone(),
                    (INPUT.to_string(), record.partition),
                    record.offset,
                );
                ledger.txns[self.txn].staged.insert(key, *kind);
            }
        }
        true
    }

    fn kind(&self, record: &Got) -> i8 {
        match record.value {
            None => 0,
            Some(_) if self.ctx.percent(self.temper.rejects) => 3,
            Some(_) => 1,
        }
    }

    async fn try_stage(
        &mut self,
        version: i16,
        request: &TxnShareAcknowledgeRequest,
    ) -> Result<ErrorCode, Lost> {
        let response = sim_call!(self.ctx, TxnShareAcknowledge v version, request.clone())?;
        let parts = response
            .responses
            .iter()
            .flat_map(|topic| &topic.partitions);
        let worst = parts
            .map(|part| part.error_code)
            .find(|code| code.is_error());
        match worst.unwrap_or(response.error_code) {
            code if is_retriable(code) => Err(Lost),
            code => Ok(code),
        }
    }

    fn stage(&self, version: i16, records: &[Got], kinds: &[i8]) -> TxnShareAcknowledgeRequest {
        let mut parts: Vec<stage::TxnShareAcknowledgePartition> = Vec::new();
        for (record, kind) in records.iter().zip(kinds) {
            let mut batch = stage::AcknowledgementBatch {
                first_offset: record.offset,
                last_offset: record.offset,
                ..Default::default()
            };
            match version {
                0 => batch.acknowledge_type = *kind,
                _ => {
                    batch.acknowledge_types = (*kind).into();
                    batch.delivery_count = record.count;
                }
            }
            match parts
                .iter_mut()
                .find(|own| own.partition == record.partition)
            {
                Some(own) => match own.acknowledgement_batches.last_mut() {
                    Some(last)
                        if last.last_offset + 1 == record.offset
                            && last.delivery_count == batch.delivery_count
                            && (last.acknowledge_type == batch.acknowledge_type)
                            && (last.acknowledge_types == batch.acknowledge_types) =>
                    {
                        last.last_offset = record.offset;
                    }
                    _ => own.acknowledgement_batches.push(batch),
                },
                None => parts.push(stage::TxnShareAcknowledgePartition {
                    partition: record.partition,
                    acknowledgement_batches: vec![batch],
                    ..Default::default()
                }),
            }
        }
        let topic = stage::TxnShareAcknowledgeTopic {
            topic_id: self.ctx.ledger.borrow().id(INPUT),
            partitions: parts,
            ..Default::default()
        };
        let mut request = TxnShareAcknowledgeRequest {
            group_id: self.member.group.as_str().into(),
            transactional_id: self.producer.tid.as_str().into(),
            producer_id: self.producer.producer.0,
            producer_epoch: self.producer.producer.1,
            topics: vec![topic],
            ..Default::default()
        };
        if version >= 1 {
            request.member_id = self.member.id.as_str().into();
            request.member_epoch = self.member.epoch;
        }
        request
    }
}
