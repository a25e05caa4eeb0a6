//! Whom the loads speak to: a broker in this process, or a server behind a socket.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ackord_conformance::memory_store::MemoryStore;
use ackord_coord_core::contract::{ConnId, Effect, Input};
use ackord_coord_core::{Broker, BrokerConfig};
use ackord_machine::{Limits, MonoTime, Now, WallTime};
use ackord_proto::api::{
    ApiKey, Request, RequestHeader, Response, ResponseHeader, encode_request_frame,
};
use ackord_proto::reader::Reader;
use ackord_proto::tags::UnknownTags;
use bytes::{Bytes, BytesMut};

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// Connections to one broker.
pub(crate) trait Peer {
    /// One more; connections are counted from 0.
    fn connect(&mut self) -> Fallible<usize>;

    /// Sends a request and waits for nothing.
    fn send(&mut self, conn: usize, version: i16, request: Request) -> Fallible<()>;

    /// The next answer on a connection.
    fn answer(&mut self, conn: usize) -> Fallible<Response>;

    fn ask(&mut self, conn: usize, version: i16, request: impl Into<Request>) -> Fallible<Response>
    where
        Self: Sized,
    {
        self.send(conn, version, request.into())?;
        self.answer(conn)
    }
}

/// Takes the answer of one kind.
macro_rules! take {
    ($answer:expr, $api:ident) => {
        match $answer? {
            ackord_proto::api::Response::$api(response) => response,
            other => return Err(format!("another answer: {other:?}").into()),
        }
    };
}
pub(crate) use take;

/// What was asked on a connection and not answered yet, the oldest first.
type Asked = VecDeque<(ApiKey, i16)>;

fn frame(request: &Request, version: i16) -> Fallible<Bytes> {
    let header = RequestHeader {
        api_key: request.key(),
        api_version: version,
        correlation_id: 1,
        client_id: None,
        unknown_tags: UnknownTags::default(),
    };
    Ok(joined(&encode_request_frame(&header, request)?))
}

fn joined(chunks: &[Bytes]) -> Bytes {
    let mut whole = BytesMut::new();
    chunks
        .iter()
        .for_each(|chunk| whole.extend_from_slice(chunk));
    whole.freeze()
}

fn response(frame: Bytes, asked: &mut Asked) -> Fallible<Response> {
    let (api, version) = asked.pop_front().ok_or("an answer without a question")?;
    let mut reader = Reader::new(frame);
    ResponseHeader::decode(api, version, &mut reader).map_err(|error| error.to_string())?;
    Ok(Response::decode(api, version, &mut reader).map_err(|error| error.to_string())?)
}

/// The cores in this process on a store in memory; no socket, no thread.
pub(crate) struct Cores {
    broker: Broker,
    store: MemoryStore,
    now: Now,
    asked: Vec<Asked>,
    answers: Vec<VecDeque<Bytes>>,
    /// How long the broker itself has worked since it was last asked; the store is not counted.
    worked: Duration,
}

impl Cores {
    pub(crate) fn new(configs: &[(&str, &str)]) -> Fallible<Self> {
        let config =
            BrokerConfig::from_pairs(configs.iter().copied()).map_err(|error| error.to_string())?;
        let now = Now {
            mono: MonoTime::from_millis(1),
            wall: WallTime::from_millis(1_700_000_000_000),
        };
        let mut cores = Cores {
            broker: Broker::new(config, Limits::default(), [7; 32], now),
            store: MemoryStore::default(),
            now,
            asked: Vec::new(),
            answers: Vec::new(),
            worked: Duration::ZERO,
        };
        cores.run()?;
        Ok(cores)
    }

    /// Takes the time that the broker has worked.
    pub(crate) fn worked(&mut self) -> Duration {
        std::mem::take(&mut self.worked)
    }

    fn handle(&mut self, input: Input) -> Fallible<()> {
        let began = Instant::now();
        let handled = self.broker.handle(self.now, input);
        self.worked += began.elapsed();
        handled.map_err(|misuse| misuse.to_string())?;
        Ok(())
    }

    fn poll(&mut self) -> Option<Effect> {
        let began = Instant::now();
        let effect = self.broker.poll_effect();
        self.worked += began.elapsed();
        effect
    }

    fn run(&mut self) -> Fallible<()> {
        loop {
            while let Some(effect) = self.poll() {
                match effect {
                    Effect::Close { conn, reason } => {
                        return Err(format!("{conn} is closed: {reason}").into());
                    }
                    Effect::Emit(_) | Effect::Read { .. } => {}
                    Effect::Send { conn, chunks } => self.sent(conn, &chunks)?,
                    Effect::Store(op) => self.store.submit(op),
                }
            }
            let Some(done) = self.store.complete_next() else {
                return Ok(());
            };
            self.handle(Input::Completed(done))?;
        }
    }

    fn sent(&mut self, conn: ConnId, chunks: &[Bytes]) -> Fallible<()> {
        let whole = joined(chunks);
        let place = usize::try_from(conn.0)?;
        let bytes = whole.len();
        self.answers[place].push_back(whole.slice(4..));
        self.handle(Input::Sent { conn, bytes })
    }
}

impl Peer for Cores {
    fn connect(&mut self) -> Fallible<usize> {
        let place = self.asked.len();
        self.asked.push(Asked::new());
        self.answers.push(VecDeque::new());
        let conn = ConnId(u64::try_from(place)?);
        let host = "127.0.0.1".to_string();
        self.handle(Input::opened(conn, host))?;
        self.run()?;
        Ok(place)
    }

    fn send(&mut self, conn: usize, version: i16, request: Request) -> Fallible<()> {
        let bytes = frame(&request, version)?.slice(4..);
        self.asked[conn].push_back((request.key(), version));
        let conn = ConnId(u64::try_from(conn)?);
        self.handle(Input::Frame { conn, bytes })?;
        self.run()
    }

    fn answer(&mut self, conn: usize) -> Fallible<Response> {
        let frame = self.answers[conn].pop_front().ok_or("no answer")?;
        response(frame, &mut self.asked[conn])
    }
}

/// A server on loopback.
pub(crate) struct Server {
    address: String,
    streams: Vec<(TcpStream, Asked)>,
}

impl Server {
    pub(crate) fn new(address: &str) -> Self {
        Server {
            address: address.to_string(),
            streams: Vec::new(),
        }
    }
}

impl Peer for Server {
    fn connect(&mut self) -> Fallible<usize> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        self.streams.push((stream, Asked::new()));
        Ok(self.streams.len() - 1)
    }

    fn send(&mut self, conn: usize, version: i16, request: Request) -> Fallible<()> {
        let (stream, asked) = &mut self.streams[conn];
        asked.push_back((request.key(), version));
        Ok(stream.write_all(&frame(&request, version)?)?)
    }

    fn answer(&mut self, conn: usize) -> Fallible<Response> {
        let (stream, asked) = &mut self.streams[conn];
        let mut size = [0; 4];
        stream.read_exact(&mut size)?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(size))?];
        stream.read_exact(&mut frame)?;
        response(frame.into(), asked)
    }
}
