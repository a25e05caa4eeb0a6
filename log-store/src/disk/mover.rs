//! Moving the batches that are needed out of a segment that is mostly dead.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use ackord_machine::{LoadDetail, LogId};

use crate::disk::chunk::{Chunk, Located, Slot};
use crate::disk::entry::{Deed, PART};
use crate::disk::gather::gather;
use crate::disk::journal::Encoder;
use crate::disk::segment::{self, HEADER, Kind};
use crate::disk::shared::{Prepared, Shared};
use crate::disk::tables::{Staged, TableView};
use crate::disk::tuning::Step;
use crate::disk::window::Window;

/// Where the work stands.
#[derive(Default)]
pub(crate) struct Mover {
    /// The segment that is emptied, and how far.
    victim: Option<(u64, u64)>,
    target: Option<Target>,
    /// Segments that cannot be emptied, because something in them cannot be read.
    stuck: BTreeSet<u64>,
    /// Something went wrong that may pass, such as a full disk.
    paused: bool,
}

/// The segment that takes what is moved.
struct Target {
    prepared: Prepared,
    position: u64,
}

/// What one step has done; it counts once `staged` is committed.
pub(crate) struct Moved {
    pub(crate) staged: Staged,
    /// Bytes of each chunk before and after.
    pub(crate) chunks: Vec<(u64, u64)>,
    pub(crate) target: u64,
    pub(crate) target_bytes: u64,
}

/// Chunks to move, with what is needed of them.
type Found = BTreeMap<(LogId, i64), (Chunk, Vec<Located>)>;

impl Mover {
    /// The segment that is being emptied.
    pub(crate) fn victim(&self) -> Option<u64> {
        self.victim.map(|(victim, _)| victim)
    }

    pub(crate) fn writes_to(&self, id: u64) -> bool {
        self.target
            .as_ref()
            .is_some_and(|target| target.prepared.segment.id == id)
    }

    /// Nothing that was moved to this segment is needed any more.
    pub(crate) fn leave(&mut self, id: u64) {
        if self.writes_to(id) {
            self.target = None;
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Leaves off until [`go_on`](Self::go_on); returns the segment that was written to.
    pub(crate) fn pause(&mut self) -> Option<u64> {
        self.paused = true;
        self.victim = None;
        self.target.take().map(|target| target.prepared.segment.id)
    }

    pub(crate) fn go_on(&mut self) {
        self.paused = false;
    }

    pub(crate) fn gave_up(&self, id: u64) -> bool {
        self.stuck.contains(&id)
    }

    /// Moves a few MiB out of `victim`; `None` where there was nothing to move.
    pub(crate) fn step(&mut self, shared: &Shared, victim: u64) -> Result<Option<Moved>, String> {
        let segments = shared.lock().segments.clone();
        let Some(segment) = segments.get(&victim) else {
            // All of it has died meanwhile.
            self.victim = None;
            return Ok(None);
        };
        let from = match self.victim {
            Some((current, position)) if current == victim => position,
            _ => HEADER,
        };
        let unreadable = |error: std::io::Error| format!("{}: {error}", segment.path.display());
        let file = File::open(&segment.path).map_err(unreadable)?;
        let Some(mark) = segment::read_mark(&file, victim).map_err(unreadable)? else {
            self.give_up(victim);
            return Ok(None);
        };
        let mut window = Window::new(file).map_err(unreadable)?;
        let view = shared.tables.snapshot();
        let (found, next) = find(shared, &view, &mut window, mark, victim, from)?;
        match next {
            Some(next) => self.victim = Some((victim, next)),
            // Whatever is left cannot be reached; what was found is moved in this step.
            None => self.give_up(victim),
        }
        if found.is_empty() {
            return Ok(None);
        }
        let mut payloads = Vec::new();
        for ((log, _), (_, needed)) in &found {
            match gather(shared, &segments, *log, needed, LoadDetail::Full) {
                Ok(batches) => payloads.push(batches),
                Err(_) => {
                    self.give_up(victim);
                    return Ok(None);
                }
            }
        }
        let target = self.target(shared)?;
        write(shared, target, &found, &payloads).map(Some)
    }

    fn give_up(&mut self, victim: u64) {
        self.victim = None;
        self.stuck.insert(victim);
    }

    /// The segment to write to, a new one where the last is full.
    fn target(&mut self, shared: &Shared) -> Result<&mut Target, String> {
        let full = |target: &Target| target.position >= shared.tuning.segment_bytes;
        if self.target.as_ref().is_none_or(full) {
            let id = shared.lock().take_id();
            let prepared = shared.create(id, Kind::Copy);
            let prepared =
                prepared.map_err(|error| format!("a segment cannot be created: {error}"))?;
            shared.lock().add(prepared.segment.clone());
            self.target = Some(Target {
                prepared,
                position: HEADER,
            });
        }
        self.target
            .as_mut()
            .ok_or_else(|| "no segment to move to".to_owned())
    }
}

/// The chunks whose batches come next in the segment, and where to go on; `None` at its end.
fn find(
    shared: &Shared,
    view: &TableView,
    window: &mut Window,
    mark: u64,
    victim: u64,
    from: u64,
) -> Result<(Found, Option<u64>), String> {
    let mut found = Found::new();
    let (mut position, mut bytes) = (from, 0);
    let step = shared.tuning.step_bytes;
    while bytes < step && position - from < step.saturating_mul(4) {
        let outline = window
            .outline(position, mark)
            .map_err(|error| error.to_string())?;
        let Some(entry) = outline else {
            return Ok((found, None));
        };
        let mut known: Option<(LogId, i64)> = None;
        for part in entry.parts {
            let Deed::Batch { base, .. } = part.deed else {
                continue;
            };
            // The batches of a chunk come one after the other.
            if known.is_some_and(|(log, end)| log == part.log && base < end) {
                continue;
            }
            let chunk = needed(view, part.log, base, victim).map_err(|error| error.to_string())?;
            if let Some((chunk, located)) = chunk {
                known = Some((part.log, chunk.end()));
                if let Entry::Vacant(entry) = found.entry((part.log, chunk.base)) {
                    bytes += chunk.bytes;
                    entry.insert((chunk, located));
                }
            }
        }
        position = entry.end;
    }
    Ok((found, Some(position)))
}

/// The chunk in `victim` with the batch at `base`, and the batches of it that are needed.
fn needed(
    view: &TableView,
    log: LogId,
    base: i64,
    victim: u64,
) -> crate::disk::tables::Result<Option<(Chunk, Vec<Located>)>> {
    let Some(extent) = view.extent(log)? else {
        return Ok(None);
    };
    if base < extent.first {
        return Ok(None);
    }
    let chunk = view.chunk_at(log, extent.first, base)?;
    let chunk = chunk.filter(|chunk| chunk.segment == victim && base < chunk.end());
    Ok(chunk.map(|chunk| {
        let located = chunk.located(extent.head.start).collect();
        (chunk, located)
    }))
}

/// Writes what was found behind the end of the target, durably.
fn write(
    shared: &Shared,
    target: &mut Target,
    found: &Found,
    payloads: &[Vec<ackord_machine::StoredBatch>],
) -> Result<Moved, String> {
    let Prepared {
        segment,
        file,
        mark,
    } = &target.prepared;
    let failed = |error: std::io::Error| format!("{}: {error}", segment.path.display());
    let mut encoder = Encoder::new(*mark, target.position);
    let mut staged = Staged::default();
    let mut chunks = Vec::new();
    for (((log, base), (old, needed)), batches) in found.iter().zip(payloads) {
        let length = batches
            .iter()
            .map(|batch| (PART + batch.bytes.len()) as u64)
            .sum();
        encoder.entry(0, 0, batches.len(), length).map_err(failed)?;
        let first = needed.first().map_or(*base, |one| one.base);
        let mut chunk = Chunk::new(segment.id, first);
        for (one, batch) in needed.iter().zip(batches) {
            let deed = Deed::Batch {
                base: one.base,
                last: one.slot.last,
                max_timestamp: one.slot.max_timestamp,
            };
            let position = encoder.position() as u32;
            encoder
                .part(*log, deed, &[], &batch.bytes)
                .map_err(failed)?;
            chunk.push(Slot {
                position,
                ..one.slot
            });
        }
        staged.remove_chunk(*log, *base);
        staged.chunk(*log, &chunk);
        chunks.push((old.bytes, chunk.bytes));
    }
    encoder
        .write(file)
        .and_then(|()| file.sync_data())
        .map_err(failed)?;
    target.position = encoder.position();
    shared.tuning.at(Step::CopyWritten);
    Ok(Moved {
        staged,
        chunks,
        target: segment.id,
        target_bytes: target.position,
    })
}
