//! A process that is killed keeps what it was told is kept.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Asked, log, part};
use ackord_log_store::Durability;
use ackord_machine::{LoadDetail, OpKind};

const DIRECTORY: &str = "ACKORD_TEST_CRASH_DIRECTORY";

/// Not a test by itself: the process that will be killed. Appends in groups of growing size to two
/// logs and prints the end of what was acknowledged.
#[test]
fn victim() {
    let Ok(dir) = std::env::var(DIRECTORY) else {
        return;
    };
    let mut store = Asked::open(Path::new(&dir), Durability::Sync).expect("the store opens");
    let mut end = store.load(log(1, 0), LoadDetail::Headers).end;
    loop {
        let group = end % 7 + 1;
        let append = |base: i64| OpKind::Append {
            parts: vec![
                part(log(1, 0), base, base, 0, 61 + (base as usize * 37) % 3000),
                part(log(2, 0), base, base, 0, 61),
            ],
        };
        for outcome in store.ask_all((end..end + group).map(append)) {
            outcome.expect("appended");
        }
        end += group;
        println!("acknowledged {end}");
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let mut acknowledged = 0;
    for lines in [1, 20, 50] {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "crash::victim", "--nocapture"])
            .env(DIRECTORY, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the victim starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let said = output.lines().map_while(Result::ok);
        let ends = said.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<i64>().ok());
        for end in ends.take(lines) {
            acknowledged = end;
        }
        child.kill().expect("killed");
        child.wait().expect("gone");

        let mut store = Asked::open(dir.path(), Durability::Sync).expect("the store opens");
        let first = store.load(log(1, 0), LoadDetail::Full);
        let second = store.load(log(2, 0), LoadDetail::Full);
        assert!(
            first.end >= acknowledged,
            "{} of {acknowledged} are left",
            first.end
        );
        assert_eq!(first.end, second.end, "one append, two logs");
        for (base, batch) in (0..).zip(&first.batches) {
            let expected = part(log(1, 0), base, base, 0, 61 + (base as usize * 37) % 3000);
            assert_eq!(*batch, crate::common::stored(&expected));
        }
        assert_eq!(first.batches.len() as i64, first.end);
    }
    assert!(acknowledged >= 71);
}
