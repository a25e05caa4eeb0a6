//! Clients that send most of a large frame and stop: together they take a bounded amount of memory,
//! small frames pass, and when the connections have been idle for too long large ones do again.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use ackord_coord_core::adapter::Core;
use ackord_coord_core::{Effect, Event, Input};
use ackord_machine::{ApiMisuse, Deadline, Limits, MonoTime, Now, WallTime};
use ackord_server::{Clock, Durability, Errand, Host, Level, Logger};
use bytes::Bytes;

type Serve = fn(TcpListener, Host) -> io::Result<()>;

const FRAME: usize = 1 << 20;
const IDLE_MS: u64 = 60_000;

/// Answers each frame with its length.
#[derive(Default)]
struct Echo {
    effects: VecDeque<Effect>,
}

impl Core for Echo {
    fn handle(&mut self, _now: Now, input: Input) -> Result<(), ApiMisuse> {
        match input {
            Input::Opened { conn, .. } => self.effects.push_back(Effect::Read { conn }),
            Input::Frame { conn, bytes } => {
                let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                let chunks = vec![Bytes::copy_from_slice(&size.to_be_bytes())];
                self.effects.push_back(Effect::Send { conn, chunks });
                self.effects.push_back(Effect::Read { conn });
            }
            _ => {}
        }
        Ok(())
    }

    fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn next_deadline(&self) -> Option<Deadline> {
        None
    }
}

struct Running {
    host: Host,
    address: SocketAddr,
}

impl Running {
    fn start(serve: Serve) -> Self {
        let limits = Limits {
            frame_bytes: FRAME,
            request_bytes: FRAME,
            idle_ms: Some(IDLE_MS),
            ..Limits::default()
        };
        let clock = Clock::manual(Now {
            mono: MonoTime::ZERO,
            wall: WallTime::from_millis(0),
        });
        let core = Echo {
            effects: VecDeque::from([Effect::Emit(Event::Ready)]),
        };
        let make = |_| Ok(core);
        let logger = Logger::new(Level::Error);
        let folder = "unused".as_ref();
        let host = Host::start_at(clock, folder, Durability::Memory, &limits, logger, make)
            .expect("the host starts");
        assert!(host.wait_ready());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let served = host.clone();
        thread::spawn(move || serve(listener, served));
        Running { host, address }
    }

    fn turn(&self, millis: u64) {
        let errand = Errand {
            turn_millis: millis,
            ..Errand::default()
        };
        assert!(self.host.errand(errand, |_: &Echo, _| ()).is_some());
    }

    /// Sends most of a frame, and nothing more until its connection ends, which the channel tells.
    fn half_send(&self) -> Receiver<()> {
        let address = self.address;
        let (ended, end) = channel();
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("connected");
            let mut bytes = vec![0; FRAME - 100];
            bytes[..4].copy_from_slice(&size(FRAME));
            // As much as the broker wants to have; it ends the connection at last.
            let _ = stream.write_all(&bytes);
            let _ = stream.read(&mut [0]);
            let _: Result<(), _> = ended.send(());
        });
        end
    }
}

fn size(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("small").to_be_bytes()
}

/// A whole frame and its answer.
fn ask(address: SocketAddr, bytes: usize) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    let frame = [&size(bytes)[..], &vec![0; bytes]].concat();
    stream.write_all(&frame)?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer)?;
    Ok(u32::from_be_bytes(answer) as usize)
}

fn asks_until_answered(address: SocketAddr, answered: &Sender<usize>) {
    loop {
        // Until it has got so far the clock that is turned ends this connection too.
        if let Ok(bytes) = ask(address, FRAME) {
            let _ = answered.send(bytes);
            return;
        }
    }
}

fn stalled_senders_hold_up_no_one_for_ever(serve: Serve) {
    let running = Running::start(serve);
    let address = running.address;
    let stalled: Vec<Receiver<()>> = (0..6).map(|_| running.half_send()).collect();
    // Others are served meanwhile.
    for _ in 0..20 {
        assert_eq!(ask(address, 1000).expect("an answer"), 1000);
    }
    let (answered, answer) = channel();
    thread::spawn(move || asks_until_answered(address, &answered));
    let bytes = loop {
        running.turn(2 * IDLE_MS);
        match answer.try_recv() {
            Ok(bytes) => break bytes,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => panic!("no answer"),
        }
    };
    assert_eq!(bytes, FRAME);
    for end in stalled {
        while end.try_recv().is_err() {
            running.turn(2 * IDLE_MS);
        }
    }
}

#[test]
fn on_tokio_stalled_senders_hold_up_no_one_for_ever() {
    stalled_senders_hold_up_no_one_for_ever(ackord_io_tokio::server::serve);
}

#[test]
fn on_async_std_stalled_senders_hold_up_no_one_for_ever() {
    stalled_senders_hold_up_no_one_for_ever(ackord_io_async_std::server::serve);
}

fn large_frames_take_turns(serve: Serve) {
    let running = Running::start(serve);
    let address = running.address;
    let asked: Vec<_> = (0..8)
        .map(|_| thread::spawn(move || ask(address, FRAME)))
        .collect();
    for asked in asked {
        assert_eq!(asked.join().expect("no panic").expect("an answer"), FRAME);
    }
}

#[test]
fn on_tokio_large_frames_take_turns() {
    large_frames_take_turns(ackord_io_tokio::server::serve);
}

#[test]
fn on_async_std_large_frames_take_turns() {
    large_frames_take_turns(ackord_io_async_std::server::serve);
}
