//! Logs in a directory: an append-only journal, and a database that knows where things are.
//!
//! **Journal.** One sequence of segment files for all logs (`journal/<id>.log`, 64 MiB). An operation
//! is one entry (see [`entry`]); a group of them is one vectored write, straight from the buffers the
//! payloads came in, and one `fdatasync`. Trims, drops and checkpoints are entries too, so there is
//! one order of everything and a crash leaves a prefix of it.
//!
//! **Index.** A table of a database would cost more than the write itself if every append went
//! through it. So the index of the newest part of the journal is a delta in memory ([`recent`]), with
//! at most 64 Ki batches; it is written to the database ([`tables`]) when a segment is full, when the
//! delta is large, and when something was removed, as chunks of up to 256 batches ([`chunk`]). A file
//! of its own for each segment would have to be searched one by one, which grows with history;
//! the database finds a chunk at a cost that does not. A start reads the journal from the place up to
//! which the database knows it: some segments at most, whatever the history.
//!
//! **Space.** The database counts for each segment what is needed of it. A segment of which nothing
//! is needed is removed; of one that is mostly dead, the rest is copied to a segment of its own kind
//! (`<id>.copy`), so what is stored is at most about twice what is needed ([`upkeep`], [`mover`]).
//! Files vanish when the last read that may need them has ended ([`segment`]).
//!
//! **Damage.** What is not whole at the end of the journal was never acknowledged and is cut;
//! anything else is refused with file and position ([`recovery`]). Reads check the checksum of
//! every batch ([`gather`]).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use ackord_machine::{LogId, StorageFault};

use crate::OpenError;
use crate::disk::journal::Journal;
use crate::disk::recent::Place;
use crate::disk::segment::{HEADER, Kind, Segment, Segments};
use crate::disk::shared::{Prepared, Shared};
use crate::disk::tables::{Account, Staged, TableError, Tables};
use crate::disk::tuning::{Step, Tuning};
use crate::disk::upkeep::Upkeep;
use crate::disk::view::DiskView;
use crate::engine::{Change, Engine, Head, View, guarded};
use crate::store::Events;

mod chunk;
mod entry;
mod gather;
mod journal;
mod mover;
mod recent;
mod recovery;
mod segment;
mod shared;
mod tables;
#[cfg(test)]
mod tests;
mod tuning;
mod upkeep;
mod view;
mod window;

/// An [`Engine`] in a directory.
pub(crate) struct Disk {
    dir: PathBuf,
    sync: bool,
    tuning: Tuning,
    events: Events,
    open: Option<Open>,
    /// A segment whose end may hold what a failed commit has left, and where it was right.
    cut: Option<(PathBuf, u64)>,
}

/// What an open store has.
struct Open {
    journal: Journal,
    shared: Arc<Shared>,
    upkeep: Option<JoinHandle<()>>,
    /// Entries that the start had to read.
    #[cfg(test)]
    recovered: u64,
}

impl Disk {
    /// Opens or creates a store; with `sync` a commit is on the disk.
    pub(crate) fn open(dir: &Path, sync: bool, events: Events) -> Result<Self, OpenError> {
        Self::open_tuned(dir, sync, events, Tuning::default())
    }

    fn open_tuned(
        dir: &Path,
        sync: bool,
        events: Events,
        tuning: Tuning,
    ) -> Result<Self, OpenError> {
        let mut disk = Disk {
            dir: dir.into(),
            sync,
            tuning,
            events,
            open: None,
            cut: None,
        };
        disk.open = Some(disk.start()?);
        Ok(disk)
    }

    fn start(&self) -> Result<Open, OpenError> {
        let dir = &self.dir;
        fs::create_dir_all(dir).map_err(|error| OpenError::io(dir, error))?;
        let panicked = || OpenError::damaged(dir, "its files contradict each other");
        guarded(panicked, || self.recover())
    }

    /// Reads back what is stored, and starts the upkeep.
    fn recover(&self) -> Result<Open, OpenError> {
        let dir = &self.dir;
        let io = |error| OpenError::io(dir, error);
        let table = |error| table_error(dir, error);
        // First of all: this is the lock on the directory.
        let tables = Tables::open(dir)?;
        let journal_dir = dir.join("journal");
        fs::create_dir_all(&journal_dir).map_err(io)?;
        segment::sync_dir(dir).map_err(io)?;
        let view = tables.snapshot();
        let known_to = view.known_to().map_err(table)?;
        let accounts = view.accounts().map_err(table)?;
        drop(view);
        let found = segment::list(&journal_dir).map_err(io)?;
        let (segments, journal) = sort(dir, found, known_to, &accounts)?;
        let tuning = self.tuning.clone();
        let shared = Shared::new(
            journal_dir,
            tables,
            tuning,
            self.sync,
            self.events.clone(),
            segments,
        );
        let end = {
            let mut state = shared.lock();
            let first = journal.first().map_or(0, |segment| segment.id);
            let from = known_to.unwrap_or(Place::start_of(first));
            let mut apply =
                |segment, part| shared.apply_one(&mut state, segment, part).map_err(table);
            recovery::read(dir, &journal, from, &mut apply)?
        };
        self.resume(shared, known_to, accounts, &journal, end)
    }

    /// Goes on where the journal ends.
    fn resume(
        &self,
        shared: Shared,
        known_to: Option<Place>,
        accounts: BTreeMap<u64, Account>,
        journal: &[Arc<Segment>],
        end: Option<recovery::End>,
    ) -> Result<Open, OpenError> {
        let dir = &self.dir;
        let io = |error| OpenError::io(dir, error);
        let end = match end {
            Some(end) => end,
            None if known_to.is_some() => {
                return Err(OpenError::damaged(
                    dir,
                    "the files of its journal are missing",
                ));
            }
            None => begin(&shared).map_err(io)?,
        };
        if let Some(warning) = end.warning {
            shared.warn(warning);
        }
        let place = end.place;
        discard_behind(&shared, journal, place.segment);
        // What was recovered is on the disk from now on, and new entries say so.
        for segment in journal.iter().filter(|segment| segment.id <= place.segment) {
            let file = File::open(&segment.path).map_err(io)?;
            file.sync_data().map_err(io)?;
        }
        let known_to = match known_to {
            Some(known_to) => known_to,
            None => {
                let first = journal.first().map_or(place.segment, |segment| segment.id);
                name_first(&shared, first).map_err(|error| table_error(dir, error))?
            }
        };
        let journal = Journal::resume(
            end.segment,
            end.mark,
            place,
            self.sync,
            self.tuning.reserved_bytes,
        )
        .map_err(io)?;
        let shared = Arc::new(shared);
        {
            let mut state = shared.lock();
            state.recent.active.upto = place;
            state.synced = place.number;
            state.recent.freeze();
        }
        let upkeep = Upkeep::new(shared.clone(), accounts, known_to);
        let upkeep = thread::Builder::new()
            .name("store-upkeep".into())
            .spawn(move || upkeep.run())
            .map_err(io)?;
        Ok(Open {
            journal,
            shared,
            upkeep: Some(upkeep),
            #[cfg(test)]
            recovered: place.number - known_to.number,
        })
    }

    fn opened(&self) -> Result<&Open, String> {
        self.open
            .as_ref()
            .ok_or_else(|| "the store is closed".to_owned())
    }
}

/// The segments that count, and those of the journal that have to be read; removes leftovers.
fn sort(
    dir: &Path,
    found: Segments,
    known_to: Option<Place>,
    accounts: &BTreeMap<u64, Account>,
) -> Result<(Segments, Vec<Arc<Segment>>), OpenError> {
    let known = known_to.map_or(0, |place| place.segment);
    let mut segments = Segments::new();
    let mut journal = Vec::new();
    for (id, segment) in found {
        match segment.kind {
            Kind::Journal if id >= known => journal.push(segment.clone()),
            Kind::Journal | Kind::Copy if accounts.contains_key(&id) => {}
            Kind::Journal | Kind::Copy => {
                // Removed, or not finished, when the process ended.
                segment.retire();
                continue;
            }
        }
        segments.insert(id, segment);
    }
    let missing = accounts
        .iter()
        .find(|(id, account)| account.live > 0 && !segments.contains_key(id));
    let first = known_to.filter(|place| !segments.contains_key(&place.segment));
    match missing
        .map(|(id, _)| *id)
        .or(first.map(|place| place.segment))
    {
        Some(id) => Err(OpenError::damaged(
            dir,
            format!("the file of segment {id} is missing from journal"),
        )),
        None => Ok((segments, journal)),
    }
}

/// Begins a journal.
fn begin(shared: &Shared) -> io::Result<recovery::End> {
    let id = shared.lock().take_id();
    let Prepared { segment, mark, .. } = shared.create(id, Kind::Journal)?;
    shared.lock().add(segment.clone());
    Ok(recovery::End {
        segment,
        mark,
        place: Place::start_of(id),
        warning: None,
    })
}

/// From now on a journal without its first segment is damaged.
fn name_first(shared: &Shared, first: u64) -> tables::Result<Place> {
    let place = Place::start_of(first);
    let mut staged = Staged::default();
    staged.known_to(place);
    shared.tables.commit(staged)?;
    Ok(place)
}

/// Segments behind the end of the journal hold nothing.
fn discard_behind(shared: &Shared, journal: &[Arc<Segment>], end: u64) {
    let mut state = shared.lock();
    let mut segments = Segments::clone(&state.segments);
    for segment in journal.iter().filter(|segment| segment.id > end) {
        segment.retire();
        segments.remove(&segment.id);
    }
    state.segments = Arc::new(segments);
}

fn table_error(dir: &Path, error: TableError) -> OpenError {
    match error {
        TableError::Database(error) => OpenError::database(dir, error),
        TableError::Value(_) => OpenError::damaged(dir, error.to_string()),
    }
}

impl Open {
    fn commit(&mut self, changes: &[Change], segment_bytes: u64) -> io::Result<()> {
        let failed = self.shared.lock().failed.clone();
        if let Some(error) = failed {
            return Err(io::Error::other(error));
        }
        let position = self.journal.place.position;
        if position > HEADER && position + Journal::size(changes) > segment_bytes {
            self.journal.finish()?;
            let next = self.shared.next_segment()?;
            self.journal.roll(next);
        }
        if !self.shared.sync {
            let synced = self.shared.lock().synced;
            self.journal.synced_to(synced);
        }
        let applied = self.journal.write(changes)?;
        self.shared.tuning.at(Step::GroupWritten);
        self.shared
            .apply(self.journal.place, applied)
            .map_err(io::Error::other)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(upkeep) = self.upkeep.take() {
            // A panic was already printed by its thread.
            let _ = upkeep.join();
        }
        // What was set aside is given back; a start copes with it too.
        let _ = self.journal.finish();
    }
}

impl Engine for Disk {
    fn head(&self, log: LogId) -> Result<Head, StorageFault> {
        let shared = &self.open.as_ref().ok_or(StorageFault::Retriable)?.shared;
        let found = shared.head(&shared.lock(), log);
        match found {
            Ok(head) => Ok(head.unwrap_or_default()),
            Err(error) => Err(view::fault(shared, error)),
        }
    }

    fn commit(&mut self, changes: Vec<Change>) -> Result<(), String> {
        let segment_bytes = self.tuning.segment_bytes;
        let open = self.open.as_mut().ok_or("the store is closed")?;
        let number = open.journal.place.number;
        match open.commit(&changes, segment_bytes) {
            Ok(()) => Ok(()),
            Err(error) => {
                let place = open.journal.place;
                // What is whole stays; what is not must not be taken for an entry after a sync that
                // failed, whatever the memory of the operating system shows.
                if place.number == number {
                    self.cut = Some((open.journal.segment.path.clone(), place.position));
                }
                Err(error.to_string())
            }
        }
    }

    fn view(&self) -> Result<Arc<dyn View>, String> {
        Ok(Arc::new(DiskView(self.opened()?.shared.clone())))
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.open = None;
        if let Some((path, position)) = &self.cut {
            let cut = fs::OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|file| {
                    file.set_len(*position)?;
                    file.sync_all()
                });
            cut.map_err(|error| format!("{} cannot be cut: {error}", path.display()))?;
            self.cut = None;
        }
        self.open = Some(self.start().map_err(|error| error.to_string())?);
        Ok(())
    }
}
