//! A broker in a program of its own, without an async runtime: std threads and sockets, and a store
//! in memory. `cargo run -p ackord-examples --example embed -- 127.0.0.1:9092`

#[cfg(test)]
mod embed_test;

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::spawn;
use std::time::{Duration, Instant, UNIX_EPOCH};

use ackord_coord_core::adapter::Core;
use ackord_coord_core::{Broker, BrokerConfig, ConnId, Effect, Event, Input};
use ackord_log_store::{Durability, LogStore, StoreEvent};
use ackord_machine::{Limits, MonoTime, Now, WallTime};
use bytes::Bytes;

/// How long to sleep where nothing is due.
const IDLE: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:9092".into());
    let listener = TcpListener::bind(address)?;
    let (mut config, bound) = (BrokerConfig::default(), listener.local_addr()?);
    config.set_advertised(&bound.ip().to_string(), bound.port());
    println!("ackord ready on {bound}");
    let seed = [7; 32]; // For member ids and the like; a real program draws it.
    let limits = Limits::default();
    serve(listener, |now| Broker::new(config, limits, seed, now))
}

/// The core's side of a connection. Dropped: what is queued goes out, then the connection ends.
struct Outgoing {
    chunks: Sender<Vec<Bytes>>,
    credits: Sender<()>,
}

type Open = BTreeMap<ConnId, Option<Outgoing>>;

/// What the other threads tell the one that owns the core; new connections with their side.
type Happened = (Input, Option<Outgoing>);

/// Runs the core that `make` gives for the connections of the listener.
fn serve<C: Core>(listener: TcpListener, make: impl FnOnce(Now) -> C) -> Result<()> {
    let (events, happened) = channel();
    let completed = events.clone();
    spawn(move || {
        for (id, stream) in (1..).zip(listener.incoming().flatten()) {
            let _ = connect(ConnId(id), stream, &events);
        }
    });
    let answer = move |event| match event {
        StoreEvent::Completed(done) => drop(completed.send((Input::Completed(done), None))),
        StoreEvent::Settled { .. } => {}
        StoreEvent::Warning(text) => eprintln!("{text}"),
    };
    let store = LogStore::open(Path::new(""), Durability::Memory, answer).map_err(Error::other)?;
    let started = Instant::now();
    let (mut core, mut open) = (make(now(started)), Open::new());
    loop {
        while let Some(effect) = core.poll_effect() {
            carry_out(effect, &mut open, &store);
        }
        let until = core.next_deadline().map(|deadline| deadline.at);
        let event = match until.map_or(IDLE, |at| at.since(now(started).mono)) {
            Duration::ZERO => Err(RecvTimeoutError::Timeout),
            wait => happened.recv_timeout(wait),
        };
        let (input, outgoing) = event.unwrap_or((Input::Timeout, None));
        // Nothing is said about a connection that is gone.
        let known = match &input {
            Input::Opened { conn, .. } => open.insert(*conn, outgoing).is_none(),
            Input::Closed { conn } => open.remove(conn).is_some(),
            Input::Sent { conn, .. } | Input::Frame { conn, .. } => open.contains_key(conn),
            _ => true,
        };
        if known && let Err(misuse) = core.handle(now(started), input) {
            eprintln!("{misuse}");
        }
    }
}

fn now(started: Instant) -> Now {
    let wall = UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_millis() as i64);
    Now {
        mono: MonoTime::from_micros(started.elapsed().as_micros() as u64),
        wall: WallTime::from_millis(wall),
    }
}

fn carry_out(effect: Effect, open: &mut Open, store: &LogStore) {
    match effect {
        Effect::Close { conn, .. } => drop(open.insert(conn, None)),
        Effect::Emit(Event::Ready | Event::Drained) => {}
        Effect::Emit(event) => eprintln!("{event:?}"),
        Effect::Read { conn } => drop(to(open, conn).map(|to| to.credits.send(()))),
        Effect::Send { conn, chunks } => drop(to(open, conn).map(|to| to.chunks.send(chunks))),
        Effect::Store(op) => store.submit(op),
    }
}

fn to(open: &Open, conn: ConnId) -> Option<&Outgoing> {
    open.get(&conn).and_then(Option::as_ref)
}

/// Two threads for a connection: one writes, one reads a frame for each credit.
fn connect(conn: ConnId, mut stream: TcpStream, events: &Sender<Happened>) -> Result<()> {
    let ((chunks, queue), (credits, credit)) = (channel::<Vec<Bytes>>(), channel());
    let (mut peer, sent, events) = (stream.try_clone()?, events.clone(), events.clone());
    stream.set_nodelay(true)?;
    let host = stream.peer_addr()?.ip().to_string();
    let _ = events.send((
        Input::opened(conn, host),
        Some(Outgoing { chunks, credits }),
    ));
    spawn(move || {
        for chunk in queue.iter().flatten() {
            let bytes = chunk.len();
            if peer.write_all(&chunk).is_err() {
                break;
            }
            let _ = sent.send((Input::Sent { conn, bytes }, None));
        }
        peer.shutdown(Shutdown::Both)
    });
    spawn(move || {
        while let (Ok(()), Ok(bytes)) = (credit.recv(), read_frame(&mut stream)) {
            let _ = events.send((Input::Frame { conn, bytes }, None));
        }
        events.send((Input::Closed { conn }, None)).is_ok()
    });
    Ok(())
}

fn read_frame(stream: &mut TcpStream) -> Result<Bytes> {
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let size = u32::from_be_bytes(size) as usize;
    if size > Limits::default().frame_bytes {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut frame = vec![0; size];
    stream.read_exact(&mut frame)?;
    Ok(frame.into())
}
