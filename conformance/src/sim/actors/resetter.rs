//! An operator who changes the offsets of a group that nobody else uses: while it has members, while
//! a transaction holds records of it, and when it is free.

use ackord_proto::error_code::ErrorCode;

use super::admin::{alter, forget};
use super::transactional::Transactional;
use super::worker::hold;
use super::{Got, Member};
use crate::sim::ctx::Ctx;

/// Takes some records, leaves the group, has it begin elsewhere, and comes back.
pub async fn resetter(ctx: Ctx, group: String, tid: String) {
    let mut member = Member::new(&ctx, &group);
    let mut producer = Transactional::new(&ctx, &tid);
    producer.init(false).await;
    while !ctx.stopping() {
        member.join().await;
        let most = ctx.pick(&[1, 3, 30]);
        let got = member.fetch(2, &Vec::new(), most, 200).await;
        let got = got.unwrap_or_default();
        let ends = match ctx.below(3) {
            _ if got.is_empty() => None,
            0 => {
                accept(&mut member, &got).await;
                None
            }
            1 => None,
            _ => {
                let held = hold(&ctx, &mut member, &mut producer, &got);
                Some(held.await.0)
            }
        };
        if ctx.percent(70) {
            member.close_session(&Vec::new()).await;
        }
        if ctx.percent(90) {
            member.leave().await;
        }
        change(&ctx, &group).await;
        if let Some(txn) = ends {
            let code = producer.end(txn, ctx.percent(50), 5).await;
            if code != Ok(ErrorCode::NONE) {
                producer.init(false).await;
            }
            change(&ctx, &group).await;
        }
        ctx.sleep(ctx.between(10, 800)).await;
    }
}

async fn accept(member: &mut Member, got: &[Got]) {
    let kind = |own: &Got| i8::from(own.value.is_some());
    let acks = got
        .iter()
        .map(|own| (own.partition, own.offset, own.offset, kind(own)));
    let _ = member.acknowledge(&acks.collect()).await;
}

async fn change(ctx: &Ctx, group: &str) {
    match ctx.below(5) {
        0 => forget(ctx, group).await,
        _ => alter(ctx, group).await,
    }
}
