//! Two logs that are written, read, refused, trimmed and dropped.

use std::collections::BTreeMap;

use ackord_machine::{
    Completion, LoadDetail, LoadedLog, LogAppend, LogId, OpId, OpKind, Outcome, StorageFault,
    StorageOp, StoredBatch, StoredCheckpoint,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

/// Offsets that each log gets.
const RECORDS: i64 = 12;
/// Timestamp of the record at offset 0; each has one more.
const FIRST_TIMESTAMP: i64 = 1_000;
const MANY_BYTES: usize = 1 << 20;

/// What an operation has to end with.
#[derive(Clone, Debug)]
enum Expected {
    Absent([LogId; 2]),
    Conflict,
    Done,
    Extent { start: i64, end: i64 },
    Found(i64),
    Loaded(LoadedLog),
    Read(Vec<StoredBatch>),
}

impl Expected {
    fn fits(&self, outcome: &Result<Outcome, StorageFault>) -> bool {
        match (self, outcome) {
            (Expected::Absent(logs), Ok(Outcome::Listed(listed))) => {
                !listed.iter().any(|extent| logs.contains(&extent.log))
            }
            (Expected::Conflict, Err(StorageFault::Conflict))
            | (Expected::Done, Ok(Outcome::Done)) => true,
            (Expected::Extent { start, end }, Ok(Outcome::Loaded(loaded))) => {
                (loaded.start, loaded.end) == (*start, *end)
            }
            (Expected::Found(base), Ok(Outcome::Found(found))) => {
                found.as_ref().map(|found| found.batch.base) == Some(*base)
            }
            (Expected::Loaded(log), Ok(Outcome::Loaded(loaded))) => log == loaded,
            (Expected::Read(batches), Ok(Outcome::Read(read))) => batches == read,
            _ => false,
        }
    }
}

/// What follows a completion.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Operations to issue.
    pub(super) next: Vec<StorageOp>,
    /// The case has ended.
    pub(super) over: bool,
    /// What the store did wrong.
    pub(super) wrong: Option<String>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct StorageCase {
    part: usize,
    last: u64,
    expected: BTreeMap<OpId, Expected>,
}

fn log(partition: i32) -> LogId {
    LogId {
        topic: Uuid::from_bytes([0xAD; 16]),
        partition,
    }
}

fn batch(partition: i32, offset: i64) -> Bytes {
    let mut batch = BatchBuilder::new(offset);
    let value = format!("{partition}-{offset}");
    batch.push(FIRST_TIMESTAMP + offset, None, Some(value.as_bytes()));
    batch.build()
}

fn append(partition: i32, base: i64) -> LogAppend {
    let mut head = batch(partition, base);
    let body = head.split_off(20);
    LogAppend {
        log: log(partition),
        base,
        last: base,
        head,
        body,
    }
}

fn stored(partition: i32, from: i64) -> Vec<StoredBatch> {
    let batches = (from..RECORDS).map(|offset| StoredBatch {
        base: offset,
        last: offset,
        bytes: batch(partition, offset),
    });
    batches.collect()
}

fn load(partition: i32) -> OpKind {
    OpKind::Load {
        log: log(partition),
        detail: LoadDetail::Full,
    }
}

fn read(partition: i32, from: i64) -> OpKind {
    OpKind::Read {
        log: log(partition),
        from,
        max_bytes: MANY_BYTES,
    }
}

impl StorageCase {
    pub(super) fn begin(&mut self) -> Vec<StorageOp> {
        self.issue(self.kinds())
    }

    /// Names the operations; each appends comes after the one before.
    fn issue(&mut self, kinds: Vec<(OpKind, Expected)>) -> Vec<StorageOp> {
        let mut after = None;
        let mut ops = Vec::new();
        for (kind, expected) in kinds {
            self.last += 1;
            let id = OpId(self.last);
            let appends = matches!(kind, OpKind::Append { .. });
            ops.push(StorageOp {
                id,
                after: after.filter(|_| appends),
                kind,
            });
            if appends {
                after = Some(id);
            }
            self.expected.insert(id, expected);
        }
        ops
    }

    /// The operations of this part of the case, all issued at once.
    fn kinds(&self) -> Vec<(OpKind, Expected)> {
        match self.part {
            0 => writes(),
            1 => vec![
                (
                    // The second part fits, and must not land all the same.
                    OpKind::Append {
                        parts: vec![append(0, RECORDS + 5), append(1, RECORDS)],
                    },
                    Expected::Conflict,
                ),
                (load(0), Expected::Loaded(loaded(0, None))),
                (load(1), Expected::Loaded(loaded(1, None))),
            ],
            2 => checkpoint_and_trim(),
            3 => vec![
                (OpKind::DropLog { log: log(0) }, Expected::Done),
                (OpKind::DropLog { log: log(1) }, Expected::Done),
            ],
            4 => vec![(OpKind::List, Expected::Absent([log(0), log(1)]))],
            _ => Vec::new(),
        }
    }

    pub(super) fn completed(&mut self, done: Completion) -> Step {
        let mut step = Step::default();
        let Some(expected) = self.expected.remove(&done.id) else {
            return step;
        };
        if !expected.fits(&done.outcome) {
            step.wrong = Some(format!(
                "{} ended with {:?} instead of {expected:?}",
                done.id, done.outcome
            ));
        }
        if self.expected.is_empty() {
            self.part += 1;
            step.next = self.issue(self.kinds());
            step.over = step.next.is_empty();
        }
        step
    }
}

/// Appends to both logs, every third one to both at once, each after the one before; then reads.
fn writes() -> Vec<(OpKind, Expected)> {
    let mut kinds = Vec::new();
    for offset in 0..RECORDS {
        let (one, two) = (append(0, offset), append(1, offset));
        if offset % 3 == 0 {
            let parts = vec![one, two];
            kinds.push((OpKind::Append { parts }, Expected::Done));
        } else {
            kinds.push((OpKind::Append { parts: vec![one] }, Expected::Done));
            kinds.push((OpKind::Append { parts: vec![two] }, Expected::Done));
        }
    }
    kinds.push((read(0, 0), Expected::Read(stored(0, 0))));
    kinds.push((read(1, 7), Expected::Read(stored(1, 7))));
    kinds
}

fn loaded(partition: i32, checkpoint: Option<StoredCheckpoint>) -> LoadedLog {
    let from = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.at);
    LoadedLog {
        start: 0,
        end: RECORDS,
        cleaned: false,
        checkpoint,
        batches: stored(partition, from),
    }
}

fn checkpoint_and_trim() -> Vec<(OpKind, Expected)> {
    let state = Bytes::from_static(b"state");
    let at = RECORDS / 2;
    let checkpoint = StoredCheckpoint {
        at,
        state: state.clone(),
    };
    let find = OpKind::Find {
        log: log(1),
        from: 0,
        timestamp: FIRST_TIMESTAMP + 4,
    };
    let trim = OpKind::Trim {
        log: log(1),
        before: 3,
    };
    let cut = Expected::Extent {
        start: 3,
        end: RECORDS,
    };
    vec![
        (
            OpKind::Checkpoint {
                log: log(0),
                at,
                state,
            },
            Expected::Done,
        ),
        (load(0), Expected::Loaded(loaded(0, Some(checkpoint)))),
        (find, Expected::Found(4)),
        (trim, Expected::Done),
        (load(1), cut),
    ]
}
