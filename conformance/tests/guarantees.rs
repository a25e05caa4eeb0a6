//! `docs/guarantees.md` names tests: each of them has to be there.

use std::path::Path;

/// What stands between backticks and is a path or the name of a script.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|name| name.len() > 4 && (name.ends_with(".txt") || name.contains('/')))
}

#[test]
fn every_test_that_the_guarantees_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join("docs/guarantees.md")).expect("the guarantees");
    let missing: Vec<&str> = named(&text)
        .filter(|name| {
            let place = if name.contains('/') {
                "."
            } else {
                "conformance/scripts"
            };
            !root.join(place).join(name).exists()
        })
        .collect();
    assert!(named(&text).count() > 150, "the table could not be read");
    assert!(missing.is_empty(), "not there: {missing:?}");
}

#[test]
fn rows_with_a_missing_test_are_seen() {
    let row = "| O1 | late `x` | `no-such-script.txt`, `conformance/src/sim` |";
    assert_eq!(
        named(row).collect::<Vec<_>>(),
        ["no-such-script.txt", "conformance/src/sim"]
    );
}
