//! Every script with faults at its storage operations: whatever the steps come to, output and
//! acknowledgements of a transaction share their fate, and every request ends.

use std::path::Path;
use std::thread::available_parallelism;

use ackord_conformance::faults::sweep::{Extent, sweep};
use ackord_conformance::faults::without_fault;
use ackord_conformance::run::script_files;
use ackord_conformance::script::Script;

/// `ackord-conformance faults` tries all.
const SPREAD: Extent = Extent::OneIn(20);

#[test]
fn faults_spread_over_all_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let threads = available_parallelism().map_or(1, usize::from);
    let sum = sweep(&script_files(&folder), SPREAD, threads);
    println!("{sum:?}");
    assert!(
        sum.problems.is_empty(),
        "{}:\n{}",
        sum.problems.len(),
        sum.problems.join("\n")
    );
    // Else nothing would be compared.
    assert!(sum.single > 500 && sum.double > 100, "{sum:?}");
    assert!(sum.visible > 200 && sum.acknowledged > 500, "{sum:?}");
    assert!(
        sum.dead_letters > 100 && sum.limited > 10 && sum.removed > 10,
        "{sum:?}"
    );
}

#[test]
fn without_faults_every_script_is_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut problems = Vec::new();
    for path in script_files(&folder) {
        let script = ackord_conformance::run::load(&path).unwrap();
        let own = without_fault(&script).problems;
        problems.extend(
            own.into_iter()
                .map(|what| format!("{}: {what}", path.display())),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_topic_that_is_deleted_while_its_log_is_read_back_stays_so() {
    let script = "conformance/scripts/deleted-topic-leaves-the-group.txt";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sum = sweep(&[root.join(script)], Extent::Whole, 1);
    assert!(sum.problems.is_empty(), "{}", sum.problems.join("\n"));
    assert!(sum.double > 100, "{sum:?}");
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
