//! Looking things up: the deltas in memory over the database, then the segments.

use std::ops::ControlFlow;
use std::sync::Arc;

use ackord_machine::{
    Found, LoadDetail, LoadedLog, LogExtent, LogId, StorageFault, StoredBatch, StoredCheckpoint,
};

use crate::disk::chunk::{Chunk, Located};
use crate::disk::gather::gather;
use crate::disk::recent::{Delta, Layer};
use crate::disk::segment::Segments;
use crate::disk::shared::Shared;
use crate::disk::tables::{TableError, TableView};
use crate::engine::{Head, View, contiguous};

/// See the module.
pub(crate) struct DiskView(pub(crate) Arc<Shared>);

/// Which batches are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    All,
    /// Until so many bytes are reached.
    Bytes(usize),
    /// The first one whose largest timestamp is at least this.
    Timestamp(i64),
}

/// Everything that is known of one log at one moment.
pub(crate) struct Look {
    log: LogId,
    /// The active delta.
    active: Option<Layer>,
    /// Newest first.
    frozen: Vec<Arc<Delta>>,
    tables: TableView,
    segments: Arc<Segments>,
}

impl DiskView {
    /// The moment is that of one lock: the database and the deltas fit together.
    pub(crate) fn look(&self, log: LogId, from: i64, wanted: Wanted) -> Look {
        let state = self.0.lock();
        let active = state.recent.active.logs.get(&log);
        Look {
            log,
            active: active.map(|layer| excerpt(layer, from, wanted)),
            frozen: state.recent.frozen.iter().rev().cloned().collect(),
            tables: self.0.tables.snapshot(),
            segments: state.segments.clone(),
        }
    }

    fn fault(&self, error: TableError) -> StorageFault {
        fault(&self.0, error)
    }

    pub(crate) fn batches(
        &self,
        look: &Look,
        located: &[Located],
        detail: LoadDetail,
    ) -> Result<Vec<StoredBatch>, StorageFault> {
        gather(&self.0, &look.segments, look.log, located, detail)
    }
}

/// What a failed look-up means to whoever asked.
pub(crate) fn fault(shared: &Shared, error: TableError) -> StorageFault {
    shared.warn(format!("a look-up failed: {error}"));
    match error {
        TableError::Database(
            fjall::Error::Io(_)
            | fjall::Error::Storage(fjall::LsmError::Io(_))
            | fjall::Error::Poisoned,
        ) => StorageFault::Retriable,
        TableError::Database(_) | TableError::Value(_) => StorageFault::Corrupt,
    }
}

/// The part of a layer that may be needed.
fn excerpt(layer: &Layer, from: i64, wanted: Wanted) -> Layer {
    let mut excerpt = Layer {
        hides: layer.hides,
        head: layer.head,
        checkpoint: layer.checkpoint.clone(),
        ..Layer::default()
    };
    let mut left = match wanted {
        Wanted::Bytes(bytes) => bytes as u64,
        Wanted::All | Wanted::Timestamp(_) => u64::MAX,
    };
    for (index, chunk) in layer.chunks_from(from).enumerate() {
        if let Wanted::Timestamp(timestamp) = wanted
            && chunk.max_timestamp < timestamp
        {
            continue;
        }
        excerpt.chunks.push_back(chunk.clone());
        if left == 0 {
            break;
        }
        // The first one may be wanted only in part.
        if index > 0 {
            left = left.saturating_sub(chunk.payload());
        }
    }
    excerpt
}

impl Look {
    /// The layers over the database, newest first, and whether they hide it.
    fn layers(&self) -> (Vec<&Layer>, bool) {
        let frozen = self
            .frozen
            .iter()
            .filter_map(|delta| delta.logs.get(&self.log));
        let mut layers = Vec::new();
        for layer in self.active.iter().chain(frozen) {
            layers.push(layer);
            if layer.hides {
                return (layers, true);
            }
        }
        (layers, false)
    }

    fn head(&self) -> Result<Head, TableError> {
        let head = match self.layers().0.first() {
            Some(layer) => layer.head,
            None => self.tables.extent(self.log)?.map(|extent| extent.head),
        };
        Ok(head.unwrap_or_default())
    }

    fn checkpoint(&self) -> Result<Option<StoredCheckpoint>, TableError> {
        let (layers, hidden) = self.layers();
        match layers.iter().find_map(|layer| layer.checkpoint.clone()) {
            None if !hidden => self.tables.checkpoint(self.log),
            found => Ok(found),
        }
    }

    /// Where the batches from the one that contains `from` lie.
    pub(crate) fn located(&self, from: i64, wanted: Wanted) -> Result<Vec<Located>, TableError> {
        let mut sieve = Sieve {
            from: from.max(self.head()?.start),
            wanted,
            bytes: 0,
            found: Vec::new(),
        };
        let (layers, hidden) = self.layers();
        if !hidden {
            let above = layers.iter().rev().find_map(|layer| layer.chunks.front());
            let above = above.map_or(i64::MAX, |chunk| chunk.base);
            if self.stored(above, &mut sieve)?.is_break() {
                return Ok(sieve.found);
            }
        }
        for layer in layers.iter().rev() {
            for chunk in layer.chunks_from(sieve.from) {
                if sieve.take(chunk).is_break() {
                    return Ok(sieve.found);
                }
            }
        }
        Ok(sieve.found)
    }

    /// What the database knows, below what lies over it.
    fn stored(&self, above: i64, sieve: &mut Sieve) -> Result<ControlFlow<()>, TableError> {
        let Some(extent) = self.tables.extent(self.log)? else {
            return Ok(ControlFlow::Continue(()));
        };
        let newest = sieve.from.min(above.saturating_sub(1));
        let first = self.tables.chunk_at(self.log, extent.first, newest)?;
        let base = first.map_or(sieve.from, |chunk| chunk.base);
        let late = match sieve.wanted {
            Wanted::Timestamp(timestamp) => timestamp,
            Wanted::All | Wanted::Bytes(_) => i64::MIN,
        };
        for chunk in self
            .tables
            .chunks(self.log, base..above, |newest| newest >= late)
        {
            if sieve.take(&chunk?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Takes what is wanted out of chunks that come in order.
struct Sieve {
    from: i64,
    wanted: Wanted,
    bytes: usize,
    found: Vec<Located>,
}

impl Sieve {
    fn take(&mut self, chunk: &Chunk) -> ControlFlow<()> {
        for one in chunk.located(self.from) {
            match self.wanted {
                Wanted::All => self.found.push(one),
                Wanted::Bytes(max) => {
                    self.bytes += one.slot.length as usize;
                    if self.bytes > max && !self.found.is_empty() {
                        return ControlFlow::Break(());
                    }
                    self.found.push(one);
                }
                Wanted::Timestamp(timestamp) => {
                    if one.slot.max_timestamp >= timestamp {
                        self.found.push(one);
                        return ControlFlow::Break(());
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl View for DiskView {
    fn list(&self) -> Result<Vec<LogExtent>, StorageFault> {
        let (tables, overlay) = {
            let state = self.0.lock();
            let deltas = state.recent.frozen.iter().map(|delta| &**delta);
            let mut overlay = Vec::new();
            for delta in deltas.chain([&state.recent.active]) {
                overlay.extend(delta.logs.iter().map(|(log, layer)| (*log, layer.head)));
            }
            (self.0.tables.snapshot(), overlay)
        };
        let mut heads = tables.heads().map_err(|error| self.fault(error))?;
        for (log, head) in overlay {
            match head {
                Some(head) => heads.insert(log, head),
                None => heads.remove(&log),
            };
        }
        let extent = |(log, head): (LogId, Head)| LogExtent {
            log,
            start: head.start,
            end: head.end,
        };
        Ok(heads.into_iter().map(extent).collect())
    }

    fn load(&self, log: LogId, detail: LoadDetail) -> Result<LoadedLog, StorageFault> {
        let look = self.look(log, 0, Wanted::All);
        let fault = |error| self.fault(error);
        let Head { start, end } = look.head().map_err(fault)?;
        let checkpoint = look.checkpoint().map_err(fault)?;
        let from = checkpoint
            .as_ref()
            .map_or(start, |checkpoint| checkpoint.at);
        let located = look.located(from, Wanted::All).map_err(fault)?;
        let batches = self.batches(&look, &located, detail)?;
        let from = from.max(start);
        let reaches = match batches.first() {
            Some(batch) => batch.base <= from,
            None => from >= end,
        };
        if !reaches || !contiguous(&batches, end) {
            self.0.warn(format!(
                "the index of {log} has a hole between offsets {from} and {end}"
            ));
            return Err(StorageFault::Corrupt);
        }
        Ok(LoadedLog {
            start,
            end,
            cleaned: false,
            checkpoint,
            batches,
        })
    }

    fn read(
        &self,
        log: LogId,
        from: i64,
        max_bytes: usize,
    ) -> Result<Vec<StoredBatch>, StorageFault> {
        let wanted = Wanted::Bytes(max_bytes);
        let look = self.look(log, from, wanted);
        let located = look
            .located(from, wanted)
            .map_err(|error| self.fault(error))?;
        self.batches(&look, &located, LoadDetail::Full)
    }

    fn find(&self, log: LogId, from: i64, timestamp: i64) -> Result<Option<Found>, StorageFault> {
        let wanted = Wanted::Timestamp(timestamp);
        let look = self.look(log, from, wanted);
        let located = look
            .located(from, wanted)
            .map_err(|error| self.fault(error))?;
        let batch = self.batches(&look, &located, LoadDetail::Full)?.pop();
        Ok(batch.map(|batch| Found { batch }))
    }
}
