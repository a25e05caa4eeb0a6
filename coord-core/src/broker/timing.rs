//! One index of deadlines for everything in the broker.

use alloc::vec::Vec;

use ackord_machine::{DeadlineReason, LogId};
use ackord_proto::str::Str;

use super::Broker;
use super::journal::Gate;
use crate::metadata::SHARE_STATE_TOPIC;

/// How often idle producers and ids are looked for (Kafka's
/// `producer.id.expiration.check.interval.ms`).
const EXPIRY_MS: i64 = 600_000;

/// Whose deadline it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimerKey {
    DeadLetters,
    Expiry,
    Gc(i32),
    Group(Str),
    Leader(LogId),
    Reload(LogId),
    Retention,
    Sgc(i32),
    ShareCold,
    SharePrune,
    Tc(i32),
    Wait(u64),
}

impl Broker {
    pub(super) fn reason(&self, key: &TimerKey) -> DeadlineReason {
        match key {
            TimerKey::Expiry => DeadlineReason::Expiry,
            TimerKey::Gc(partition) => {
                let next = self.gcs.get(partition).and_then(|gc| gc.next_deadline());
                next.map_or(DeadlineReason::MemberSession, |deadline| deadline.reason)
            }
            TimerKey::Group(_) => DeadlineReason::MemberSession,
            TimerKey::Leader(log) => {
                let next = self
                    .leaders
                    .get(log)
                    .and_then(|leader| leader.next_deadline());
                next.map_or(DeadlineReason::AcquisitionLock, |deadline| deadline.reason)
            }
            TimerKey::DeadLetters | TimerKey::Reload(_) | TimerKey::Sgc(_) => DeadlineReason::Retry,
            TimerKey::Retention => DeadlineReason::Retention,
            TimerKey::ShareCold | TimerKey::SharePrune => DeadlineReason::ShareState,
            TimerKey::Tc(partition) => {
                let next = self.tcs.get(partition).and_then(|tc| tc.next_deadline());
                next.map_or(DeadlineReason::TransactionTimeout, |deadline| {
                    deadline.reason
                })
            }
            TimerKey::Wait(_) => DeadlineReason::FetchWait,
        }
    }

    pub(super) fn arm_leader(&mut self, log: LogId) {
        let at = self
            .leaders
            .get(&log)
            .and_then(|leader| leader.next_deadline());
        self.timers
            .set(TimerKey::Leader(log), at.map(|deadline| deadline.at));
    }

    pub(super) fn arm_group(&mut self, id: &Str) {
        let at = self.groups.get(id).and_then(|group| group.next_deadline());
        self.timers
            .set(TimerKey::Group(id.clone()), at.map(|deadline| deadline.at));
    }

    pub(super) fn arm_gc(&mut self, partition: i32) {
        let at = self.gcs.get(&partition).and_then(|gc| gc.next_deadline());
        self.timers
            .set(TimerKey::Gc(partition), at.map(|deadline| deadline.at));
    }

    pub(super) fn arm_tc(&mut self, partition: i32) {
        let at = self.tcs.get(&partition).and_then(|tc| tc.next_deadline());
        self.timers
            .set(TimerKey::Tc(partition), at.map(|deadline| deadline.at));
    }

    /// While what it says waits for the store, there is nothing to say again.
    pub(super) fn arm_sgc(&mut self, partition: i32) {
        let log = self.metadata.log(SHARE_STATE_TOPIC, partition);
        let newest = log.and_then(|log| self.journal.newest(log));
        let waits = !matches!(self.journal.gate(newest), Gate::Open);
        let sgc = self.sgcs.get(&partition).filter(|_| !waits);
        let at = sgc.and_then(|sgc| sgc.next_deadline());
        self.timers
            .set(TimerKey::Sgc(partition), at.map(|deadline| deadline.at));
    }

    /// Does everything that is due.
    pub(super) fn fire_timers(&mut self) {
        if !self.is_serving() {
            return;
        }
        // What is armed again for the same moment waits for the next step, so this ends.
        let mut due = Vec::new();
        while let Some(key) = self.timers.pop_due(self.now.mono) {
            due.push(key);
        }
        for key in due {
            match key {
                TimerKey::DeadLetters => self.dead_letters.retry(),
                TimerKey::Expiry => self.expire(),
                TimerKey::Gc(partition) if self.is_gc_frozen(partition) => {}
                TimerKey::Gc(partition) => {
                    self.with_gc(partition, |gc, ctx, out| gc.handle_timeout(ctx, out));
                }
                TimerKey::Group(id) => self.group_deadline(&id),
                TimerKey::Leader(log) => self.leader_deadline(log),
                TimerKey::Reload(log) if self.frozen.contains(&log) => self.load(log),
                TimerKey::Reload(_) => {}
                TimerKey::Retention => self.retain(),
                TimerKey::Sgc(partition) => self.share_requests_due(partition),
                TimerKey::ShareCold => self.snapshot_cold_shares(),
                TimerKey::SharePrune => self.prune_share_states(),
                TimerKey::Tc(partition) if self.is_tc_frozen(partition) => {}
                TimerKey::Tc(partition) => {
                    self.with_tc(partition, None, |tc, ctx, out| tc.handle_timeout(ctx, out));
                }
                TimerKey::Wait(slot) => self.wait_ended(slot),
            }
        }
    }

    pub(super) fn arm_expiry(&mut self) {
        let at = self.now.mono.plus_millis(EXPIRY_MS);
        self.timers.arm(TimerKey::Expiry, at);
    }

    /// Forgets what nobody has used for long: idle producers of each log, idle transactional ids.
    /// Share groups stay until they are deleted, as in Kafka.
    fn expire(&mut self) {
        let wall = self.now.wall.as_millis();
        for log in self.logs.values_mut() {
            log.expire_producers(wall);
        }
        let idle_ms = self.config.number("transactional.id.expiration.ms");
        let coordinators: Vec<i32> = self.tcs.keys().copied().collect();
        for partition in coordinators {
            if !self.is_tc_frozen(partition) {
                self.with_tc(partition, None, |tc, ctx, out| {
                    tc.expire(ctx.now, idle_ms, out)
                });
            }
        }
        self.plan_all_retention();
        self.arm_expiry();
    }

    /// While a share coordinator is read back, it asks nobody; the new one begins without requests.
    fn share_requests_due(&mut self, partition: i32) {
        let log = self.metadata.log(SHARE_STATE_TOPIC, partition);
        if log.is_none_or(|log| !self.frozen.contains(&log)) {
            self.with_sgc(partition, None, |sgc, now, out| {
                sgc.handle_timeout(now, out)
            });
        }
    }

    fn group_deadline(&mut self, id: &Str) {
        let mut removed = Vec::new();
        self.with_group(id, None, |group, now, metadata, out| {
            removed = group.handle_timeout(now, metadata, out);
        });
        for member in removed {
            self.member_departed(id, &member);
        }
    }

    fn leader_deadline(&mut self, log: LogId) {
        let state_partitions = self.share_state_partitions();
        let now = self.now;
        let mut expired = Vec::new();
        self.with_leader(log, &Str::default(), None, |leader, _, out| {
            expired = leader.handle_timeout(now, state_partitions, out);
        });
        for group in expired {
            let mut available = false;
            self.with_leader(log, &group, None, |leader, ctx, out| {
                available = leader.expire(ctx, &group, out);
            });
            if available {
                self.wake_share_fetches(log, &group);
            }
        }
    }
}
