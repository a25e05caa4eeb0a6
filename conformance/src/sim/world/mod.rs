//! The run itself: time, and clients that are polled when something comes for them.

mod traffic;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use ackord_coord_core::contract::ConnId;
use ackord_coord_core::group::partition_for_id;
use ackord_machine::{LogId, Now};
use ackord_proto::api::{Request, Response};
use bytes::Bytes;

use super::chance::Chance;
use super::cluster::{Cluster, NodeFault};
use super::ctx::{Answer, Ctx, Lost, Wish};
use super::hooks::{self, Seen};
use super::ledger::Ledger;
use super::one_node::now_at;
use super::plan::{Fault, Plan, Without};
use super::watcher::Watcher;
use super::wire;
use crate::core_arm::WALL_START_MS;
use crate::script::Keep;

/// A client that runs.
pub type Running = Pin<Box<dyn Future<Output = ()>>>;

/// Moments of one run; more mean that the world turns without time passing.
const MOMENT_LIMIT: usize = 400_000;
/// Milliseconds after which a client gives up waiting for an answer.
const PATIENCE_MS: u64 = 9_000;
/// Microseconds after which everything is done that a machine could not do while it was stopped.
const RECOVERS_US: u64 = 3_000_000;

enum Event {
    /// A connection opens, if it is new, and a request arrives.
    Arrive(ConnId, i32, Bytes),
    /// A connection breaks, seen from the broker.
    Break(ConnId),
    /// A fault of the plan.
    Fault(usize),
    /// A client gets no answer.
    GiveUp(usize, ConnId, i32),
    /// A client has waited for longer than anything takes.
    OutOfPatience(usize, ConnId, i32),
    /// Bytes that are no request arrive on a connection of their own.
    Raw(ConnId, Bytes),
    /// A reply reaches its client.
    Reply(usize, ConnId, i32, Box<Response>),
    /// A client goes on.
    Wake(usize),
}

struct Call {
    client: usize,
    request: Request,
    version: i16,
    /// A repetition by the network; nobody waits for its answer.
    copy: bool,
    /// The answer does not arrive.
    mute: bool,
    arrived_us: Option<u64>,
    /// The era when it arrived: what was decided then may be void when the answer leaves.
    era: u64,
    seen: Option<Seen>,
}

struct Client {
    ctx: Ctx,
    running: Option<Running>,
    net: Chance,
    conn: Option<ConnId>,
    waiting: Option<(ConnId, i32)>,
    requests: u64,
}

/// A run.
pub struct World<'p> {
    plan: &'p Plan,
    without: &'p Without,
    /// The machines.
    pub cluster: Box<dyn Cluster>,
    mono_us: u64,
    wall_shift_ms: i64,
    events: BTreeMap<(u64, u64), Event>,
    last_event: u64,
    clients: Vec<Client>,
    conns: BTreeMap<ConnId, bool>,
    last_conn: u64,
    calls: BTreeMap<(ConnId, i32), Call>,
    last_correlation: i32,
    /// When a machine was stopped last, in microseconds.
    stopped_us: u64,
    /// The oracle.
    pub ledger: Rc<RefCell<Ledger>>,
    watcher: Watcher,
    faulty: bool,
    transcript: Option<Vec<String>>,
    /// Broken promises and rules.
    pub problems: Vec<String>,
    /// Network faults that came about: client and number of its request.
    pub net_faults: Vec<(usize, u64)>,
    /// Requests that reached the broker.
    pub arrivals: u64,
}

impl<'p> World<'p> {
    /// Before its first moment.
    pub fn new(
        plan: &'p Plan,
        without: &'p Without,
        cluster: Box<dyn Cluster>,
        ledger: Rc<RefCell<Ledger>>,
        keep_transcript: bool,
    ) -> Self {
        World {
            plan,
            without,
            cluster,
            mono_us: 0,
            wall_shift_ms: 0,
            events: BTreeMap::new(),
            last_event: 0,
            clients: Vec::new(),
            conns: BTreeMap::new(),
            last_conn: 0,
            calls: BTreeMap::new(),
            last_correlation: 0,
            stopped_us: 0,
            ledger,
            watcher: Watcher::default(),
            faulty: false,
            transcript: keep_transcript.then(Vec::new),
            problems: Vec::new(),
            net_faults: Vec::new(),
            arrivals: 0,
        }
    }

    /// The moment.
    pub fn now(&self) -> Now {
        let wall = WALL_START_MS + i64::try_from(self.mono_us / 1000).unwrap_or(i64::MAX);
        now_at(self.mono_us, wall + self.wall_shift_ms)
    }

    /// Milliseconds since the start.
    pub fn now_ms(&self) -> u64 {
        self.mono_us / 1000
    }

    /// What was said, where it was kept.
    pub fn take_transcript(&mut self) -> Vec<String> {
        self.transcript.take().unwrap_or_default()
    }

    /// A digest of everything that the machines did.
    pub fn digest(&self) -> u64 {
        self.cluster.digest()
    }

    fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(transcript) = &mut self.transcript {
            let ms = self.mono_us / 1000;
            let mut text = line();
            if text.len() > 700 {
                let cut = (0..=700).rev().find(|cut| text.is_char_boundary(*cut));
                text.truncate(cut.unwrap_or(0));
                text.push_str(" ..");
            }
            transcript.push(format!("{:>4}.{:03} {text}", ms / 1000, ms % 1000));
        }
    }

    fn plan_event(&mut self, at_us: u64, event: Event) {
        self.last_event += 1;
        self.events
            .insert((at_us.max(self.mono_us), self.last_event), event);
    }

    /// Adds a client that begins after `delay_ms`.
    pub fn add(&mut self, ctx: Ctx, running: Running, delay_ms: u64) -> usize {
        let net = self.plan.chance.fork(&format!("net {}", ctx.name));
        self.clients.push(Client {
            ctx,
            running: Some(running),
            net,
            conn: None,
            waiting: None,
            requests: 0,
        });
        let number = self.clients.len() - 1;
        *self.clients[number].ctx.shared.answer.borrow_mut() = None;
        self.plan_event(self.mono_us + delay_ms * 1000, Event::Wake(number));
        number
    }

    /// Plans the faults of the plan from now on, and lets the network misbehave.
    pub fn begin_faults(&mut self) {
        self.faulty = true;
        for (number, (at, _)) in self.plan.faults.iter().enumerate() {
            if !self.without.faults.contains(&number) {
                self.plan_event(self.mono_us + at * 1000, Event::Fault(number));
            }
        }
    }

    /// Nothing goes wrong any more.
    pub fn end_faults(&mut self) {
        self.faulty = false;
        self.events
            .retain(|_, event| !matches!(event, Event::Fault(_)));
        self.fault(NodeFault::Heal);
        self.fault(NodeFault::Hold(false));
        self.fault(NodeFault::Restart);
        for client in &self.clients {
            client.ctx.shared.stopping.set(true);
        }
        self.say(|| "faults end".to_string());
    }

    /// The process ends and starts again, with all that was asked for done.
    pub fn bounce(&mut self) {
        self.fault(NodeFault::Crash(Keep::AllIssued));
        self.fault(NodeFault::Restart);
    }

    fn fault(&mut self, fault: NodeFault) {
        self.say(|| format!("fault {fault:?}"));
        let now = self.now();
        self.cluster.fault(now, fault);
        self.collect();
    }

    /// Has transactional ids go on with an epoch other than the one that was `given`.
    pub fn age(&mut self, given: &[(String, i64)], epoch: i16) {
        let brokers = self.cluster.brokers();
        let topic = brokers
            .first()
            .and_then(|broker| broker.cluster().topic("__transaction_state"));
        let Some(topic) = topic.cloned() else {
            return;
        };
        self.fault(NodeFault::Crash(Keep::AllIssued));
        for (tid, id) in given {
            let log = LogId {
                topic: topic.id,
                partition: partition_for_id(tid, topic.partitions),
            };
            if let Some((key, value)) = wire::aged(tid, *id, epoch) {
                self.cluster.amend(log, &key, &value);
            }
        }
        self.fault(NodeFault::Restart);
        self.run(self.now_ms() + 2000, |_| false);
    }

    /// Whether a client has come to its end.
    pub fn is_done(&self, client: usize) -> bool {
        self.clients[client].running.is_none()
    }

    /// Ends a client where it is; its connection breaks.
    pub fn vanish(&mut self, client: usize) {
        self.clients[client].running = None;
        self.clients[client].waiting = None;
        if let Some(conn) = self.clients[client].conn.take() {
            self.plan_event(self.mono_us, Event::Break(conn));
        }
    }

    /// Runs until `until_ms`, or until `done` says so.
    pub fn run(&mut self, until_ms: u64, done: impl Fn(&World<'_>) -> bool) {
        for _ in 0..MOMENT_LIMIT {
            if done(self) || !self.problems.is_empty() {
                return;
            }
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let node = self.cluster.next_at().map(|at| at.max(self.mono_us));
            let at = match (event, node) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b).unwrap_or(u64::MAX),
            };
            if at > until_ms * 1000 {
                self.mono_us = self.mono_us.max(until_ms * 1000);
                return;
            }
            self.mono_us = at;
            if node.is_some_and(|node| node <= at) {
                let now = self.now();
                self.cluster.step(now);
                self.collect();
            } else if let Some((_, event)) = self.events.pop_first() {
                self.happen(event);
            }
            self.watch();
        }
        self.problems
            .push("the run does not come to its end".to_string());
    }

    fn watch(&mut self) {
        let era = self.cluster.era();
        let now = self.now();
        for broker in self.cluster.brokers() {
            self.watcher
                .look(era, broker, &mut self.ledger.borrow_mut());
        }
        if self.watcher.wants_rebuild(self.mono_us)
            && let Some(again) = self.cluster.rebuilt(now)
        {
            for (live, again) in self.cluster.brokers().into_iter().zip(&again) {
                self.watcher.compare(now, live, again);
            }
        }
        if self.cluster.is_stopped() {
            self.stopped_us = self.mono_us;
        }
        if self.cluster.is_idle() {
            self.problems.extend(self.waiting_for_nothing());
        }
        self.problems.append(&mut self.watcher.problems);
        self.problems.append(&mut self.cluster.problems());
        self.problems
            .append(&mut self.ledger.borrow_mut().take_problems());
    }

    /// ShareFetches that have waited for a while, and should not.
    fn waiting_for_nothing(&self) -> Vec<String> {
        let ledger = self.ledger.borrow();
        let brokers = self.cluster.brokers();
        let long_ago = |call: &&Call| call.arrived_us.is_some_and(|at| at + 5000 < self.mono_us);
        let open = self
            .calls
            .iter()
            .filter(|((conn, _), _)| self.conns.get(conn) == Some(&true));
        let waiting = open.map(|(_, call)| call).filter(long_ago);
        let judge = |call: &Call| {
            brokers
                .iter()
                .find_map(|broker| hooks::waits_for_nothing(broker, &ledger, &call.request))
        };
        waiting.filter_map(judge).collect()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(conn, correlation, bytes) => self.arrive(conn, correlation, bytes),
            Event::Break(conn) => {
                let now = self.now();
                self.ledger.borrow_mut().closed(self.mono_us, conn.0);
                self.forget_conn(conn);
                self.cluster.close(now, conn);
                self.collect();
            }
            Event::Fault(number) => match self.plan.faults[number].1 {
                Fault::Node(fault) => {
                    self.say(|| format!("fault {number}"));
                    self.fault(fault);
                }
                Fault::ClockStep(by) => {
                    self.say(|| format!("fault {number}: the clock jumps by {by} ms"));
                    self.wall_shift_ms += by;
                }
            },
            Event::GiveUp(client, conn, correlation) => {
                if self.clients[client].waiting == Some((conn, correlation)) {
                    self.clients[client].waiting = None;
                    if self.clients[client].conn == Some(conn) {
                        self.clients[client].conn = None;
                    }
                    self.plan_event(self.mono_us, Event::Break(conn));
                    let name = self.clients[client].ctx.name.clone();
                    self.say(|| format!("{name} hears nothing"));
                    self.answer(client, Answer::Called(Err(Lost)));
                }
            }
            Event::OutOfPatience(client, conn, correlation) => {
                if self.clients[client].waiting == Some((conn, correlation)) {
                    if self.mono_us > self.stopped_us + RECOVERS_US {
                        let name = &self.clients[client].ctx.name;
                        let call = self.calls.get(&(conn, correlation));
                        let request = call.map(|call| format!("{:?}", call.request.key()));
                        let what = format!("{name} was never answered: {request:?}");
                        self.problems.push(what);
                    }
                    self.happen(Event::GiveUp(client, conn, correlation));
                }
            }
            Event::Reply(client, conn, correlation, response) => {
                if self.clients[client].waiting == Some((conn, correlation)) {
                    self.clients[client].waiting = None;
                    self.answer(client, Answer::Called(Ok(response)));
                }
            }
            Event::Raw(conn, bytes) => {
                let now = self.now();
                self.conns.insert(conn, true);
                self.cluster.open(now, conn);
                self.cluster.frame(now, conn, bytes);
                self.collect();
                self.plan_event(self.mono_us + 1000, Event::Break(conn));
            }
            Event::Wake(client) => self.answer(client, Answer::Done),
        }
    }

    /// Gives a client what it waited for and takes what it wants next.
    fn answer(&mut self, number: usize, answer: Answer) {
        let client = &mut self.clients[number];
        let Some(running) = client.running.as_mut() else {
            return;
        };
        client.ctx.shared.now_ms.set(self.mono_us / 1000);
        let shared = client.ctx.shared.clone();
        *shared.answer.borrow_mut() = Some(answer);
        let ended = running
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready();
        // A client's first poll takes no answer.
        shared.answer.borrow_mut().take();
        if ended {
            let name = client.ctx.name.clone();
            client.running = None;
            if let Some(conn) = client.conn.take() {
                self.plan_event(self.mono_us, Event::Break(conn));
            }
            return self.say(|| format!("{name} ends"));
        }
        let wish = shared.wish.borrow_mut().take();
        match wish {
            Some(Wish::Call(request, version)) => self.call(number, *request, version),
            Some(Wish::HangUp) => {
                if let Some(conn) = self.clients[number].conn.take() {
                    self.plan_event(self.mono_us, Event::Break(conn));
                }
                self.plan_event(self.mono_us, Event::Wake(number));
            }
            Some(Wish::Raw(bytes)) => {
                let conn = self.new_conn();
                self.plan_event(self.mono_us, Event::Raw(conn, bytes));
                self.plan_event(self.mono_us + 2000, Event::Wake(number));
            }
            Some(Wish::Sleep(millis)) => {
                self.plan_event(self.mono_us + millis * 1000, Event::Wake(number));
            }
            None => {}
        }
    }
}
