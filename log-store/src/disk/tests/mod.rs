//! The store on disk, from inside: what a crash leaves, what damage does, how space is freed.

mod crash;
mod damage;
mod model;
mod space;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use ackord_machine::{LoadDetail, LoadedLog, LogAppend, LogId};
use ackord_proto::uuid::Uuid;
use bytes::Bytes;
use tempfile::TempDir;

use crate::OpenError;
use crate::disk::Disk;
use crate::disk::tuning::{Step, Tuning};
use crate::engine::{Change, Engine, Head, View};
use crate::memory::Memory;
use crate::store::StoreEvent;

/// Everything small, so that a few appends go through all of it.
fn small() -> Tuning {
    Tuning {
        segment_bytes: 4096,
        reserved_bytes: 512,
        delta_batches: 16,
        delta_state_bytes: 2048,
        step_bytes: 1024,
        hook: None,
    }
}

/// Nothing is written to the database by itself.
fn only_journal() -> Tuning {
    Tuning {
        segment_bytes: 1 << 20,
        delta_batches: usize::MAX,
        delta_state_bytes: usize::MAX,
        ..small()
    }
}

fn log(partition: i32) -> LogId {
    LogId {
        topic: Uuid::from_bytes([7; 16]),
        partition,
    }
}

fn part(partition: i32, base: i64, records: i64, size: usize) -> LogAppend {
    let mut bytes = vec![base as u8 ^ partition as u8; size.max(61)];
    bytes[..8].copy_from_slice(&base.to_be_bytes());
    bytes[35..43].copy_from_slice(&(base * 10).to_be_bytes());
    let body = Bytes::from(bytes);
    LogAppend {
        log: log(partition),
        base,
        last: base + records - 1,
        head: body.slice(..61),
        body: body.slice(61..),
    }
}

fn put(partition: i32, base: i64, size: usize) -> Change {
    Change::Append {
        parts: vec![part(partition, base, 1, size)],
    }
}

fn trim(partition: i32, start: i64, end: i64) -> Change {
    Change::Trim {
        log: log(partition),
        head: Head { start, end },
    }
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

/// A store and what it warns of.
struct Opened {
    disk: Disk,
    warnings: Receiver<String>,
}

fn open(dir: &Path, sync: bool, tuning: Tuning) -> Result<Opened, OpenError> {
    let (sender, warnings) = mpsc::channel();
    let sender = Mutex::new(sender);
    let events = Arc::new(move |event| {
        if let (StoreEvent::Warning(text), Ok(sender)) = (event, sender.lock()) {
            let _ = sender.send(text);
        }
    });
    let disk = Disk::open_tuned(dir, sync, events, tuning)?;
    Ok(Opened { disk, warnings })
}

impl Opened {
    fn commit(&mut self, change: Change) {
        self.disk.commit(vec![change]).expect("committed");
    }

    fn settle(&self) {
        self.disk.opened().expect("open").shared.settle();
        assert_eq!(self.disk.opened().expect("open").shared.lock().failed, None);
    }

    fn quiesce(&self) {
        self.disk.opened().expect("open").shared.quiesce();
    }

    fn contents(&self) -> Contents {
        contents(&*self.disk.view().expect("a view"))
    }
}

type Contents = BTreeMap<LogId, LoadedLog>;

/// All that a store holds, batches below a checkpoint included.
fn contents(view: &dyn View) -> Contents {
    let listed = view.list().expect("a list");
    let loaded = |extent: ackord_machine::LogExtent| {
        let mut loaded = view.load(extent.log, LoadDetail::Full).expect("loads");
        assert_eq!((loaded.start, loaded.end), (extent.start, extent.end));
        loaded.batches = view.read(extent.log, 0, usize::MAX).expect("reads");
        (extent.log, loaded)
    };
    listed.into_iter().map(loaded).collect()
}

/// What a store holds after each of the changes, the first entry being before them all.
fn expected(changes: &[Change]) -> Vec<Contents> {
    let mut memory = Memory::default();
    let mut states = vec![contents(&memory)];
    for change in changes {
        memory.commit(vec![change.clone()]).expect("memory");
        states.push(contents(&memory));
    }
    states
}

/// What a kill at this moment leaves.
fn image(dir: &Path) -> TempDir {
    let copy = directory();
    copy_all(dir, copy.path());
    copy
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("its type").is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// The segments in a data directory, in order.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("journal")).expect("listed");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn flip(path: &Path, position: usize) {
    let mut bytes = fs::read(path).expect("read");
    bytes[position] ^= 0x20;
    fs::write(path, bytes).expect("written");
}
