//! A worker: takes records, writes an output for each, and has both become true together.

use ackord_proto::error_code::ErrorCode;

use super::staging::{self, Kinded, Stage};
use super::transactional::Transactional;
use super::{Got, INPUT, Member, OUTPUT};
use crate::sim::ctx::Ctx;
use crate::sim::workload::Way;

/// How a worker behaves.
#[derive(Clone, Copy, Debug)]
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
    /// Of a hundred transactions, those in which it forgets to register what it acknowledges.
    pub careless: u64,
    /// How it acknowledges.
    pub way: Way,
    /// Its producer is of the time of transaction version 1.
    pub old: bool,
}

impl Default for Temper {
    fn default() -> Self {
        Temper {
            aborts: 0,
            vanishes: 0,
            dawdles: 0,
            odd: 0,
            rejects: 0,
            careless: 0,
            way: Way::Native,
            old: false,
        }
    }
}

/// Copies until the run stops.
pub async fn worker(ctx: Ctx, group: String, tid: String, temper: Temper) {
    let mut member = Member::new(&ctx, &group);
    let mut producer = Transactional::new(&ctx, &tid);
    member.join().await;
    producer.init(false).await;
    while !ctx.stopping() {
        let Some(got) = take(&ctx, &mut member).await else {
            continue;
        };
        let mut work = Work::begin(&ctx, &mut member, &mut producer, temper);
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

/// Fetches records for a transaction.
pub(super) async fn take(ctx: &Ctx, member: &mut Member) -> Option<Vec<Got>> {
    if ctx.percent(10) {
        member.stay().await;
    }
    let most = ctx.pick(&[1, 2, 4, 8, 30]);
    let got = member.fetch(2, &Vec::new(), most, 300).await.ok()?;
    if got.is_empty() {
        ctx.sleep(30).await;
        return None;
    }
    Some(got)
}

/// Stages records in a transaction and leaves it open.
pub(super) async fn hold(
    ctx: &Ctx,
    member: &mut Member,
    producer: &mut Transactional,
    got: &[Got],
) -> (usize, bool) {
    let mut work = Work::begin(ctx, member, producer, Temper::default());
    let well = work.acknowledge(got).await;
    (work.txn, well)
}

/// Acknowledges records in a transaction without outputs.
pub async fn copy_nothing(
    ctx: &Ctx,
    member: &mut Member,
    producer: &mut Transactional,
    got: &[Got],
) {
    let (txn, well) = hold(ctx, member, producer, got).await;
    if producer.end(txn, well, 5).await != Ok(ErrorCode::NONE) {
        producer.init(false).await;
    }
}

enum Next {
    GoOn,
    Anew,
    Vanish,
}

/// One transaction of a worker.
pub(super) struct Work<'a> {
    ctx: &'a Ctx,
    pub(super) member: &'a mut Member,
    pub(super) producer: &'a mut Transactional,
    /// Its number.
    pub(super) txn: usize,
    temper: Temper,
    /// AddShareAcksToTxn was sent.
    registers: bool,
    /// Some output may have arrived, or not.
    unsure: bool,
    /// All that was staged.
    pub(super) told: Vec<Stage>,
}

impl<'a> Work<'a> {
    /// A transaction begins at its client.
    pub(super) fn begin(
        ctx: &'a Ctx,
        member: &'a mut Member,
        producer: &'a mut Transactional,
        temper: Temper,
    ) -> Self {
        let mut ledger = ctx.ledger.borrow_mut();
        let txn = ledger.begin(&producer.tid, producer.producer);
        Work {
            ctx,
            member,
            producer,
            txn,
            temper,
            registers: false,
            unsure: false,
            told: Vec::new(),
        }
    }

    async fn transaction(&mut self, got: &[Got]) -> Next {
        let ctx = self.ctx;
        let only_acks = ctx.percent(self.temper.odd);
        let mut well = true;
        if !only_acks {
            well &= self.outputs(got).await;
            self.unsure = !well;
        }
        if ctx.percent(self.temper.vanishes) {
            return Next::Vanish;
        }
        self.dawdle().await;
        let aborts = ctx.percent(self.temper.aborts);
        if well || aborts {
            let staged = self.acknowledge(got).await;
            well &= staged;
        }
        if ctx.percent(self.temper.vanishes) {
            return Next::Vanish;
        }
        self.dawdle().await;
        self.end(well && !aborts).await
    }

    pub(super) async fn dawdle(&self) {
        if self.ctx.percent(self.temper.dawdles) {
            let most = self.ctx.between(100, 9000);
            self.ctx.sleep(most).await;
        }
    }

    async fn end(&mut self, commit: bool) -> Next {
        let version = match self.temper.way {
            Way::Text(..=4) => 4,
            Way::Text(_) | Way::Native => 5,
        };
        if self.temper.old && version == 5 && self.registers && self.ctx.percent(50) {
            // As a producer of transaction version 1 would end it: it can abort, and no more.
            let code = self.producer.end(self.txn, commit, 4).await;
            if !commit || code != Ok(ErrorCode::INVALID_TXN_STATE) {
                return Next::Anew;
            }
        }
        match self.producer.end(self.txn, commit, version).await {
            // Under the same epoch nobody could know which sequence comes next.
            Ok(ErrorCode::NONE) if version == 4 && self.unsure => Next::Anew,
            Ok(ErrorCode::NONE) => Next::GoOn,
            _ => Next::Anew,
        }
    }

    /// What it said in its last transaction it says again, now that this one is over and somebody has
    /// the records perhaps. Nobody must listen.
    async fn stage_late(&mut self) {
        if let Some(stage) = self.producer.old_stage.take()
            && (stage.producer() != self.producer.producer || stage.keeps_epoch())
        {
            let _ = stage.send(self.ctx).await;
        }
    }

    /// An output for each record, over both partitions of the output topic.
    pub(super) async fn outputs(&mut self, got: &[Got]) -> bool {
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
            let old = self.temper.old;
            if old && !self.producer.add_partition(OUTPUT, partition).await {
                return false;
            }
            let version = if old { 11 } else { 12 };
            let code = self.producer.produce(version, OUTPUT, partition, &values);
            if code.await != Ok(ErrorCode::NONE) {
                return false;
            }
        }
        true
    }

    /// Registers and stages all records; whether everything was taken.
    pub(super) async fn acknowledge(&mut self, got: &[Got]) -> bool {
        let ctx = self.ctx;
        let acks: Vec<Kinded<'_>> = got.iter().map(|own| (own, self.kind(own))).collect();
        // Careless clients forget to register, and are refused.
        let careless = ctx.percent(self.temper.careless);
        let draft = self.temper.way == Way::Native && ctx.percent(20);
        let version = match self.temper.way {
            Way::Native => i16::from(ctx.percent(80)),
            Way::Text(version) => version,
        };
        if !careless && !draft && !self.register(got).await {
            return false;
        }
        let once = matches!(self.temper.way, Way::Text(..=4));
        let halves = got.len() > 1 && ctx.percent(if once { 5 } else { 25 });
        let middle = if halves { got.len() / 2 } else { got.len() };
        for range in [0..middle, middle..got.len()] {
            if range.is_empty() {
                continue;
            }
            // A transaction that keeps its epoch takes nothing by TxnShareAcknowledge.
            let refused = once && range.start > 0;
            let acks = &acks[range];
            let stage = match self.temper.way {
                Way::Text(_) if refused => {
                    let request = staging::native(ctx, self.member, self.producer, 1, acks);
                    Stage::Native(1, request)
                }
                Way::Text(version) => {
                    let request = staging::text(ctx, self.member, self.producer, version, acks);
                    Stage::Text(version, request)
                }
                Way::Native if draft => {
                    let request = staging::native(ctx, self.member, self.producer, 1, acks);
                    Stage::Draft(staging::draft(request))
                }
                Way::Native => {
                    let request = staging::native(ctx, self.member, self.producer, version, acks);
                    Stage::Native(version, request)
                }
            };
            if !self.stage(stage, acks).await {
                return false;
            }
        }
        true
    }

    async fn register(&mut self, got: &[Got]) -> bool {
        let ctx = self.ctx;
        match self.temper.way {
            Way::Text(5..) => true,
            Way::Text(_) => {
                let added = staging::add_offsets(ctx, self.producer, &self.member.group).await;
                if added && ctx.percent(5) {
                    // Something of the last transaction comes first; then this one cannot go on.
                    self.stage_late().await;
                }
                added
            }
            Way::Native => {
                let mut partitions: Vec<i32> = got.iter().map(|record| record.partition).collect();
                partitions.dedup();
                self.registers = true;
                let group = &self.member.group;
                let code = staging::register(ctx, self.producer, group, &partitions).await;
                code == Ok(ErrorCode::NONE)
            }
        }
    }

    /// Sends acknowledgements until somebody answers; whether they were taken.
    async fn stage(&mut self, stage: Stage, acks: &[Kinded<'_>]) -> bool {
        let mut well = stage.send(self.ctx).await;
        for _ in 0..3 {
            if well.is_err() {
                well = stage.send(self.ctx).await;
            }
        }
        self.producer.old_stage = Some(stage.clone());
        if well == Ok(ErrorCode::UNKNOWN_MEMBER_ID) {
            self.member.join().await;
        }
        if well != Ok(ErrorCode::NONE) {
            return false;
        }
        self.told.push(stage);
        let mut ledger = self.ctx.ledger.borrow_mut();
        for (record, kind) in acks {
            let key = (
                self.member.group.clone(),
                (INPUT.to_string(), record.partition),
                record.offset,
            );
            ledger.txns[self.txn].staged.insert(key, *kind);
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
}
