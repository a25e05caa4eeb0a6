//! A participant of two-phase commit (KIP-939): what it prepared it ends by what it has stored,
//! however often it crashes in between.

use ackord_proto::error_code::ErrorCode;

use super::staging::{self, Stage};
use super::transactional::Transactional;
use super::worker::{Temper, Work, take};
use super::{INPUT, Member, OUTPUT};
use crate::sim::ctx::Ctx;
use crate::sim::ledger::Prepared;
use crate::sim::workload::Way;

/// How a life of a participant goes on after a transaction.
#[derive(PartialEq, Eq)]
enum Next {
    Crash,
    GoOn,
}

/// Lives until the run stops; nothing survives a crash but what is stored.
pub async fn participant(ctx: Ctx, group: String, tid: String, temper: Temper) {
    // Stored too.
    let mut told = Vec::new();
    while !ctx.stopping() {
        let mut member = Member::new(&ctx, &group);
        let mut producer = Transactional::new(&ctx, &tid);
        member.join().await;
        come_back(&ctx, &mut producer, &told).await;
        while !ctx.stopping() {
            let Some(got) = take(&ctx, &mut member).await else {
                continue;
            };
            let text = ctx.ledger.borrow().deliveries.transactional && ctx.percent(50);
            let way = match text {
                true => Way::Text(ctx.pick(&[5, 6])),
                false => Way::Native,
            };
            let temper = Temper { way, ..temper };
            let mut work = Work::begin(&ctx, &mut member, &mut producer, temper);
            let well = work.outputs(&got).await && work.acknowledge(&got).await;
            if ctx.percent(5) {
                break;
            }
            if !well {
                let txn = work.txn;
                if producer.end(txn, false, 5).await != Ok(ErrorCode::NONE) {
                    come_back(&ctx, &mut producer, &told).await;
                }
                continue;
            }
            told = std::mem::take(&mut work.told);
            if finish(&ctx, &mut work, &told).await == Next::Crash {
                break;
            }
        }
        ctx.hang_up().await;
        ctx.sleep(ctx.between(10, 3000)).await;
    }
}

/// Stores that the transaction is prepared, then how it is to end, then ends it.
async fn finish(ctx: &Ctx, work: &mut Work<'_>, told: &[Stage]) -> Next {
    let tid = work.producer.tid.clone();
    let prepared = Prepared {
        txn: work.txn,
        producer: work.producer.producer,
        decision: None,
        asked: false,
    };
    ctx.ledger
        .borrow_mut()
        .prepared
        .insert(tid.clone(), prepared);
    if ctx.percent(15) {
        return Next::Crash;
    }
    // Whoever coordinates takes its time; that is longer than any timeout now and then.
    work.dawdle().await;
    let commit = decide(ctx, &tid);
    if ctx.percent(15) {
        return Next::Crash;
    }
    end(ctx, work.producer, work.txn, commit).await;
    if ctx.percent(10) {
        return Next::Crash;
    }
    let unsettled = ctx.ledger.borrow().prepared.contains_key(&tid);
    if unsettled {
        come_back(ctx, work.producer, told).await;
    }
    Next::GoOn
}

/// Stores how the transaction is to end, where that is not stored yet.
fn decide(ctx: &Ctx, tid: &str) -> bool {
    let commit = ctx.percent(70);
    ctx.ledger.borrow_mut().decide(tid, commit)
}

/// Asks the broker to end a prepared transaction, and strikes it off once that is done.
async fn end(ctx: &Ctx, producer: &mut Transactional, txn: usize, commit: bool) {
    let tid = producer.tid.clone();
    if let Some(prepared) = ctx.ledger.borrow_mut().prepared.get_mut(&tid) {
        prepared.asked = true;
    }
    if producer.end(txn, commit, 5).await == Ok(ErrorCode::NONE) {
        ctx.ledger.borrow_mut().prepared.remove(&tid);
    }
}

/// Comes back for good, to end what is prepared.
pub async fn settle(ctx: Ctx, tid: String) {
    let mut producer = Transactional::new(&ctx, &tid);
    come_back(&ctx, &mut producer, &[]).await;
}

/// Begins, or goes on with what is stored as prepared until that has ended.
async fn come_back(ctx: &Ctx, producer: &mut Transactional, told: &[Stage]) {
    loop {
        let tid = producer.tid.clone();
        let stored = ctx.ledger.borrow().prepared.get(&tid).copied();
        let Some(prepared) = stored else {
            producer.init_two_phase(false).await;
            return;
        };
        let kept = producer.init_two_phase(true).await;
        let now_us = ctx.now_us();
        match kept {
            Some(pair) if pair == prepared.producer => {
                let heir = producer.producer;
                ctx.ledger.borrow_mut().txns[prepared.txn].heirs.push(heir);
                say_again(ctx, producer, prepared.txn, told).await;
                let commit = decide(ctx, &tid);
                end(ctx, producer, prepared.txn, commit).await;
                if !ctx.ledger.borrow().prepared.contains_key(&tid) {
                    return;
                }
            }
            Some(pair) => {
                let problem = format!("{pair:?} was kept, and {prepared:?} is stored");
                return ctx.ledger.borrow_mut().problem(problem);
            }
            None if prepared.asked => {
                let mut ledger = ctx.ledger.borrow_mut();
                ledger.resolved(now_us, prepared.txn);
                ledger.prepared.remove(&tid);
                return;
            }
            None => {
                let problem = format!("{tid} has lost what it had prepared: {prepared:?}");
                return ctx.ledger.borrow_mut().problem(problem);
            }
        }
        ctx.sleep(30).await;
    }
}

/// A prepared transaction takes what is in it already, and nothing else.
async fn say_again(ctx: &Ctx, producer: &mut Transactional, txn: usize, told: &[Stage]) {
    if ctx.percent(40) {
        for stage in told {
            let stage = stage.of_producer(producer.producer);
            if let Some((group, partitions)) = stage.to_register() {
                let _ = staging::register(ctx, producer, &group, &partitions).await;
            }
            let _ = stage.send(ctx).await;
            if let Some((next, (group, partition, offset))) = stage.of_the_next() {
                let taken = next.send(ctx).await == Ok(ErrorCode::NONE);
                let key = (group, (INPUT.to_string(), partition), offset);
                let mut ledger = ctx.ledger.borrow_mut();
                if taken && !ledger.txns[txn].staged.contains_key(&key) {
                    ledger.problem(format!("T{txn} took {key:?} after it was prepared"));
                }
            }
        }
    }
    if ctx.percent(20) {
        let value = format!("T{txn}:too late");
        if producer.produce(12, OUTPUT, 0, &[value]).await == Ok(ErrorCode::NONE) {
            let problem = format!("T{txn} took a record after it was prepared");
            ctx.ledger.borrow_mut().problem(problem);
        }
    }
}
