//! Every script on the cores: it holds, twice the same, and its transcript is the one of the
//! snapshot that bears its name.

use std::path::Path;

use ackord_conformance::run::{load, run_on_cores, script_files};

#[test]
fn scripts_hold_and_their_transcripts_are_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let paths = script_files(&folder);
    assert!(
        paths.len() >= 178,
        "only {} scripts in {}",
        paths.len(),
        folder.display()
    );
    let mut failures = Vec::new();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in paths {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let run = match load(&path) {
            Ok(script) => run_on_cores(&script),
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        if let Some(failure) = run.failure {
            failures.push(format!("{name}: {failure}"));
            continue;
        }
        // One changed transcript must not hide the others.
        let compare = || settings.bind(|| insta::assert_snapshot!(name.clone(), run.transcript));
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(compare)).is_err() {
            failures.push(format!("{name}: the transcript differs from its snapshot"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_script_that_does_not_hold_fails() {
    let text = "# A promise that nobody keeps\ntopic orders\nc1 produce orders-0 a\n\
                expect visible orders-0 b\n";
    let script = ackord_conformance::script::Script::parse(text).unwrap();
    let failure = run_on_cores(&script).failure.unwrap();
    assert!(failure.contains("orders-0 has a"), "{failure}");
}
