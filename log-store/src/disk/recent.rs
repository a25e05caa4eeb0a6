//! What the journal says that the database does not know yet, in memory.
//!
//! Changes go into the active delta. Every so often it is frozen, written to the database by the
//! upkeep thread, and forgotten. A delta lies over the older ones and over the database.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ackord_machine::{LogId, StoredCheckpoint};

use crate::disk::chunk::{Chunk, Slot};
use crate::disk::entry::Deed;
use crate::disk::segment::HEADER;
use crate::engine::Head;

/// A place in the journal: everything before it was read or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) segment: u64,
    pub(crate) position: u64,
    /// Number of the entry that begins there.
    pub(crate) number: u64,
}

impl Place {
    /// Where a journal begins that has nothing in it yet.
    pub(crate) fn start_of(segment: u64) -> Self {
        Place {
            segment,
            position: HEADER,
            number: 0,
        }
    }
}

/// The changes between two places of the journal.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    pub(crate) logs: BTreeMap<LogId, Layer>,
    pub(crate) upto: Place,
    /// A measure of its memory.
    pub(crate) batches: usize,
    /// Bytes of states in memory.
    pub(crate) state_bytes: usize,
}

/// What a delta says of one log.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    /// The log was dropped: nothing that lies below belongs to it.
    pub(crate) hides: bool,
    /// `None`: there is no such log.
    pub(crate) head: Option<Head>,
    pub(crate) checkpoint: Option<StoredCheckpoint>,
    /// New batches.
    pub(crate) chunks: VecDeque<Chunk>,
}

impl Layer {
    fn over(head: Option<Head>) -> Self {
        Layer {
            head,
            ..Layer::default()
        }
    }

    fn batch(&mut self, segment: u64, base: i64, slot: Slot) {
        match self.chunks.back_mut() {
            Some(chunk) if chunk.admits(segment, base) => chunk.push(slot),
            _ => {
                let mut chunk = Chunk::new(segment, base);
                chunk.push(slot);
                self.chunks.push_back(chunk);
            }
        }
        self.head.get_or_insert_default().end = slot.last.saturating_add(1);
    }

    fn trim(&mut self, head: Head) {
        let dead = |chunk: &Chunk| chunk.end() <= head.start;
        while self.chunks.front().is_some_and(dead) {
            self.chunks.pop_front();
        }
        self.head = Some(head);
    }

    /// The chunks that hold anything at `from` or later.
    pub(crate) fn chunks_from(&self, from: i64) -> impl Iterator<Item = &Chunk> {
        let first = self.chunks.partition_point(|chunk| chunk.end() <= from);
        self.chunks.range(first..)
    }
}

/// One change as the journal has it.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) log: LogId,
    pub(crate) deed: Deed,
    /// Of the header of its part.
    pub(crate) position: u32,
    pub(crate) length: u32,
    /// The payload of a checkpoint.
    pub(crate) state: bytes::Bytes,
}

impl Delta {
    /// Makes a change that lies in `segment`. `below` says what the layers under this delta know of
    /// the head of the log.
    pub(crate) fn apply<E>(
        &mut self,
        segment: u64,
        applied: Applied,
        below: impl FnOnce() -> Result<Option<Head>, E>,
    ) -> Result<(), E> {
        let layer = match self.logs.entry(applied.log) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Layer::over(below()?)),
        };
        match applied.deed {
            Deed::Batch {
                base,
                last,
                max_timestamp,
            } => {
                self.batches += 1;
                let slot = Slot {
                    last,
                    max_timestamp,
                    position: applied.position,
                    length: applied.length,
                };
                layer.batch(segment, base, slot);
            }
            Deed::Checkpoint { at } => {
                layer.head.get_or_insert_default();
                self.state_bytes += applied.state.len();
                layer.checkpoint = Some(StoredCheckpoint {
                    at,
                    state: applied.state,
                });
            }
            Deed::Drop => {
                *layer = Layer {
                    hides: true,
                    ..Layer::default()
                };
            }
            Deed::Trim { head } => layer.trim(head),
        }
        Ok(())
    }
}

/// The deltas, newest first.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    pub(crate) active: Delta,
    pub(crate) frozen: VecDeque<Arc<Delta>>,
}

impl Recent {
    /// What is known of a log, newest first, down to a layer that hides what is below; whether there
    /// was such a layer.
    pub(crate) fn layers(&self, log: LogId) -> (Vec<&Layer>, bool) {
        let frozen = self.frozen.iter().rev().map(|delta| &**delta);
        let mut layers = Vec::new();
        for delta in std::iter::once(&self.active).chain(frozen) {
            if let Some(layer) = delta.logs.get(&log) {
                layers.push(layer);
                if layer.hides {
                    return (layers, true);
                }
            }
        }
        (layers, false)
    }

    /// The head of a log as the newest layer has it; `None` where no layer has it.
    pub(crate) fn head(&self, log: LogId) -> Option<Option<Head>> {
        self.layers(log).0.first().map(|layer| layer.head)
    }

    /// The active delta becomes frozen; `false` where it says nothing.
    pub(crate) fn freeze(&mut self) -> bool {
        if self.active.logs.is_empty() {
            return false;
        }
        let upto = self.active.upto;
        let next = Delta {
            upto,
            ..Delta::default()
        };
        let full = std::mem::replace(&mut self.active, next);
        self.frozen.push_back(Arc::new(full));
        true
    }
}
