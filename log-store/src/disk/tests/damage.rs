//! Torn writes are cut, changed bytes are refused.

use super::*;
use crate::disk::entry::ENTRY;
use crate::disk::recent::Place;
use crate::disk::recovery::{self, End};
use crate::disk::segment::{self, HEADER};

/// A journal of one segment, where its entries begin, and where the last one ends.
struct Sample {
    dir: TempDir,
    path: PathBuf,
    begins: Vec<u64>,
    end: u64,
}

fn sample(sync: bool) -> Sample {
    let dir = directory();
    let mut store = open(dir.path(), sync, only_journal()).expect("opens");
    let mut begins = Vec::new();
    for change in [
        put(1, 0, 61),
        Change::Append {
            parts: vec![part(1, 1, 3, 300), part(2, 0, 1, 61)],
        },
        Change::Checkpoint {
            log: log(1),
            at: 2,
            state: Bytes::from_static(b"state"),
        },
        put(2, 1, 70),
        Change::Append {
            parts: vec![part(1, 4, 1, 80), part(3, 0, 1, 61)],
        },
    ] {
        begins.push(store.disk.opened().expect("open").journal.place.position);
        store.commit(change);
    }
    let journal = &store.disk.opened().expect("open").journal;
    let (end, name) = (journal.place.position, journal.segment.path.file_name());
    let image = image(dir.path());
    let path = image.path().join("journal").join(name.expect("a name"));
    for file in files(image.path()) {
        if file != path {
            fs::remove_file(file).expect("removed");
        }
    }
    // Without what is set aside.
    let bytes = fs::read(&path).expect("read");
    fs::write(&path, &bytes[..end as usize]).expect("written");
    Sample {
        dir: image,
        path,
        begins,
        end,
    }
}

impl Sample {
    fn read(&self) -> Result<End, OpenError> {
        let segments = segment::list(&self.dir.path().join("journal")).expect("listed");
        let segments: Vec<_> = segments.into_values().collect();
        let from = Place {
            segment: segments[0].id,
            position: HEADER,
            number: 0,
        };
        let mut parts = 0;
        let end = recovery::read(self.dir.path(), &segments, from, &mut |_, _| {
            parts += 1;
            Ok(())
        })?;
        let end = end.expect("a segment");
        assert!(parts >= end.place.number);
        Ok(end)
    }
}

#[test]
fn a_last_entry_that_is_not_whole_is_cut() {
    let sample = sample(true);
    let whole = fs::read(&sample.path).expect("read");
    let begin = sample.begins[4];
    assert_eq!(sample.read().expect("reads").place.position, sample.end);
    for cut in begin..sample.end {
        let mut bytes = whole[..cut as usize].to_vec();
        fs::write(&sample.path, &bytes).expect("written");
        let end = sample.read().expect("reads");
        assert_eq!(
            (end.place.number, end.place.position),
            (4, begin),
            "cut at {cut}"
        );
        assert_eq!(end.warning, None);
        // The size was there before the bytes.
        bytes.resize(sample.end as usize + 9, 0);
        fs::write(&sample.path, &bytes).expect("written");
        let changed = bytes[..sample.end as usize] != whole[..sample.end as usize];
        let end = sample.read().expect("reads");
        let entries = if changed { 4 } else { 5 };
        assert_eq!(end.place.number, entries, "zeros from {cut}");
    }
}

#[test]
fn changed_bytes_before_the_last_entry_are_refused_with_file_and_position() {
    let sample = sample(true);
    let whole = fs::read(&sample.path).expect("read");
    for (index, begin) in sample.begins[..4].iter().enumerate() {
        let next = sample.begins[index + 1];
        for position in *begin..next {
            flip(&sample.path, position as usize);
            let Err(error) = sample.read() else {
                panic!("byte {position} was not missed")
            };
            let text = error.to_string();
            assert!(matches!(error, OpenError::Damaged { .. }), "{text}");
            assert!(text.contains(&format!("position {begin} ")), "{text}");
            assert!(text.contains(&sample.path.display().to_string()), "{text}");
            fs::write(&sample.path, &whole).expect("written");
        }
    }
    for position in 0..HEADER {
        flip(&sample.path, position as usize);
        assert!(sample.read().is_err(), "byte {position} of the header");
        fs::write(&sample.path, &whole).expect("written");
    }
    for position in sample.begins[4]..sample.end {
        flip(&sample.path, position as usize);
        assert_eq!(
            sample.read().expect("reads").place.number,
            4,
            "byte {position}"
        );
        fs::write(&sample.path, &whole).expect("written");
    }
}

#[test]
fn without_syncs_the_order_of_the_disk_is_not_known_so_the_rest_is_cut_with_a_warning() {
    let sample = sample(false);
    flip(&sample.path, sample.begins[1] as usize + ENTRY);
    let end = sample.read().expect("reads");
    assert_eq!(
        (end.place.number, end.place.position),
        (1, sample.begins[1])
    );
    let warning = end.warning.expect("a warning");
    assert!(
        warning.contains(&sample.path.display().to_string()),
        "{warning}"
    );
    assert!(
        warning.contains(&format!("position {} ", sample.begins[1])),
        "{warning}"
    );
    let store = open(sample.dir.path(), false, only_journal()).expect("opens");
    assert_eq!(store.warnings.try_recv(), Ok(warning));
    assert_eq!(store.contents().len(), 1);
}

#[test]
fn a_batch_that_has_changed_is_not_served() {
    let dir = directory();
    let mut store = open(dir.path(), true, small()).expect("opens");
    for base in 0..5 {
        store.commit(put(1, base, 300));
    }
    let position = store.disk.opened().expect("open").journal.place.position;
    drop(store);
    let path = files(dir.path()).remove(0);
    flip(&path, position as usize - 10);
    let store = open(dir.path(), true, small()).expect("opens");
    let view = store.disk.view().expect("a view");
    assert_eq!(view.read(log(1), 0, 1).map(|read| read.len()), Ok(1));
    assert_eq!(
        view.read(log(1), 4, 1),
        Err(ackord_machine::StorageFault::Corrupt)
    );
    let warning = store.warnings.recv().expect("a warning");
    assert!(warning.contains(&path.display().to_string()), "{warning}");
    assert!(warning.contains("offsets 4 to 4 at position"), "{warning}");
}

#[test]
fn a_file_that_is_too_short_is_refused() {
    let dir = directory();
    let mut store = open(dir.path(), true, small()).expect("opens");
    store.commit(put(1, 0, 300));
    drop(store);
    let path = files(dir.path()).remove(0);
    let length = fs::metadata(&path).expect("there").len();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("opens");
    file.set_len(length - 1).expect("cut");
    let Err(error) = open(dir.path(), true, small()).map(|_| ()) else {
        panic!("the end was not missed")
    };
    let text = format!("ends before position {length}");
    assert!(error.to_string().contains(&text), "{error}");
}

#[test]
fn a_missing_file_is_refused() {
    let dir = directory();
    let mut store = open(dir.path(), true, small()).expect("opens");
    for base in 0..40 {
        store.commit(put(1, base, 300));
    }
    store.settle();
    drop(store);
    let all = files(dir.path());
    assert!(all.len() > 3);
    for gone in &all[..all.len() - 1] {
        let image = image(dir.path());
        let gone = image
            .path()
            .join("journal")
            .join(gone.file_name().expect("a name"));
        fs::remove_file(&gone).expect("removed");
        let Err(error) = open(image.path(), true, small()).map(|_| ()) else {
            panic!("{} was not missed", gone.display())
        };
        assert!(error.to_string().contains("missing"), "{error}");
    }
    fs::remove_dir_all(dir.path().join("journal")).expect("removed");
    assert!(open(dir.path(), true, small()).is_err());
}

#[test]
fn a_directory_of_the_first_format_is_refused() {
    let dir = directory();
    {
        let database = fjall::Database::builder(dir.path().join("store"))
            .open()
            .expect("opens");
        let options = fjall::KeyspaceCreateOptions::default;
        let meta = database.keyspace("meta", options).expect("opens");
        meta.insert("f", "ackord-log 1").expect("inserted");
        database
            .persist(fjall::PersistMode::SyncAll)
            .expect("synced");
    }
    let Err(error) = open(dir.path(), true, small()).map(|_| ()) else {
        panic!("opened another format")
    };
    assert!(matches!(error, OpenError::Format { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("ackord-log 1") && text.contains("use the version that wrote it"),
        "{text}"
    );
    assert!(!dir.path().join("journal").exists());
}
