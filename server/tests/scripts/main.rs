//! Every script of the conformance suite on a real server over loopback: its threads, its store on
//! disk, its sockets. Only the clock is turned by hand.

mod client_arm;
mod server_arm;

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use ackord_conformance::arm::Arm;
use ackord_conformance::client_speech::client_speech;
use ackord_conformance::run::{load, run, script_files};
use ackord_conformance::script::Script;
use ackord_conformance::tcp_arm::TcpArm;
use ackord_io_async_std::client::AsyncStd;
use ackord_io_tokio::client::Tokio;
use ackord_machine::Limits;
use ackord_server::{Address, Durability, Host, Level, Logger, Startup};
use client_arm::{ClientArm, Entered, Taking};
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
            if !needs.storage && !needs.principals {
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
    assert!(ran >= 145, "only {ran} scripts in {}", folder.display());
    assert!(failures.is_empty(), "{adapter}:\n{}", failures.join("\n"));
}

#[test]
fn scripts_hold_on_tokio_over_loopback() {
    all_scripts_on("tokio", ackord_io_tokio::server::serve);
}

#[test]
fn scripts_hold_on_async_std_over_loopback() {
    all_scripts_on("async-std", ackord_io_async_std::server::serve);
}

impl Entered for Tokio {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        Tokio::block_on(future).expect("a runtime")
    }
}

impl Entered for AsyncStd {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        AsyncStd::block_on(future)
    }
}

/// Runs what the client can say; says what it cannot, and why.
fn scripts_by_the_client<R: Entered>(serve: Serve, taking: Taking) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/scripts");
    let (mut ran, mut left_out, mut failures) = (0, 0, Vec::new());
    for path in script_files(&folder) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let script = load(&path).expect("scripts can be read");
        let speech = match client_speech(&script) {
            Ok(speech) => speech,
            Err(reason) => {
                println!("left out {name}: {reason}");
                left_out += 1;
                continue;
            }
        };
        ran += 1;
        let run = run(&script, &mut ClientArm::<R>::new(serve, taking, speech));
        if let Some(failure) = run.failure {
            println!("{name}\n{}", run.transcript);
            failures.push(format!("{name}: {failure}"));
        }
    }
    println!("{ran} scripts said by the client, {left_out} left out");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(ran >= 27, "only {ran} scripts are said by the client");
}

#[test]
fn scripts_hold_by_the_client_on_tokio() {
    scripts_by_the_client::<Tokio>(ackord_io_tokio::server::serve, Taking::Polls);
    scripts_by_the_client::<Tokio>(ackord_io_tokio::server::serve, Taking::Stream);
}

#[test]
fn scripts_hold_by_the_client_on_async_std() {
    scripts_by_the_client::<AsyncStd>(ackord_io_async_std::server::serve, Taking::Polls);
    scripts_by_the_client::<AsyncStd>(ackord_io_async_std::server::serve, Taking::Stream);
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

/// A server as anybody would run it, except that nothing is kept.
fn plain_server(serve: Serve) -> (Host, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let bound = listener.local_addr().expect("bound");
    let (limits, logger) = (Limits::default(), Logger::new(Level::Error));
    let startup = |now| Startup {
        advertised: Address {
            host: bound.ip().to_string(),
            port: bound.port(),
        },
        configs: Vec::new(),
        limits: limits.clone(),
        logger,
        now,
        seed: [1; 32],
    };
    let host = Host::start(
        "unused".as_ref(),
        Durability::Memory,
        &limits,
        logger,
        |now| ackord_server::broker(startup(now)),
    )
    .expect("the host starts");
    assert!(host.wait_ready());
    let served = host.clone();
    thread::spawn(move || serve(listener, served));
    (host, bound.to_string())
}

#[test]
fn what_cannot_be_seen_over_the_wire_is_noted() {
    let text = "# Notes\ntopic orders\ngroup g share.auto.offset.reset=earliest\n\
                c1 produce orders-0 a b\nm1 join g orders\nm1 fetch orders-0 -> 0-1 count=1\n\
                m1 ack orders-0 0 accept\nexpect states g orders-0 1 ACQUIRED count=7\n\
                m1 fetch orders-0 wait=100 -> waiting\nm1 answer -> nothing\n\
                expect nothing-open\nexpect transaction txn-a Ongoing\n";
    let script = Script::parse(text).expect("a script");
    let (host, address) = plain_server(ackord_io_tokio::server::serve);
    let run = run(&script, &mut TcpArm::new(&address));
    assert_eq!(run.failure, None, "{}", run.transcript);
    for note in [
        "that 1-1 have count=7",
        "that 1-1 are ACQUIRED",
        "that no answer comes yet",
        "what is open",
        "the state of txn-a",
    ] {
        let note = format!("not visible here: {note}");
        assert!(run.transcript.contains(&note), "{note}\n{}", run.transcript);
    }
    host.drain();
    assert_eq!(host.wait_finished(None), Some(Ok(())));
}
