//! Every script with a fault at each of its storage operations: whatever the steps come to, output and
//! acknowledgements of a transaction share their fate.

use std::path::Path;

use ackord_conformance::faults::{Fault, with_fault, without_fault};
use ackord_conformance::run::{load, script_files};
use ackord_conformance::script::{AppendFault, Script};
use ackord_machine::StorageFault;

/// Far more operations than any script has.
const MOST_OPERATIONS: usize = 1000;

fn at_each(fault: Fault) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let (mut problems, mut runs, mut visible, mut acknowledged) = (Vec::new(), 0, 0, 0);
    let mut dead_letters = 0;
    for path in script_files(&folder) {
        let script = load(&path).unwrap();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for n in 0..MOST_OPERATIONS {
            let run = with_fault(&script, n, fault);
            if !run.reached {
                break;
            }
            runs += 1;
            visible += run.visible;
            acknowledged += run.acknowledged;
            dead_letters += run.dead_letters;
            problems.extend(
                run.problems
                    .iter()
                    .map(|what| format!("{name}, operation {n}: {what}")),
            );
        }
    }
    assert!(runs > 500, "only {runs} runs");
    // Else nothing would be compared.
    assert!(
        visible > 200 && acknowledged > 500,
        "{visible} visible, {acknowledged} records"
    );
    assert!(dead_letters > 100, "{dead_letters} dead letters");
    assert!(
        problems.is_empty(),
        "{runs} runs, {}:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

fn fails(fault: StorageFault, landed: bool) -> Fault {
    Fault::Fail(AppendFault { fault, landed })
}

#[test]
fn a_crash_after_each_append() {
    at_each(Fault::CrashAfter { kept: 0 });
}

#[test]
fn a_crash_after_each_append_and_the_operation_behind_it() {
    at_each(Fault::CrashAfter { kept: 1 });
}

#[test]
fn no_room_for_each_append() {
    at_each(fails(StorageFault::Full, false));
}

#[test]
fn each_append_fails_and_may_be_tried_again() {
    at_each(fails(StorageFault::Retriable, false));
}

#[test]
fn each_append_lands_and_nobody_knows() {
    at_each(fails(StorageFault::Indeterminate, true));
}

#[test]
fn each_append_is_lost_and_nobody_knows() {
    at_each(fails(StorageFault::Indeterminate, false));
}

#[test]
fn each_read_checkpoint_trim_and_drop_fails() {
    at_each(Fault::FailOther(StorageFault::Retriable));
}

/// A world with two producers and one acquired record.
const WORLD: &str = "# Planted\ntopic orders\ntopic enriched\n\
    group g share.auto.offset.reset=earliest\nc1 produce orders-0 a\nm1 join g orders\n\
    m1 fetch orders-0 -> 0\np1 init txn-a\np2 init txn-b\n";

fn planted(steps: &str) -> Vec<String> {
    let script = Script::parse(&format!("{WORLD}{steps}")).unwrap();
    without_fault(&script).problems
}

#[test]
fn output_without_its_acknowledgement_is_found() {
    // The client writes in one transaction and stages in another one, which is aborted.
    let problems = planted(
        "p1 begin ; p1 send enriched-0 A\np2 add-acks g orders-0\n\
         p1 stage g m1 orders-0 0 accept txn=txn-b pid=1 epoch=0\np2 abort\np1 commit\n",
    );
    assert_eq!(
        problems,
        ["visible and not acknowledged: offset 0 of orders-0 in group g"]
    );
}

#[test]
fn an_acknowledgement_without_its_output_is_found() {
    let problems = planted(
        "p1 begin ; p1 send enriched-0 A\np2 add-acks g orders-0\n\
         p1 stage g m1 orders-0 0 accept txn=txn-b pid=1 epoch=0\np2 commit\np1 abort\n",
    );
    assert_eq!(
        problems,
        ["acknowledged and not visible: offset 0 of orders-0 in group g"]
    );
}

#[test]
fn a_whole_transaction_is_in_order() {
    let problems = planted(
        "p1 begin ; p1 send enriched-0 A ; p1 add-acks g orders-0\n\
         p1 stage g m1 orders-0 0 accept\np1 commit\n",
    );
    assert!(problems.is_empty(), "{problems:?}");
}
