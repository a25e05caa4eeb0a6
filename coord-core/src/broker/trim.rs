//! The start of a log moves: DeleteRecords, retention, and checkpoints of coordinators.
//!
//! Readers see the new start when it is durable, and not before: a start that was seen never goes
//! back. What is trimmed away could not be replayed, so a checkpoint goes first.

use alloc::format;
use alloc::vec::Vec;

use ackord_machine::{LogId, MonoTime, OpId, OpKind, StorageFault};
use ackord_proto::str::Str;

use super::Broker;
use super::journal::{DeletionPart, Pending};
use super::timing::TimerKey;

impl Broker {
    /// Moves the start of a log to `before`, at most its high watermark.
    pub(super) fn start_log_at(&mut self, log: LogId, before: i64, asked: Option<DeletionPart>) {
        let checkpoint = self.write_checkpoint(log);
        self.issue_trim(checkpoint, log, before, asked);
    }

    pub(super) fn issue_trim(
        &mut self,
        after: Option<OpId>,
        log: LogId,
        before: i64,
        asked: Option<DeletionPart>,
    ) {
        self.journal.issue_after(
            after,
            OpKind::Trim { log, before },
            Pending::Trim { log, before, asked },
            &mut self.effects,
        );
    }

    /// The store has trimmed a log, or not.
    pub(super) fn trimmed(
        &mut self,
        log: LogId,
        before: i64,
        asked: Option<DeletionPart>,
        outcome: Result<(), StorageFault>,
    ) {
        match outcome {
            Ok(()) => self.log_starts_at(log, before),
            Err(fault) => {
                self.warn(format!("{log} was not trimmed to {before}: {fault}"));
                if fault == StorageFault::Indeterminate && !self.is_coordinator_log(log) {
                    // Only the store knows where the log starts now.
                    self.freeze(log);
                }
            }
        }
        if let Some(part) = asked {
            let low = self.logs.get(&log).map(|log| log.start_offset());
            self.records_deleted(part, outcome.ok().and(low));
        }
    }

    /// Everybody takes note that a log starts at `before`.
    fn log_starts_at(&mut self, log_id: LogId, before: i64) {
        let Some(log) = self.logs.get_mut(&log_id) else {
            return;
        };
        log.trim(before);
        let groups: Vec<Str> = self
            .leaders
            .get(&log_id)
            .map(|leader| leader.groups().cloned().collect())
            .unwrap_or_default();
        for group in groups {
            self.with_leader(log_id, &group, None, |leader, ctx, out| {
                leader.log_start_moved(ctx, &group, out);
            });
        }
        self.wake_log(log_id);
    }

    /// Removes what has expired from every log, and plans the next look.
    pub(super) fn retain(&mut self) {
        let wall = self.now.wall.as_millis();
        let due: Vec<(LogId, i64)> = self
            .logs
            .iter()
            .filter(|(id, _)| !self.frozen.contains(id))
            .map(|(id, log)| (*id, log.start_offset(), log.retention_start(wall)))
            .filter(|(_, now, wanted)| wanted > now)
            .map(|(id, _, wanted)| (id, wanted))
            .collect();
        for (log, before) in due {
            self.start_log_at(log, before, None);
        }
        self.plan_all_retention();
    }

    /// Plans anew for all logs; the wall clock may have jumped.
    pub(super) fn plan_all_retention(&mut self) {
        self.retention_due = None;
        self.timers.cancel(&TimerKey::Retention);
        let logs: Vec<LogId> = self.logs.keys().copied().collect();
        for log in logs {
            self.plan_retention(log);
        }
    }

    /// Retention looks again at the first moment, of those that
    /// `log.retention.check.interval.ms` allows, at which it can have something to do.
    pub(super) fn plan_retention(&mut self, log: LogId) {
        let Some(due) = self.logs.get(&log).and_then(|log| log.retention_due()) else {
            return;
        };
        if self.retention_due.is_some_and(|planned| planned <= due) {
            return;
        }
        self.retention_due = Some(due);
        let interval = self.config.number("log.retention.check.interval.ms").max(1);
        let wait = due
            .saturating_sub(self.now.wall.as_millis())
            .saturating_add(1)
            .max(0);
        // Looks are a whole number of intervals from the epoch of the clock.
        let now = i64::try_from(self.now.mono.as_micros() / 1000).unwrap_or(i64::MAX);
        let looks = (now.saturating_add(wait) / interval).saturating_add(1);
        let at = MonoTime::ZERO.plus_millis(looks.saturating_mul(interval));
        self.timers.arm(TimerKey::Retention, at);
    }
}
