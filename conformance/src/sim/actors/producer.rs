//! Who fills the input topic.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::InitProducerIdRequest;

use super::INPUT;
use super::transactional::{Transactional, is_retriable};
use crate::sim::ctx::Ctx;
use crate::sim::wire::{self, Stamp};
use crate::sim_call;

/// Appends records without a transaction; each at most once, and once where it was confirmed.
pub async fn producer(ctx: Ctx) {
    let burst = ctx.pick(&[6, 6, 6, 60]);
    'anew: while !ctx.stopping() {
        let request = InitProducerIdRequest {
            transaction_timeout_ms: 60_000,
            ..Default::default()
        };
        let Ok(given) = sim_call!(ctx, InitProducerId v 5, request) else {
            continue;
        };
        if given.error_code != ErrorCode::NONE {
            ctx.sleep(50).await;
            continue;
        }
        let mut sequences = [0, 0];
        while !ctx.stopping() {
            let partition = ctx.below(2);
            let place = usize::try_from(partition).unwrap_or(0);
            let values: Vec<String> = (0..ctx.between(1, burst))
                .map(|_| ctx.ledger.borrow_mut().fresh_value())
                .collect();
            let stamp = Stamp {
                id: given.producer_id,
                epoch: given.producer_epoch,
                sequence: sequences[place],
                transactional: false,
            };
            let partition = i32::try_from(partition).unwrap_or(0);
            let request = wire::produce(None, stamp, INPUT, partition, &values);
            let mut confirmed = false;
            for _ in 0..6 {
                if let Ok(response) = sim_call!(ctx, Produce v 12, request.clone()) {
                    let parts = response
                        .responses
                        .iter()
                        .flat_map(|topic| topic.partition_responses.iter());
                    let code = parts.map(|part| part.error_code).next();
                    match code {
                        Some(ErrorCode::NONE) => {
                            confirmed = true;
                            break;
                        }
                        Some(code) if is_retriable(code) => {}
                        _ => break,
                    }
                }
                ctx.sleep(30).await;
            }
            if !confirmed {
                continue 'anew;
            }
            sequences[place] += i32::try_from(values.len()).unwrap_or(0);
            ctx.sleep(ctx.between(50, 600)).await;
        }
    }
}

/// Appends records inside transactions, and aborts many of them.
pub async fn feeder(ctx: Ctx, tid: String, version: i16) {
    let mut producer = Transactional::new(&ctx, &tid);
    producer.init(false).await;
    while !ctx.stopping() {
        let txn = ctx
            .ledger
            .borrow_mut()
            .begin(&producer.tid, producer.producer);
        let mut well = true;
        for number in 0..ctx.between(1, 2) {
            let partition = i32::try_from(ctx.below(2)).unwrap_or(0);
            if version < 12 {
                well &= producer.add_partition(INPUT, partition).await;
            }
            let values: Vec<String> = (0..ctx.between(1, 3))
                .map(|place| {
                    let key = (INPUT.to_string(), partition);
                    ctx.ledger
                        .borrow_mut()
                        .output(txn, key, &format!("f{number}{place}"))
                })
                .collect();
            well = well
                && producer.produce(version, INPUT, partition, &values).await
                    == Ok(ErrorCode::NONE);
        }
        ctx.sleep(ctx.between(1, 400)).await;
        let commit = well && ctx.percent(60);
        if ctx.percent(5) {
            ctx.sleep(1000).await;
            producer.init(false).await;
            continue;
        }
        let end = if version < 12 { 4 } else { 5 };
        let ended = producer.end(txn, commit, end).await;
        if ended != Ok(ErrorCode::NONE) || !well {
            producer.init(ctx.percent(50)).await;
        }
        ctx.sleep(ctx.between(100, 900)).await;
    }
}
