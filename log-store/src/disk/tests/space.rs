//! Space comes back, and no read notices.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::disk::segment::HEADER;
use crate::disk::view::{DiskView, Wanted};

fn bytes(dir: &Path) -> u64 {
    let size = |file: PathBuf| fs::metadata(file).expect("there").len();
    files(dir).into_iter().map(size).sum()
}

/// 200 batches of 300 bytes in each of two logs, which share all segments.
fn filled(dir: &Path, tuning: Tuning) -> (Opened, Vec<Change>) {
    let mut store = open(dir, true, tuning).expect("opens");
    let mut changes = Vec::new();
    for base in 0..200 {
        changes.push(Change::Append {
            parts: vec![part(1, base, 1, 300), part(2, base, 1, 300)],
        });
        store.commit(changes[base as usize].clone());
    }
    store.settle();
    (store, changes)
}

#[test]
fn a_dropped_log_frees_its_space_at_once() {
    let dir = directory();
    let (mut store, _) = filled(dir.path(), small());
    assert!(bytes(dir.path()) > 120_000);
    for partition in [1, 2] {
        store.commit(Change::Drop {
            log: log(partition),
        });
    }
    store.settle();
    assert_eq!(store.contents(), Contents::default());
    // What is left: the segment in use, and the next one.
    assert!(
        bytes(dir.path()) <= 4096 + 512 + HEADER,
        "{}",
        bytes(dir.path())
    );
}

#[test]
fn a_segment_that_is_mostly_dead_is_emptied() {
    let dir = directory();
    let (mut store, mut changes) = filled(dir.path(), small());
    let last = trim(1, 190, 200);
    changes.push(last.clone());
    store.commit(last);
    let before = bytes(dir.path());
    store.settle();
    let after = bytes(dir.path());
    assert!(after * 100 < before * 65, "{before} bytes, then {after}");
    let copies = files(dir.path())
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "copy"))
        .count();
    assert!(copies > 1, "moved");
    let expected = expected(&changes).pop().expect("a state");
    assert_eq!(store.contents(), expected);
    drop(store);
    let mut store = open(dir.path(), true, small()).expect("opens");
    assert_eq!(store.contents(), expected);
    // What was moved can be moved again.
    store.commit(trim(2, 195, 200));
    store.settle();
    assert!(bytes(dir.path()) < 24_000, "{}", bytes(dir.path()));
}

#[test]
fn a_look_up_from_before_still_reads_what_has_moved_or_gone() {
    let dir = directory();
    let (mut store, _) = filled(dir.path(), small());
    let view = DiskView(store.disk.opened().expect("open").shared.clone());
    let look = view.look(log(1), 0, Wanted::All);
    let located = look.located(0, Wanted::All).expect("located");
    store.commit(Change::Drop { log: log(1) });
    store.commit(trim(2, 150, 200));
    store.settle();
    let kept = bytes(dir.path());
    let batches = view
        .batches(&look, &located, LoadDetail::Full)
        .expect("reads");
    assert_eq!(batches.len(), 200);
    drop(look);
    assert!(
        bytes(dir.path()) < kept / 2,
        "the files went with the last read"
    );
    assert_eq!(store.warnings.try_recv().ok(), None);
}

#[test]
fn reads_at_every_step_of_a_move_see_everything() {
    let dir = directory();
    let (store, mut changes) = filled(dir.path(), small());
    drop(store);
    let last = trim(1, 190, 200);
    changes.push(last.clone());
    let expected = expected(&changes).pop().expect("a state");
    let (view, reads) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let hook = {
        let (view, reads) = (view.clone(), reads.clone());
        move |step| {
            if step < Step::JournalSynced {
                return;
            }
            let view: Option<Arc<dyn View>> = view.lock().expect("not poisoned").clone();
            if let Some(view) = view {
                assert_eq!(contents(&*view), expected, "at {step:?}");
                reads.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let tuning = Tuning {
        hook: Some(Arc::new(hook)),
        ..small()
    };
    let mut store = open(dir.path(), true, tuning).expect("opens");
    store.settle();
    let after = store.disk.view().expect("a view");
    let mut held = view.lock().expect("not poisoned");
    store.commit(last);
    *held = Some(after);
    drop(held);
    store.settle();
    *view.lock().expect("not poisoned") = None;
    assert!(reads.load(Ordering::Relaxed) > 20, "{reads:?}");
}

#[test]
fn what_cannot_be_read_stays_where_it_is() {
    let dir = directory();
    let (store, _) = filled(dir.path(), small());
    drop(store);
    let path = files(dir.path()).remove(1);
    let length = fs::metadata(&path).expect("there").len() as usize;
    flip(&path, length - 10);
    let mut store = open(dir.path(), true, small()).expect("opens");
    store.commit(trim(1, 190, 200));
    store.settle();
    assert!(path.exists());
    let warning = store.warnings.recv().expect("a warning");
    assert!(warning.contains(&path.display().to_string()), "{warning}");
    store.commit(put(1, 200, 61));
}

#[test]
fn space_that_cannot_be_freed_now_is_freed_later() {
    let dir = directory();
    let (mut store, mut changes) = filled(dir.path(), small());
    let before = bytes(dir.path());
    let (journal, away) = (dir.path().join("journal"), dir.path().join("away"));
    fs::rename(&journal, &away).expect("renamed");
    for start in [180, 190] {
        changes.push(trim(1, start, 200));
        store.commit(trim(1, start, 200));
        store.settle();
        if start == 180 {
            let warning = store.warnings.recv().expect("a warning");
            assert!(warning.contains("cannot be freed for now"), "{warning}");
            fs::rename(&away, &journal).expect("renamed back");
        }
    }
    assert!(
        bytes(dir.path()) * 100 < before * 65,
        "of {before}: {}",
        bytes(dir.path())
    );
    assert_eq!(store.contents(), expected(&changes).pop().expect("a state"));
}
