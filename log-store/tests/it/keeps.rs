//! What the store keeps and gives back, in a directory and in memory.

use std::path::Path;

use crate::common::{Asked, log, part, stored};
use ackord_log_store::{Durability, OpenError};
use ackord_machine::{
    LoadDetail, LoadedLog, LogAppend, LogExtent, OpKind, Outcome, StorageFault, StoredCheckpoint,
};
use bytes::Bytes;

const DONE: Result<Outcome, StorageFault> = Ok(Outcome::Done);
const CONFLICT: Result<Outcome, StorageFault> = Err(StorageFault::Conflict);

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

fn open(dir: &Path, durability: Durability) -> Asked {
    Asked::open(dir, durability).expect("the store opens")
}

/// Runs `test` on a new store of each kind.
fn each(test: impl Fn(&mut Asked)) {
    for durability in [Durability::Memory, Durability::Os, Durability::Sync] {
        let dir = directory();
        test(&mut open(dir.path(), durability));
    }
}

/// Three batches: offsets 0..=4, 5..=5, 6..=9, with timestamps 100, 300, 200.
fn three() -> [LogAppend; 3] {
    [
        part(log(1, 0), 0, 4, 100, 500),
        part(log(1, 0), 5, 5, 300, 61),
        part(log(1, 0), 6, 9, 200, 5000),
    ]
}

#[test]
fn batches_come_back_from_the_one_that_contains_the_offset() {
    each(|store| {
        let parts = three();
        assert_eq!(store.append(&parts), DONE);
        let all: Vec<_> = parts.iter().map(stored).collect();
        for (from, first) in [(0, 0), (4, 0), (5, 1), (6, 2), (8, 2), (9, 2)] {
            let read = store.read(log(1, 0), from, usize::MAX);
            assert_eq!(read, all[first..], "from {from}");
        }
        assert_eq!(store.read(log(1, 0), 10, usize::MAX), []);
        assert_eq!(store.read(log(1, 0), 2, 0), all[..1], "at least one");
        let two = all[0].bytes.len() + all[1].bytes.len();
        assert_eq!(
            store.read(log(1, 0), 2, two - 1),
            all[..1],
            "no more than fits"
        );
        assert_eq!(store.read(log(1, 0), 2, two), all[..2]);
        assert_eq!(
            store.read(log(1, 1), 0, usize::MAX),
            [],
            "another partition"
        );
        assert_eq!(store.read(log(0, 0), 0, usize::MAX), [], "another topic");
    });
}

#[test]
fn an_append_has_to_continue_its_log() {
    each(|store| {
        assert_eq!(store.append(&[part(log(1, 0), 1, 1, 0, 61)]), CONFLICT);
        let LoadedLog { start, end, .. } = store.load(log(1, 0), LoadDetail::Full);
        assert_eq!((start, end), (0, 0));
        assert_eq!(store.append(&[part(log(1, 0), 0, 1, 0, 61)]), DONE);
        assert_eq!(store.append(&[part(log(1, 0), 1, 2, 0, 61)]), CONFLICT);
        assert_eq!(
            store.append(&[part(log(1, 0), 2, 2, 0, 61)]),
            CONFLICT,
            "frozen until a load"
        );
        assert_eq!(
            store.ask(OpKind::Trim {
                log: log(1, 0),
                before: 1
            }),
            CONFLICT
        );
        assert_eq!(store.load(log(1, 0), LoadDetail::Full).end, 2);
        assert_eq!(store.append(&[part(log(1, 0), 2, 2, 0, 61)]), DONE);
    });
}

#[test]
fn a_chain_behind_a_failed_append_fails_up_to_the_load() {
    each(|store| {
        let append = |base| OpKind::Append {
            parts: vec![part(log(1, 0), base, base, 0, 61)],
        };
        let load = OpKind::Load {
            log: log(1, 0),
            detail: LoadDetail::Full,
        };
        let outcomes = store.ask_all([append(0), append(7), append(1), append(2), load, append(1)]);
        assert_eq!(outcomes[..4], [DONE, CONFLICT, CONFLICT, CONFLICT]);
        let Ok(Outcome::Loaded(loaded)) = &outcomes[4] else {
            panic!("{:?}", outcomes[4])
        };
        assert!(loaded.end >= 1);
        assert_eq!(outcomes[5], DONE);
    });
}

#[test]
fn an_append_to_several_logs_is_all_or_nothing() {
    each(|store| {
        let (a, b) = (log(1, 0), log(2, 3));
        let right = [
            part(a, 0, 0, 0, 61),
            part(b, 0, 9, 0, 61),
            part(a, 1, 1, 0, 61),
        ];
        assert_eq!(store.append(&right), DONE);
        assert_eq!(
            store.append(&[part(a, 2, 2, 0, 61), part(b, 0, 0, 0, 61)]),
            CONFLICT
        );
        assert_eq!(store.load(a, LoadDetail::Full).end, 2);
        assert_eq!(store.load(b, LoadDetail::Full).end, 10);
    });
}

#[test]
fn a_trim_moves_the_start_and_keeps_the_end() {
    each(|store| {
        let (id, parts) = (log(1, 0), three());
        store.append(&parts).expect("appended");
        assert_eq!(store.ask(OpKind::Trim { log: id, before: 7 }), DONE);
        let loaded = store.load(id, LoadDetail::Full);
        assert_eq!((loaded.start, loaded.end), (7, 10));
        assert_eq!(loaded.batches, [stored(&parts[2])]);
        assert_eq!(
            store.read(id, 0, usize::MAX),
            [stored(&parts[2])],
            "from what is kept"
        );
        assert_eq!(
            store.ask(OpKind::Trim { log: id, before: 3 }),
            DONE,
            "backwards: nothing"
        );
        assert_eq!(store.load(id, LoadDetail::Full).start, 7);
        assert_eq!(
            store.ask(OpKind::Trim {
                log: id,
                before: 10
            }),
            DONE
        );
        let extent = LogExtent {
            log: id,
            start: 10,
            end: 10,
        };
        assert_eq!(store.list(), [extent]);
        assert_eq!(store.append(&[part(id, 10, 10, 0, 61)]), DONE);
    });
}

#[test]
fn trims_and_drops_keep_their_place_among_waiting_appends() {
    each(|store| {
        let id = log(1, 0);
        let append = |base| OpKind::Append {
            parts: vec![part(id, base, base, 0, 61)],
        };
        let trim = OpKind::Trim { log: id, before: 2 };
        let outcomes = store.ask_all([append(0), append(1), trim, append(2)]);
        assert_eq!(outcomes, [DONE, DONE, DONE, DONE]);
        let loaded = store.load(id, LoadDetail::Full);
        assert_eq!((loaded.start, loaded.end, loaded.batches.len()), (2, 3, 1));
        let drop = OpKind::DropLog { log: id };
        assert_eq!(
            store.ask_all([append(3), drop, append(0)]),
            [DONE, DONE, DONE]
        );
        let loaded = store.load(id, LoadDetail::Full);
        assert_eq!((loaded.start, loaded.end, loaded.batches.len()), (0, 1, 1));
    });
}

#[test]
fn a_dropped_log_leaves_nothing() {
    each(|store| {
        let (gone, kept) = (log(1, 0), log(1, 1));
        store.append(&three()).expect("appended");
        store.append(&[part(kept, 0, 0, 0, 61)]).expect("appended");
        let state = Bytes::from_static(b"state");
        store
            .ask(OpKind::Checkpoint {
                log: gone,
                at: 5,
                state,
            })
            .expect("kept");
        store
            .ask(OpKind::Trim {
                log: gone,
                before: 5,
            })
            .expect("trimmed");
        assert_eq!(store.ask(OpKind::DropLog { log: gone }), DONE);
        assert_eq!(store.load(gone, LoadDetail::Full), LoadedLog::default());
        assert_eq!(
            store.list(),
            [LogExtent {
                log: kept,
                start: 0,
                end: 1
            }]
        );
    });
}

#[test]
fn a_load_starts_at_the_newest_checkpoint() {
    each(|store| {
        let (id, parts) = (log(1, 0), three());
        store.append(&parts).expect("appended");
        let checkpoint = |at, state: &'static [u8]| OpKind::Checkpoint {
            log: id,
            at,
            state: Bytes::from_static(state),
        };
        assert_eq!(
            store.ask_all([checkpoint(0, b"old"), checkpoint(6, b"new")]),
            [DONE, DONE]
        );
        let loaded = store.load(id, LoadDetail::Headers);
        let state = Bytes::from_static(b"new");
        assert_eq!(loaded.checkpoint, Some(StoredCheckpoint { at: 6, state }));
        assert_eq!((loaded.start, loaded.end), (0, 10));
        let mut header = stored(&parts[2]);
        header.bytes.truncate(61);
        assert_eq!(loaded.batches, [header]);
    });
}

#[test]
fn headers_of_small_batches_stay_whole() {
    each(|store| {
        let id = log(1, 0);
        let parts = [part(id, 0, 0, 0, 256), part(id, 1, 1, 0, 257)];
        store.append(&parts).expect("appended");
        let sizes = |loaded: LoadedLog| loaded.batches.iter().map(|b| b.bytes.len()).collect();
        let headers: Vec<usize> = sizes(store.load(id, LoadDetail::Headers));
        assert_eq!(headers, [256, 61]);
        let full: Vec<usize> = sizes(store.load(id, LoadDetail::Full));
        assert_eq!(full, [256, 257]);
    });
}

#[test]
fn a_batch_is_found_by_its_largest_timestamp() {
    each(|store| {
        let (id, parts) = (log(1, 0), three());
        store.append(&parts).expect("appended");
        for (from, timestamp, expected) in [
            (0, 0, Some(0)),
            (0, 100, Some(0)),
            (0, 101, Some(1)),
            (3, 100, Some(0)),
            (6, 0, Some(2)),
            (6, 200, Some(2)),
            (6, 201, None),
            (0, 301, None),
        ] {
            let expected = expected.map(|index: usize| stored(&parts[index]));
            assert_eq!(
                store.find(id, from, timestamp),
                expected,
                "{timestamp} from {from}"
            );
        }
        assert_eq!(store.find(log(9, 9), 0, 0), None);
    });
}

#[test]
fn a_list_names_every_log_once() {
    each(|store| {
        assert_eq!(store.list(), []);
        let ids = [log(1, 0), log(1, 1), log(2, 0)];
        for id in ids {
            store
                .append(&[part(id, 0, 0, 0, 61), part(id, 1, 3, 0, 61)])
                .expect("appended");
        }
        let state = Bytes::new();
        store
            .ask(OpKind::Checkpoint {
                log: ids[1],
                at: 4,
                state: state.clone(),
            })
            .expect("kept");
        store
            .ask(OpKind::Checkpoint {
                log: log(3, 0),
                at: 0,
                state,
            })
            .expect("kept");
        let mut expected: Vec<_> = ids
            .iter()
            .map(|id| LogExtent {
                log: *id,
                start: 0,
                end: 4,
            })
            .collect();
        expected.push(LogExtent {
            log: log(3, 0),
            start: 0,
            end: 0,
        });
        assert_eq!(store.list(), expected);
    });
}

#[test]
fn everything_is_there_after_a_reopen() {
    for durability in [Durability::Os, Durability::Sync] {
        let dir = directory();
        let (id, parts) = (log(1, 0), three());
        let mut store = open(dir.path(), durability);
        store.append(&parts).expect("appended");
        let state = Bytes::from_static(b"state");
        store
            .ask(OpKind::Checkpoint {
                log: id,
                at: 5,
                state: state.clone(),
            })
            .expect("kept");
        store
            .ask(OpKind::Trim { log: id, before: 5 })
            .expect("trimmed");
        store.store.close();
        let mut store = open(dir.path(), durability);
        let loaded = LoadedLog {
            start: 5,
            end: 10,
            cleaned: false,
            checkpoint: Some(StoredCheckpoint { at: 5, state }),
            batches: parts[1..].iter().map(stored).collect(),
        };
        assert_eq!(store.load(id, LoadDetail::Full), loaded);
        assert_eq!(store.append(&[part(id, 9, 9, 0, 61)]), CONFLICT);
        assert_eq!(store.load(id, LoadDetail::Full), loaded);
        assert_eq!(store.append(&[part(id, 10, 10, 0, 61)]), DONE);
    }
}

#[test]
fn more_than_the_memory_holds_is_read_back() {
    let dir = directory();
    let id = log(1, 0);
    let mut store = open(dir.path(), Durability::Os);
    // A hundred times 1 MiB: a second segment is begun on the way.
    for base in 0..100 {
        store
            .append(&[part(id, base, base, base, 1 << 20)])
            .expect("appended");
    }
    let check = |store: &mut Asked| {
        for base in 0..100 {
            let read = store.read(id, base, 1);
            assert_eq!(
                read,
                [stored(&part(id, base, base, base, 1 << 20))],
                "offset {base}"
            );
        }
    };
    check(&mut store);
    store.store.close();
    check(&mut open(dir.path(), Durability::Os));
}

#[test]
fn a_directory_has_one_owner() {
    let dir = directory();
    let first = open(dir.path(), Durability::Os);
    let Err(error) = Asked::open(dir.path(), Durability::Os) else {
        panic!("opened twice")
    };
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(&dir.path().display().to_string()) && text.contains("in use"),
        "{text}"
    );
    first.store.close();
    open(dir.path(), Durability::Os);
}

#[test]
fn memory_touches_no_directory() {
    let dir = directory();
    let path = dir.path().join("absent");
    let mut store = open(&path, Durability::Memory);
    store.append(&three()).expect("appended");
    assert!(!path.exists());
}

#[test]
fn a_directory_that_cannot_be_one_is_refused() {
    let dir = directory();
    let path = dir.path().join("file");
    std::fs::write(&path, "not a directory").expect("written");
    let Err(error) = Asked::open(&path, Durability::Sync) else {
        panic!("opened a file")
    };
    assert!(matches!(error, OpenError::Io { .. }), "{error:?}");
}

#[test]
fn damaged_files_are_refused_with_a_sentence() {
    let dir = directory();
    let mut store = open(dir.path(), Durability::Sync);
    store.append(&three()).expect("appended");
    store.store.close();
    let marker = dir.path().join("store/version");
    std::fs::write(&marker, "nonsense").expect("written");
    let Err(error) = Asked::open(dir.path(), Durability::Sync) else {
        panic!("opened nonsense")
    };
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(
        error.to_string().contains("restore it from a copy"),
        "{error}"
    );
}
