//! A store with its completions in hand.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use ackord_log_store::{Durability, LogStore, OpenError, StoreEvent};
use ackord_machine::{
    LoadDetail, LoadedLog, LogAppend, LogExtent, LogId, OpId, OpKind, Outcome, StorageFault,
    StorageOp, StoredBatch,
};
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

/// A store that is asked one thing at a time.
pub(crate) struct Asked {
    pub(crate) store: LogStore,
    events: Receiver<StoreEvent>,
    next: u64,
}

impl Asked {
    pub(crate) fn open(dir: &Path, durability: Durability) -> Result<Self, OpenError> {
        let (sender, events) = mpsc::channel();
        let store = LogStore::open(dir, durability, move |event| {
            let _ = sender.send(event);
        })?;
        Ok(Asked {
            store,
            events,
            next: 0,
        })
    }

    pub(crate) fn ask(&mut self, kind: OpKind) -> Result<Outcome, StorageFault> {
        self.ask_all([kind]).remove(0)
    }

    /// Submits all at once and waits for all, in order.
    pub(crate) fn ask_all(
        &mut self,
        kinds: impl IntoIterator<Item = OpKind>,
    ) -> Vec<Result<Outcome, StorageFault>> {
        let first = self.next;
        let ops: Vec<StorageOp> = kinds
            .into_iter()
            .map(|kind| {
                self.next += 1;
                StorageOp {
                    id: OpId(self.next - 1),
                    after: None,
                    kind,
                }
            })
            .collect();
        self.store.submit_all(ops);
        let mut outcomes: Vec<_> = (first..self.next).map(|_| None).collect();
        while outcomes.iter().any(Option::is_none) {
            match self.events.recv().expect("the store lives") {
                StoreEvent::Completed(completion) => {
                    let slot = &mut outcomes[(completion.id.0 - first) as usize];
                    assert!(slot.replace(completion.outcome).is_none(), "answered twice");
                }
                StoreEvent::Settled { .. } => {}
                StoreEvent::Warning(text) => panic!("{text}"),
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    pub(crate) fn append(&mut self, parts: &[LogAppend]) -> Result<Outcome, StorageFault> {
        self.ask(OpKind::Append {
            parts: parts.to_vec(),
        })
    }

    pub(crate) fn load(&mut self, log: LogId, detail: LoadDetail) -> LoadedLog {
        match self.ask(OpKind::Load { log, detail }) {
            Ok(Outcome::Loaded(loaded)) => loaded,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn read(&mut self, log: LogId, from: i64, max_bytes: usize) -> Vec<StoredBatch> {
        match self.ask(OpKind::Read {
            log,
            from,
            max_bytes,
        }) {
            Ok(Outcome::Read(batches)) => batches,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn find(&mut self, log: LogId, from: i64, timestamp: i64) -> Option<StoredBatch> {
        match self.ask(OpKind::Find {
            log,
            from,
            timestamp,
        }) {
            Ok(Outcome::Found(found)) => found.map(|found| found.batch),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn list(&mut self) -> Vec<LogExtent> {
        match self.ask(OpKind::List) {
            Ok(Outcome::Listed(extents)) => extents,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn log(topic: u8, partition: i32) -> LogId {
    LogId {
        topic: Uuid::from_bytes([topic; 16]),
        partition,
    }
}

/// A batch of `size` bytes with its largest timestamp where a record batch has it.
pub(crate) fn part(log: LogId, base: i64, last: i64, timestamp: i64, size: usize) -> LogAppend {
    let mut bytes = vec![base as u8; size.max(61)];
    bytes[..8].copy_from_slice(&base.to_be_bytes());
    bytes[35..43].copy_from_slice(&timestamp.to_be_bytes());
    let body = Bytes::from(bytes);
    LogAppend {
        log,
        base,
        last,
        head: body.slice(..61),
        body: body.slice(61..),
    }
}

pub(crate) fn stored(part: &LogAppend) -> StoredBatch {
    let bytes = [part.head.clone(), part.body.clone()].concat().into();
    StoredBatch {
        base: part.base,
        last: part.last,
        bytes,
    }
}
