//! Who commits offsets of a consumer group together with outputs.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddOffsetsToTxnRequest, TxnOffsetCommitRequest, txn_offset_commit as commit,
};

use super::transactional::{Transactional, is_retriable};
use super::{MOVERS, OUTPUT};
use crate::sim::ctx::{Ctx, Lost};
use crate::sim_call;

/// Writes an output and an offset in each transaction. Each transactional id has a partition of its
/// own in the group, so the committed offset names the last transaction that was committed.
pub async fn mover(ctx: Ctx, tid: String, new: bool) {
    let mut producer = Transactional::new(&ctx, &tid);
    producer.init(false).await;
    while !ctx.stopping() {
        let txn = ctx
            .ledger
            .borrow_mut()
            .begin(&producer.tid, producer.producer);
        let mut well = true;
        if ctx.percent(70) {
            if !new {
                well &= producer.add_partition(OUTPUT, 0).await;
            }
            let key = (OUTPUT.to_string(), 0);
            let values = vec![ctx.ledger.borrow_mut().output(txn, key, "moved")];
            let version = if new { 12 } else { 11 };
            well =
                well && producer.produce(version, OUTPUT, 0, &values).await == Ok(ErrorCode::NONE);
        }
        let offset = i64::try_from(txn).unwrap_or(0);
        let moved = well && move_offset(&ctx, &producer, offset, new).await == Ok(ErrorCode::NONE);
        if moved {
            let key = (tid.clone(), (OUTPUT.to_string(), 0));
            ctx.ledger.borrow_mut().txns[txn]
                .offsets
                .insert(key, offset);
        }
        if ctx.percent(5) {
            ctx.sleep(500).await;
            producer.init(false).await;
            continue;
        }
        if ctx.percent(5) {
            ctx.sleep(ctx.between(500, 9000)).await;
        }
        let commit = moved && ctx.percent(70);
        let ended = producer.end(txn, commit, if new { 5 } else { 4 }).await;
        if ended != Ok(ErrorCode::NONE) || !moved {
            producer.init(ctx.percent(50)).await;
        }
        ctx.sleep(ctx.between(20, 500)).await;
    }
}

async fn move_offset(
    ctx: &Ctx,
    producer: &Transactional,
    offset: i64,
    new: bool,
) -> Result<ErrorCode, Lost> {
    let group = format!("{MOVERS}-{}", producer.tid);
    if !new {
        let request = AddOffsetsToTxnRequest {
            transactional_id: producer.tid.as_str().into(),
            producer_id: producer.producer.0,
            producer_epoch: producer.producer.1,
            group_id: group.as_str().into(),
            ..Default::default()
        };
        let response = sim_call!(ctx, AddOffsetsToTxn v 4, request)?;
        if response.error_code != ErrorCode::NONE {
            return Ok(response.error_code);
        }
    }
    let part = commit::TxnOffsetCommitRequestPartition {
        partition_index: 0,
        committed_offset: offset,
        ..Default::default()
    };
    let topic = commit::TxnOffsetCommitRequestTopic {
        name: OUTPUT.into(),
        partitions: vec![part],
        ..Default::default()
    };
    let request = TxnOffsetCommitRequest {
        transactional_id: producer.tid.as_str().into(),
        group_id: group.as_str().into(),
        producer_id: producer.producer.0,
        producer_epoch: producer.producer.1,
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let version = if new { 5 } else { 4 };
    for _ in 0..4 {
        let Ok(response) = sim_call!(ctx, TxnOffsetCommit v version, request.clone()) else {
            continue;
        };
        let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
        let code = parts
            .map(|part| part.error_code)
            .next()
            .unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
        if !is_retriable(code) {
            return Ok(code);
        }
        ctx.sleep(20).await;
    }
    Err(Lost)
}
