//! The whole process: ready line, signals, exit codes.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::echo::{Echo, Seen};

const ARGS: &str = "ACKORD_TEST_SERVER_ARGS";

/// Not a test by itself: the process that the tests below start.
#[test]
fn server() {
    let Some(args) = std::env::var_os(ARGS) else {
        return;
    };
    let args = args.into_string().expect("text");
    let args = args.lines().map(OsString::from);
    let make = |_| Ok(Echo::new(Seen::default()));
    let code = ackord_server::run(args, make, ackord_io_tokio::server::serve);
    std::process::exit(if code == ExitCode::SUCCESS { 0 } else { 1 });
}

fn spawn(args: &[&str]) -> Child {
    let args = [&["ackord"], args].concat().join("\n");
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "process::server", "--nocapture"])
        .env(ARGS, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts")
}

fn serve_in(dir: &Path) -> Child {
    let dir = dir.to_str().expect("text");
    spawn(&["--listen", "127.0.0.1:0", "--data-dir", dir])
}

/// The address of the ready line.
fn address(output: &mut BufReader<ChildStdout>) -> String {
    for line in output.lines() {
        if let Some(address) = line.expect("text").strip_prefix("ackord ready on ") {
            return address.to_owned();
        }
    }
    panic!("no ready line")
}

/// Exit code and standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    child
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut text)
        .expect("text");
    (child.wait().expect("gone").code(), text)
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(status.expect("kill").success());
}

fn ask(stream: &mut TcpStream, frame: &[u8]) -> Vec<u8> {
    let size = (frame.len() as i32).to_be_bytes();
    stream
        .write_all(&[&size[..], frame].concat())
        .expect("sent");
    let mut reply = vec![0; 4 + frame.len()];
    stream.read_exact(&mut reply).expect("a reply");
    reply.split_off(4)
}

#[test]
fn a_signal_stops_it_cleanly_within_two_seconds() {
    for name in ["TERM", "INT"] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = serve_in(dir.path());
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut stream = TcpStream::connect(address(&mut output)).expect("connected");
        assert_eq!(ask(&mut stream, b"kept"), b"kept");
        let asked = Instant::now();
        signal(&child, name);
        let (code, text) = end(child);
        assert_eq!(code, Some(0), "{text}");
        assert!(asked.elapsed() < Duration::from_secs(2), "{text}");
        assert!(text.contains("stopped"), "{text}");
        assert_eq!(stream.read(&mut [0; 1]).expect("closed"), 0);
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, "", "one line on standard output");

        // Nothing is left locked.
        let mut child = serve_in(dir.path());
        address(&mut BufReader::new(child.stdout.take().expect("piped")));
        child.kill().expect("killed");
        child.wait().expect("gone");
    }
}

#[test]
fn a_port_that_is_taken_is_an_error_with_advice() {
    let dir = tempfile::tempdir().expect("a directory");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let dir = dir.path().join("data");
    let child = spawn(&[
        "serve",
        "--listen",
        &address,
        "--data-dir",
        dir.to_str().expect("text"),
    ]);
    let (code, text) = end(child);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains(&format!("cannot listen on {address}")),
        "{text}"
    );
    assert!(text.contains("--listen"), "{text}");
    assert!(!dir.exists(), "nothing was created");
}

#[test]
fn a_directory_in_use_is_an_error_with_advice() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut first = serve_in(dir.path());
    address(&mut BufReader::new(first.stdout.take().expect("piped")));
    let (code, text) = end(serve_in(dir.path()));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("in use by another process"), "{text}");
    first.kill().expect("killed");
    first.wait().expect("gone");
}

#[test]
fn bad_flags_end_with_two_and_bad_settings_with_one() {
    let (code, text) = end(spawn(&["--listen", "nowhere"]));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("HOST:PORT"), "{text}");
    let (code, text) = end(spawn(&["--config", "/nonexistent/server.properties"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be read"), "{text}");
    let (code, text) = end(spawn(&["--set", "max.connections=some"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("max.connections"), "{text}");
}

#[test]
fn the_program_says_one_line_and_stops() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ackord"))
        .args(["--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("text");
    let address = line
        .strip_prefix("ackord ready on ")
        .expect("the ready line")
        .trim_end();
    TcpStream::connect(address).expect("connected");
    signal(&child, "TERM");
    let (code, text) = end(child);
    assert_eq!(code, Some(0), "{text}");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
}

#[test]
fn metrics_are_served_where_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().to_str().expect("text");
    let flags = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut child = spawn(&[&flags[..], &["--data-dir", dir]].concat());
    address(&mut BufReader::new(child.stdout.take().expect("piped")));
    let mut log = BufReader::new(child.stderr.as_mut().expect("piped")).lines();
    let url = log.find_map(|line| {
        let line = line.expect("text");
        let (_, url) = line.split_once("metrics are on http://")?;
        Some(url.to_owned())
    });
    let url = url.expect("the log names the page");
    let (host, path) = url.split_once('/').expect("a path");
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(host).expect("connected");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("text");
        reply
    };
    let page = ask(&format!("GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("\r\n\r\n# HELP echo_served "), "{page}");
    assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask("PUT /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(ask("\0\r\n\r\n").starts_with("HTTP/1.1 400 "));
    child.kill().expect("killed");
    child.wait().expect("gone");
}
