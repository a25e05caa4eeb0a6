//! Logs in a `fjall` database.
//!
//! Keyspace `log` holds the batches, keyspace `meta` what else is known of a log (see [`keys`]).
//! Batches of 1 KiB and more lie apart from their keys, so compaction does not copy them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ackord_machine::{LogAppend, LogId, StorageFault};
use bytes::{BufMut, Bytes, BytesMut};
use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions,
    OwnedWriteBatch, PersistMode, Readable,
};

use crate::OpenError;
use crate::disk_view::{self, DiskView};
use crate::engine::{Change, Engine, Head, View, guarded};
use crate::keys::{self, BatchKey, Meta};

const CACHE_BYTES: u64 = 8 * 1024 * 1024;
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;
const WORKERS: usize = 2;
const BLOB_FILE_BYTES: u64 = 64 * 1024 * 1024;
const SEPARATE_FROM_BYTES: u32 = 1024;
/// The memory limits of the database do not hold by themselves, so the memtables are rotated by
/// hand after this many bytes.
const ROTATE_BYTES: usize = 16 * 1024 * 1024;
/// Far above [`ROTATE_BYTES`]: the database never rotates on its own.
const MEMTABLE_BYTES: u64 = 256 * 1024 * 1024;

/// An [`Engine`] in a directory.
pub(crate) struct Disk {
    dir: PathBuf,
    persist: PersistMode,
    files: Option<Files>,
    since_rotation: usize,
}

#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) log: Keyspace,
    pub(crate) meta: Keyspace,
    // Last, so that it goes last: closing it lets go of the directory.
    database: Database,
}

impl Disk {
    pub(crate) fn open(dir: &Path, persist: PersistMode) -> Result<Self, OpenError> {
        let files = open_files(dir)?;
        Ok(Disk {
            dir: dir.into(),
            persist,
            files: Some(files),
            since_rotation: 0,
        })
    }

    fn files(&self) -> Result<&Files, String> {
        self.files
            .as_ref()
            .ok_or_else(|| "the database is closed".to_owned())
    }
}

fn open_files(dir: &Path) -> Result<Files, OpenError> {
    fs::create_dir_all(dir).map_err(|error| OpenError::io(dir, error))?;
    let panicked = || OpenError::damaged(dir, "its files contradict each other");
    let files = guarded(panicked, || {
        open_database(dir).map_err(|error| OpenError::database(dir, error))
    })?;
    check_format(dir, &files)?;
    Ok(files)
}

fn open_database(dir: &Path) -> fjall::Result<Files> {
    let database = Database::builder(dir.join("store"))
        .cache_size(CACHE_BYTES)
        .journal_compression(CompressionType::None)
        .manual_journal_persist(true)
        .max_journaling_size(JOURNAL_BYTES)
        .worker_threads(WORKERS)
        .open()?;
    let options = || {
        KeyspaceCreateOptions::default()
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            .manual_journal_persist(true)
            .max_memtable_size(MEMTABLE_BYTES)
    };
    let blobs = KvSeparationOptions::default()
        .compression(CompressionType::None)
        .file_target_size(BLOB_FILE_BYTES)
        .separation_threshold(SEPARATE_FROM_BYTES);
    let log = database.keyspace("log", || options().with_kv_separation(Some(blobs)))?;
    let meta = database.keyspace("meta", options)?;
    Ok(Files {
        log,
        meta,
        database,
    })
}

fn check_format(dir: &Path, files: &Files) -> Result<(), OpenError> {
    let database = |error| OpenError::database(dir, error);
    match files.meta.get(keys::FORMAT).map_err(database)? {
        Some(found) if *found == *keys::FORMAT_VALUE => Ok(()),
        Some(found) => Err(OpenError::Format {
            dir: dir.into(),
            found: String::from_utf8_lossy(&found).into_owned(),
        }),
        None if files.log.first_key_value().is_some() => {
            Err(OpenError::damaged(dir, "it has batches but no format"))
        }
        None => {
            files
                .meta
                .insert(keys::FORMAT, keys::FORMAT_VALUE)
                .map_err(database)?;
            files
                .database
                .persist(PersistMode::SyncAll)
                .map_err(database)
        }
    }
}

impl Engine for Disk {
    fn head(&self, log: LogId) -> Result<Head, StorageFault> {
        let files = self.files.as_ref().ok_or(StorageFault::Retriable)?;
        disk_view::head(&files.database.snapshot(), files, log)
    }

    fn commit(&mut self, changes: Vec<Change>) -> Result<(), String> {
        let files = self.files()?.clone();
        let text = |error: fjall::Error| error.to_string();
        let mut batch = Batch::new(&files, changes.len());
        for change in changes {
            batch.add(change).map_err(text)?;
        }
        let bytes = batch.commit().map_err(text)?;
        files.database.persist(self.persist).map_err(text)?;
        self.since_rotation += bytes;
        if self.since_rotation >= ROTATE_BYTES {
            self.since_rotation = 0;
            // The group is durable whatever happens here; a database that is out of order says so
            // at the next commit.
            let _ = files.log.rotate_memtable();
            let _ = files.meta.rotate_memtable();
        }
        Ok(())
    }

    fn view(&self) -> Result<Arc<dyn View>, String> {
        let files = self.files()?.clone();
        Ok(Arc::new(DiskView {
            snapshot: files.database.snapshot(),
            files,
        }))
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.files = None;
        self.since_rotation = 0;
        self.files = Some(open_files(&self.dir).map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// One atomic batch under construction.
struct Batch<'a> {
    files: &'a Files,
    batch: OwnedWriteBatch,
    /// What `meta` will hold under a key, or nothing: a batch must not name a key twice.
    meta: BTreeMap<[u8; keys::LOG + 1], Option<Bytes>>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(files: &'a Files, changes: usize) -> Self {
        let batch = OwnedWriteBatch::with_capacity(files.database.clone(), changes);
        Batch {
            files,
            batch,
            meta: BTreeMap::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, change: Change) -> fjall::Result<()> {
        match change {
            Change::Checkpoint { log, at, state } => {
                self.bytes += state.len();
                let value = join(&at.to_be_bytes(), &state);
                self.meta.insert(Meta::Checkpoint.key(log), Some(value));
            }
            Change::Drop { log } => {
                self.remove_batches(log, i64::MAX)?;
                self.meta.insert(Meta::Checkpoint.key(log), None);
                self.meta.insert(Meta::Extent.key(log), None);
            }
            Change::Put(part) => self.put(&part),
            Change::Trim { log, head } => {
                self.remove_batches(log, head.start)?;
                let value = join(&head.start.to_be_bytes(), &head.end.to_be_bytes());
                self.meta.insert(Meta::Extent.key(log), Some(value));
            }
        }
        Ok(())
    }

    fn put(&mut self, part: &LogAppend) {
        let key = BatchKey {
            log: part.log,
            base: part.base,
            last: part.last,
            max_timestamp: keys::max_timestamp(&part.head, &part.body),
        };
        // A copy: the body is a slice of a frame that may be much larger.
        let value = join(&part.head, &part.body);
        self.bytes += value.len();
        self.batch.insert(&self.files.log, key.encode(), value);
    }

    /// Removes the batches that end below `before`.
    fn remove_batches(&mut self, log: LogId, before: i64) -> fjall::Result<()> {
        let range = keys::log(log).to_vec()..keys::past(log).to_vec();
        for guard in self.files.database.snapshot().range(&self.files.log, range) {
            let key = guard.key()?;
            match BatchKey::decode(&key) {
                Some(found) if found.last >= before => break,
                Some(_) | None => self.batch.remove(&self.files.log, key),
            }
        }
        Ok(())
    }

    /// Commits and returns how many bytes of values it had.
    fn commit(mut self) -> fjall::Result<usize> {
        for (key, value) in self.meta {
            match value {
                Some(value) => self.batch.insert(&self.files.meta, key, value),
                None => self.batch.remove(&self.files.meta, key),
            }
        }
        self.batch.commit()?;
        Ok(self.bytes)
    }
}

fn join(head: &[u8], body: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(head.len() + body.len());
    bytes.put_slice(head);
    bytes.put_slice(body);
    bytes.freeze()
}
