//! Completions, failed appends, checkpoints.

use alloc::format;
use alloc::vec::Vec;

use ackord_machine::{
    Completion, LoadDetail, LoadedLog, LogId, MonoTime, OpId, OpKind, Outcome, StorageFault,
};
use bytes::Bytes;

use super::Broker;
use super::failure;
use super::journal::{Gated, Pending, ReadFor};
use super::timing::TimerKey;
use super::{Phase, recovery};
use crate::metadata::CLUSTER_LOG;
use crate::outbox::Measured;

const RELOAD_RETRY_MS: i64 = 1000;

impl Broker {
    /// Takes the end of a storage operation.
    pub(super) fn completed(&mut self, completion: Completion) {
        let Completion { id, outcome } = completion;
        let Some(pending) = self.journal.take(id) else {
            return;
        };
        match (pending, outcome) {
            (Pending::Append(ends), Ok(_)) => self.appended(&ends),
            (Pending::Append(ends), Err(fault)) => self.append_failed(id, &ends, fault),
            (Pending::Read(purpose), Ok(Outcome::Read(batches))) => self.read(purpose, Ok(batches)),
            (Pending::Read(purpose), Err(fault)) => self.read(purpose, Err(fault)),
            (Pending::Find(purpose), Ok(Outcome::Found(found))) => self.found(purpose, Ok(found)),
            (Pending::Find(purpose), Err(fault)) => self.found(purpose, Err(fault)),
            (Pending::List, Ok(Outcome::Listed(logs))) => self.listed(&logs),
            (Pending::List, Err(fault)) => {
                self.recovery_failed(format!("listing the logs: {fault}"))
            }
            (Pending::Load(log), Ok(Outcome::Loaded(loaded))) => self.loaded(log, loaded),
            (Pending::Load(log), Err(fault)) => self.load_failed(log, fault),
            (Pending::Checkpoint { log, keep }, Ok(_)) => self.checkpointed(log, keep),
            (Pending::Checkpoint { log, .. }, Err(fault)) => {
                // The older checkpoint still holds; the next one covers more, and is due.
                *self.since_checkpoint.entry(log).or_default() += 1;
                self.warn(format!("checkpoint of {log} failed: {fault}"));
            }
            (Pending::Trim { log, before, asked }, outcome) => {
                self.trimmed(log, before, asked, outcome.map(|_| ()));
            }
            (Pending::Drop, Err(fault)) => {
                self.warn(format!("cleaning up a log failed: {fault}"));
            }
            // Done; and what the check has refused already.
            _ => {}
        }
    }

    fn appended(&mut self, ends: &[(LogId, i64)]) {
        for (log, end) in ends {
            self.advance(*log, *end);
            if self.sgc_of(*log).is_some() {
                self.arm_sgc(log.partition);
            }
        }
        for gated in self.journal.release() {
            match gated {
                Gated::Envelope(envelope) => self.inbox.push_back((envelope, None)),
                Gated::Drop(logs) => self.drop_logs(logs),
                Gated::Measure { what, since } => self.measured(what, since),
                Gated::Reply { slot, response } => self.send(slot, response),
            }
        }
    }

    pub(super) fn measured(&mut self, what: Measured, since: MonoTime) {
        let ms = self.now.mono.since(since).as_millis();
        self.counters
            .measured(what, u64::try_from(ms).unwrap_or(u64::MAX));
    }

    fn drop_logs(&mut self, logs: Vec<LogId>) {
        for log in logs {
            self.journal
                .issue(OpKind::DropLog { log }, Pending::Drop, &mut self.effects);
        }
    }

    /// Lets readers see what is durable now.
    fn advance(&mut self, log_id: LogId, end: i64) {
        let Some(log) = self.logs.get_mut(&log_id) else {
            return;
        };
        let before = log.high_watermark();
        let moved = log.durable_to(end);
        if moved.high_watermark {
            let bytes = log.bytes_from(before);
            self.waits.appended(log_id, bytes, &mut self.woken);
        }
        if moved.last_stable {
            self.wake_log(log_id);
        }
    }

    /// The outcome of an append is unknown or bad: whoever waited for it is told, and what was
    /// decided since is forgotten by reading its logs back.
    fn append_failed(&mut self, id: OpId, ends: &[(LogId, i64)], fault: StorageFault) {
        self.warn(format!("{id} failed: {fault}; reading the logs back"));
        self.fail_gathers(id);
        for gated in self.journal.failed(id) {
            match gated {
                // The deletion did not happen; the logs are read back with the cluster's own.
                Gated::Drop(_) => {}
                // It did not end.
                Gated::Measure { .. } => {}
                Gated::Envelope(envelope) => self.failed_envelope(envelope),
                Gated::Reply { slot, response } => {
                    let response = response.map(|mut response| {
                        if !ackord_machine::planted!("row-26-failed-write-answered-with-success") {
                            failure::fail(&mut response);
                        }
                        response
                    });
                    self.send(slot, response);
                }
            }
        }
        for (log, _) in ends {
            self.freeze(*log);
        }
        // Gates of older appends may be open now.
        self.appended(&[]);
    }

    pub(super) fn freeze(&mut self, log: LogId) {
        if self.logs.contains_key(&log) && self.frozen.insert(log) {
            self.load(log);
        }
        if log == CLUSTER_LOG {
            self.producer_ids.forget();
        }
        if !ackord_machine::planted!("row-01-failed-write-is-not-rolled-back") {
            self.forget_shares_of(log);
        }
        if self.is_coordinator_log(log) {
            self.abandon_gathers();
        }
    }

    pub(super) fn load(&mut self, log: LogId) {
        let detail = if self.is_coordinator_log(log) {
            LoadDetail::Full
        } else {
            LoadDetail::Headers
        };
        self.journal.issue(
            OpKind::Load { log, detail },
            Pending::Load(log),
            &mut self.effects,
        );
    }

    /// Nobody waits any more for a log whose topic was deleted while it was read back, or that came by
    /// another load.
    fn is_awaited(&self, log: LogId) -> bool {
        matches!(self.phase, Phase::Recovering(_)) || self.frozen.contains(&log)
    }

    fn loaded(&mut self, log: LogId, loaded: LoadedLog) {
        if !self.is_awaited(log) {
            return;
        }
        let recovering = matches!(self.phase, Phase::Recovering(_));
        match self.restore(log, &loaded) {
            Ok(()) if recovering => self.recovered_one(log),
            Ok(()) => {
                self.frozen.remove(&log);
                if self.is_coordinator_log(log) {
                    self.abandon_gathers();
                }
                self.resume(log);
                self.unpark();
                self.wake_log(log);
            }
            Err(error) if recovering => {
                self.recovery_failed(format!("log {log} cannot be read back: {error}"));
            }
            Err(error) => {
                self.warn(format!("log {log} cannot be read back: {error}"));
                self.reload_later(log);
            }
        }
    }

    fn load_failed(&mut self, log: LogId, fault: StorageFault) {
        if !self.is_awaited(log) {
            return;
        }
        if matches!(self.phase, Phase::Recovering(_)) {
            return self.recovery_failed(format!("log {log} cannot be read back: {fault}"));
        }
        if ackord_machine::planted!("row-41-failed-load-starts-at-nothing") {
            return self.loaded(log, LoadedLog::default());
        }
        self.warn(format!(
            "log {log} cannot be read back: {fault}; trying again"
        ));
        self.reload_later(log);
        if log == CLUSTER_LOG {
            self.unpark();
        }
    }

    fn reload_later(&mut self, log: LogId) {
        let at = self.now.mono.plus_millis(RELOAD_RETRY_MS);
        self.timers.arm(TimerKey::Reload(log), at);
    }

    fn read(
        &mut self,
        purpose: ReadFor,
        batches: Result<Vec<ackord_machine::StoredBatch>, StorageFault>,
    ) {
        match purpose {
            ReadFor::DeadLetters { read } => self.dead_letters_read(read, batches),
            ReadFor::Fetch { slot, part } => self.fetch_read(slot, part, batches),
            ReadFor::ShareFetch { slot, log } => self.share_fetch_read(slot, log, batches),
            ReadFor::ListOffsets { .. } | ReadFor::ShareStart { .. } => {}
        }
    }

    fn found(
        &mut self,
        purpose: ReadFor,
        found: Result<Option<ackord_machine::Found>, StorageFault>,
    ) {
        match purpose {
            ReadFor::ListOffsets { slot, part } => self.timestamp_found(slot, part, found),
            ReadFor::ShareStart { id } => self.start_found(id, found),
            ReadFor::DeadLetters { .. } | ReadFor::Fetch { .. } | ReadFor::ShareFetch { .. } => {}
        }
    }

    /// Writes a checkpoint for each log that has grown enough since its last one.
    pub(super) fn write_due_checkpoints(&mut self) {
        if !matches!(self.phase, Phase::Serving) {
            return;
        }
        for log in core::mem::take(&mut self.checkpoints_due) {
            self.write_checkpoint(log);
        }
    }

    pub(super) fn write_all_checkpoints(&mut self) {
        let logs: Vec<LogId> = self.since_checkpoint.keys().copied().collect();
        for log in logs {
            self.write_checkpoint(log);
        }
    }

    /// A checkpoint says what is true at the end of the log, so it follows the newest append.
    pub(super) fn write_checkpoint(&mut self, log_id: LogId) -> Option<OpId> {
        if self.frozen.contains(&log_id) {
            return None;
        }
        let Some(log) = self.logs.get(&log_id) else {
            self.since_checkpoint.remove(&log_id);
            return None;
        };
        let (at, state) = log.checkpoint();
        let keep = self.oldest_needed(log_id, at);
        let state = recovery::join_checkpoint(&state, &self.coordinator_snapshot(log_id));
        self.since_checkpoint.remove(&log_id);
        Some(self.journal.issue_after(
            self.journal.newest(log_id),
            OpKind::Checkpoint {
                log: log_id,
                at,
                state,
            },
            Pending::Checkpoint { log: log_id, keep },
            &mut self.effects,
        ))
    }

    /// What a durable checkpoint contains, a coordinator never reads again: its log stays short.
    fn checkpointed(&mut self, log_id: LogId, keep: i64) {
        if !self.is_coordinator_log(log_id) || self.frozen.contains(&log_id) {
            return;
        }
        let log = self.logs.get_mut(&log_id);
        if let Some(log) = log.filter(|log| log.start_offset() < keep) {
            log.trim(keep);
            self.issue_trim(None, log_id, keep, None);
        }
    }

    /// What lies below in a coordinator's log may go once a checkpoint contains all up to `at`:
    /// records of an open transaction stay until it has ended, and of share states the log itself
    /// always has the last snapshot and what came after it.
    fn oldest_needed(&self, log_id: LogId, at: i64) -> i64 {
        let snapshot = self.sgc_of(log_id).and_then(|sgc| sgc.oldest_snapshot());
        let needed = snapshot.unwrap_or(at).min(at);
        match self.logs.get(&log_id) {
            Some(log) if log.last_stable_offset() < log.high_watermark() => {
                needed.min(log.last_stable_offset())
            }
            _ => needed,
        }
    }

    fn coordinator_snapshot(&self, log: LogId) -> Bytes {
        let now = self.now;
        let records = if log == CLUSTER_LOG {
            self.metadata.snapshot()
        } else if let Some(tc) = self.tc_of(log) {
            tc.snapshot()
        } else if let Some(sgc) = self.sgc_of(log) {
            sgc.snapshot(now)
        } else if let Some(gc) = self.gc_of(log) {
            let mut records = gc.snapshot();
            records.extend(self.share_group_snapshot(log.partition));
            records
        } else {
            Vec::new()
        };
        recovery::encode_records(&records)
    }
}
