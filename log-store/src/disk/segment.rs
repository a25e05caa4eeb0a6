//! Segments: the files that hold the batches.
//!
//! `<id>.log` is a part of the journal, `<id>.copy` holds batches that were moved together. Ids only
//! grow; a segment is never written again once the next one of its kind is begun.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::entry::number;

/// Size of the header of a segment: name of the format, id, mark, CRC-32C.
pub(crate) const HEADER: u64 = 28;
const MAGIC: &[u8; 8] = b"ackordJ2";
const CRC_AT: usize = 24;
/// So many files stay open for reading.
const OPEN_FILES: usize = 64;

/// What a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Entries in the order in which they were made.
    Journal,
    /// Batches moved from segments that were mostly dead.
    Copy,
}

/// One segment. The file goes with the last owner once it was retired, so that a read under way
/// still finds it.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    pub(crate) path: PathBuf,
    retired: AtomicBool,
}

/// The segments by id.
pub(crate) type Segments = BTreeMap<u64, Arc<Segment>>;

impl Segment {
    pub(crate) fn new(dir: &Path, id: u64, kind: Kind) -> Arc<Self> {
        let extension = match kind {
            Kind::Journal => "log",
            Kind::Copy => "copy",
        };
        Arc::new(Segment {
            id,
            kind,
            path: dir.join(format!("{id:020}.{extension}")),
            retired: AtomicBool::new(false),
        })
    }

    /// Nothing in it is needed any more.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Creates the file, durably and with its name, and returns it with its mark.
    pub(crate) fn create(&self) -> io::Result<(File, u64)> {
        let mark = RandomState::new().build_hasher().finish() | 1;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&self.path)?;
        file.write_all(&header(self.id, mark))?;
        file.sync_all()?;
        if let Some(dir) = self.path.parent() {
            sync_dir(dir)?;
        }
        Ok((file, mark))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if *self.retired.get_mut() {
            // One that stays is found and removed at the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn header(id: u64, mark: u64) -> [u8; HEADER as usize] {
    let mut bytes = [0; HEADER as usize];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&id.to_be_bytes());
    bytes[16..CRC_AT].copy_from_slice(&mark.to_be_bytes());
    let crc = crc32c::crc32c(&bytes[..CRC_AT]);
    bytes[CRC_AT..].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// The mark of a segment; `None` where the file has no right header.
pub(crate) fn read_mark(file: &File, id: u64) -> io::Result<Option<u64>> {
    let mut bytes = [0; HEADER as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mark = number(&bytes, 16).unwrap_or_default();
    Ok((bytes == header(id, mark)).then_some(mark))
}

/// The segments in a directory.
pub(crate) fn list(dir: &Path) -> io::Result<Segments> {
    let mut segments = Segments::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let kind = match path.extension().and_then(|extension| extension.to_str()) {
            Some("log") => Kind::Journal,
            Some("copy") => Kind::Copy,
            _ => continue,
        };
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(id) = stem.and_then(|stem| stem.parse().ok()) {
            segments.insert(id, Segment::new(dir, id, kind));
        }
    }
    Ok(segments)
}

/// Files that are open for reading, the last used ones.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    files: Mutex<VecDeque<(u64, Arc<File>)>>,
}

impl OpenFiles {
    pub(crate) fn get(&self, segment: &Segment) -> io::Result<Arc<File>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let found = files.iter().position(|(id, _)| *id == segment.id);
        let file = match found.and_then(|index| files.remove(index)) {
            Some((_, file)) => file,
            None => Arc::new(File::open(&segment.path)?),
        };
        files.push_back((segment.id, file.clone()));
        if files.len() > OPEN_FILES {
            files.pop_front();
        }
        Ok(file)
    }

    /// A file that is gone keeps its space as long as it is open.
    pub(crate) fn forget(&self, id: u64) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|(open, _)| *open != id);
    }
}
