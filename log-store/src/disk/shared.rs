//! What the writer, the reader and the upkeep thread have in common.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ackord_machine::LogId;

use crate::disk::entry::Deed;
use crate::disk::recent::{Applied, Delta, Place, Recent};
use crate::disk::segment::{Kind, OpenFiles, Segment, Segments};
use crate::disk::tables::{TableError, Tables};
use crate::disk::tuning::{Step, Tuning};
use crate::engine::Head;
use crate::store::{Events, StoreEvent};

/// So many frozen deltas may wait for the database; then the writer waits. This bounds what a start
/// has to read.
const FROZEN: usize = 16;
/// So many full deltas may wait for the database; this bounds memory.
const FULL: usize = 4;

/// See the module.
pub(crate) struct Shared {
    /// Where the segments are.
    pub(crate) dir: PathBuf,
    pub(crate) tables: Tables,
    pub(crate) files: OpenFiles,
    pub(crate) tuning: Tuning,
    /// Whether every group is synced.
    pub(crate) sync: bool,
    events: Events,
    state: Mutex<State>,
    /// There is something for the upkeep thread.
    work: Condvar,
    /// The upkeep thread has done something.
    progress: Condvar,
}

/// A segment that is ready to be written.
pub(crate) struct Prepared {
    pub(crate) segment: Arc<Segment>,
    pub(crate) file: std::fs::File,
    pub(crate) mark: u64,
}

/// Under the lock. Nobody does I/O on segments with it.
pub(crate) struct State {
    pub(crate) recent: Recent,
    pub(crate) segments: Arc<Segments>,
    pub(crate) next_id: u64,
    /// The next segment of the journal.
    pub(crate) spare: Spare,
    /// Entries below this number were synced by the upkeep thread.
    pub(crate) synced: u64,
    /// Why the upkeep thread has stopped.
    pub(crate) failed: Option<String>,
    pub(crate) closing: bool,
    /// What the upkeep thread does is finished; for tests.
    #[cfg(test)]
    pub(crate) idle: bool,
}

/// The next segment of the journal is made before it is needed.
pub(crate) enum Spare {
    /// It could not be made, so the writer tries when it needs it.
    Absent,
    Wanted,
    UnderWay,
    Ready(Prepared),
}

impl Shared {
    pub(crate) fn new(
        dir: PathBuf,
        tables: Tables,
        tuning: Tuning,
        sync: bool,
        events: Events,
        segments: Segments,
    ) -> Self {
        let next_id = segments.last_key_value().map_or(1, |(id, _)| id + 1);
        Shared {
            dir,
            tables,
            files: OpenFiles::default(),
            tuning,
            sync,
            events,
            state: Mutex::new(State {
                recent: Recent::default(),
                segments: Arc::new(segments),
                next_id,
                spare: Spare::Wanted,
                synced: 0,
                failed: None,
                closing: false,
                #[cfg(test)]
                idle: false,
            }),
            work: Condvar::new(),
            progress: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_for_work<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.work
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_for_progress<'a>(
        &self,
        state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        self.progress
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn work_came(&self) {
        self.work.notify_all();
    }

    pub(crate) fn progressed(&self) {
        self.progress.notify_all();
    }

    pub(crate) fn warn(&self, text: String) {
        (self.events)(StoreEvent::Warning(text));
    }

    /// Where a log begins and ends.
    pub(crate) fn head(&self, state: &State, log: LogId) -> Result<Option<Head>, TableError> {
        match state.recent.head(log) {
            Some(head) => Ok(head),
            None => Ok(self
                .tables
                .snapshot()
                .extent(log)?
                .map(|extent| extent.head)),
        }
    }

    /// What was written is in the journal, durably: now it can be seen.
    pub(crate) fn apply(&self, upto: Place, applied: Vec<Applied>) -> Result<(), String> {
        let mut state = self.lock();
        let mut removes = false;
        for one in applied {
            removes |= matches!(one.deed, Deed::Drop | Deed::Trim { .. });
            self.apply_one(&mut state, upto.segment, one)
                .map_err(|error| error.to_string())?;
        }
        let active = &mut state.recent.active;
        active.upto = upto;
        let full = active.batches >= self.tuning.delta_batches
            || active.state_bytes >= self.tuning.delta_state_bytes;
        // What was removed frees space only once the database knows.
        if full || (removes && state.recent.frozen.is_empty()) {
            self.freeze(state);
        }
        Ok(())
    }

    pub(crate) fn apply_one(
        &self,
        state: &mut State,
        segment: u64,
        one: Applied,
    ) -> Result<(), TableError> {
        let head = match state.recent.active.logs.contains_key(&one.log) {
            true => None,
            false => self.head(state, one.log)?,
        };
        state.recent.active.apply(segment, one, || Ok(head))
    }

    /// Hands the active delta to the upkeep thread; waits where that one is far behind.
    fn freeze(&self, mut state: MutexGuard<'_, State>) {
        while self.is_far_behind(&state) && state.failed.is_none() {
            state = self.wait_for_progress(state);
        }
        if state.recent.freeze() {
            self.work_came();
        }
    }

    fn is_far_behind(&self, state: &State) -> bool {
        let frozen = &state.recent.frozen;
        let batches: usize = frozen.iter().map(|delta| delta.batches).sum();
        let state_bytes: usize = frozen.iter().map(|delta| delta.state_bytes).sum();
        frozen.len() >= FROZEN
            || batches >= self.tuning.delta_batches.saturating_mul(FULL)
            || state_bytes >= self.tuning.delta_state_bytes.saturating_mul(FULL)
    }

    /// The next segment of the journal; the one that ends there is handed to the upkeep thread.
    pub(crate) fn next_segment(&self) -> io::Result<Prepared> {
        let mut state = self.lock();
        while let Spare::UnderWay = state.spare {
            if let Some(error) = &state.failed {
                return Err(io::Error::other(error.clone()));
            }
            state = self.wait_for_progress(state);
        }
        let prepared = match std::mem::replace(&mut state.spare, Spare::UnderWay) {
            Spare::Ready(prepared) => prepared,
            Spare::Absent | Spare::Wanted | Spare::UnderWay => {
                let id = state.take_id();
                drop(state);
                let made = self.create(id, Kind::Journal);
                state = self.lock();
                made?
            }
        };
        state.spare = Spare::Wanted;
        state.add(prepared.segment.clone());
        self.work_came();
        self.freeze(state);
        Ok(prepared)
    }

    pub(crate) fn create(&self, id: u64, kind: Kind) -> io::Result<Prepared> {
        let segment = Segment::new(&self.dir, id, kind);
        let (file, mark) = segment.create()?;
        self.tuning.at(match kind {
            Kind::Journal => Step::SegmentCreated,
            Kind::Copy => Step::CopyCreated,
        });
        Ok(Prepared {
            segment,
            file,
            mark,
        })
    }

    /// Ends the upkeep thread once it has written to the database what is known.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.recent.freeze();
        state.closing = true;
        self.work_came();
    }

    /// Hands over everything and waits until it is done.
    #[cfg(test)]
    pub(crate) fn settle(&self) {
        self.lock().recent.freeze();
        self.quiesce();
    }

    /// Waits until the upkeep thread has nothing to do.
    #[cfg(test)]
    pub(crate) fn quiesce(&self) {
        let mut state = self.lock();
        state.idle = false;
        self.work_came();
        while !state.idle && state.failed.is_none() {
            state = self.wait_for_progress(state);
        }
    }
}

impl State {
    pub(crate) fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub(crate) fn add(&mut self, segment: Arc<Segment>) {
        let mut segments = Segments::clone(&self.segments);
        segments.insert(segment.id, segment);
        self.segments = Arc::new(segments);
    }

    pub(crate) fn oldest_frozen(&self) -> Option<Arc<Delta>> {
        self.recent.frozen.front().cloned()
    }
}
