//! One broker with one store, which completes what it is asked for in any order that the contract
//! allows.

use std::collections::{BTreeMap, VecDeque};

use ackord_coord_core::contract::{ConnId, Effect, Event, Input};
use ackord_coord_core::metadata::CLUSTER_LOG;
use ackord_coord_core::{Broker, BrokerConfig};
use ackord_machine::{Limits, LogId, MonoTime, Now, OpKind};
use ackord_proto::records::BatchBuilder;
use bytes::Bytes;

use super::chance::Chance;
use super::cluster::{Cluster, NodeFault, Output};
use crate::memory_store::MemoryStore;
use crate::script::Keep;
use crate::transcript::Digest;

/// Inputs of one moment; more mean that the broker runs in a circle.
const STEP_LIMIT: usize = 20_000;

#[derive(Debug, Default)]
struct Conn {
    credit: bool,
    waiting: VecDeque<Bytes>,
}

/// The simplest cluster.
#[derive(Debug)]
pub struct OneNode {
    config: BrokerConfig,
    limits: Limits,
    broker: Option<Broker>,
    store: MemoryStore,
    held: bool,
    chance: Chance,
    /// Microseconds that an operation of the store takes at most.
    slowest_us: u64,
    disk_at: Option<u64>,
    /// Microseconds by which a deadline is noticed late.
    late_us: u64,
    conns: BTreeMap<ConnId, Conn>,
    outputs: Vec<Output>,
    problems: Vec<String>,
    era: u64,
    digest: Digest,
}

impl OneNode {
    /// A broker that starts with an empty store.
    pub fn new(config: BrokerConfig, limits: Limits, slowest_us: u64, chance: Chance) -> Self {
        OneNode {
            config,
            limits,
            broker: None,
            store: MemoryStore::default(),
            held: false,
            chance,
            slowest_us,
            disk_at: None,
            late_us: 0,
            conns: BTreeMap::new(),
            outputs: Vec::new(),
            problems: Vec::new(),
            era: 0,
            digest: Digest::default(),
        }
    }

    /// Deadlines are noticed this much later, in microseconds.
    pub fn notice_late(&mut self, late_us: u64) {
        self.late_us = late_us;
    }

    fn due_at(&self) -> Option<u64> {
        let due = self.broker.as_ref().and_then(Broker::next_deadline)?;
        Some(due.at.as_micros() + self.late_us)
    }

    fn input(&mut self, now: Now, input: Input) {
        let mut inputs = VecDeque::from([input]);
        for _ in 0..STEP_LIMIT {
            let Some(broker) = &mut self.broker else {
                return;
            };
            if let Some(input) = inputs.pop_front()
                && let Err(misuse) = broker.handle(now, input)
            {
                self.problems.push(format!("misuse: {misuse}"));
            }
            let Some(effect) = broker.poll_effect() else {
                if inputs.is_empty() {
                    break;
                }
                continue;
            };
            self.carry_out(effect, &mut inputs);
        }
        if !inputs.is_empty() {
            self.problems
                .push("the broker does not come to rest".to_string());
        }
        if self.disk_at.is_none() && !self.held && !self.store.is_idle() {
            self.plan_disk(now);
        }
    }

    fn plan_disk(&mut self, now: Now) {
        let takes = self.chance.below(self.slowest_us + 1);
        self.disk_at = Some(now.mono.as_micros() + takes);
    }

    fn carry_out(&mut self, effect: Effect, inputs: &mut VecDeque<Input>) {
        match effect {
            Effect::Close { conn, .. } => {
                self.conns.remove(&conn);
                self.outputs.push(Output::Closed(conn));
                inputs.push_back(Input::Closed { conn });
            }
            Effect::Emit(Event::RecoveryFailed(what)) => {
                self.problems.push(format!("recovery failed: {what}"));
            }
            Effect::Emit(_) => {}
            Effect::Read { conn } => {
                let Some(own) = self.conns.get_mut(&conn) else {
                    return;
                };
                match own.waiting.pop_front() {
                    Some(bytes) => inputs.push_back(Input::Frame { conn, bytes }),
                    None => own.credit = true,
                }
            }
            Effect::Send { conn, chunks } => {
                let whole = Bytes::from(chunks.concat());
                self.digest.update(&whole);
                let bytes = whole.len();
                self.outputs.push(Output::Frame(conn, whole.slice(4..)));
                inputs.push_back(Input::Sent { conn, bytes });
            }
            Effect::Store(op) => {
                if let OpKind::Append { parts } = &op.kind {
                    for part in parts {
                        self.digest.update(&part.head);
                        self.digest.update(&part.body);
                    }
                }
                self.store.submit(op);
            }
        }
    }

    /// Completes one operation.
    fn disk(&mut self, now: Now) {
        self.disk_at = None;
        if self.held || self.broker.is_none() {
            return;
        }
        let ready = self.store.ready();
        if ready.is_empty() {
            return;
        }
        let place = match self.chance.percent(75) {
            true => ready[0],
            false => self.chance.pick(&ready),
        };
        if let Some(done) = self.store.complete_at(place) {
            if done.outcome.is_err() {
                self.era += 1;
            }
            self.input(now, Input::Completed(done));
        }
        if self.disk_at.is_none() && !self.store.is_idle() {
            self.plan_disk(now);
        }
    }

    fn crash(&mut self, keep: Keep) {
        if self.broker.take().is_none() {
            return;
        }
        self.era += 1;
        self.disk_at = None;
        self.held = false;
        self.store.crash(keep);
        for conn in std::mem::take(&mut self.conns).into_keys() {
            self.outputs.push(Output::Closed(conn));
        }
    }

    fn restart(&mut self, now: Now) {
        if self.broker.is_some() {
            return;
        }
        let seed = self.chance.seed();
        let broker = Broker::new(self.config.clone(), self.limits.clone(), seed, now);
        self.broker = Some(broker);
        self.input(now, Input::Timeout);
    }
}

impl Cluster for OneNode {
    fn open(&mut self, now: Now, conn: ConnId) {
        if self.broker.is_none() {
            self.outputs.push(Output::Closed(conn));
            return;
        }
        self.conns.insert(conn, Conn::default());
        let host = "127.0.0.1".to_string();
        self.input(now, Input::opened(conn, host));
    }

    fn frame(&mut self, now: Now, conn: ConnId, bytes: Bytes) {
        match self.conns.get_mut(&conn) {
            None => self.outputs.push(Output::Closed(conn)),
            Some(own) if own.credit => {
                own.credit = false;
                self.input(now, Input::Frame { conn, bytes });
            }
            Some(own) => own.waiting.push_back(bytes),
        }
    }

    fn close(&mut self, now: Now, conn: ConnId) {
        if self.conns.remove(&conn).is_some() {
            self.input(now, Input::Closed { conn });
        }
    }

    fn next_at(&self) -> Option<u64> {
        match (self.due_at(), self.disk_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn step(&mut self, now: Now) {
        if self.disk_at.is_some_and(|at| at <= now.mono.as_micros()) {
            self.disk(now);
        }
        if self.due_at().is_some_and(|at| at <= now.mono.as_micros()) {
            self.input(now, Input::Timeout);
            let next = self.broker.as_ref().and_then(Broker::next_deadline);
            if let Some(next) = next.filter(|next| next.at <= now.mono) {
                self.problems.push(format!("{next} stays due"));
            }
        }
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    fn fault(&mut self, now: Now, fault: NodeFault) {
        match fault {
            NodeFault::Crash(keep) => self.crash(keep),
            NodeFault::FailAppend(ahead, fault) => self.store.fail_append(ahead, fault),
            NodeFault::FailCluster(fault) => self.store.fail_log(CLUSTER_LOG, fault),
            NodeFault::FailLoads(count) => {
                // At its start a machine that cannot read ends; here it has to try again.
                if self.broker.as_ref().is_some_and(Broker::is_serving) {
                    self.store.fail_loads(count);
                }
            }
            NodeFault::Heal => self.store.forget_plans(),
            NodeFault::Hold(held) => {
                self.held = held;
                if !held && self.disk_at.is_none() && !self.store.is_idle() {
                    self.plan_disk(now);
                }
            }
            NodeFault::Restart => self.restart(now),
        }
    }

    fn era(&self) -> u64 {
        self.era
    }

    fn is_idle(&self) -> bool {
        let serves = self.broker.as_ref().is_some_and(Broker::is_serving);
        serves && self.store.is_settled()
    }

    fn is_stopped(&self) -> bool {
        self.held || self.broker.is_none()
    }

    fn amend(&mut self, log: LogId, key: &[u8], value: &[u8]) {
        self.store.amend(log, |base| {
            let mut batch = BatchBuilder::new(base);
            batch.push(crate::core_arm::WALL_START_MS, Some(key), Some(value));
            batch.build()
        });
    }

    fn brokers(&self) -> Vec<&Broker> {
        self.broker.iter().collect()
    }

    fn rebuilt(&self, now: Now) -> Option<Vec<Broker>> {
        let live = self.broker.as_ref()?;
        if !live.is_serving() || !self.store.is_settled() {
            return None;
        }
        let mut copy = OneNode::new(
            self.config.clone(),
            self.limits.clone(),
            0,
            self.chance.fork("again"),
        );
        copy.store = self.store.clone();
        copy.store.forget_plans();
        // Earlier by the wall clock, so that no transaction is over at once.
        let wall = now.wall.as_millis() - 3_600_000;
        let now = now_at(now.mono.as_micros(), wall);
        copy.restart(now);
        for _ in 0..STEP_LIMIT {
            if copy.store.is_idle() {
                break;
            }
            copy.disk_at = None;
            copy.disk(now);
        }
        // What it went on to do by itself is not what was stored.
        let went_on = copy.store.appends() != self.store.appends();
        copy.broker.filter(|_| !went_on).map(|broker| vec![broker])
    }

    fn problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    fn digest(&self) -> u64 {
        self.digest.0
    }
}

/// A moment.
pub fn now_at(mono_us: u64, wall_ms: i64) -> Now {
    Now {
        mono: MonoTime::from_micros(mono_us),
        wall: ackord_machine::WallTime::from_millis(wall_ms),
    }
}
