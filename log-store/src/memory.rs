//! Logs that live as long as the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ackord_machine::{
    Found, LoadDetail, LoadedLog, LogExtent, LogId, StorageFault, StoredBatch, StoredCheckpoint,
};

use crate::engine::{Change, Engine, Head, View, detailed};
use crate::keys;

/// An [`Engine`] that keeps nothing on disk.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    logs: Arc<Mutex<BTreeMap<LogId, MemoryLog>>>,
}

#[derive(Default)]
struct MemoryLog {
    head: Head,
    batches: BTreeMap<i64, StoredBatch>,
    checkpoint: Option<StoredCheckpoint>,
}

impl MemoryLog {
    /// The batches from the one that contains `from`.
    fn from(&self, from: i64) -> impl Iterator<Item = &StoredBatch> {
        let base = self
            .batches
            .range(..=from)
            .next_back()
            .map_or(from, |(base, _)| *base);
        self.batches
            .range(base..)
            .map(|(_, batch)| batch)
            .filter(move |batch| batch.last >= from)
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<LogId, MemoryLog>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for Memory {
    fn head(&self, log: LogId) -> Result<Head, StorageFault> {
        Ok(self
            .lock()
            .get(&log)
            .map_or_else(Head::default, |log| log.head))
    }

    fn commit(&mut self, changes: Vec<Change>) -> Result<(), String> {
        let mut logs = self.lock();
        for change in changes {
            match change {
                Change::Checkpoint { log, at, state } => {
                    logs.entry(log).or_default().checkpoint = Some(StoredCheckpoint { at, state });
                }
                Change::Drop { log } => {
                    logs.remove(&log);
                }
                Change::Append { parts } => {
                    for part in parts {
                        let bytes = [part.head, part.body].concat().into();
                        let log = logs.entry(part.log).or_default();
                        let (base, last) = (part.base, part.last);
                        log.batches.insert(base, StoredBatch { base, last, bytes });
                        log.head.end = last.saturating_add(1);
                    }
                }
                Change::Trim { log, head } => {
                    let log = logs.entry(log).or_default();
                    log.batches.retain(|_, batch| batch.last >= head.start);
                    log.head = head;
                }
            }
        }
        Ok(())
    }

    fn view(&self) -> Result<Arc<dyn View>, String> {
        Ok(Arc::new(self.clone()))
    }

    fn reopen(&mut self) -> Result<(), String> {
        Ok(())
    }
}

impl View for Memory {
    fn list(&self) -> Result<Vec<LogExtent>, StorageFault> {
        let extent = |(id, log): (&LogId, &MemoryLog)| LogExtent {
            log: *id,
            start: log.head.start,
            end: log.head.end,
        };
        Ok(self.lock().iter().map(extent).collect())
    }

    fn load(&self, log: LogId, detail: LoadDetail) -> Result<LoadedLog, StorageFault> {
        let logs = self.lock();
        let Some(log) = logs.get(&log) else {
            return Ok(LoadedLog::default());
        };
        let from = log
            .checkpoint
            .as_ref()
            .map_or(log.head.start, |checkpoint| checkpoint.at);
        let cut = |batch: &StoredBatch| StoredBatch {
            bytes: detailed(batch.bytes.clone(), detail),
            ..*batch
        };
        Ok(LoadedLog {
            start: log.head.start,
            end: log.head.end,
            cleaned: false,
            checkpoint: log.checkpoint.clone(),
            batches: log.from(from).map(cut).collect(),
        })
    }

    fn read(
        &self,
        log: LogId,
        from: i64,
        max_bytes: usize,
    ) -> Result<Vec<StoredBatch>, StorageFault> {
        let logs = self.lock();
        let mut bytes = 0;
        let mut answer: Vec<StoredBatch> = Vec::new();
        for batch in logs.get(&log).into_iter().flat_map(|log| log.from(from)) {
            bytes += batch.bytes.len();
            if bytes > max_bytes && !answer.is_empty() {
                break;
            }
            answer.push(batch.clone());
        }
        Ok(answer)
    }

    fn find(&self, log: LogId, from: i64, timestamp: i64) -> Result<Option<Found>, StorageFault> {
        let logs = self.lock();
        let late = |batch: &&StoredBatch| keys::max_timestamp(&batch.bytes, &[]) >= timestamp;
        let batch = logs.get(&log).and_then(|log| log.from(from).find(late));
        Ok(batch.map(|batch| Found {
            batch: batch.clone(),
        }))
    }
}
