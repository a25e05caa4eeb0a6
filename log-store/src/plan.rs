//! What becomes of the operations of one group before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use ackord_machine::{LogAppend, LogId, OpKind, StorageFault};

use crate::engine::{Change, Engine, Head, guarded};

/// A group that has grown to this many bytes takes no more operations: whatever waits behind a long
/// write is late, and a sync costs little beside so many bytes.
pub(crate) const GROUP_BYTES: usize = 2 * 1024 * 1024;

/// Where the logs end, and which of them wait for a load after a failed append.
#[derive(Default)]
pub(crate) struct Heads {
    known: BTreeMap<LogId, Head>,
    frozen: BTreeSet<LogId>,
}

/// The changes of one group, in order.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) changes: Vec<Change>,
    bytes: usize,
}

impl Group {
    /// Whether another operation may join the group.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < GROUP_BYTES
    }
}

impl Heads {
    /// Judges one operation; where it is right, adds its changes to `group`.
    pub(crate) fn plan(
        &mut self,
        engine: &dyn Engine,
        group: &mut Group,
        kind: OpKind,
    ) -> Result<(), StorageFault> {
        match kind {
            OpKind::Append { parts } => self.append(engine, group, parts),
            OpKind::Checkpoint { log, at, state } => {
                self.thawed(log)?;
                group.bytes += state.len();
                group.changes.push(Change::Checkpoint { log, at, state });
                Ok(())
            }
            OpKind::DropLog { log } => {
                self.frozen.remove(&log);
                self.known.insert(log, Head::default());
                group.changes.push(Change::Drop { log });
                Ok(())
            }
            OpKind::Trim { log, before } => {
                self.thawed(log)?;
                let head = self.head(engine, log)?;
                if before <= head.start {
                    return Ok(());
                }
                let head = Head {
                    start: before,
                    end: head.end.max(before),
                };
                self.known.insert(log, head);
                group.changes.push(Change::Trim { log, head });
                Ok(())
            }
            // The queue gives these to the reader.
            OpKind::Find { .. } | OpKind::List | OpKind::Load { .. } | OpKind::Read { .. } => {
                Err(StorageFault::Retriable)
            }
        }
    }

    fn append(
        &mut self,
        engine: &dyn Engine,
        group: &mut Group,
        parts: Vec<LogAppend>,
    ) -> Result<(), StorageFault> {
        let checked = self.check(engine, &parts);
        match checked {
            Ok(ends) => {
                for (log, head) in ends {
                    self.known.insert(log, head);
                }
                let bytes = parts.iter().map(|part| part.head.len() + part.body.len());
                group.bytes += bytes.sum::<usize>();
                group.changes.push(Change::Append { parts });
                Ok(())
            }
            Err(fault) => {
                self.frozen.extend(parts.iter().map(|part| part.log));
                Err(fault)
            }
        }
    }

    /// The heads after an append, if every part continues its log.
    fn check(
        &mut self,
        engine: &dyn Engine,
        parts: &[LogAppend],
    ) -> Result<BTreeMap<LogId, Head>, StorageFault> {
        let mut heads = BTreeMap::new();
        for part in parts {
            self.thawed(part.log)?;
            let head = match heads.get(&part.log) {
                Some(head) => *head,
                None => self.head(engine, part.log)?,
            };
            let end = part.last.checked_add(1).ok_or(StorageFault::Conflict)?;
            if part.base != head.end || part.last < part.base {
                return Err(StorageFault::Conflict);
            }
            heads.insert(
                part.log,
                Head {
                    start: head.start,
                    end,
                },
            );
        }
        Ok(heads)
    }

    fn thawed(&self, log: LogId) -> Result<(), StorageFault> {
        if self.frozen.contains(&log) {
            Err(StorageFault::Conflict)
        } else {
            Ok(())
        }
    }

    fn head(&mut self, engine: &dyn Engine, log: LogId) -> Result<Head, StorageFault> {
        if let Some(head) = self.known.get(&log) {
            return Ok(*head);
        }
        let head = guarded(|| StorageFault::Corrupt, || engine.head(log))?;
        self.known.insert(log, head);
        Ok(head)
    }

    /// A load of the log was asked for: whoever asked will know its end.
    pub(crate) fn thaw(&mut self, log: LogId) {
        self.frozen.remove(&log);
    }

    /// An operation failed without being looked at.
    pub(crate) fn freeze_for(&mut self, kind: &OpKind) {
        if let OpKind::Append { parts } = kind {
            self.frozen.extend(parts.iter().map(|part| part.log));
        }
    }

    /// The changes of a group may be stored or not: nothing is known any more.
    pub(crate) fn forget(&mut self, appended: BTreeSet<LogId>) {
        self.known.clear();
        self.frozen.extend(appended);
    }
}

/// The logs to which `changes` append.
pub(crate) fn appended(changes: &[Change]) -> BTreeSet<LogId> {
    let mut logs = BTreeSet::new();
    for change in changes {
        if let Change::Append { parts } = change {
            logs.extend(parts.iter().map(|part| part.log));
        }
    }
    logs
}

/// How many changes there are; an append has as many as it has parts.
pub(crate) fn count(changes: &[Change]) -> usize {
    let parts = |change: &Change| match change {
        Change::Append { parts } => parts.len(),
        Change::Checkpoint { .. } | Change::Drop { .. } | Change::Trim { .. } => 1,
    };
    changes.iter().map(parts).sum()
}
