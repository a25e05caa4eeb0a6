//! Whatever moment a process is killed at, the next one finds a prefix.

use std::sync::{Arc, Mutex};

use super::*;

/// Few images of each moment tell as much as all of them.
const IMAGES: usize = 8;
const STEPS: [Step; 8] = [
    Step::SegmentCreated,
    Step::GroupWritten,
    Step::JournalSynced,
    Step::IndexCommitted,
    Step::SegmentsRetired,
    Step::CopyCreated,
    Step::CopyWritten,
    Step::CopyCommitted,
];

/// Appends to three logs of which two are trimmed and one is dropped and begun anew.
fn changes() -> Vec<Change> {
    let mut changes = Vec::new();
    for base in 0..60 {
        let sizes = [61, 200, 500];
        let parts = (0..3).map(|log| part(log, base, 1, sizes[log as usize]));
        let size = sizes[base as usize % 3];
        changes.push(Change::Append {
            parts: parts.chain([part(9, base, 1, size)]).collect(),
        });
        if base % 10 == 9 {
            changes.push(trim(1, base - 3, base + 1));
            changes.push(trim(2, base, base + 1));
            changes.push(Change::Checkpoint {
                log: log(1),
                at: base,
                state: vec![base as u8; 300].into(),
            });
        }
    }
    changes.push(Change::Drop { log: log(2) });
    changes.push(put(2, 0, 90));
    changes
}

#[test]
fn a_kill_at_any_step_leaves_a_prefix() {
    let changes = changes();
    let states = expected(&changes);
    let dir = directory();
    let taken: Arc<Mutex<Vec<(Step, usize, TempDir)>>> = Arc::default();
    let made = Arc::new(Mutex::new(0));
    let hook = {
        let (taken, made, path) = (taken.clone(), made.clone(), dir.path().to_owned());
        move |step| {
            let mut taken = taken.lock().expect("not poisoned");
            if taken.iter().filter(|(seen, ..)| *seen == step).count() < IMAGES {
                let made = *made.lock().expect("not poisoned");
                taken.push((step, made, image(&path)));
            }
        }
    };
    let tuning = Tuning {
        hook: Some(Arc::new(hook)),
        ..small()
    };
    let mut store = open(dir.path(), true, tuning).expect("opens");
    for (index, change) in changes.iter().enumerate() {
        // Only one thread works at a time, so each image is one moment.
        store.quiesce();
        *made.lock().expect("not poisoned") = index;
        store.commit(change.clone());
        *made.lock().expect("not poisoned") = index + 1;
    }
    store.settle();
    assert_eq!(store.contents(), states[changes.len()]);
    drop(store);

    let taken = std::mem::take(&mut *taken.lock().expect("not poisoned"));
    for step in STEPS {
        assert!(
            taken.iter().any(|(seen, ..)| *seen == step),
            "{step:?} never came"
        );
    }
    for (step, made, image) in taken {
        let mut store = open(image.path(), true, small()).expect("opens");
        let found = store.contents();
        let next = states.get(made + 1);
        assert!(
            found == states[made] || Some(&found) == next,
            "killed at {step:?} after {made} changes"
        );
        store.settle();
        assert_eq!(store.contents(), found, "{step:?}, {made}");
        store.commit(put(50, 0, 61));
        store.settle();
        let shared = &store.disk.opened().expect("open").shared;
        // The next segment of the journal is ready besides.
        let known = shared.lock().segments.len() + 1;
        assert_eq!(
            files(image.path()).len(),
            known,
            "leftovers of {step:?}, {made}"
        );
    }
}

#[test]
fn a_segment_whose_creation_was_interrupted_is_none() {
    let dir = directory();
    let mut store = open(dir.path(), true, only_journal()).expect("opens");
    store.commit(put(1, 0, 100));
    store.settle();
    let before = store.contents();
    let image = image(dir.path());
    let spare = files(image.path()).pop().expect("the next segment");
    let header = fs::read(&spare).expect("read");
    for length in 0..=header.len() {
        fs::write(&spare, &header[..length]).expect("written");
        let store = open(image.path(), true, only_journal()).expect("opens");
        assert_eq!(store.contents(), before, "{length} bytes");
        store.settle();
        drop(store);
        for file in files(image.path()).split_off(1) {
            fs::remove_file(file).expect("removed");
        }
    }
}

#[test]
fn a_failed_commit_is_cut_off_before_the_store_goes_on() {
    let dir = directory();
    let mut store = open(dir.path(), true, only_journal()).expect("opens");
    store.commit(put(1, 0, 100));
    let before = store.contents();
    let journal = &store.disk.opened().expect("open").journal;
    let (right, path) = (journal.place.position, journal.segment.path.clone());
    store.commit(put(1, 1, 5000));
    // As if the sync of the second one had failed: its bytes can be read, but may not be on the disk.
    let image = image(dir.path());
    let path = image
        .path()
        .join("journal")
        .join(path.file_name().expect("a name"));
    let mut disk = Disk {
        dir: image.path().into(),
        sync: true,
        tuning: only_journal(),
        events: Arc::new(|_| {}),
        open: None,
        cut: Some((path, right)),
    };
    disk.reopen().expect("opens");
    assert_eq!(contents(&*disk.view().expect("a view")), before);
    disk.commit(vec![put(1, 1, 70)]).expect("committed");
}

#[test]
fn a_stopped_upkeep_fails_the_next_commit_and_is_begun_anew() {
    let dir = directory();
    let mut store = open(dir.path(), true, small()).expect("opens");
    store.commit(put(1, 0, 100));
    store.settle();
    let before = store.contents();
    store.disk.opened().expect("open").shared.lock().failed = Some("planned".into());
    assert_eq!(
        store.disk.commit(vec![put(1, 1, 100)]),
        Err("planned".into())
    );
    store.disk.reopen().expect("opens again");
    assert_eq!(store.contents(), before);
    store.commit(put(1, 1, 100));
}

#[test]
fn a_start_reads_a_bounded_part_of_a_million_appends() {
    const GROUP: i64 = 4000;
    let dir = directory();
    let tuning = Tuning {
        segment_bytes: 1 << 20,
        delta_batches: 8 * 1024,
        ..only_journal()
    };
    let mut store = open(dir.path(), false, tuning.clone()).expect("opens");
    for group in 0..250 {
        let base = |index: i64| group * GROUP / 4 + index / 4;
        let change = |index: i64| put((index % 4) as i32, base(index), 61);
        store
            .disk
            .commit((0..GROUP).map(change).collect())
            .expect("committed");
    }
    let image = image(dir.path());
    drop(store);
    let store = open(image.path(), false, tuning).expect("opens");
    let recovered = store.disk.opened().expect("open").recovered;
    assert!(recovered <= 7 * 8 * 1024, "{recovered} entries were read");
    let view = store.disk.view().expect("a view");
    assert_eq!(view.list().expect("a list").len(), 4);
    for extent in view.list().expect("a list") {
        assert_eq!((extent.start, extent.end), (0, 250_000));
        for from in [0, 1, 99_999, 249_999] {
            let read = view.read(extent.log, from, 1).expect("reads");
            assert_eq!((read.len(), read[0].base), (1, from));
        }
    }
}
