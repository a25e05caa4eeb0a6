//! `docs/guarantees.md` names tests: each of them has to be there, and so has a row for whatever was
//! promised.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The corner cases of the KIP by number, and the rows of its matrix, as their scripts are titled.
const CASES: [&str; 7] = [
    "Case 1: Crash BEFORE `beginTransaction()`",
    "Case 2: Crash AFTER `send()` but BEFORE `commitTransaction()`",
    "Case 3: Crash AFTER `sendShareAcksToTransaction()` but BEFORE `commitTransaction()`",
    "Case 4: Crash AFTER `EndTxn(COMMIT)` sent but BEFORE `WriteTxnMarkers` completes",
    "Case 5: `ProducerFencedException` (zombie detection)",
    "Case 6: `abortTransaction()` called explicitly",
    "Case 7: Partial produce failure (network error to one partition)",
];
const MATRIX: [&str; 7] = [
    "Happy path (commit)",
    "Crash before txn",
    "Crash mid-txn",
    "Crash after PREPARE_COMMIT",
    "Zombie fenced",
    "Explicit abort",
    "TC crash after PREPARE",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn guarantees() -> String {
    std::fs::read_to_string(root().join("docs/guarantees.md")).expect("the guarantees")
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A path, or the name of a script.
fn is_place(name: &str) -> bool {
    name.len() > 4 && (name.ends_with(".txt") || name.contains('/'))
}

fn place(name: &str) -> PathBuf {
    match name.contains('/') {
        true => root().join(name),
        false => root().join("conformance/scripts").join(name),
    }
}

/// The rows of all tables below a heading (all for an empty one), as cells.
fn rows<'t>(text: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let mut inside = heading.is_empty();
    let mut rows = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') && !heading.is_empty() {
            inside = line.trim_start_matches('#').trim() == heading;
        }
        let row = line.strip_prefix('|').and_then(|row| row.strip_suffix('|'));
        if let Some(row) = row.filter(|_| inside) {
            rows.push(row.split('|').map(str::trim).collect::<Vec<_>>());
        }
    }
    rows
}

/// The places and single tests of the last cell of a row: `path` (`test`, `test`).
fn shown_by(row: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for name in quoted(row.last().copied().unwrap_or_default()) {
        let is_test = name
            .chars()
            .all(|own| own == '_' || own.is_ascii_alphanumeric());
        match found.last_mut() {
            _ if is_place(name) => found.push((name.to_string(), Vec::new())),
            Some((_, tests)) if is_test => tests.push(name.to_string()),
            _ => {}
        }
    }
    found
}

/// Why a place shows nothing.
fn fault(name: &str, tests: &[String]) -> Option<String> {
    let path = place(name);
    if path.is_dir() {
        return None;
    }
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Some(format!("{name} is not there"));
    };
    if name.ends_with(".txt") && script_title(name).is_none() {
        return Some(format!("{name} has no title"));
    }
    // Sources with their tests; what runs as a whole is a test itself.
    let of_tests = !name.starts_with("conformance/") && !name.contains("examples/");
    let has_some = text.contains("#[test]") || text.contains("async fn");
    if name.ends_with(".rs") && of_tests && !has_some {
        return Some(format!("{name} has no test"));
    }
    let missing = tests.iter().find(|own| {
        let (plain, generic) = (format!("fn {own}("), format!("fn {own}<"));
        !text.contains(&plain) && !text.contains(&generic)
    });
    missing.map(|own| format!("{name} has no test {own}"))
}

/// The first comment of a script.
fn script_title(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(place(name)).ok()?;
    let title = text.lines().next()?.strip_prefix("# ")?.trim();
    (!title.is_empty()).then(|| title.to_string())
}

/// How many rows each label has in the tables below a heading.
fn labels(heading: &str) -> BTreeMap<String, usize> {
    let mut labels = BTreeMap::new();
    for row in rows(&guarantees(), heading) {
        for label in row.first().copied().unwrap_or_default().split(", ") {
            *labels.entry(label.to_string()).or_default() += 1;
        }
    }
    labels
}

fn assert_each_once(heading: &str, prefix: &str, numbers: RangeInclusive<u32>) {
    let labels = labels(heading);
    for number in numbers {
        let label = format!("{prefix}{number}");
        assert_eq!(labels.get(&label), Some(&1), "rows of {label}");
    }
}

#[test]
fn every_test_that_the_guarantees_name_is_there() {
    let text = guarantees();
    assert!(
        quoted(&text).filter(|name| is_place(name)).count() > 150,
        "the tables could not be read"
    );
    // In sentences too.
    let places = quoted(&text).filter(|name| is_place(name));
    let mut faults: Vec<String> = places
        .filter(|name| !place(name).exists())
        .map(|name| format!("{name} is not there"))
        .collect();
    // What cannot happen at all needs no test.
    let tested = |row: &Vec<&str>| {
        !row.last()
            .is_some_and(|cell| cell.starts_with("by construction"))
    };
    for row in rows(&text, "").into_iter().filter(tested) {
        let shown = shown_by(&row);
        faults.extend(shown.iter().filter_map(|(name, tests)| fault(name, tests)));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_promise_has_one_row() {
    assert_each_once("What the draft leaves open", "O", 1..=22);
    assert_each_once("Sequences that broke earlier rules", "H", 1..=24);
    assert_each_once("Scenarios", "", 1..=44);
    let text = guarantees();
    let cases = rows(&text, "Corner cases and matrix");
    let row_of = |begins: &dyn Fn(&str) -> bool| {
        let mut found = cases.iter().filter(|row| begins(row[0]));
        let row = found.next().expect("a row");
        assert_eq!(found.next(), None, "a second row like {row:?}");
        shown_by(row)
    };
    let title_of =
        |shown: Vec<(String, Vec<String>)>| shown.first().and_then(|(name, _)| script_title(name));
    for (number, title) in (1..).zip(CASES) {
        let shown = row_of(&|cell| cell.starts_with(&format!("{number} ")));
        assert_eq!(title_of(shown).as_deref(), Some(title));
    }
    for title in MATRIX {
        let shown = row_of(&|cell| cell == title);
        assert_eq!(title_of(shown).as_deref(), Some(title));
    }
}

#[test]
fn rows_with_a_missing_test_are_seen() {
    let text = "## A\n| O1 | late `x` | `no-such-script.txt`, `conformance/src/sim` |\n## B\n";
    let [row] = &rows(text, "A")[..] else {
        panic!("one row");
    };
    assert_eq!(row[0], "O1");
    assert_eq!(rows(text, "B"), [[""; 0]; 0]);
    let shown = shown_by(row);
    let faults: Vec<_> = shown
        .iter()
        .filter_map(|(name, tests)| fault(name, tests))
        .collect();
    assert_eq!(faults, ["no-such-script.txt is not there"]);
    let row = [
        "",
        "`conformance/tests/guarantees.rs` (`rows_with_a_missing_test_are_seen`, `nothing`)",
    ];
    let (name, tests) = &shown_by(&row)[0];
    let fault = fault(name, tests);
    let expected = "conformance/tests/guarantees.rs has no test nothing";
    assert_eq!(fault.as_deref(), Some(expected));
}
