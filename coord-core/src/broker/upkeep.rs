//! What keeps the logs of coordinators short: checkpoints after so many appends, pruning and
//! snapshots of share states after so much time (KIP-932).

use ackord_machine::LogId;
use alloc::vec::Vec;

use super::Broker;
use super::timing::TimerKey;
use crate::metadata::{CLUSTER_LOG, SHARE_STATE_TOPIC};

/// Snapshots that one step writes for each share coordinator.
const SNAPSHOTS_A_STEP: usize = 500;

impl Broker {
    /// An append to a log is under way: whether its next checkpoint is due. It is when replaying
    /// would cost more than what is alive, so that neither a start nor the checkpoints themselves
    /// grow with history.
    pub(super) fn count_append(&mut self, log: LogId) {
        let appends = self.since_checkpoint.entry(log).or_default();
        *appends += 1;
        let appends = *appends;
        if appends < self.limits.checkpoint_appends {
            return;
        }
        if appends >= u64::try_from(self.alive(log)).unwrap_or(u64::MAX) {
            self.checkpoints_due.insert(log);
        }
    }

    /// Entries that a checkpoint of the log holds.
    fn alive(&self, log: LogId) -> usize {
        let own = self.logs.get(&log).map_or(0, |log| log.producer_count());
        let coordinator = if log == CLUSTER_LOG {
            self.metadata.entries()
        } else if let Some(tc) = self.tc_of(log) {
            tc.transactions().len()
        } else if let Some(sgc) = self.sgc_of(log) {
            sgc.states().len()
        } else {
            0
        };
        own + coordinator
    }

    /// The log of a share coordinator has grown: its pruning and its snapshots are planned.
    pub(super) fn plan_share_upkeep(&mut self) {
        for (key, name) in [
            (
                TimerKey::ShareCold,
                "share.coordinator.cold.partition.snapshot.interval.ms",
            ),
            (
                TimerKey::SharePrune,
                "share.coordinator.state.topic.prune.interval.ms",
            ),
        ] {
            if !self.timers.is_armed(&key) {
                let at = self.now.mono.plus_millis(self.config.number(name));
                self.timers.arm(key, at);
            }
        }
    }

    /// Share partitions with updates but without a new snapshot for long get one, and those whose
    /// last snapshot keeps the log long.
    pub(super) fn snapshot_cold_shares(&mut self) {
        let interval = self
            .config
            .number("share.coordinator.cold.partition.snapshot.interval.ms");
        let partitions: Vec<i32> = self.sgcs.keys().copied().collect();
        let mut more = false;
        for partition in partitions {
            let horizon = self.snapshot_horizon(partition);
            self.with_sgc(partition, None, |sgc, now, out| {
                more |= sgc.snapshot_cold(now, interval, horizon, SNAPSHOTS_A_STEP, out);
            });
        }
        if more {
            self.timers.arm(TimerKey::ShareCold, self.now.mono);
        }
    }

    /// Below it in the log of a share coordinator no snapshot stays the last one of its share
    /// partition. It is so far back that for each snapshot written anew the log has taken at least
    /// one other record.
    fn snapshot_horizon(&self, partition: i32) -> i64 {
        let log = self.metadata.log(SHARE_STATE_TOPIC, partition);
        let end = log.and_then(|log| Some(self.logs.get(&log)?.end_offset()));
        let alive = self.sgcs.get(&partition).map_or(0, |it| it.states().len());
        let alive = u64::try_from(alive).unwrap_or(u64::MAX);
        let kept = alive
            .saturating_mul(2)
            .saturating_add(self.limits.checkpoint_appends);
        end.unwrap_or(0).saturating_sub_unsigned(kept)
    }

    /// Writes checkpoints of the share coordinators, behind which their logs are trimmed: never past
    /// the first staged batch of an open transaction, and never past a snapshot that is the last one
    /// of a share partition. So the log alone tells every state, to Kafka's tools too.
    pub(super) fn prune_share_states(&mut self) {
        let logs: Vec<LogId> = self
            .since_checkpoint
            .keys()
            .copied()
            .filter(|log| self.sgc_of(*log).is_some())
            .collect();
        for log in logs {
            self.write_checkpoint(log);
        }
    }
}
