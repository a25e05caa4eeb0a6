//! What the broker has asked of its store, and who waits for it.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use ackord_machine::{
    ApiMisuse, Completion, Envelope, LogAppend, LogId, MonoTime, OpId, OpKind, Outcome, StorageOp,
};
use ackord_proto::api::Response;

use crate::contract::Effect;
use crate::outbox::Measured;

/// Why a read was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFor {
    /// Records that go to a dead letter queue.
    DeadLetters { read: u64 },
    /// A part of a Fetch.
    Fetch { slot: u64, part: usize },
    /// A timestamp of ListOffsets.
    ListOffsets { slot: u64, part: usize },
    /// The next records of a share partition.
    ShareFetch { slot: u64, log: LogId },
    /// The first record of a share partition by its age.
    ShareStart { id: u64 },
}

/// An operation under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pending {
    /// Logs with the end that the append gives each.
    Append(Vec<(LogId, i64)>),
    /// A checkpoint, and the first offset that is still needed once it is durable.
    Checkpoint {
        log: LogId,
        keep: i64,
    },
    Drop,
    Find(ReadFor),
    List,
    Load(LogId),
    Read(ReadFor),
    /// The log starts at `before` once this is done; whoever asked for it waits.
    Trim {
        log: LogId,
        before: i64,
        asked: Option<DeletionPart>,
    },
}

/// A partition of a DeleteRecords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeletionPart {
    pub(crate) slot: u64,
    pub(crate) topic: usize,
    pub(crate) partition: usize,
}

/// Something that leaves when an append is durable.
#[derive(Debug)]
pub(crate) enum Gated {
    /// Logs of a deleted topic.
    Drop(Vec<LogId>),
    Envelope(Envelope),
    /// A duration ends.
    Measure {
        what: Measured,
        since: MonoTime,
    },
    Reply {
        slot: u64,
        response: Option<Response>,
    },
}

/// Operations, and the append that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    last_id: u64,
    /// Parts of the append that is not issued yet; its id is `open_id`.
    open: Vec<LogAppend>,
    open_id: Option<OpId>,
    under_way: BTreeMap<OpId, Pending>,
    /// Appends that are not durable yet, in order.
    appends: VecDeque<OpId>,
    /// The newest append to each log that has one under way.
    newest: BTreeMap<LogId, OpId>,
    gates: BTreeMap<OpId, Vec<Gated>>,
    /// Appends that failed: what depends on them never becomes true.
    failed: BTreeSet<OpId>,
}

/// Whether what depends on an append may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It is durable, or there is nothing to wait for.
    Open,
    /// The append failed.
    Failed,
    /// The append is under way.
    Shut(OpId),
}

/// Failed appends that are remembered; a request that waits for parts outlives few of them.
const REMEMBERED_FAILURES: usize = 10_000;

impl Journal {
    /// Adds a part to the append of this step.
    pub(crate) fn append(&mut self, part: LogAppend) -> OpId {
        let id = match self.open_id {
            Some(id) => id,
            None => {
                let id = self.next_id();
                self.open_id = Some(id);
                self.appends.push_back(id);
                id
            }
        };
        self.newest.insert(part.log, id);
        self.open.push(part);
        id
    }

    fn next_id(&mut self) -> OpId {
        self.last_id += 1;
        OpId(self.last_id)
    }

    /// Issues the append of this step. It follows every earlier append that is not durable yet: if
    /// one of those fails, this one fails too, so nothing outlives what it was decided on.
    pub(crate) fn close(&mut self, effects: &mut VecDeque<Effect>) {
        let Some(id) = self.open_id.take() else {
            return;
        };
        let parts = core::mem::take(&mut self.open);
        let mut ends: Vec<(LogId, i64)> = Vec::with_capacity(parts.len());
        for part in &parts {
            match ends.iter_mut().find(|(log, _)| *log == part.log) {
                Some((_, end)) => *end = part.last + 1,
                None => ends.push((part.log, part.last + 1)),
            }
        }
        let after = self.appends.iter().rev().nth(1).copied();
        self.under_way.insert(id, Pending::Append(ends));
        effects.push_back(Effect::Store(StorageOp {
            id,
            after,
            kind: OpKind::Append { parts },
        }));
    }

    /// Issues an operation that is no append. The open append goes first.
    pub(crate) fn issue(
        &mut self,
        kind: OpKind,
        pending: Pending,
        effects: &mut VecDeque<Effect>,
    ) -> OpId {
        self.issue_after(None, kind, pending, effects)
    }

    /// Issues an operation that must not become durable before `after`, and fails where that fails.
    pub(crate) fn issue_after(
        &mut self,
        after: Option<OpId>,
        kind: OpKind,
        pending: Pending,
        effects: &mut VecDeque<Effect>,
    ) -> OpId {
        self.close(effects);
        let id = self.next_id();
        self.under_way.insert(id, pending);
        effects.push_back(Effect::Store(StorageOp { id, after, kind }));
        id
    }

    /// Checks a completion without taking it.
    pub(crate) fn check(&self, completion: &Completion) -> Result<(), ApiMisuse> {
        let id = completion.id;
        let pending = self
            .under_way
            .get(&id)
            .ok_or(ApiMisuse::UnknownOperation(id))?;
        let fits = match &completion.outcome {
            Err(_) => true,
            Ok(outcome) => matches!(
                (pending, outcome),
                (
                    Pending::Append(_)
                        | Pending::Checkpoint { .. }
                        | Pending::Drop
                        | Pending::Trim { .. },
                    Outcome::Done
                ) | (Pending::Find(_), Outcome::Found(_))
                    | (Pending::List, Outcome::Listed(_))
                    | (Pending::Load(_), Outcome::Loaded(_))
                    | (Pending::Read(_), Outcome::Read(_))
            ),
        };
        fits.then_some(()).ok_or(ApiMisuse::WrongOutcome(id))
    }

    /// Ends an operation.
    pub(crate) fn take(&mut self, id: OpId) -> Option<Pending> {
        let pending = self.under_way.remove(&id)?;
        if let Pending::Append(ends) = &pending {
            self.appends.retain(|own| *own != id);
            for (log, _) in ends {
                if self.newest.get(log) == Some(&id) {
                    self.newest.remove(log);
                }
            }
        }
        Some(pending)
    }

    /// The newest append to a log that is not durable yet.
    pub(crate) fn newest(&self, log: LogId) -> Option<OpId> {
        self.newest.get(&log).copied()
    }

    /// What became of a gate.
    pub(crate) fn gate(&self, gate: Option<OpId>) -> Gate {
        match gate {
            None => Gate::Open,
            Some(gate) if self.failed.contains(&gate) => Gate::Failed,
            Some(gate) if self.appends.front().is_none_or(|first| *first > gate) => Gate::Open,
            Some(gate) => Gate::Shut(gate),
        }
    }

    /// Keeps something back until everything up to `gate` is durable.
    pub(crate) fn hold(&mut self, gate: OpId, gated: Gated) {
        self.gates.entry(gate).or_default().push(gated);
    }

    /// What may leave now, with the gate it waited for.
    pub(crate) fn release(&mut self) -> Vec<Gated> {
        let mut released = Vec::new();
        while let Some(entry) = self.gates.first_entry() {
            if self
                .appends
                .front()
                .is_some_and(|first| first <= entry.key())
            {
                break;
            }
            released.extend(entry.remove());
        }
        released
    }

    /// An append failed: what waited for it.
    pub(crate) fn failed(&mut self, id: OpId) -> Vec<Gated> {
        self.failed.insert(id);
        if self.failed.len() > REMEMBERED_FAILURES {
            self.failed.pop_first();
        }
        self.gates.remove(&id).unwrap_or_default()
    }

    /// No operation is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.open_id.is_none()
    }
}

/// The later of two gates.
pub(crate) fn later(a: Option<OpId>, b: Option<OpId>) -> Option<OpId> {
    a.max(b)
}
