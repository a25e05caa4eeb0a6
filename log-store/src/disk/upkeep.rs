//! The thread that keeps the database up with the journal, and frees space.
//!
//! It alone changes the database. Its three tasks, none of which stops a commit: the next segment is
//! created before it is needed; a frozen delta is written to the database; a segment of which less
//! than half is needed has the rest copied out, a few MiB at a time. A segment of which nothing is
//! needed goes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::sync::Arc;

use ackord_machine::LogId;

use crate::disk::mover::{Moved, Mover};
use crate::disk::recent::{Delta, Layer, Place};
use crate::disk::segment::{Kind, Segment};
use crate::disk::shared::{Shared, Spare};
use crate::disk::tables::{Account, Extent, Staged, TableView};
use crate::disk::tuning::Step;
use crate::engine::guarded;

/// So many changes are made together at most where that matters not.
const STAGED: usize = 4096;

/// See the module.
pub(crate) struct Upkeep {
    pub(crate) shared: Arc<Shared>,
    pub(crate) accounts: BTreeMap<u64, Account>,
    /// Up to where the database knows the journal.
    pub(crate) known_to: Place,
    /// Accounts that differ from those in the database.
    pub(crate) touched: BTreeSet<u64>,
    mover: Mover,
}

enum Work {
    Flush(Arc<Delta>),
    Move(u64),
    Prepare(u64),
}

impl Upkeep {
    pub(crate) fn new(
        shared: Arc<Shared>,
        accounts: BTreeMap<u64, Account>,
        known_to: Place,
    ) -> Self {
        let touched = accounts.keys().copied().collect();
        Upkeep {
            shared,
            accounts,
            known_to,
            touched,
            mover: Mover::default(),
        }
    }

    /// Works until the store closes or something fails.
    pub(crate) fn run(mut self) {
        let shared = self.shared.clone();
        while let Some(work) = self.next() {
            let panicked = || "the database panicked".to_owned();
            if let Err(error) = guarded(panicked, || self.carry_out(work)) {
                shared.lock().failed = Some(error);
                shared.progressed();
                return;
            }
            shared.progressed();
        }
    }

    fn next(&mut self) -> Option<Work> {
        let victim = self.victim();
        let shared = self.shared.clone();
        let mut state = shared.lock();
        loop {
            if let (Spare::Wanted, false) = (&state.spare, state.closing) {
                state.spare = Spare::UnderWay;
                return Some(Work::Prepare(state.take_id()));
            }
            if let Some(delta) = state.oldest_frozen() {
                return Some(Work::Flush(delta));
            }
            if state.closing {
                return None;
            }
            if let Some(victim) = victim {
                return Some(Work::Move(victim));
            }
            #[cfg(test)]
            {
                state.idle = true;
                shared.progressed();
            }
            state = shared.wait_for_work(state);
        }
    }

    fn carry_out(&mut self, work: Work) -> Result<(), String> {
        match work {
            Work::Flush(delta) => self.flush(&delta),
            Work::Move(victim) => self.move_some(victim),
            Work::Prepare(id) => {
                self.prepare(id);
                Ok(())
            }
        }
    }

    fn prepare(&mut self, id: u64) {
        let spare = match self.shared.create(id, Kind::Journal) {
            Ok(prepared) => Spare::Ready(prepared),
            Err(error) => {
                let dir = self.shared.dir.display();
                self.shared
                    .warn(format!("no segment can be created in {dir}: {error}"));
                Spare::Absent
            }
        };
        self.shared.lock().spare = spare;
    }

    /// Whether nothing is added to a segment any more.
    fn is_sealed(&self, segment: &Segment) -> bool {
        match segment.kind {
            Kind::Journal => segment.id < self.known_to.segment,
            Kind::Copy => !self.mover.writes_to(segment.id),
        }
    }

    /// A segment whose remaining batches are worth moving.
    fn victim(&self) -> Option<u64> {
        if self.mover.is_paused() {
            return None;
        }
        if let Some(victim) = self.mover.victim() {
            return Some(victim);
        }
        let segments = self.shared.lock().segments.clone();
        let wasteful = |(id, account): (&u64, &Account)| {
            let sealed = segments
                .get(id)
                .is_some_and(|segment| self.is_sealed(segment));
            let mostly_dead = account.live.saturating_mul(2) <= account.total;
            (sealed && mostly_dead && !self.mover.gave_up(*id)).then_some(*id)
        };
        self.accounts.iter().find_map(wasteful)
    }

    /// Makes staged changes, with the accounts; then lets go of segments that are not needed.
    fn commit(&mut self, mut staged: Staged, step: Step) -> Result<(), String> {
        let segments = self.shared.lock().segments.clone();
        let mut dead = Vec::new();
        for id in std::mem::take(&mut self.touched) {
            let account = self.accounts.get(&id).copied().unwrap_or_default();
            if account.live == 0 {
                self.mover.leave(id);
            }
            let sealed = segments
                .get(&id)
                .is_none_or(|segment| self.is_sealed(segment));
            if account.live == 0 && sealed {
                self.accounts.remove(&id);
                staged.account(id, None);
                dead.push(id);
            } else {
                staged.account(id, Some(account));
            }
        }
        drop(segments);
        self.shared
            .tables
            .commit(staged)
            .map_err(|error| error.to_string())?;
        self.shared.tuning.at(step);
        self.retire(&dead);
        Ok(())
    }

    fn retire(&mut self, dead: &[u64]) {
        if dead.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        let mut segments = (*state.segments).clone();
        for id in dead {
            if let Some(segment) = segments.remove(id) {
                segment.retire();
            }
            self.shared.files.forget(*id);
        }
        // What is replaced may be the last owner: it is dropped, and files removed, without the lock.
        let old = std::mem::replace(&mut state.segments, Arc::new(segments));
        drop(state);
        drop(old);
        self.shared.tuning.at(Step::SegmentsRetired);
    }

    /// Writes a frozen delta to the database.
    fn flush(&mut self, delta: &Delta) -> Result<(), String> {
        self.sync_journal(delta.upto)?;
        let mut staged = Staged::default();
        let mut firsts = BTreeMap::new();
        let view = self.shared.tables.snapshot();
        for (log, layer) in &delta.logs {
            if let Some(first) = self.remove_dead(&view, &mut staged, *log, layer)? {
                firsts.insert(*log, first);
            }
        }
        for (log, layer) in &delta.logs {
            self.stage(&mut staged, *log, layer, firsts.get(log).copied());
        }
        self.close_accounts(delta.upto)?;
        staged.known_to(delta.upto);
        self.known_to = delta.upto;
        self.commit(staged, Step::IndexCommitted)?;
        self.mover.go_on();
        let mut state = self.shared.lock();
        state.recent.frozen.pop_front();
        Ok(())
    }

    /// The database never knows more of the journal than the disk has.
    fn sync_journal(&mut self, upto: Place) -> Result<(), String> {
        if !self.shared.sync {
            for segment in self.passed(upto) {
                let synced = File::open(&segment.path).and_then(|file| file.sync_data());
                synced.map_err(|error| {
                    format!("{} cannot be synced: {error}", segment.path.display())
                })?;
            }
            self.shared.lock().synced = upto.number;
        }
        self.shared.tuning.at(Step::JournalSynced);
        Ok(())
    }

    /// The segments of the journal from the last flush to this one.
    fn passed(&self, upto: Place) -> Vec<Arc<Segment>> {
        let state = self.shared.lock();
        let passed = state.segments.range(self.known_to.segment..=upto.segment);
        let journal = passed.filter(|(_, segment)| segment.kind == Kind::Journal);
        journal.map(|(_, segment)| segment.clone()).collect()
    }

    fn close_accounts(&mut self, upto: Place) -> Result<(), String> {
        for segment in self.passed(upto) {
            let total = if segment.id == upto.segment {
                upto.position
            } else {
                let found = fs::metadata(&segment.path);
                found
                    .map_err(|error| format!("{}: {error}", segment.path.display()))?
                    .len()
            };
            self.accounts.entry(segment.id).or_default().total = total;
            self.touched.insert(segment.id);
        }
        Ok(())
    }

    /// Removes the chunks that are wholly dead; returns the base of the first one that is not, where
    /// it was looked for. A crash between two commits is no harm: the journal still says it all.
    fn remove_dead(
        &mut self,
        view: &TableView,
        staged: &mut Staged,
        log: LogId,
        layer: &Layer,
    ) -> Result<Option<i64>, String> {
        let text = |error: crate::disk::tables::TableError| error.to_string();
        let Some(extent) = view.extent(log).map_err(text)? else {
            return Ok(None);
        };
        let before = match layer.head {
            _ if layer.hides => i64::MAX,
            Some(head) if head.start > extent.head.start => head.start,
            _ => return Ok(Some(extent.first)),
        };
        for chunk in view.chunks(log, extent.first..i64::MAX, |_| true) {
            let chunk = chunk.map_err(text)?;
            if chunk.end() > before {
                return Ok(Some(chunk.base));
            }
            staged.remove_chunk(log, chunk.base);
            self.charge(chunk.segment, 0, chunk.bytes);
            if staged.len() >= STAGED {
                self.commit(std::mem::take(staged), Step::RemovalsCommitted)?;
            }
        }
        Ok(None)
    }

    fn stage(&mut self, staged: &mut Staged, log: LogId, layer: &Layer, first: Option<i64>) {
        if layer.hides || layer.checkpoint.is_some() {
            staged.checkpoint(log, layer.checkpoint.as_ref());
        }
        let extent = layer.head.map(|head| {
            let front = layer.chunks.front().map_or(head.end, |chunk| chunk.base);
            Extent {
                head,
                first: first.unwrap_or(front),
            }
        });
        staged.extent(log, extent);
        for chunk in &layer.chunks {
            staged.chunk(log, chunk);
            self.charge(chunk.segment, chunk.bytes, 0);
        }
    }

    /// Books bytes that a segment holds more and less.
    fn charge(&mut self, segment: u64, more: u64, less: u64) {
        let account = self.accounts.entry(segment).or_default();
        account.live = (account.live + more).saturating_sub(less);
        self.touched.insert(segment);
    }

    fn move_some(&mut self, victim: u64) -> Result<(), String> {
        if self
            .accounts
            .get(&victim)
            .is_some_and(|account| account.live == 0)
        {
            self.touched.insert(victim);
            return self.commit(Staged::default(), Step::CopyCommitted);
        }
        let moved = match self.mover.step(&self.shared, victim) {
            Ok(Some(moved)) => moved,
            Ok(None) => return Ok(()),
            Err(error) => {
                // Everything is where it was.
                self.shared
                    .warn(format!("space cannot be freed for now: {error}"));
                self.touched.extend(self.mover.pause());
                return self.commit(Staged::default(), Step::CopyCommitted);
            }
        };
        let Moved {
            staged,
            chunks,
            target,
            target_bytes,
        } = moved;
        for (old, new) in chunks {
            self.charge(victim, 0, old);
            self.charge(target, new, 0);
        }
        self.accounts.entry(target).or_default().total = target_bytes;
        self.commit(staged, Step::CopyCommitted)
    }
}
