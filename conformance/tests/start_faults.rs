//! Starts on logs that are empty, hold markers alone, or what any script leaves, with each read
//! failing in its turn.

use std::path::Path;

use ackord_conformance::run::{load, script_files};
use ackord_conformance::script::Script;
use ackord_conformance::start_faults::each_load_fails;

#[test]
fn a_start_on_empty_logs_ends_well_or_badly() {
    let script = Script::parse("# Nothing\ntopic orders\n").unwrap();
    assert_eq!(each_load_fails(&script), Ok(1));
}

#[test]
fn a_start_on_any_logs_ends_well_or_badly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut reads = 0;
    for path in script_files(&folder) {
        let script = load(&path).unwrap();
        match each_load_fails(&script) {
            Ok(own) => reads += own,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    assert!(reads > 1000, "{reads}");
}
