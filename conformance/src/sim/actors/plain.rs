//! A share consumer outside of transactions.

use super::member::Acks;
use super::{Got, Member};
use crate::sim::ctx::Ctx;

/// Takes records and does with them whatever a consumer may do.
pub async fn plain(ctx: Ctx, group: String) {
    let mut member = Member::new(&ctx, &group);
    member.join().await;
    let mut riding = Acks::new();
    let hoards = ctx.percent(25);
    while !ctx.stopping() {
        let most = match hoards {
            true => 500,
            false => i32::try_from(ctx.between(1, 10)).unwrap_or(5),
        };
        let acks = std::mem::take(&mut riding);
        let Ok(got) = member.fetch(2, &acks, most, 300).await else {
            continue;
        };
        if got.is_empty() {
            ctx.sleep(20).await;
        }
        let acks = choose(&ctx, &got);
        riding = settle(&ctx, &mut member, acks, hoards).await;
    }
    if ctx.percent(50) {
        member.close_session(&riding).await;
        member.leave().await;
    }
}

/// Does something with what was taken; returns what rides on the next fetch.
async fn settle(ctx: &Ctx, member: &mut Member, acks: Acks, hoards: bool) -> Acks {
    let mut riding = Acks::new();
    match ctx.below(20) {
        0..=9 => {
            let _ = member.acknowledge(&acks).await;
        }
        10..=13 => riding = acks,
        14 => {
            // Both in one request and again.
            let _ = member.acknowledge(&acks).await;
            let _ = member.acknowledge(&acks).await;
        }
        15 => {
            let renews: Acks = acks.iter().map(|ack| (ack.0, ack.1, ack.2, 4)).collect();
            let _ = member.acknowledge(&renews).await;
            ctx.sleep(ctx.between(10, 4000)).await;
            let _ = member.acknowledge(&acks).await;
        }
        16 if hoards => {}
        16 if ctx.percent(60) => {
            // As late as the lock allows, or a little later.
            let lock_ms = ctx.ledger.borrow().deliveries.lock_ms;
            ctx.sleep(lock_ms.saturating_sub(2) + ctx.below(20)).await;
            let _ = member.acknowledge(&acks).await;
        }
        16 => {
            ctx.sleep(ctx.between(500, 6000)).await;
            let _ = member.acknowledge(&acks).await;
        }
        17 => {
            member.close_session(&acks).await;
            // For the first request of the next session, where they have no place.
            riding = acks;
        }
        18 => {
            member.hang_up().await;
            match ctx.below(3) {
                0 => member.join().await,
                1 => drop(member.acknowledge(&acks).await),
                _ => riding = acks,
            }
        }
        _ => {
            if ctx.percent(50) {
                member.leave().await;
                // Without members offsets can be altered.
                ctx.sleep(ctx.below(1500)).await;
                member.join().await;
            } else {
                member.stay().await;
            }
        }
    }
    riding
}

fn choose(ctx: &Ctx, got: &[Got]) -> Acks {
    let whole = ctx.percent(50);
    let common = kind(ctx);
    let mut acks = Acks::new();
    for record in got {
        if ctx.percent(4) {
            continue;
        }
        let kind = match (&record.value, whole) {
            (None, _) => 0,
            (_, true) => common,
            (_, false) => kind(ctx),
        };
        match acks.last_mut() {
            Some(last)
                if last.0 == record.partition && last.2 + 1 == record.offset && last.3 == kind =>
            {
                last.2 = record.offset;
            }
            _ => acks.push((record.partition, record.offset, record.offset, kind)),
        }
    }
    acks
}

fn kind(ctx: &Ctx) -> i8 {
    match ctx.below(10) {
        0..=5 => 1,
        6..=8 => 2,
        _ => 3,
    }
}
