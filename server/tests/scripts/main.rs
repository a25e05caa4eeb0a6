//! Every script of the conformance suite on a real server over loopback: its threads, its store on
//! disk, its sockets. Only the clock is turned by hand.

mod server_arm;

use std::io;
use std::net::TcpListener;
use std::path::Path;

use ackord_conformance::arm::Arm;
use ackord_conformance::run::{load, run, script_files};
use ackord_conformance::script::Script;
use ackord_server::Host;
use server_arm::ServerArm;

/// How an adapter accepts and serves connections.
type Serve = fn(TcpListener, Host) -> io::Result<()>;

/// Runs all scripts; says how many ran, and which did not and why.
fn all_scripts_on(adapter: &str, serve: Serve) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/scripts");
    let (mut ran, mut skipped, mut failures) = (0, 0, Vec::new());
    for path in script_files(&folder) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let script = match load(&path) {
            Ok(script) => script,
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        let needs = script.needs();
        let mut arm = ServerArm::new(serve);
        if let Some(reason) = arm.refuses(needs) {
            println!("skipped {name}: {reason}");
            skipped += 1;
            if !needs.storage {
                failures.push(format!("{name}: skipped without need, {reason}"));
            }
            continue;
        }
        ran += 1;
        let run = run(&script, &mut arm);
        if let Some(failure) = run.failure {
            println!("{name}\n{}", run.transcript);
            failures.push(format!("{name}: {failure}"));
        } else if run.transcript.contains("not visible here") {
            failures.push(format!("{name}: something was not looked at"));
        }
    }
    println!("{adapter}: {ran} scripts ran, {skipped} skipped");
    assert!(ran > 50, "only {ran} scripts in {}", folder.display());
    assert!(failures.is_empty(), "{adapter}:\n{}", failures.join("\n"));
}

#[test]
fn scripts_hold_on_tokio_over_loopback() {
    all_scripts_on("tokio", ackord_io_tokio::server::serve);
}

/// What goes wrong at the last of the steps, in a world with records and a member.
fn failure(steps: &str) -> String {
    let world = "# Planted\ntopic orders\ngroup g share.auto.offset.reset=earliest\n\
                 c1 produce orders-0 a b\nm1 join g orders\nm1 fetch orders-0 -> 0-1\n\
                 p1 init txn-a timeout=60000 ; p1 begin\n";
    let script = Script::parse(&format!("{world}{steps}")).expect("a script");
    let mut arm = ServerArm::new(ackord_io_tokio::server::serve);
    let failure = run(&script, &mut arm).failure.unwrap_or_default();
    let last = steps.lines().last().unwrap_or_default();
    assert!(failure.contains(last), "{failure}");
    failure
}

#[test]
fn what_does_not_hold_is_found() {
    for (steps, found) in [
        ("expect visible orders-0 a", "orders-0 has a b"),
        (
            "expect states g orders-0 0 AVAILABLE",
            "offset 0 is ACQUIRED",
        ),
        ("expect states g orders-0 0 ACQUIRED count=2", "count=1"),
        (
            "p1 add-acks g orders-0\nexpect nothing-open",
            "txn-a is Ongoing",
        ),
        (
            "p1 add-acks g orders-0\nexpect transaction txn-a Empty",
            "Ongoing",
        ),
        ("c1 produce orders-0 c -> waiting", "is there already"),
        (
            "m1 fetch orders-0 wait=1000 -> waiting\nt+999ms\nm1 answer",
            "no answer came",
        ),
        (
            "m1 fetch orders-0 wait=1000 -> waiting\nt+1s\nm1 answer -> waiting",
            "already",
        ),
        (
            "crash\nrestart\nexpect states g orders-0 0 ACQUIRED",
            "AVAILABLE",
        ),
    ] {
        let failure = failure(steps);
        assert!(failure.contains(found), "{steps}: {failure}");
    }
}
