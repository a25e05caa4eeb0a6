//! `ackord-async-std` as a process: the ready line, clean stops, starts that fail.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ackord-async-std"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Exit code and standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    let stderr = child.stderr.as_mut().expect("piped");
    stderr.read_to_string(&mut text).expect("text");
    (child.wait().expect("gone").code(), text)
}

#[test]
fn signals_stop_it_cleanly() {
    for signal in ["TERM", "INT"] {
        let mut child = start(&["--listen", "127.0.0.1:0", "--durability", "memory"]);
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert!(line.starts_with("ackord ready on 127.0.0.1:"), "{line}");
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill").success());
        let (code, text) = end(child);
        assert_eq!(code, Some(0), "{text}");
    }
}

#[test]
fn a_taken_port_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let (code, text) = end(start(&["--listen", &address, "--durability", "memory"]));
    assert_eq!(code, Some(1));
    assert!(text.contains("cannot listen on"), "{text}");
}

#[test]
fn bad_flags_exit_with_2() {
    assert_eq!(end(start(&["--no-such-flag"])).0, Some(2));
}

#[test]
fn it_decodes_frames_too() {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_ackord-async-std"))
        .arg("decode")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let heartbeat = b"000c00040000000700016300026700000001026d0000";
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(heartbeat).expect("read");
    drop(stdin);
    let output = child.wait_with_output().expect("gone");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("Request Heartbeat v4 {\n  group_id: \"g\"\n"),
        "{text}"
    );
}
