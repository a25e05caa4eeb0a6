//! The thread that writes: group commit.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use ackord_machine::{Completion, OpId, Outcome, StorageFault};

use crate::engine::{Engine, View, guarded};
use crate::plan::{Group, Heads, appended, count};
use crate::queue::{Queue, Write};
use crate::store::{Counters, Events, StoreEvent};

/// An operation names only one that was still under way as the one before it.
const REMEMBERED_FAILURES: usize = 100_000;

/// See the module.
pub(crate) struct Writer {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) events: Events,
    pub(crate) counters: Arc<Counters>,
    heads: Heads,
    failed: BTreeSet<OpId>,
    state: State,
}

/// Whether the engine can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// A commit failed and it could not be opened again yet.
    Broken,
}

impl Writer {
    pub(crate) fn new(
        engine: Box<dyn Engine>,
        queue: Arc<Queue>,
        events: Events,
        counters: Arc<Counters>,
    ) -> Self {
        Writer {
            engine,
            queue,
            events,
            counters,
            heads: Heads::default(),
            failed: BTreeSet::new(),
            state: State::Open,
        }
    }

    /// Carries out writes until the store closes.
    pub(crate) fn run(mut self) {
        while let Some(mut waiting) = self.queue.take_writes() {
            while !waiting.is_empty() {
                if self.state == State::Broken {
                    self.reopen();
                }
                match self.state {
                    State::Open => self.group(&mut waiting),
                    State::Broken => self.refuse(&mut waiting),
                }
            }
        }
    }

    /// Commits as many of the waiting writes as go together, in order.
    fn group(&mut self, waiting: &mut VecDeque<Write>) {
        let mut group = Group::default();
        let mut verdicts = Vec::new();
        let mut count = 0;
        while let Some(write) = waiting.pop_front() {
            match write {
                Write::Op { id, after, kind } if group.has_room() => {
                    let verdict = match after {
                        Some(after) if self.failed.contains(&after) => {
                            self.heads.freeze_for(&kind);
                            Err(StorageFault::Conflict)
                        }
                        _ => self.heads.plan(&*self.engine, &mut group, kind),
                    };
                    self.note(id, verdict);
                    verdicts.push((id, verdict));
                }
                Write::Op { .. } => {
                    waiting.push_front(write);
                    break;
                }
                Write::Thaw { log } => self.heads.thaw(log),
            }
            count += 1;
        }
        let failed = self.commit(group);
        // Before the reader goes on, so that a log's completions keep their order.
        for (id, verdict) in verdicts {
            let verdict = verdict.and(failed.map_or(Ok(()), Err));
            self.note(id, verdict);
            self.complete(id, verdict);
        }
        let idle = self.queue.written(count, self.view()) && waiting.is_empty();
        (self.events)(StoreEvent::Settled { idle });
    }

    fn commit(&mut self, group: Group) -> Option<StorageFault> {
        if group.changes.is_empty() {
            return None;
        }
        let logs = appended(&group.changes);
        self.counters.group(count(&group.changes));
        let panicked = || "the database panicked".to_owned();
        let Err(error) = guarded(panicked, || self.engine.commit(group.changes)) else {
            return None;
        };
        self.warn(format!("the store failed and is opened again: {error}"));
        self.heads.forget(logs);
        self.reopen();
        Some(StorageFault::Indeterminate)
    }

    fn view(&self) -> Option<Arc<dyn View>> {
        match self.state {
            State::Open => self.engine.view().ok(),
            State::Broken => None,
        }
    }

    fn reopen(&mut self) {
        self.queue.retire_view();
        let panicked = || "the database panicked".to_owned();
        self.state = match guarded(panicked, || self.engine.reopen()) {
            Ok(()) => State::Open,
            Err(error) => {
                self.warn(format!("the store cannot be opened again: {error}"));
                State::Broken
            }
        };
    }

    /// Fails what waits, without effect.
    fn refuse(&mut self, waiting: &mut VecDeque<Write>) {
        let mut count = 0;
        for write in waiting.drain(..) {
            count += 1;
            match write {
                Write::Op { id, kind, .. } => {
                    self.heads.freeze_for(&kind);
                    self.note(id, Err(StorageFault::Retriable));
                    self.complete(id, Err(StorageFault::Retriable));
                }
                Write::Thaw { log } => self.heads.thaw(log),
            }
        }
        let idle = self.queue.written(count, None);
        (self.events)(StoreEvent::Settled { idle });
    }

    /// Remembers what failed, for the operations that must not outlive it.
    fn note(&mut self, id: OpId, verdict: Result<(), StorageFault>) {
        if verdict.is_err() {
            self.failed.insert(id);
            if self.failed.len() > REMEMBERED_FAILURES {
                self.failed.pop_first();
            }
        }
    }

    fn complete(&self, id: OpId, verdict: Result<(), StorageFault>) {
        let outcome = verdict.map(|()| Outcome::Done);
        (self.events)(StoreEvent::Completed(Completion { id, outcome }));
    }

    fn warn(&self, text: String) {
        (self.events)(StoreEvent::Warning(text));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use ackord_machine::{LogAppend, LogId, OpKind, StorageOp};
    use ackord_proto::uuid::Uuid;
    use bytes::Bytes;

    use super::*;
    use crate::LogStore;
    use crate::engine::{Change, Head};
    use crate::memory::Memory;

    /// What the next commit does.
    enum Fate {
        Fail,
        FailAfterLanding,
        Panic,
        Work,
    }

    /// Logs in memory whose commits wait for a fate, and whose reopening asks for one too.
    struct Scripted {
        memory: Memory,
        started: Sender<usize>,
        fates: Receiver<Fate>,
        reopens: Receiver<Result<(), String>>,
    }

    impl Engine for Scripted {
        fn head(&self, log: LogId) -> Result<Head, StorageFault> {
            self.memory.head(log)
        }

        fn commit(&mut self, changes: Vec<Change>) -> Result<(), String> {
            let _ = self.started.send(changes.len());
            match self.fates.recv().unwrap_or(Fate::Work) {
                Fate::Fail => Err("the disk is gone".into()),
                Fate::FailAfterLanding => {
                    self.memory.commit(changes)?;
                    Err("the sync failed".into())
                }
                Fate::Panic => panic!("planned by the test"),
                Fate::Work => self.memory.commit(changes),
            }
        }

        fn view(&self) -> Result<Arc<dyn View>, String> {
            self.memory.view()
        }

        fn reopen(&mut self) -> Result<(), String> {
            self.reopens.recv().unwrap_or(Ok(()))
        }
    }

    struct Bench {
        // First, so that a failed assertion closes it before the store waits for its threads.
        fates: Sender<Fate>,
        reopens: Sender<Result<(), String>>,
        started: Receiver<usize>,
        events: Receiver<StoreEvent>,
        store: LogStore,
    }

    impl Bench {
        fn new() -> Self {
            let (started_in, started) = mpsc::channel();
            let (fates, fates_out) = mpsc::channel();
            let (reopens, reopens_out) = mpsc::channel();
            let (events_in, events) = mpsc::channel();
            let engine = Scripted {
                memory: Memory::default(),
                started: started_in,
                fates: fates_out,
                reopens: reopens_out,
            };
            let deliver: Events = Arc::new(move |event| {
                let _ = events_in.send(event);
            });
            let store = LogStore::start(Box::new(engine), deliver).expect("threads start");
            Bench {
                fates,
                reopens,
                started,
                events,
                store,
            }
        }

        fn fate(&self, fate: Fate) {
            self.fates.send(fate).expect("the writer lives");
        }

        /// The next completion; warnings are passed over.
        fn next(&self) -> (u64, Result<Outcome, StorageFault>) {
            loop {
                match self.events.recv().expect("the store lives") {
                    StoreEvent::Completed(Completion { id, outcome }) => return (id.0, outcome),
                    StoreEvent::Settled { .. } | StoreEvent::Warning(_) => {}
                }
            }
        }
    }

    fn log(partition: i32) -> LogId {
        LogId {
            topic: Uuid::from_bytes([1; 16]),
            partition,
        }
    }

    fn part(partition: i32, base: i64) -> LogAppend {
        let body = Bytes::from(format!("batch {base}"));
        LogAppend {
            log: log(partition),
            base,
            last: base,
            head: Bytes::new(),
            body,
        }
    }

    fn op(id: u64, kind: OpKind) -> StorageOp {
        StorageOp {
            id: OpId(id),
            after: None,
            kind,
        }
    }

    fn append(id: u64, partition: i32, base: i64) -> StorageOp {
        op(
            id,
            OpKind::Append {
                parts: vec![part(partition, base)],
            },
        )
    }

    fn load(id: u64, partition: i32) -> StorageOp {
        op(
            id,
            OpKind::Load {
                log: log(partition),
                detail: ackord_machine::LoadDetail::Full,
            },
        )
    }

    fn read(id: u64, partition: i32) -> StorageOp {
        op(
            id,
            OpKind::Read {
                log: log(partition),
                from: 0,
                max_bytes: 1,
            },
        )
    }

    fn end(outcome: Result<Outcome, StorageFault>) -> i64 {
        match outcome {
            Ok(Outcome::Loaded(loaded)) => loaded.end,
            other => panic!("expected a loaded log, got {other:?}"),
        }
    }

    #[test]
    fn what_waits_goes_into_one_group() {
        let bench = Bench::new();
        bench.store.submit(append(1, 0, 0));
        assert_eq!(bench.started.recv(), Ok(1));
        // The first commit is under way; all of these wait for it.
        for id in 2..=100 {
            bench.store.submit(append(id, 0, id as i64 - 1));
        }
        bench.fate(Fate::Work);
        assert_eq!(bench.started.recv(), Ok(99));
        bench.fate(Fate::Work);
        for id in 1..=100 {
            assert_eq!(bench.next(), (id, Ok(Outcome::Done)));
        }
        assert_eq!(bench.store.stats().groups, 2);
    }

    #[test]
    fn a_read_waits_for_its_own_log_only() {
        let bench = Bench::new();
        bench.store.submit(append(1, 0, 0));
        assert_eq!(bench.started.recv(), Ok(1));
        bench.store.submit(read(2, 1));
        assert_eq!(
            bench.next(),
            (2, Ok(Outcome::Read(vec![]))),
            "the commit is still under way"
        );
        bench.store.submit(read(3, 0));
        bench.fate(Fate::Work);
        assert_eq!(bench.next(), (1, Ok(Outcome::Done)));
        let (id, outcome) = bench.next();
        let Ok(Outcome::Read(batches)) = outcome else {
            panic!("expected batches: {outcome:?}")
        };
        assert_eq!((id, batches.len()), (3, 1));
    }

    #[test]
    fn after_a_failed_commit_only_a_load_helps() {
        for (fate, expected) in [
            (Fate::Fail, 0),
            (Fate::FailAfterLanding, 2),
            (Fate::Panic, 0),
        ] {
            let bench = Bench::new();
            bench.fate(fate);
            bench.reopens.send(Ok(())).expect("the writer lives");
            bench
                .store
                .submit_all([append(1, 0, 0), append(2, 0, 1), append(3, 1, 7)]);
            assert_eq!(bench.next(), (1, Err(StorageFault::Indeterminate)));
            assert_eq!(bench.next(), (2, Err(StorageFault::Indeterminate)));
            assert_eq!(
                bench.next(),
                (3, Err(StorageFault::Conflict)),
                "was refused before"
            );
            bench.store.submit(append(4, 0, expected));
            assert_eq!(bench.next(), (4, Err(StorageFault::Conflict)), "frozen");
            bench.store.submit(load(5, 0));
            let (id, outcome) = bench.next();
            assert_eq!((id, end(outcome)), (5, expected));
            bench.fate(Fate::Work);
            bench.store.submit(append(6, 0, expected));
            assert_eq!(bench.next(), (6, Ok(Outcome::Done)));
        }
    }

    #[test]
    fn what_must_follow_a_failed_operation_fails_too() {
        let bench = Bench::new();
        bench.fate(Fate::Fail);
        bench.reopens.send(Ok(())).expect("the writer lives");
        bench.store.submit(append(1, 0, 0));
        assert_eq!(bench.next(), (1, Err(StorageFault::Indeterminate)));
        let follows = |id, after, partition| StorageOp {
            after: Some(OpId(after)),
            ..append(id, partition, 0)
        };
        bench.store.submit(follows(2, 1, 1));
        assert_eq!(bench.next(), (2, Err(StorageFault::Conflict)));
        bench.store.submit(follows(3, 2, 2));
        assert_eq!(bench.next(), (3, Err(StorageFault::Conflict)), "of a chain");
        bench.fate(Fate::Work);
        bench.store.submit(append(4, 3, 0));
        assert_eq!(bench.next(), (4, Ok(Outcome::Done)), "another log goes on");
    }

    #[test]
    fn a_store_that_stays_broken_refuses_without_effect_until_it_opens() {
        let bench = Bench::new();
        bench.fate(Fate::Fail);
        bench
            .reopens
            .send(Err("still gone".into()))
            .expect("the writer lives");
        bench.store.submit(append(1, 0, 0));
        assert_eq!(bench.next(), (1, Err(StorageFault::Indeterminate)));
        bench
            .reopens
            .send(Err("still gone".into()))
            .expect("the writer lives");
        bench.store.submit(load(2, 0));
        assert_eq!(bench.next(), (2, Err(StorageFault::Retriable)));
        bench
            .reopens
            .send(Err("still gone".into()))
            .expect("the writer lives");
        bench.store.submit(append(3, 0, 0));
        assert_eq!(bench.next(), (3, Err(StorageFault::Retriable)));
        bench.reopens.send(Ok(())).expect("the writer lives");
        bench.store.submit(load(4, 0));
        let (id, outcome) = bench.next();
        assert_eq!((id, end(outcome)), (4, 0));
        bench.fate(Fate::Work);
        bench.store.submit(append(5, 0, 0));
        assert_eq!(bench.next(), (5, Ok(Outcome::Done)));
    }

    #[test]
    fn the_writer_says_when_nothing_waits_for_it() {
        let bench = Bench::new();
        let settled = || {
            let mut settled = bench.events.iter().filter_map(|event| match event {
                StoreEvent::Settled { idle } => Some(idle),
                StoreEvent::Completed(_) | StoreEvent::Warning(_) => None,
            });
            settled.next()
        };
        bench.store.submit(append(1, 0, 0));
        assert_eq!(bench.started.recv(), Ok(1));
        bench.store.submit(append(2, 0, 1));
        bench.fate(Fate::Work);
        assert_eq!(settled(), Some(false));
        bench.fate(Fate::Work);
        assert_eq!(settled(), Some(true));
    }

    #[test]
    fn closing_finishes_what_was_submitted() {
        let Bench {
            fates,
            reopens: _reopens,
            started,
            events,
            store,
        } = Bench::new();
        store.submit(append(1, 0, 0));
        assert_eq!(started.recv(), Ok(1));
        store.submit_all([append(2, 0, 1), load(3, 0)]);
        drop(fates);
        store.close();
        let ids: Vec<u64> = events
            .iter()
            .filter_map(|event| match event {
                StoreEvent::Completed(Completion { id, outcome: Ok(_) }) => Some(id.0),
                StoreEvent::Settled { .. } => None,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ids, [1, 2, 3]);
    }
}
