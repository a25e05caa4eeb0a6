//! Connections of one process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ackord_machine::Limits;
use ackord_server::{Durability, Host, Level, Logger};

use crate::echo::{CLOSE, Echo, LARGE, LATER, PANIC, Seen};

const LIMIT: usize = 100_000;

struct Running {
    host: Host,
    address: SocketAddr,
    seen: Seen,
    server: JoinHandle<std::io::Result<()>>,
}

impl Running {
    fn start(connections: usize) -> Self {
        let limits = Limits {
            frame_bytes: LIMIT,
            connections,
            ..Limits::default()
        };
        let seen = Seen::default();
        let make = |_| Ok(Echo::new(seen.clone()));
        let logger = Logger::new(Level::Error);
        let host = Host::start("unused".as_ref(), Durability::Memory, &limits, logger, make)
            .expect("the host starts");
        assert!(host.wait_ready());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let served = host.clone();
        let server = thread::spawn(move || ackord_io_tokio::server::serve(listener, served));
        Running {
            host,
            address,
            seen,
            server,
        }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).expect("connected");
        // Only so that a broken server fails the test instead of hanging it.
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        Client(stream)
    }

    fn stop(self) -> Result<(), String> {
        self.host.drain();
        self.server.join().expect("no panic").expect("served");
        self.host.wait_finished(None).expect("finished")
    }
}

struct Client(TcpStream);

impl Client {
    fn send(&mut self, frame: &[u8]) {
        let size = (frame.len() as i32).to_be_bytes();
        self.0
            .write_all(&[&size[..], frame].concat())
            .expect("sent");
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut size = [0; 4];
        self.0.read_exact(&mut size).expect("a size");
        let mut frame = vec![0; i32::from_be_bytes(size) as usize];
        self.0.read_exact(&mut frame).expect("a frame");
        frame
    }

    fn ask(&mut self, frame: &[u8]) -> Vec<u8> {
        self.send(frame);
        self.receive()
    }

    /// Whether the server has closed the connection, after what it sent before.
    fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn frames_are_answered_in_order_after_they_are_stored() {
    let running = Running::start(10);
    let mut client = running.connect();
    for size in [0, 1, 4095, 4096, 70_000, LIMIT] {
        assert_eq!(
            client.ask(&vec![1; size]),
            vec![1; size],
            "a frame of {size}"
        );
    }
    for index in 0..100_u8 {
        client.send(&[index]);
    }
    for index in 0..100_u8 {
        assert_eq!(client.receive(), [index]);
    }
    drop(client);
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn a_frame_may_come_byte_by_byte() {
    let running = Running::start(10);
    let mut client = running.connect();
    client.0.set_nodelay(true).expect("set");
    for byte in [0, 0, 0, 3, b'a', b'b', b'c'] {
        client.0.write_all(&[byte]).expect("sent");
    }
    assert_eq!(client.receive(), b"abc");
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn a_size_that_no_frame_may_have_closes_the_connection() {
    let running = Running::start(10);
    for size in [-1, i32::MIN, LIMIT as i32 + 1, i32::MAX] {
        let mut client = running.connect();
        client.0.write_all(&size.to_be_bytes()).expect("sent");
        assert!(client.is_closed(), "size {size}");
    }
    assert_eq!(running.connect().ask(b"others go on"), b"others go on");
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn what_is_queued_goes_out_before_a_close() {
    let running = Running::start(10);
    let mut client = running.connect();
    assert_eq!(client.ask(CLOSE), CLOSE);
    assert!(client.is_closed());
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn a_deadline_is_kept() {
    let running = Running::start(10);
    assert_eq!(running.connect().ask(LATER), LATER);
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn a_peer_that_reads_nothing_is_not_read_from() {
    let running = Running::start(10);
    let mut slow = running.connect();
    // More than the buffers of both sockets hold, if all of it were answered.
    for _ in 0..64 {
        slow.send(LARGE);
    }
    for _ in 0..20 {
        assert_eq!(running.connect().ask(b"others go on"), b"others go on");
    }
    // Twenty of the others; the rest came from the slow one before its replies got stuck.
    assert!(running.seen.frames.load(Ordering::SeqCst) - 20 < 64);
    for _ in 0..64 {
        assert_eq!(slow.receive().len(), 1_000_000);
    }
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn connections_above_the_bound_are_refused_and_places_come_back() {
    let running = Running::start(0);
    // The host leaves 64 to the core, which here takes them all.
    let mut clients: Vec<Client> = (0..64).map(|_| running.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(b"in"), b"in");
    }
    assert!(running.connect().is_closed());
    drop(clients);
    // Each attempt is one round trip; the closes above overtake them at some point.
    let again = (0..100_000).any(|_| !running.connect().refused());
    assert!(again);
    assert_eq!(running.stop(), Ok(()));
}

impl Client {
    fn refused(&mut self) -> bool {
        let sent = self.0.write_all(b"\0\0\0\x01x");
        sent.is_err() || self.is_closed()
    }
}

#[test]
fn many_idle_connections_are_held() {
    let running = Running::start(1000);
    let mut clients: Vec<Client> = (0..400).map(|_| running.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(b"once"), b"once");
    }
    assert_eq!(running.seen.open.load(Ordering::SeqCst), 400);
    assert_eq!(running.stop(), Ok(()));
    for client in &mut clients {
        assert!(client.is_closed());
    }
}

#[test]
fn a_core_that_panics_ends_the_server_with_a_sentence() {
    let running = Running::start(10);
    let mut client = running.connect();
    client.send(PANIC);
    running.server.join().expect("no panic").expect("served");
    let error = running
        .host
        .wait_finished(None)
        .expect("finished")
        .expect_err("it panicked");
    assert!(error.contains("planned by the test"), "{error}");
}
