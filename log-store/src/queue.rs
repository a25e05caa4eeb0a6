//! The waiting operations, between whoever submits and the two threads.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ackord_machine::{LogId, OpId, OpKind, StorageOp};

use crate::engine::View;

/// Work for the writer.
#[derive(Debug)]
pub(crate) enum Write {
    /// An operation to carry out and to answer.
    Op {
        id: OpId,
        /// Where this one failed, the operation fails too.
        after: Option<OpId>,
        kind: OpKind,
    },
    /// A load of the log comes at this place in the order.
    Thaw { log: LogId },
}

/// Work for the reader.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) id: OpId,
    pub(crate) kind: OpKind,
    /// Writes up to this number have to be done first.
    after: u64,
}

#[derive(Default)]
struct State {
    writes: VecDeque<Write>,
    reads: VecDeque<Read>,
    /// How many writes were submitted, and how many of them are done. Writes are numbered from 1.
    submitted: u64,
    done: u64,
    /// The number of the newest write of a log; may be of one that is done.
    newest: BTreeMap<LogId, u64>,
    closing: bool,
    view: Option<Arc<dyn View>>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    writer: Condvar,
    reader: Condvar,
    view_returned: Condvar,
}

impl State {
    fn push(&mut self, op: StorageOp) {
        let StorageOp { id, after, kind } = op;
        match &kind {
            OpKind::Append { parts } => {
                let number = self.submitted + 1;
                self.newest
                    .extend(parts.iter().map(|part| (part.log, number)));
                self.write(Write::Op { id, after, kind });
            }
            OpKind::Checkpoint { log, .. } | OpKind::DropLog { log } | OpKind::Trim { log, .. } => {
                self.newest.insert(*log, self.submitted + 1);
                self.write(Write::Op { id, after, kind });
            }
            OpKind::Load { log, .. } => {
                self.write(Write::Thaw { log: *log });
                self.reads.push_back(Read {
                    id,
                    kind,
                    after: self.submitted,
                });
            }
            OpKind::Find { log, .. } | OpKind::Read { log, .. } => {
                let after = self.newest.get(log).copied().unwrap_or_default();
                self.reads.push_back(Read { id, kind, after });
            }
            OpKind::List => self.reads.push_back(Read {
                id,
                kind,
                after: self.submitted,
            }),
        }
    }

    fn write(&mut self, write: Write) {
        self.submitted += 1;
        self.writes.push_back(write);
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds operations, all at the same moment. Wakes only whom they concern: a wake-up of nobody
    /// is a system call too, and one of the reader for each write costs more than the write.
    pub(crate) fn submit(&self, ops: impl IntoIterator<Item = StorageOp>) {
        let mut state = self.lock();
        let (writes, reads) = (state.writes.len(), state.reads.len());
        ops.into_iter().for_each(|op| state.push(op));
        // The writer takes all that is there: where something was, it has been woken for it.
        let wake_writer = writes == 0 && !state.writes.is_empty();
        let wake_reader = state.reads.len() > reads;
        drop(state);
        if wake_writer {
            self.writer.notify_one();
        }
        if wake_reader {
            self.reader.notify_one();
        }
    }

    /// Ends both threads when nothing waits any more.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.writer.notify_one();
        self.reader.notify_one();
    }

    /// All writes that wait, once there is one; `None` at the end.
    pub(crate) fn take_writes(&self) -> Option<VecDeque<Write>> {
        let mut state = self.lock();
        while state.writes.is_empty() {
            if state.closing {
                return None;
            }
            state = self
                .writer
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Some(mem::take(&mut state.writes))
    }

    /// `count` more writes are done; `view` shows them. No view: the store is out of order. Whether
    /// no write waits.
    pub(crate) fn written(&self, count: u64, view: Option<Arc<dyn View>>) -> bool {
        let mut state = self.lock();
        state.done += count;
        if state.done == state.submitted {
            state.newest.clear();
        }
        let old = mem::replace(&mut state.view, view);
        let (wake_reader, idle) = (!state.reads.is_empty(), state.writes.is_empty());
        drop(state);
        if wake_reader {
            self.reader.notify_one();
        }
        drop(old);
        idle
    }

    /// Takes the view away and waits until the reader has let go of it.
    pub(crate) fn retire_view(&self) {
        let mut state = self.lock();
        let Some(view) = state.view.take() else {
            return;
        };
        while Arc::strong_count(&view) > 1 {
            state = self
                .view_returned
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next read whose turn it is, with the state to read; `None` at the end.
    pub(crate) fn take_read(&self) -> Option<(Read, Option<Arc<dyn View>>)> {
        let mut state = self.lock();
        loop {
            match state.reads.front() {
                Some(read) if read.after <= state.done => {
                    let read = state.reads.pop_front()?;
                    return Some((read, state.view.clone()));
                }
                None if state.closing => return None,
                Some(_) | None => {}
            }
            state = self
                .reader
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The reader is done with a view. Whether no read waits.
    pub(crate) fn return_view(&self, view: Option<Arc<dyn View>>) -> bool {
        let state = self.lock();
        drop(view);
        // Only then someone waits for it: a call to the kernel for each read is worth saving.
        if state.view.is_none() {
            self.view_returned.notify_one();
        }
        state.reads.is_empty()
    }
}
