//! Scripts on the cores: the broker as a state machine, a store in memory, a clock that is turned
//! by hand.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use ackord_coord_core::contract::{ConnId, Effect, Event, Input};
use ackord_coord_core::metadata::BrokerConfig;
use ackord_coord_core::{Broker, Principal};
use ackord_machine::{Deadline, Limits, LogId, MonoTime, Now, WallTime};
use ackord_proto::frame::FrameBuffer;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::arm::{self, Arm, Received, ShareView};
use crate::core_view;
use crate::memory_store::{Crash, MemoryStore};
use crate::script::{Keep, Needs, Pairs, StorageStep};
use crate::traffic::Traffic;
use crate::transcript::{self, Digest, FrameText, Names};

/// Wall clock at the start of each script, in milliseconds since the Unix epoch.
pub const WALL_START_MS: i64 = 1_700_000_000_000;
/// Where clients are, unless they say so.
const HOME: &str = "127.0.0.1";
/// Frames never come near this.
const FRAME_LIMIT: usize = 100 * 1024 * 1024;
/// Steps of one pump or one stretch of time; more mean that the broker runs in a circle.
const STEP_LIMIT: usize = 100_000;

/// The runner's own reading would drown the script.
const QUIET: &str = crate::steps::READER;

#[derive(Debug)]
struct Conn {
    client: String,
    /// The broker asked for one more frame.
    credit: bool,
    to_broker: VecDeque<Bytes>,
    to_client: FrameBuffer,
    closed: bool,
}

/// The broker, its store and its clients' connections in one process, without threads.
#[derive(Debug)]
pub struct CoreArm {
    config: BrokerConfig,
    limits: Limits,
    broker: Option<Broker>,
    store: MemoryStore,
    now: Now,
    last_conn: u64,
    conns: BTreeMap<ConnId, Conn>,
    by_client: BTreeMap<String, ConnId>,
    /// Who clients are, and where: those that are not `User:ANONYMOUS` at home.
    identities: BTreeMap<String, (Principal, String)>,
    frames: FrameText,
    names: Names,
    log: Vec<String>,
    digest: Digest,
    last_deadline: Option<Deadline>,
    starts: u8,
    /// The operations of each start, until the broker came to rest.
    boots: Vec<Range<usize>>,
    /// Whether anybody reads what is said.
    silent: bool,
    /// The broker ends once what it does now has reached its clients.
    dying: bool,
    traffic: Traffic,
    /// What no fault excuses.
    broken: Vec<String>,
}

impl Default for CoreArm {
    fn default() -> Self {
        let now = Now {
            mono: MonoTime::ZERO,
            wall: WallTime::from_millis(WALL_START_MS),
        };
        CoreArm {
            config: BrokerConfig::default(),
            limits: Limits::default(),
            broker: None,
            store: MemoryStore::default(),
            now,
            last_conn: 0,
            conns: BTreeMap::new(),
            by_client: BTreeMap::new(),
            identities: BTreeMap::new(),
            frames: FrameText::default(),
            names: Names::default(),
            log: Vec::new(),
            digest: Digest::default(),
            last_deadline: None,
            starts: 0,
            boots: Vec::new(),
            silent: false,
            dying: false,
            traffic: Traffic::default(),
            broken: Vec::new(),
        }
    }
}

impl CoreArm {
    /// An arm without a transcript and a digest, which take more time than the broker.
    pub fn silent() -> Self {
        CoreArm {
            silent: true,
            ..Default::default()
        }
    }

    /// Of everything that the broker did so far.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The store, to plan faults.
    pub fn store(&mut self) -> &mut MemoryStore {
        &mut self.store
    }

    /// The numbers of the operations of each start, until the broker came to rest.
    pub fn boots(&self) -> &[Range<usize>] {
        &self.boots
    }

    /// The broker broke its contract, or ran in a circle.
    pub fn broken(&self) -> &[String] {
        &self.broken
    }

    fn say(&mut self, line: impl FnOnce() -> String) {
        if !self.silent {
            let line = line();
            self.digest.update(line.as_bytes());
            self.log.push(line);
        }
    }

    fn broke(&mut self, what: String) -> String {
        self.broken.push(what.clone());
        what
    }

    fn boot(&mut self) -> Result<(), String> {
        // Chance never repeats itself from one start to the next.
        self.starts = self.starts.wrapping_add(1);
        let seed = [self.starts; 32];
        let broker = Broker::new(self.config.clone(), self.limits.clone(), seed, self.now);
        self.broker = Some(broker);
        self.last_deadline = None;
        let first = self.store.operations();
        let rested = self.pump();
        self.boots.push(first..self.store.operations());
        rested?;
        match &self.broker {
            Some(broker) if !broker.is_serving() => Err("the broker does not serve".to_string()),
            _ => Ok(()),
        }
    }

    fn handle(&mut self, input: Input) -> Result<(), String> {
        let Some(broker) = &mut self.broker else {
            return Ok(());
        };
        let handled = broker.handle(self.now, input);
        handled.map_err(|misuse| self.broke(format!("misuse of the broker: {misuse}")))
    }

    /// Carries out all that the broker wants, completes storage, delivers frames.
    fn pump(&mut self) -> Result<(), String> {
        for _ in 0..STEP_LIMIT {
            if let Some(effect) = self.broker.as_mut().and_then(Broker::poll_effect) {
                self.effect(effect)?;
            } else if std::mem::take(&mut self.dying) {
                self.end(Keep::Completed);
            } else if let Some((conn, bytes)) = self.next_frame() {
                self.handle(Input::Frame { conn, bytes })?;
            } else if !self.complete_one(false)? {
                self.note_deadline();
                return Ok(());
            }
        }
        Err(self.broke("the broker does not come to rest".to_string()))
    }

    /// Completes one operation, if there is one; `forced` goes past a hold.
    fn complete_one(&mut self, forced: bool) -> Result<bool, String> {
        if self.broker.is_none() {
            return Ok(false);
        }
        let done = match forced {
            true => self.store.complete_one(),
            false => self.store.complete_next(),
        };
        if let Some(done) = &done {
            self.say(|| format!("  {}", transcript::completion(done)));
        }
        match self.store.take_crash() {
            None => {}
            Some(Crash::Told) => self.dying = true,
            Some(Crash::Before) => {
                self.end(Keep::Completed);
                return Ok(false);
            }
            Some(Crash::Untold { kept }) => {
                self.end(Keep::Operations(kept));
                return Ok(false);
            }
        }
        let Some(done) = done else { return Ok(false) };
        self.handle(Input::Completed(done))?;
        Ok(true)
    }

    fn effect(&mut self, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::Close { conn, reason } => {
                if let Some(own) = self.conns.get_mut(&conn) {
                    own.closed = true;
                    let client = own.client.clone();
                    self.traffic.closed(&client);
                    self.say(|| format!("  {client} closed: {reason}"));
                }
                self.handle(Input::Closed { conn })
            }
            Effect::Emit(event) => {
                let text = match event {
                    Event::Ready => "ready".to_string(),
                    Event::Drained => "drained".to_string(),
                    Event::RecoveryFailed(what) => {
                        self.end(Keep::AllIssued);
                        return Err(format!("recovery failed: {what}"));
                    }
                    Event::Warning(what) => format!("warning: {what}"),
                };
                self.say(|| format!("  {text}"));
                Ok(())
            }
            Effect::Read { conn } => {
                if let Some(own) = self.conns.get_mut(&conn) {
                    own.credit = true;
                }
                Ok(())
            }
            Effect::Send { conn, chunks } => self.send_to_client(conn, chunks),
            Effect::Store(op) => {
                self.say(|| format!("  {}", transcript::operation(&op)));
                if !self.silent {
                    self.digest.update(format!("{op:?}").as_bytes());
                }
                self.store.submit(op);
                Ok(())
            }
        }
    }

    fn send_to_client(&mut self, conn: ConnId, chunks: Vec<Bytes>) -> Result<(), String> {
        let bytes = chunks.iter().map(Bytes::len).sum();
        let mut whole = Vec::with_capacity(bytes);
        chunks
            .iter()
            .for_each(|chunk| whole.extend_from_slice(chunk));
        if !self.silent {
            self.digest.update(&whole);
        }
        if let Some(own) = self.conns.get_mut(&conn) {
            let client = own.client.clone();
            let whole = Bytes::from(whole);
            let frame = whole.slice(4..);
            own.to_client.push(whole);
            self.traffic.response(&client, &frame);
            self.say_frame(&client, |frames| frames.response(&client, &frame));
        }
        self.handle(Input::Sent { conn, bytes })
    }

    /// The runner's own reading would drown the script.
    fn say_frame(&mut self, client: &str, text: impl FnOnce(&mut FrameText) -> String) {
        if self.silent {
            return;
        }
        let text = text(&mut self.frames);
        if client != QUIET {
            self.say(|| format!("  {text}"));
        }
    }

    fn next_frame(&mut self) -> Option<(ConnId, Bytes)> {
        let ready = |conn: &&mut Conn| conn.credit && !conn.closed && !conn.to_broker.is_empty();
        let (id, _) = self.conns.iter_mut().find(|(_, conn)| ready(conn))?;
        let id = *id;
        let conn = self.conns.get_mut(&id)?;
        conn.credit = false;
        conn.to_broker.pop_front().map(|frame| (id, frame))
    }

    fn connection(&mut self, client: &str) -> Result<ConnId, String> {
        if let Some(id) = self.by_client.get(client) {
            return Ok(*id);
        }
        self.last_conn += 1;
        let conn = ConnId(self.last_conn);
        let own = Conn {
            client: client.to_string(),
            credit: false,
            to_broker: VecDeque::new(),
            to_client: FrameBuffer::new(FRAME_LIMIT),
            closed: false,
        };
        self.conns.insert(conn, own);
        self.by_client.insert(client.to_string(), conn);
        let known = self.identities.get(client).cloned();
        let home = || (Principal::default(), HOME.to_string());
        let (principal, host) = known.unwrap_or_else(home);
        self.handle(Input::Opened {
            conn,
            host,
            principal,
        })?;
        Ok(conn)
    }

    fn end(&mut self, keep: Keep) {
        self.broker = None;
        self.dying = false;
        self.store.crash(keep);
        self.traffic.all_closed();
        self.conns.clear();
        self.by_client.clear();
    }

    fn note_deadline(&mut self) {
        let deadline = self.broker.as_ref().and_then(Broker::next_deadline);
        if deadline != self.last_deadline {
            self.last_deadline = deadline;
            let text = deadline.map_or("none".to_string(), |deadline| deadline.to_string());
            self.say(|| format!("  next deadline {text}"));
        }
    }

    fn set_time(&mut self, mono: MonoTime) {
        let passed = mono.as_micros().saturating_sub(self.now.mono.as_micros());
        // The wall clock counts whole milliseconds of all time that passed.
        let before = self.now.mono.as_micros() / 1000;
        let after = (self.now.mono.as_micros() + passed) / 1000;
        let wall = self.now.wall.as_millis() + i64::try_from(after - before).unwrap_or(i64::MAX);
        self.now = Now {
            mono,
            wall: WallTime::from_millis(wall),
        };
    }
}

impl Arm for CoreArm {
    fn refuses(&self, _needs: Needs) -> Option<&'static str> {
        None
    }

    /// The share coordinator may have to be asked first.
    fn patience_ms(&self) -> i32 {
        500
    }

    fn start(&mut self, configs: &Pairs, limits: &Pairs) -> Result<(), String> {
        let configs = arm::broker_configs(configs);
        let pairs = configs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        self.config = BrokerConfig::from_pairs(pairs)?;
        if let Some(name) = self.config.unknown().first() {
            return Err(format!("`{name}` has no effect"));
        }
        self.limits = arm::limits(limits)?;
        self.boot()
    }

    fn send(&mut self, client: &str, frame: &[Bytes]) -> Result<(), String> {
        if self.broker.is_none() {
            return Err("the broker is down".to_string());
        }
        let conn = self.connection(client)?;
        let whole: Vec<u8> = frame
            .iter()
            .flat_map(|chunk| chunk.iter().copied())
            .collect();
        let bytes = Bytes::from(whole).slice(4..);
        self.traffic.request(client, &bytes);
        self.say_frame(client, |frames| frames.request(client, &bytes));
        if let Some(conn) = self.conns.get_mut(&conn) {
            conn.to_broker.push_back(bytes);
        }
        self.pump()
    }

    fn receive(&mut self, client: &str) -> Result<Received, String> {
        match self.poll(client) {
            Received::Waiting => Err("no answer came".to_string()),
            received => Ok(received),
        }
    }

    fn poll(&mut self, client: &str) -> Received {
        let Some(id) = self.by_client.get(client).copied() else {
            return Received::Closed;
        };
        let Some(conn) = self.conns.get_mut(&id) else {
            return Received::Closed;
        };
        match conn.to_client.next_frame() {
            Ok(Some(frame)) => Received::Frame(frame),
            _ if conn.closed => {
                self.by_client.remove(client);
                Received::Closed
            }
            _ => Received::Waiting,
        }
    }

    fn opens_as(
        &mut self,
        client: &str,
        principal: &str,
        host: Option<&str>,
    ) -> Result<(), String> {
        let principal = principal.parse::<Principal>();
        let principal = principal.map_err(|error| error.to_string())?;
        let host = host.unwrap_or(HOME).to_string();
        self.identities
            .insert(client.to_string(), (principal, host));
        self.disconnect(client)
    }

    fn disconnect(&mut self, client: &str) -> Result<(), String> {
        let Some(conn) = self.by_client.remove(client) else {
            return Ok(());
        };
        self.traffic.closed(client);
        if self.conns.remove(&conn).is_some_and(|own| !own.closed) {
            self.handle(Input::Closed { conn })?;
        }
        self.pump()
    }

    fn advance(&mut self, millis: u64) -> Result<(), String> {
        let target = MonoTime::from_micros(self.now.mono.as_micros() + millis * 1000);
        for _ in 0..STEP_LIMIT {
            let due = self.broker.as_ref().and_then(Broker::next_deadline);
            let Some(due) = due.filter(|due| due.at <= target) else {
                self.set_time(target);
                self.handle(Input::Timeout)?;
                return self.pump();
            };
            self.set_time(due.at.max(self.now.mono));
            self.say(|| format!("  at {due}"));
            self.handle(Input::Timeout)?;
            self.pump()?;
        }
        Err(self.broke("a deadline comes again and again".to_string()))
    }

    fn storage(&mut self, step: &StorageStep) -> Result<(), String> {
        match step {
            StorageStep::Complete(count) => {
                for _ in 0..*count {
                    if !self.complete_one(true)? {
                        return Err("fewer operations are under way".to_string());
                    }
                    self.pump()?;
                }
                Ok(())
            }
            StorageStep::Compact { .. } => Err("the log has no id".to_string()),
            StorageStep::FailNextAppend(fault) => {
                self.store.fail_append(0, *fault);
                Ok(())
            }
            StorageStep::Hold => {
                self.store.hold(true);
                Ok(())
            }
            StorageStep::Release => {
                self.store.hold(false);
                self.pump()
            }
        }
    }

    fn compact(&mut self, log: LogId, gone: &[(i64, i64)]) -> Result<(), String> {
        self.store.compact(log, gone)
    }

    fn crash(&mut self, keep: Keep) -> Result<(), String> {
        self.end(keep);
        Ok(())
    }

    fn restart(&mut self, wall_shift_ms: i64) -> Result<(), String> {
        if self.broker.is_some() {
            return Err("the broker runs; crash it first".to_string());
        }
        let wall = self.now.wall.as_millis().saturating_add(wall_shift_ms);
        self.now.wall = WallTime::from_millis(wall);
        self.boot()
    }

    fn is_down(&self) -> bool {
        self.broker.is_none()
    }

    fn share_view(&self, group: &str, topic: Uuid, partition: i32) -> Option<ShareView> {
        let broker = self.broker.as_ref()?;
        Some(core_view::share_view(
            broker,
            group,
            LogId { topic, partition },
        ))
    }

    fn open_items(&self) -> Option<Vec<String>> {
        self.broker.as_ref().map(core_view::open_items)
    }

    fn transaction_state(&self, transactional_id: &str) -> Option<String> {
        let broker = self.broker.as_ref()?;
        Some(core_view::transaction_state(broker, transactional_id))
    }

    fn metric(&self, name: &str, labels: &[(String, String)]) -> Option<i64> {
        let broker = self.broker.as_ref()?;
        Some(core_view::metric(broker, self.now, name, labels))
    }

    fn operations(&self) -> usize {
        self.store.operations()
    }

    fn log_start(&self, topic: Uuid, partition: i32) -> Option<i64> {
        let log = self.broker.as_ref()?.log(LogId { topic, partition })?;
        Some(log.start_offset())
    }

    fn traffic(&self) -> Option<&Traffic> {
        Some(&self.traffic)
    }

    fn take_log(&mut self) -> Vec<String> {
        if let Some(broker) = &self.broker {
            for topic in broker.cluster().topics() {
                self.names.add(topic.id.to_string(), &topic.name);
            }
        }
        let lines = std::mem::take(&mut self.log);
        lines.iter().map(|line| self.names.apply(line)).collect()
    }
}
