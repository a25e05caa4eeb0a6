//! The database: what is known of each log, the index, and the account of the segments.
//!
//! | keyspace, key | value |
//! |---|---|
//! | `meta`, `f` | name of the format |
//! | `meta`, `a` | place in the journal up to which the database knows it |
//! | `meta`, `c` + log | newest checkpoint: offset, state |
//! | `meta`, `e` + log | start, end, base of the first chunk |
//! | `meta`, `s` + segment | bytes of the file, bytes of the batches that are needed |
//! | `index`, log + base | [`Chunk`] |

use std::collections::BTreeMap;
use std::path::Path;

use ackord_machine::{LogId, StoredCheckpoint};
use bytes::Bytes;
use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode,
    Readable, Snapshot,
};

use crate::OpenError;
use crate::disk::chunk::Chunk;
use crate::disk::entry::number;
use crate::disk::recent::Place;
use crate::engine::Head;
use crate::keys::{self, Meta};

const CACHE_BYTES: u64 = 8 * 1024 * 1024;
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;
const MEMTABLE_BYTES: u64 = 8 * 1024 * 1024;
const WORKERS: usize = 1;

/// The keyspaces.
#[derive(Clone)]
pub(crate) struct Tables {
    index: Keyspace,
    meta: Keyspace,
    // Last, so that it goes last: closing it lets go of the directory.
    database: Database,
}

/// Why something could not be read.
#[derive(Debug)]
pub(crate) enum TableError {
    Database(fjall::Error),
    /// A value is none that was written.
    Value(&'static str),
}

impl From<fjall::Error> for TableError {
    fn from(error: fjall::Error) -> Self {
        TableError::Database(error)
    }
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TableError::Database(error) => write!(f, "{error}"),
            TableError::Value(what) => write!(f, "the database has a wrong value: {what}"),
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, TableError>;

/// What the database knows of the extent of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) head: Head,
    /// No chunk of the log has a lower base: a look-up need not pass over what was removed.
    pub(crate) first: i64,
}

/// The account of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Bytes of the file.
    pub(crate) total: u64,
    /// Bytes of the batches in it that are needed.
    pub(crate) live: u64,
}

impl Tables {
    pub(crate) fn open(dir: &Path) -> std::result::Result<Self, OpenError> {
        let failed = |error| OpenError::database(dir, error);
        let database = open_database(dir).map_err(failed)?;
        let meta = database.keyspace("meta", options).map_err(failed)?;
        // First, so that nothing is changed in a directory that another version wrote.
        check_format(dir, &database, &meta)?;
        let index = database.keyspace("index", options).map_err(failed)?;
        Ok(Tables {
            index,
            meta,
            database,
        })
    }

    pub(crate) fn snapshot(&self) -> TableView {
        TableView {
            snapshot: self.database.snapshot(),
            index: self.index.clone(),
            meta: self.meta.clone(),
        }
    }

    /// Makes changes, all or none, durably.
    pub(crate) fn commit(&self, staged: Staged) -> Result<()> {
        let size = staged.index.len() + staged.meta.len();
        let mut batch = OwnedWriteBatch::with_capacity(self.database.clone(), size);
        let keyspaces = [(&self.index, staged.index), (&self.meta, staged.meta)];
        for (keyspace, changes) in keyspaces {
            for (key, value) in changes {
                match value {
                    Some(value) => batch.insert(keyspace, key, value),
                    None => batch.remove(keyspace, key),
                }
            }
        }
        batch.commit()?;
        self.database.persist(PersistMode::SyncAll)?;
        Ok(())
    }
}

fn open_database(dir: &Path) -> fjall::Result<Database> {
    Database::builder(dir.join("store"))
        .cache_size(CACHE_BYTES)
        .journal_compression(CompressionType::None)
        .manual_journal_persist(true)
        .max_journaling_size(JOURNAL_BYTES)
        .worker_threads(WORKERS)
        .open()
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
        .manual_journal_persist(true)
        .max_memtable_size(MEMTABLE_BYTES)
}

fn check_format(
    dir: &Path,
    database: &Database,
    meta: &Keyspace,
) -> std::result::Result<(), OpenError> {
    let failed = |error| OpenError::database(dir, error);
    match meta.get(keys::FORMAT).map_err(failed)? {
        Some(found) if *found == *keys::FORMAT_VALUE => Ok(()),
        Some(found) => Err(OpenError::Format {
            dir: dir.into(),
            found: String::from_utf8_lossy(&found).into_owned(),
        }),
        None if meta.first_key_value().is_some() => {
            Err(OpenError::damaged(dir, "it has logs but no format"))
        }
        None => {
            meta.insert(keys::FORMAT, keys::FORMAT_VALUE)
                .map_err(failed)?;
            database.persist(PersistMode::SyncAll).map_err(failed)
        }
    }
}

/// Changes to make together. A batch must not name a key twice, so they are gathered by key.
#[derive(Default)]
pub(crate) struct Staged {
    index: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    meta: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Staged {
    pub(crate) fn len(&self) -> usize {
        self.index.len() + self.meta.len()
    }

    pub(crate) fn chunk(&mut self, log: LogId, chunk: &Chunk) {
        let key = keys::position(log, chunk.base).to_vec();
        self.index.insert(key, Some(chunk.encode()));
    }

    pub(crate) fn remove_chunk(&mut self, log: LogId, base: i64) {
        self.index.insert(keys::position(log, base).to_vec(), None);
    }

    pub(crate) fn checkpoint(&mut self, log: LogId, checkpoint: Option<&StoredCheckpoint>) {
        let value = checkpoint.map(|checkpoint| {
            let at = checkpoint.at.to_be_bytes();
            [at.as_slice(), &checkpoint.state].concat()
        });
        self.meta.insert(Meta::Checkpoint.key(log).to_vec(), value);
    }

    pub(crate) fn extent(&mut self, log: LogId, extent: Option<Extent>) {
        let value = extent.map(|Extent { head, first }| {
            [head.start, head.end, first].map(i64::to_be_bytes).concat()
        });
        self.meta.insert(Meta::Extent.key(log).to_vec(), value);
    }

    pub(crate) fn account(&mut self, segment: u64, account: Option<Account>) {
        let value =
            account.map(|account| [account.total, account.live].map(u64::to_be_bytes).concat());
        self.meta.insert(keys::segment(segment).to_vec(), value);
    }

    pub(crate) fn known_to(&mut self, place: Place) {
        let numbers = [place.segment, place.position, place.number];
        let value = numbers.map(u64::to_be_bytes).concat();
        self.meta.insert(keys::KNOWN_TO.to_vec(), Some(value));
    }
}

/// The database as it was at one moment.
pub(crate) struct TableView {
    snapshot: Snapshot,
    index: Keyspace,
    meta: Keyspace,
}

impl TableView {
    pub(crate) fn extent(&self, log: LogId) -> Result<Option<Extent>> {
        let value = self.snapshot.get(&self.meta, Meta::Extent.key(log))?;
        value.map(|value| decode_extent(&value)).transpose()
    }

    pub(crate) fn checkpoint(&self, log: LogId) -> Result<Option<StoredCheckpoint>> {
        let Some(value) = self.snapshot.get(&self.meta, Meta::Checkpoint.key(log))? else {
            return Ok(None);
        };
        let at = keys::long(&value, 0).ok_or(TableError::Value("a checkpoint"))?;
        Ok(Some(StoredCheckpoint {
            at,
            state: Bytes::copy_from_slice(&value[8..]),
        }))
    }

    /// All logs with their heads.
    pub(crate) fn heads(&self) -> Result<BTreeMap<LogId, Head>> {
        let mut heads = BTreeMap::new();
        for guard in self.snapshot.prefix(&self.meta, [Meta::Extent.tag()]) {
            let (key, value) = guard.into_inner()?;
            let log = key.get(1..).and_then(keys::log_of);
            let log = log.ok_or(TableError::Value("the name of a log"))?;
            heads.insert(log, decode_extent(&value)?.head);
        }
        Ok(heads)
    }

    pub(crate) fn accounts(&self) -> Result<BTreeMap<u64, Account>> {
        let wrong = TableError::Value("the account of a segment");
        let mut accounts = BTreeMap::new();
        for guard in self.snapshot.prefix(&self.meta, [keys::SEGMENT]) {
            let (key, value) = guard.into_inner()?;
            match (number(&key, 1), number(&value, 0), number(&value, 8)) {
                (Some(segment), Some(total), Some(live)) => {
                    accounts.insert(segment, Account { total, live });
                }
                _ => return Err(wrong),
            }
        }
        Ok(accounts)
    }

    pub(crate) fn known_to(&self) -> Result<Option<Place>> {
        let Some(value) = self.snapshot.get(&self.meta, keys::KNOWN_TO)? else {
            return Ok(None);
        };
        let read = |at| number(&value, at).ok_or(TableError::Value("the place in the journal"));
        Ok(Some(Place {
            segment: read(0)?,
            position: read(8)?,
            number: read(16)?,
        }))
    }

    /// The chunk that contains `offset` or ends before it, not below `first`.
    pub(crate) fn chunk_at(&self, log: LogId, first: i64, offset: i64) -> Result<Option<Chunk>> {
        if offset < first {
            return Ok(None);
        }
        let range = keys::position(log, first)..=keys::position(log, offset);
        let found = self.snapshot.range(&self.index, range).next_back();
        found
            .map(|guard| decode_chunk(&guard.into_inner()?))
            .transpose()
    }

    /// The chunks of a log with a base in a range of offsets, and what they say of timestamps before
    /// they are decoded: `wanted` is asked with the largest one.
    pub(crate) fn chunks(
        &self,
        log: LogId,
        bases: std::ops::Range<i64>,
        mut wanted: impl FnMut(i64) -> bool,
    ) -> impl Iterator<Item = Result<Chunk>> {
        let range =
            keys::position(log, bases.start)..keys::position(log, bases.end.max(bases.start));
        self.snapshot
            .range(&self.index, range)
            .filter_map(move |guard| {
                let read = guard.into_inner().map_err(TableError::from);
                let judged = read.and_then(|pair| {
                    let timestamp = Chunk::peek_timestamp(&pair.1);
                    match timestamp.ok_or(TableError::Value("a chunk of the index"))? {
                        timestamp if wanted(timestamp) => decode_chunk(&pair).map(Some),
                        _ => Ok(None),
                    }
                });
                judged.transpose()
            })
    }
}

fn decode_extent(value: &[u8]) -> Result<Extent> {
    match (
        keys::long(value, 0),
        keys::long(value, 8),
        keys::long(value, 16),
    ) {
        (Some(start), Some(end), Some(first)) => Ok(Extent {
            head: Head { start, end },
            first,
        }),
        _ => Err(TableError::Value("the extent of a log")),
    }
}

fn decode_chunk((key, value): &(fjall::UserKey, fjall::UserValue)) -> Result<Chunk> {
    keys::long(key, keys::LOG)
        .and_then(|base| Chunk::decode(base, value))
        .ok_or(TableError::Value("a chunk of the index"))
}
