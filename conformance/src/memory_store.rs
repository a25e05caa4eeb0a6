//! A store in memory with one ordered journal: it can hold, fail and lose operations on command.

mod plans;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ackord_machine::{
    Completion, Found, LoadDetail, LoadedLog, LogAppend, LogExtent, LogId, OpId, OpKind, Outcome,
    StorageFault, StorageOp, StoredBatch, StoredCheckpoint,
};
use ackord_proto::records::BatchHeader;
use bytes::{Bytes, BytesMut};

use self::plans::Plans;
pub use self::plans::{Crash, Kind, Plan, Traced};
use crate::compaction::compacted;
use crate::script::{AppendFault, Keep};

/// Bytes that a load of headers leaves of a longer batch.
const HEADER_BYTES: usize = 61;
/// Batches up to this size are loaded whole.
const SMALL_BATCH: usize = 256;

#[derive(Clone, Debug, Default)]
struct StoredLog {
    start: i64,
    end: i64,
    batches: Vec<StoredBatch>,
    /// Records were taken out of it.
    cleaned: bool,
    checkpoint: Option<StoredCheckpoint>,
}

/// The logs, and the operations that have not completed.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    logs: BTreeMap<LogId, StoredLog>,
    queue: VecDeque<StorageOp>,
    held: bool,
    /// Operations that failed; what follows them fails too.
    failed: BTreeSet<OpId>,
    plans: Plans,
    /// The next append to this log fails.
    bad_log: Option<(LogId, AppendFault)>,
    /// So many loads to come fail.
    bad_loads: usize,
    /// The load behind so many others fails.
    bad_load_behind: Option<usize>,
    /// Logs whose last load failed.
    unread: BTreeSet<LogId>,
}

impl MemoryStore {
    /// Takes an operation.
    pub fn submit(&mut self, op: StorageOp) {
        self.queue.push_back(op);
    }

    /// Completes nothing by itself from now on, or everything again.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Whether something that was planned for an operation by its number has not come about yet.
    pub fn has_plan(&self) -> bool {
        !self.plans.is_empty()
    }

    /// Plans for the operation with this number: from 0, in the order in which they are carried out.
    pub fn plan(&mut self, operation: usize, plan: Plan) {
        self.plans.add(operation, plan);
    }

    /// The append that comes `ahead` ones after the next one fails.
    pub fn fail_append(&mut self, ahead: usize, fault: AppendFault) {
        self.plans.add_at_append(ahead, fault);
    }

    /// Takes note of each operation from now on.
    pub fn record(&mut self) {
        self.plans.record();
    }

    /// The operations of which note was taken.
    pub fn trace(&self) -> &[Traced] {
        self.plans.trace()
    }

    /// Operations that were carried out, well or badly.
    pub fn operations(&self) -> usize {
        self.plans.operations()
    }

    /// The next append that has a part in `log` fails.
    pub fn fail_log(&mut self, log: LogId, fault: AppendFault) {
        self.bad_log = Some((log, fault));
    }

    /// The next `count` loads of a log fail.
    pub fn fail_loads(&mut self, count: usize) {
        self.bad_loads = count;
    }

    /// Appends a batch behind the broker's back; `batch` makes it for its offset.
    pub fn amend(&mut self, log: LogId, batch: impl FnOnce(i64) -> Bytes) {
        let base = self.log(log).end;
        let part = LogAppend {
            log,
            base,
            last: base,
            head: Bytes::new(),
            body: batch(base),
        };
        self.write(&[part]);
    }

    /// The load fails that comes behind so many others.
    pub fn fail_load_behind(&mut self, others: usize) {
        self.bad_load_behind = Some(others);
    }

    /// Whether a load is to fail that has not come.
    pub fn awaits_bad_load(&self) -> bool {
        self.bad_load_behind.is_some()
    }

    /// Records with offsets in `gone`, firsts and lasts, leave a log behind the broker's back.
    ///
    /// # Errors
    /// Batches of another kind than clients send without compression are in the way.
    pub fn compact(&mut self, log: LogId, gone: &[(i64, i64)]) -> Result<(), String> {
        let is_gone = |offset| {
            gone.iter()
                .any(|(first, last)| (*first..=*last).contains(&offset))
        };
        let stored = self.log(log);
        let mut left = Vec::with_capacity(stored.batches.len());
        for batch in &stored.batches {
            match (batch.base..=batch.last).any(is_gone) {
                true => left.extend(compacted(batch, is_gone)?),
                false => left.push(batch.clone()),
            }
        }
        stored.batches = left;
        stored.cleaned = true;
        Ok(())
    }

    /// Appends that completed, well or badly.
    pub fn appends(&self) -> usize {
        self.plans.appends()
    }

    /// Nothing that was planned comes about.
    pub fn forget_plans(&mut self) {
        self.plans.forget();
        self.bad_loads = 0;
        self.bad_load_behind = None;
        self.bad_log = None;
    }

    /// A planned crash that is due; asking takes it.
    pub fn take_crash(&mut self) -> Option<Crash> {
        self.plans.take_crash()
    }

    /// The next completion, unless held.
    pub fn complete_next(&mut self) -> Option<Completion> {
        if self.held { None } else { self.complete_one() }
    }

    /// The next completion, held or not.
    pub fn complete_one(&mut self) -> Option<Completion> {
        self.complete_at(0)
    }

    /// No operation is under way.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// No operation is under way, and none has to be asked for again.
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.unread.is_empty()
    }

    /// Places in the queue of operations that the contract lets complete next: none changes or
    /// reads a log that an earlier one changes, and none overtakes what it has to follow.
    pub fn ready(&self) -> Vec<usize> {
        let mut changed: BTreeSet<LogId> = BTreeSet::new();
        let mut waiting: BTreeSet<OpId> = BTreeSet::new();
        let mut ready = Vec::new();
        for (place, op) in self.queue.iter().enumerate() {
            let logs = logs_of(&op.kind);
            let follows = op.after.is_some_and(|after| waiting.contains(&after));
            let lists = matches!(op.kind, OpKind::List) && !changed.is_empty();
            if !follows && !lists && !logs.iter().any(|log| changed.contains(log)) {
                ready.push(place);
            }
            waiting.insert(op.id);
            if !matches!(
                op.kind,
                OpKind::Find { .. } | OpKind::List | OpKind::Load { .. } | OpKind::Read { .. }
            ) {
                changed.extend(logs);
            }
        }
        ready
    }

    /// Completes the operation at a place of the queue, held or not; `None` too where a crash is due
    /// before it.
    pub fn complete_at(&mut self, place: usize) -> Option<Completion> {
        let op = self.queue.remove(place)?;
        let id = op.id;
        let fault = self.plans.begin(&op.kind, self.queue.len())?;
        let outcome = self.execute(op, fault);
        if outcome.is_err() {
            self.failed.insert(id);
        }
        Some(Completion { id, outcome })
    }

    /// The process ends: of what has not completed only `keep` is carried out.
    pub fn crash(&mut self, keep: Keep) {
        let kept = match keep {
            Keep::AllIssued => self.queue.len(),
            Keep::Completed => 0,
            Keep::Operations(count) => count,
        };
        for _ in 0..kept {
            let _ = self.complete_one();
        }
        self.queue.clear();
        self.failed.clear();
        self.bad_loads = 0;
        self.bad_load_behind = None;
        self.bad_log = None;
        self.unread.clear();
        let _ = self.plans.take_crash();
        self.held = false;
    }

    /// What does not fit its log, or follows what failed, is a conflict, whatever was planned.
    fn execute(
        &mut self,
        op: StorageOp,
        fault: Option<AppendFault>,
    ) -> Result<Outcome, StorageFault> {
        let orphaned = op.after.is_some_and(|after| self.failed.contains(&after));
        if orphaned || !self.fits(&op.kind) {
            return Err(StorageFault::Conflict);
        }
        let fault = self.own_fault(&op.kind).or(fault);
        if let (OpKind::Load { log, .. }, Some(_)) = (&op.kind, fault) {
            self.unread.insert(*log);
        }
        match fault {
            None => Ok(self.carry_out(op.kind)),
            Some(AppendFault { fault, landed }) => {
                if landed {
                    let _ = self.carry_out(op.kind);
                }
                Err(fault)
            }
        }
    }

    /// What is planned for a log, or for loads.
    fn own_fault(&mut self, kind: &OpKind) -> Option<AppendFault> {
        match kind {
            OpKind::Append { parts } => {
                let bad = self
                    .bad_log
                    .take_if(|bad| parts.iter().any(|part| part.log == bad.0));
                bad.map(|(_, fault)| fault)
            }
            OpKind::Load { .. } if self.is_bad_load() => Some(AppendFault {
                fault: StorageFault::Retriable,
                landed: false,
            }),
            _ => None,
        }
    }

    fn carry_out(&mut self, kind: OpKind) -> Outcome {
        match kind {
            OpKind::Append { parts } => {
                self.write(&parts);
                Outcome::Done
            }
            OpKind::Checkpoint { log, at, state } => {
                self.log(log).checkpoint = Some(StoredCheckpoint { at, state });
                Outcome::Done
            }
            OpKind::DropLog { log } => {
                self.logs.remove(&log);
                Outcome::Done
            }
            OpKind::Find {
                log,
                from,
                timestamp,
            } => {
                let batches = self.logs.get(&log).map_or(&[][..], |log| &log.batches);
                let late = |batch: &&StoredBatch| {
                    batch.last >= from
                        && BatchHeader::parse(&batch.bytes)
                            .is_ok_and(|header| header.max_timestamp >= timestamp)
                };
                let found = batches.iter().find(late).cloned();
                Outcome::Found(found.map(|batch| Found { batch }))
            }
            OpKind::List => {
                let extent = |(id, log): (&LogId, &StoredLog)| LogExtent {
                    log: *id,
                    start: log.start,
                    end: log.end,
                };
                Outcome::Listed(self.logs.iter().map(extent).collect())
            }
            OpKind::Load { log, detail } => {
                self.unread.remove(&log);
                Outcome::Loaded(self.load(log, detail))
            }
            OpKind::Read {
                log,
                from,
                max_bytes,
            } => Outcome::Read(self.read(log, from, max_bytes)),
            OpKind::Trim { log, before } => {
                let log = self.log(log);
                log.batches.retain(|batch| batch.last >= before);
                log.start = log.start.max(before);
                Outcome::Done
            }
        }
    }

    /// Whether the load that comes now fails.
    fn is_bad_load(&mut self) -> bool {
        let now = self.bad_load_behind == Some(0);
        self.bad_load_behind = match now {
            true => None,
            false => self.bad_load_behind.map(|others| others - 1),
        };
        let one_of_many = self.bad_loads > 0;
        self.bad_loads -= usize::from(one_of_many);
        now || one_of_many
    }

    fn log(&mut self, id: LogId) -> &mut StoredLog {
        self.logs.entry(id).or_default()
    }

    /// An append has all its parts or none, so each has to continue its log.
    fn fits(&self, kind: &OpKind) -> bool {
        let OpKind::Append { parts } = kind else {
            return true;
        };
        let mut ends: BTreeMap<LogId, i64> = BTreeMap::new();
        parts.iter().all(|part| {
            let stored = self.logs.get(&part.log).map_or(0, |log| log.end);
            let end = ends.entry(part.log).or_insert(stored);
            let fits = *end == part.base && part.last >= part.base;
            *end = part.last + 1;
            fits
        })
    }

    fn write(&mut self, parts: &[LogAppend]) {
        for part in parts {
            let mut bytes = BytesMut::with_capacity(part.head.len() + part.body.len());
            bytes.extend_from_slice(&part.head);
            bytes.extend_from_slice(&part.body);
            let batch = StoredBatch {
                base: part.base,
                last: part.last,
                bytes: bytes.freeze(),
            };
            let log = self.log(part.log);
            log.batches.push(batch);
            log.end = part.last + 1;
        }
    }

    fn load(&self, id: LogId, detail: LoadDetail) -> LoadedLog {
        let Some(log) = self.logs.get(&id) else {
            return LoadedLog::default();
        };
        let at = log
            .checkpoint
            .as_ref()
            .map_or(log.start, |checkpoint| checkpoint.at);
        let cut = |bytes: &Bytes| match detail {
            LoadDetail::Headers if bytes.len() > SMALL_BATCH => bytes.slice(..HEADER_BYTES),
            LoadDetail::Full | LoadDetail::Headers => bytes.clone(),
        };
        let batches = log.batches.iter().filter(|batch| batch.last >= at);
        LoadedLog {
            start: log.start,
            end: log.end,
            cleaned: log.cleaned,
            checkpoint: log.checkpoint.clone(),
            batches: batches
                .map(|batch| StoredBatch {
                    bytes: cut(&batch.bytes),
                    ..batch.clone()
                })
                .collect(),
        }
    }

    fn read(&self, id: LogId, from: i64, max_bytes: usize) -> Vec<StoredBatch> {
        let Some(log) = self.logs.get(&id) else {
            return Vec::new();
        };
        let mut total = 0;
        let wanted = log.batches.iter().filter(|batch| batch.last >= from);
        wanted
            .take_while(|batch| {
                let first = total == 0;
                total += batch.bytes.len();
                first || total <= max_bytes
            })
            .cloned()
            .collect()
    }
}

fn logs_of(kind: &OpKind) -> Vec<LogId> {
    match kind {
        OpKind::Append { parts } => parts.iter().map(|part| part.log).collect(),
        OpKind::Checkpoint { log, .. }
        | OpKind::DropLog { log }
        | OpKind::Find { log, .. }
        | OpKind::Load { log, .. }
        | OpKind::Read { log, .. }
        | OpKind::Trim { log, .. } => vec![*log],
        OpKind::List => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: LogId = LogId {
        topic: ackord_proto::uuid::Uuid::ZERO,
        partition: 0,
    };

    fn append(id: u64, after: Option<u64>, base: i64) -> StorageOp {
        let body = Bytes::from_static(b"batch");
        let part = LogAppend {
            log: LOG,
            base,
            last: base,
            head: Bytes::new(),
            body,
        };
        let kind = OpKind::Append { parts: vec![part] };
        StorageOp {
            id: OpId(id),
            after: after.map(OpId),
            kind,
        }
    }

    fn end(store: &MemoryStore) -> i64 {
        store.logs.get(&LOG).map_or(0, |log| log.end)
    }

    #[test]
    fn a_crash_leaves_a_prefix() {
        let mut store = MemoryStore::default();
        store.hold(true);
        (0..3).for_each(|n| store.submit(append(n, None, n as i64)));
        assert_eq!(store.complete_next(), None);
        store.crash(Keep::Operations(2));
        assert_eq!(end(&store), 2);
        assert_eq!(store.complete_one(), None);
    }

    #[test]
    fn what_follows_a_failed_append_fails() {
        let mut store = MemoryStore::default();
        let fault = AppendFault {
            fault: StorageFault::Indeterminate,
            landed: true,
        };
        store.fail_append(0, fault);
        store.submit(append(1, None, 0));
        store.submit(append(2, Some(1), 1));
        let outcome = |store: &mut MemoryStore| store.complete_next().map(|done| done.outcome);
        assert_eq!(outcome(&mut store), Some(Err(StorageFault::Indeterminate)));
        assert_eq!(outcome(&mut store), Some(Err(StorageFault::Conflict)));
        assert_eq!(end(&store), 1);
    }

    #[test]
    fn one_part_that_does_not_fit_refuses_all() {
        let mut store = MemoryStore::default();
        let OpKind::Append { mut parts } = append(1, None, 0).kind else {
            unreachable!()
        };
        parts.push(LogAppend {
            base: 5,
            last: 5,
            ..parts[0].clone()
        });
        let kind = OpKind::Append { parts };
        store.submit(StorageOp {
            id: OpId(1),
            after: None,
            kind,
        });
        let done = store.complete_next().map(|done| done.outcome);
        assert_eq!(done, Some(Err(StorageFault::Conflict)));
        assert_eq!(end(&store), 0);
    }
}
