//! Reading a snapshot of the database.

use std::collections::BTreeMap;

use ackord_machine::{
    Found, LoadDetail, LoadedLog, LogExtent, LogId, StorageFault, StoredBatch, StoredCheckpoint,
};
use bytes::Bytes;
use fjall::{Guard, Readable, Snapshot};

use crate::disk::Files;
use crate::engine::{Head, View, contiguous, detailed};
use crate::keys::{self, BatchKey, Meta};

/// Values below this share a block with their neighbours, so they are copied out of it.
const SHARED_BELOW: usize = 1024;

/// See the module.
pub(crate) struct DiskView {
    pub(crate) snapshot: Snapshot,
    pub(crate) files: Files,
}

/// Where a log begins and ends.
pub(crate) fn head(snapshot: &Snapshot, files: &Files, log: LogId) -> Result<Head, StorageFault> {
    let extent = match snapshot
        .get(&files.meta, Meta::Extent.key(log))
        .map_err(fault)?
    {
        Some(value) => decode_extent(&value)?,
        None => Head::default(),
    };
    let range = keys::log(log).to_vec()..keys::past(log).to_vec();
    match snapshot.range(&files.log, range).next_back() {
        Some(guard) => {
            let end = key_of(guard)?.last.saturating_add(1);
            Ok(Head {
                start: extent.start,
                end: extent.end.max(end),
            })
        }
        None => Ok(extent),
    }
}

fn fault(error: fjall::Error) -> StorageFault {
    match error {
        fjall::Error::Io(_)
        | fjall::Error::Storage(fjall::LsmError::Io(_))
        | fjall::Error::Poisoned => StorageFault::Retriable,
        _ => StorageFault::Corrupt,
    }
}

fn key_of(guard: Guard) -> Result<BatchKey, StorageFault> {
    BatchKey::decode(&guard.key().map_err(fault)?).ok_or(StorageFault::Corrupt)
}

fn decode_extent(value: &[u8]) -> Result<Head, StorageFault> {
    match (keys::long(value, 0), keys::long(value, 8)) {
        (Some(start), Some(end)) => Ok(Head { start, end }),
        _ => Err(StorageFault::Corrupt),
    }
}

fn batch_of(guard: Guard) -> Result<StoredBatch, StorageFault> {
    let (key, value) = guard.into_inner().map_err(fault)?;
    let key = BatchKey::decode(&key).ok_or(StorageFault::Corrupt)?;
    let bytes = if value.len() < SHARED_BELOW {
        Bytes::copy_from_slice(&value)
    } else {
        Bytes::from(value)
    };
    Ok(StoredBatch {
        base: key.base,
        last: key.last,
        bytes,
    })
}

impl DiskView {
    /// The batches of a log from the one that contains `from`.
    fn batches(&self, log: LogId, from: i64) -> Result<fjall::Iter, StorageFault> {
        let past = keys::past(log).to_vec();
        let upto = match from.checked_add(1) {
            Some(next) => keys::position(log, next.max(0)).to_vec(),
            None => past.clone(),
        };
        let at_or_before = keys::log(log).to_vec()..upto;
        let before = self
            .snapshot
            .range(&self.files.log, at_or_before)
            .next_back();
        let first = match before.map(key_of).transpose()? {
            Some(key) if key.last >= from => key.base,
            Some(_) | None => from.max(0),
        };
        let range = keys::position(log, first).to_vec()..past;
        Ok(self.snapshot.range(&self.files.log, range))
    }

    fn checkpoint(&self, log: LogId) -> Result<Option<StoredCheckpoint>, StorageFault> {
        let key = Meta::Checkpoint.key(log);
        let Some(value) = self.snapshot.get(&self.files.meta, key).map_err(fault)? else {
            return Ok(None);
        };
        let at = keys::long(&value, 0).ok_or(StorageFault::Corrupt)?;
        Ok(Some(StoredCheckpoint {
            at,
            state: Bytes::copy_from_slice(&value[8..]),
        }))
    }

    /// Logs that have a batch, found with two look-ups each.
    fn logs_with_batches(&self, heads: &mut BTreeMap<LogId, Head>) -> Result<(), StorageFault> {
        let mut from = Vec::new();
        while let Some(guard) = self.snapshot.range(&self.files.log, from..).next() {
            let log = key_of(guard)?.log;
            heads.insert(log, head(&self.snapshot, &self.files, log)?);
            from = keys::past(log).to_vec();
        }
        Ok(())
    }

    /// Logs of which only something else is known.
    fn logs_with_meta(
        &self,
        meta: Meta,
        heads: &mut BTreeMap<LogId, Head>,
    ) -> Result<(), StorageFault> {
        for guard in self.snapshot.prefix(&self.files.meta, [meta.tag()]) {
            let key = guard.key().map_err(fault)?;
            let log = key
                .get(1..)
                .and_then(keys::log_of)
                .ok_or(StorageFault::Corrupt)?;
            if let std::collections::btree_map::Entry::Vacant(entry) = heads.entry(log) {
                entry.insert(head(&self.snapshot, &self.files, log)?);
            }
        }
        Ok(())
    }
}

impl View for DiskView {
    fn list(&self) -> Result<Vec<LogExtent>, StorageFault> {
        let mut heads = BTreeMap::new();
        self.logs_with_batches(&mut heads)?;
        self.logs_with_meta(Meta::Extent, &mut heads)?;
        self.logs_with_meta(Meta::Checkpoint, &mut heads)?;
        let extent = |(log, head): (LogId, Head)| LogExtent {
            log,
            start: head.start,
            end: head.end,
        };
        Ok(heads.into_iter().map(extent).collect())
    }

    fn load(&self, log: LogId, detail: LoadDetail) -> Result<LoadedLog, StorageFault> {
        let Head { start, end } = head(&self.snapshot, &self.files, log)?;
        let checkpoint = self.checkpoint(log)?;
        let from = checkpoint
            .as_ref()
            .map_or(start, |checkpoint| checkpoint.at);
        let mut batches = Vec::new();
        for guard in self.batches(log, from)? {
            let batch = batch_of(guard)?;
            batches.push(StoredBatch {
                bytes: detailed(batch.bytes, detail),
                ..batch
            });
        }
        if !contiguous(&batches, end) {
            return Err(StorageFault::Corrupt);
        }
        Ok(LoadedLog {
            start,
            end,
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
        let mut bytes = 0;
        let mut answer: Vec<StoredBatch> = Vec::new();
        for guard in self.batches(log, from)? {
            if bytes >= max_bytes && !answer.is_empty() {
                break;
            }
            let batch = batch_of(guard)?;
            bytes += batch.bytes.len();
            answer.push(batch);
        }
        Ok(answer)
    }

    fn find(&self, log: LogId, from: i64, timestamp: i64) -> Result<Option<Found>, StorageFault> {
        for guard in self.batches(log, from)? {
            let key = key_of(guard)?;
            if key.max_timestamp >= timestamp {
                let value = self
                    .snapshot
                    .get(&self.files.log, key.encode())
                    .map_err(fault)?;
                let bytes = value.map(Bytes::from).ok_or(StorageFault::Corrupt)?;
                let batch = StoredBatch {
                    base: key.base,
                    last: key.last,
                    bytes,
                };
                return Ok(Some(Found { batch }));
            }
        }
        Ok(None)
    }
}
