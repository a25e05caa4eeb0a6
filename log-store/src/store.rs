//! The store as its owner sees it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use ackord_machine::{Completion, StorageOp};

use crate::OpenError;
use crate::disk::Disk;
use crate::engine::Engine;
use crate::memory::Memory;
use crate::queue::Queue;
use crate::reader;
use crate::writer::Writer;

/// What `Done` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is kept; the directory is not touched.
    Memory,
    /// Given to the operating system: survives the end of the process, not a loss of power.
    Os,
    /// Synced to the disk.
    Sync,
}

/// What a store tells its owner, from threads of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreEvent {
    /// An operation ended.
    Completed(Completion),
    /// The thread that said what it completed has said all of it. With `idle` no work waits for it, so
    /// that its owner may use it for a moment.
    Settled {
        /// Nothing waits for this thread.
        idle: bool,
    },
    /// Something went wrong that a person should know of.
    Warning(String),
}

/// What a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Groups committed: each is one write and, with [`Durability::Sync`], one sync.
    pub groups: u64,
    /// Changes in them; one append has as many as it has parts.
    pub changes: u64,
}

/// Called by both threads; must not block for long.
pub(crate) type Events = Arc<dyn Fn(StoreEvent) + Send + Sync>;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    groups: AtomicU64,
    changes: AtomicU64,
}

impl Counters {
    pub(crate) fn group(&self, changes: usize) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
    }
}

/// An open store. Dropping it finishes what was submitted, answers it and closes.
pub struct LogStore {
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    threads: Vec<JoinHandle<()>>,
}

impl LogStore {
    /// Opens or creates the store in `dir`. `events` gets exactly one completion for each operation;
    /// it is called by the threads of the store and must not block for long.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose text is meant for the operator.
    pub fn open(
        dir: &Path,
        durability: Durability,
        events: impl Fn(StoreEvent) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let events: Events = Arc::new(events);
        let engine: Box<dyn Engine> = match durability {
            Durability::Memory => Box::new(Memory::default()),
            Durability::Os => Box::new(Disk::open(dir, false, events.clone())?),
            Durability::Sync => Box::new(Disk::open(dir, true, events.clone())?),
        };
        Self::start(engine, events).map_err(|error| OpenError::io(dir, error))
    }

    pub(crate) fn start(engine: Box<dyn Engine>, events: Events) -> io::Result<Self> {
        let view = engine.view().map_err(io::Error::other)?;
        let queue = Arc::new(Queue::default());
        queue.written(0, Some(view));
        let counters = Arc::new(Counters::default());
        let mut store = LogStore {
            queue,
            counters,
            threads: Vec::new(),
        };
        let (queue, reader_events) = (store.queue.clone(), events.clone());
        store.spawn("store-reader", move || reader::run(&queue, &reader_events))?;
        let writer = Writer::new(engine, store.queue.clone(), events, store.counters.clone());
        store.spawn("store-writer", move || writer.run())?;
        Ok(store)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads
            .push(thread::Builder::new().name(name.into()).spawn(work)?);
        Ok(())
    }

    /// Hands over one operation. Never blocks.
    pub fn submit(&self, op: StorageOp) {
        self.queue.submit([op]);
    }

    /// Hands over several operations at once, so that they share a group where they can.
    pub fn submit_all(&self, ops: impl IntoIterator<Item = StorageOp>) {
        self.queue.submit(ops);
    }

    /// What was done so far.
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            groups: self.counters.groups.load(Ordering::Relaxed),
            changes: self.counters.changes.load(Ordering::Relaxed),
        }
    }

    /// Finishes what was submitted, answers it, and closes. Another process may open the directory
    /// when it returns.
    pub fn close(self) {}
}

impl Drop for LogStore {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A panic was already printed by its thread.
            let _ = thread.join();
        }
    }
}
