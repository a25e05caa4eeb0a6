//! Transactions that nobody ends, and the start after a replay.

use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::coordinator::{TimerKey, TxnCoordinator, TxnCtx, TxnReply};
use super::entry::{Entry, NO_PRODUCER_ID};
use super::state::TxnState;
use crate::outbox::{Counted, Outbox};

impl TxnCoordinator {
    /// After the last record of the log was applied: takes up prepared outcomes where they were,
    /// and gives ongoing transactions that have a timeout the rest of their time, which is never more than their
    /// timeout whatever the wall clock did meanwhile.
    pub fn recovered(&mut self, ctx: &mut TxnCtx<'_>, out: &mut Outbox<TxnReply>) {
        let mut prepared = Vec::new();
        let mut ongoing = Vec::new();
        for (id, entry) in self.entries() {
            if entry.state.is_prepared() {
                prepared.push(id.clone());
            } else if entry.state == TxnState::Ongoing {
                let wall_ms = ctx.now.wall.as_millis();
                let left = (!entry.is_two_phase()).then(|| remaining_ms(entry, wall_ms));
                ongoing.push((id.clone(), left));
            }
        }
        for (id, left) in ongoing {
            self.recover_offset_groups(&id);
            if let Some(millis) = left {
                self.timers
                    .arm(TimerKey::Timeout(id), ctx.now.mono.plus_millis(millis));
            }
        }
        for id in prepared {
            self.tell_all(ctx, &id, None, None, out);
        }
    }

    /// Does what is due: aborts transactions that took longer than their timeout, and sends markers
    /// again that nobody answered. Too early is harmless.
    pub fn handle_timeout(&mut self, ctx: &mut TxnCtx<'_>, out: &mut Outbox<TxnReply>) {
        while let Some(key) = self.timers.pop_due(ctx.now.mono) {
            match key {
                TimerKey::Markers(id) => self.send_markers(ctx, &id, out),
                TimerKey::Timeout(id) => self.time_out(ctx, id, out),
            }
        }
    }

    /// Forgets transactional ids that have been idle for `idle_ms`
    /// (`transactional.id.expiration.ms`). A transaction under way is never idle.
    pub fn expire(&mut self, now: Now, idle_ms: i64, out: &mut Outbox<TxnReply>) {
        let oldest = now.wall.as_millis().saturating_sub(idle_ms);
        let is_idle = |entry: &Entry| {
            let resting = matches!(
                entry.state,
                TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort
            );
            resting && entry.updated_ms < oldest
        };
        let idle: Vec<Str> = self
            .entries()
            .filter(|(_, entry)| is_idle(entry))
            .map(|(id, _)| id.clone())
            .collect();
        for id in idle {
            self.remove(&id, out);
        }
    }

    fn time_out(&mut self, ctx: &mut TxnCtx<'_>, id: Str, out: &mut Outbox<TxnReply>) {
        let Some(entry) = self
            .entry(&id)
            .filter(|entry| entry.state == TxnState::Ongoing)
        else {
            return;
        };
        let entry = entry.clone();
        let has_share_acks = entry.has_share_acks();
        // The producer may come back: its own abort has to be answerable.
        if self.fence(ctx, &id, &entry, true, out).is_err() {
            // No producer id just now.
            let again = ctx
                .now
                .mono
                .plus_millis(self.config.marker_retry_max_ms.max(1));
            self.timers.arm(TimerKey::Timeout(id), again);
        } else if has_share_acks {
            out.count(Counted::ShareTimeout);
        }
    }

    /// Aborts the ongoing transaction under a new epoch. `forgiven`: its producer may learn the new
    /// epoch.
    pub(super) fn fence(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        id: &Str,
        entry: &Entry,
        forgiven: bool,
        out: &mut Outbox<TxnReply>,
    ) -> Result<(), ErrorCode> {
        let next_producer_id = if entry.is_exhausted() {
            ctx.ids.next()?
        } else {
            NO_PRODUCER_ID
        };
        let prepared = entry.fenced(forgiven, next_producer_id, ctx.now)?;
        self.prepare(ctx, id, prepared, None, out)
    }
}

fn remaining_ms(entry: &Entry, wall_ms: i64) -> i64 {
    let timeout_ms = i64::from(entry.timeout_ms);
    entry
        .start_ms
        .saturating_add(timeout_ms)
        .saturating_sub(wall_ms)
        .min(timeout_ms)
        .max(0)
}
