//! What the probe knows of connections, operations and time, and what it holds against an adapter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ackord_coord_core::ConnId;
use ackord_machine::{Completion, LogId, MonoTime, OpId, OpKind, StorageOp};

use super::{Book, Rule};

/// One connection, as the probe knows it.
#[derive(Debug, Default)]
struct Course {
    credits: usize,
    unsent: usize,
    closing: bool,
    gone: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Watch {
    book: Book,
    conns: BTreeMap<ConnId, Course>,
    /// Operations that have not ended, in order for each log; with whether they change it.
    queues: BTreeMap<LogId, VecDeque<(OpId, bool)>>,
    /// Every operation that has not ended, with what it comes after.
    open: BTreeMap<OpId, Option<OpId>>,
    ended: BTreeSet<OpId>,
    clock: MonoTime,
}

impl Watch {
    pub(super) fn new(book: Book) -> Self {
        Watch {
            book,
            conns: BTreeMap::new(),
            queues: BTreeMap::new(),
            open: BTreeMap::new(),
            ended: BTreeSet::new(),
            clock: MonoTime::ZERO,
        }
    }

    pub(super) fn note(&self, rule: Rule, seen: impl Into<String>) {
        self.book.note(rule, seen);
    }

    pub(super) fn clock(&mut self, now: MonoTime) {
        if now < self.clock {
            self.note(Rule::Deadlines, "the monotonic clock went back");
        }
        self.clock = now;
    }

    pub(super) fn opened(&mut self, conn: ConnId) {
        if self.conns.insert(conn, Course::default()).is_some() {
            self.note(Rule::Writes, "the id of a connection was used again");
        }
    }

    pub(super) fn grant(&mut self, conn: ConnId) {
        self.conns.entry(conn).or_default().credits += 1;
    }

    /// Whether the connection is there to be talked to.
    pub(super) fn listens(&self, conn: ConnId) -> bool {
        let course = self.conns.get(&conn);
        course.is_some_and(|course| !course.closing && !course.gone)
    }

    pub(super) fn is_gone(&self, conn: ConnId) -> bool {
        self.conns.get(&conn).is_some_and(|course| course.gone)
    }

    pub(super) fn is_flushed(&self, conn: ConnId) -> bool {
        self.conns.get(&conn).is_none_or(|own| own.unsent == 0)
    }

    /// The connection, where something may be said about it.
    fn speaks(&mut self, conn: ConnId, what: &str) -> Option<&mut Course> {
        let book = self.book.clone();
        let course = self.conns.get_mut(&conn).filter(|own| !own.gone);
        if course.is_none() {
            let seen = format!("{what} of a connection that is gone or was never opened");
            book.note(Rule::Writes, seen);
        }
        course
    }

    /// A frame came; whether it had a credit.
    pub(super) fn frame(&mut self, conn: ConnId) -> bool {
        let Some(course) = self.speaks(conn, "a frame") else {
            return false;
        };
        let Some(left) = course.credits.checked_sub(1) else {
            self.note(Rule::Credits, "a frame came without a credit");
            return false;
        };
        course.credits = left;
        true
    }

    pub(super) fn sending(&mut self, conn: ConnId, bytes: usize) {
        self.conns.entry(conn).or_default().unsent += bytes;
    }

    pub(super) fn sent(&mut self, conn: ConnId, bytes: usize) {
        let Some(course) = self.speaks(conn, "a report of bytes") else {
            return;
        };
        match course.unsent.checked_sub(bytes) {
            Some(left) => course.unsent = left,
            None => self.note(Rule::Writes, "more bytes left than were to be sent"),
        }
    }

    pub(super) fn closing(&mut self, conn: ConnId) {
        self.conns.entry(conn).or_default().closing = true;
    }

    pub(super) fn closed(&mut self, conn: ConnId) {
        if let Some(course) = self.speaks(conn, "the end") {
            course.gone = true;
        }
    }

    pub(super) fn issue(&mut self, op: &StorageOp) {
        self.open.insert(op.id, op.after);
        for log in logs(&op.kind) {
            let queue = self.queues.entry(log).or_default();
            if queue.back().is_none_or(|(last, _)| *last != op.id) {
                queue.push_back((op.id, changes(&op.kind)));
            }
        }
    }

    /// An operation ended; whether it had not before.
    pub(super) fn completed(&mut self, done: &Completion) -> bool {
        let Some(after) = self.open.remove(&done.id) else {
            self.note(Rule::Storage, "an operation ended that is not under way");
            return false;
        };
        if after.is_some_and(|after| self.open.contains_key(&after)) {
            self.note(Rule::Storage, "an operation ended before its `after`");
        }
        let mut ordered = true;
        for queue in self.queues.values_mut() {
            let Some(place) = queue.iter().position(|(id, _)| *id == done.id) else {
                continue;
            };
            // Reads may be overtaken, so that a slow one holds nobody up.
            ordered &= !queue.iter().take(place).any(|(_, changes)| *changes);
            queue.remove(place);
        }
        if !ordered {
            self.note(Rule::Storage, "operations of one log ended out of order");
        }
        self.ended.insert(done.id)
    }
}

fn changes(kind: &OpKind) -> bool {
    match kind {
        OpKind::Append { .. }
        | OpKind::Checkpoint { .. }
        | OpKind::DropLog { .. }
        | OpKind::Trim { .. } => true,
        OpKind::Find { .. } | OpKind::List | OpKind::Load { .. } | OpKind::Read { .. } => false,
    }
}

fn logs(kind: &OpKind) -> Vec<LogId> {
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
