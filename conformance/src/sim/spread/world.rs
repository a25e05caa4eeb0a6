//! Time, the network, and crashes.

use std::collections::{BTreeMap, BTreeSet};

use ackord_machine::{Envelope, LogId, MonoTime, Now, WallTime};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use ackord_share_partition::Span;

use super::host::{Host, Machine, Place};
use super::network::Sabotage;
use super::oracle::Oracle;
use super::plan::{Fault, Plan, places};
use super::worker::{Answer, Ask, Worker, key, sgc_of};
use crate::sim::chance::Chance;
use crate::sim::plan::Without;
use crate::sim::run::Report;
use crate::transcript::Digest;

pub(crate) const STATE_PARTITIONS: i32 = 2;
pub(crate) const ORDERS: Uuid = Uuid([9; 16]);
pub(crate) const LOGS: [LogId; 3] = [log(0), log(1), log(2)];
/// Of each partition.
pub(crate) const RECORDS: i64 = 20;
pub(crate) const WORKERS: usize = 3;
pub(crate) const NODES: u64 = 4;
/// With no more faults, everything ends by then.
const END_MS: u64 = 400_000;

const fn log(partition: i32) -> LogId {
    LogId {
        topic: ORDERS,
        partition,
    }
}

pub(crate) fn group() -> Str {
    Str::from("g")
}

/// Something that happens at its time.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Ask(usize, Place, u64, Box<Ask>),
    Beat(usize),
    Copied(LogId, u32, Vec<Span>),
    Copies(LogId, u32),
    Fault(usize),
    Message(Box<Envelope>),
    Reply(u64, Box<Answer>),
    Restart(u64),
    Stage(usize, u64),
    Turn(usize),
    Written(Place, u32),
}

pub(crate) struct World<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) without: &'p Without,
    pub(crate) now: Now,
    pub(crate) net: Chance,
    pub(crate) disk: Chance,
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    pub(crate) hosts: BTreeMap<Place, Host>,
    down: BTreeSet<u64>,
    pub(crate) next_producer: i64,
    pub(crate) workers: Vec<Worker>,
    pub(crate) slots: u64,
    /// Whose request a ticket is, and what it was.
    pub(crate) asked: BTreeMap<u64, (usize, u64, Ask)>,
    pub(crate) tickets: u64,
    pub(crate) oracle: Oracle,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) digest: Digest,
    pub(crate) messages: u64,
    pub(crate) net_faults: Vec<(usize, u64)>,
    pub(crate) commits: u64,
    transcript: Option<Vec<String>>,
}

impl<'p> World<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        without: &'p Without,
        keep_transcript: bool,
        sabotage: Option<Sabotage>,
    ) -> Self {
        let worker = |index| Worker::new(index, plan.chance.fork(&format!("worker {index}")));
        let mut world = World {
            plan,
            without,
            now: Now {
                mono: MonoTime::from_millis(1),
                wall: WallTime::from_millis(1_000_000),
            },
            net: plan.chance.fork("net"),
            disk: plan.chance.fork("disk"),
            events: BTreeMap::new(),
            order: 0,
            hosts: BTreeMap::new(),
            down: BTreeSet::new(),
            next_producer: 0,
            workers: (0..WORKERS).map(worker).collect(),
            slots: 0,
            asked: BTreeMap::new(),
            tickets: 0,
            oracle: Oracle::new(STATE_PARTITIONS),
            sabotage,
            digest: Digest::default(),
            messages: 0,
            net_faults: Vec::new(),
            commits: 0,
            transcript: keep_transcript.then(Vec::new),
        };
        for (place, node) in places() {
            world.hosts.insert(place, Host::new(place, node));
        }
        for node in 0..NODES {
            world.restart(node);
        }
        for index in (0..WORKERS).filter(|index| !without.clients.contains(index)) {
            world.later(index as u64, Event::Beat(index));
            world.later(10 + index as u64, Event::Turn(index));
        }
        for (number, (at, _)) in plan.faults.iter().enumerate() {
            if !without.faults.contains(&number) {
                world.later(*at, Event::Fault(number));
            }
        }
        world
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Report {
        while self.oracle.broken.is_none() && !self.is_over() {
            self.next_moment();
            if self.now_ms() > END_MS {
                let stuck = self.stuck();
                self.oracle.broken.get_or_insert(stuck);
            }
        }
        if self.oracle.broken.is_none() {
            self.oracle.audit();
        }
        let at = self.now_ms();
        let broken = self.oracle.broken.take();
        Report {
            problems: broken
                .map(|what| format!("at {at} ms: {what}"))
                .into_iter()
                .collect(),
            digest: self.digest.0,
            transcript: self.transcript.take().unwrap_or_default(),
            net_faults: self.net_faults,
            simulated_ms: at,
            requests: self.tickets,
            deliveries: self.oracle.deliveries,
            commits: self.commits,
        }
    }

    pub(crate) fn say(&mut self, line: impl FnOnce() -> String) {
        let ms = self.now_ms();
        if let Some(transcript) = &mut self.transcript {
            let text: String = line().chars().take(500).collect();
            transcript.push(format!("{:>4}.{:03} {text}", ms / 1000, ms % 1000));
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now.mono.as_micros() / 1000
    }

    pub(crate) fn is_faulty(&self) -> bool {
        let length_ms = self.without.length_ms.unwrap_or(self.plan.length_ms);
        self.now_ms() < length_ms
    }

    pub(crate) fn later(&mut self, millis: u64, event: Event) {
        self.order += 1;
        self.events
            .insert((self.now_ms() + millis, self.order), event);
    }

    /// The earliest of what is to happen: an event, or the deadline of a machine.
    fn next_moment(&mut self) {
        let deadlines = self.hosts.values().filter_map(|host| {
            let at = host.next_deadline()?.at.as_micros().div_ceil(1000);
            Some((at, host.place))
        });
        let due = deadlines.min();
        let event = self.events.first_key_value().map(|(at, _)| *at);
        let first = event.map_or(u64::MAX, |event| event.0);
        match (due.filter(|(at, _)| *at <= first), event) {
            (Some((at, place)), _) => {
                self.move_to(at);
                self.deadline(place);
            }
            (None, Some(event)) => {
                self.move_to(event.0);
                let event = self.events.remove(&event).expect("it was there");
                self.happen(event);
            }
            // Without workers there comes a time when nothing happens.
            (None, None) => self.move_to(END_MS + 1),
        }
    }

    fn move_to(&mut self, millis: u64) {
        let millis = millis.max(self.now_ms()) as i64;
        self.now = Now {
            mono: MonoTime::from_millis(millis as u64),
            wall: WallTime::from_millis(1_000_000 + millis),
        };
    }

    fn happen(&mut self, event: Event) {
        if !matches!(event, Event::Beat(_) | Event::Turn(_)) {
            self.say(|| format!("{event:?}"));
        }
        match event {
            Event::Ask(index, place, slot, ask) => self.arrives(index, place, slot, *ask),
            Event::Beat(index) => {
                self.beat(index);
                self.later(3000, Event::Beat(index));
            }
            Event::Copied(log, epoch, spans) => self.told_of_copies(log, epoch, &spans),
            Event::Copies(log, epoch) => self.copied(log, epoch),
            Event::Fault(number) => self.fault(number),
            Event::Message(envelope) => self.deliver(*envelope),
            Event::Reply(ticket, answer) => {
                if let Some((index, slot, ask)) = self.asked.get(&ticket).cloned() {
                    self.answered(index, slot, &ask, *answer);
                }
            }
            Event::Restart(node) => self.restart(node),
            Event::Stage(index, slot) => self.stage_late(index, slot),
            Event::Turn(index) => {
                self.worker_turn(index);
                let pause = 20 + self.workers[index].chance.below(200);
                self.later(pause, Event::Turn(index));
            }
            Event::Written(place, epoch) => self.written(place, epoch),
        }
    }

    fn fault(&mut self, number: usize) {
        if !self.is_faulty() {
            return;
        }
        let (_, fault) = self.plan.faults[number];
        self.say(|| format!("fault {number}: {fault:?}"));
        match fault {
            Fault::Append { place, landed } => {
                let host = self.hosts.get_mut(&place).expect("it is placed");
                host.fails = host.machine.is_some().then_some(landed);
            }
            Fault::Crash { node, away_ms } if self.down.insert(node) => {
                let mut chance = self.plan.chance.fork(&format!("crash {number}"));
                for place in self.places_on(node) {
                    let kept = chance.below(4) as usize;
                    let host = self.hosts.get_mut(&place).expect("it is placed");
                    for entry in host.crash(kept) {
                        self.is_durable(place, &entry);
                    }
                }
                self.later(away_ms, Event::Restart(node));
            }
            Fault::Crash { .. } => {}
            Fault::Move { log, node } => {
                let host = self.hosts.get_mut(&Place::Leader(log));
                host.expect("it is placed").moves_to = Some(node);
            }
        }
    }

    /// A partition has another leader from now on.
    pub(crate) fn move_leader(&mut self, log: LogId, node: u64) {
        let place = Place::Leader(log);
        let host = self.hosts.get_mut(&place).expect("it is placed");
        // A leader has no log, so nothing of the old one is left.
        host.crash(0);
        host.node = node;
        self.say(|| format!("{place:?} is on node {node} now"));
        if !self.down.contains(&node) {
            self.restart_place(place);
        }
    }

    fn places_on(&self, node: u64) -> Vec<Place> {
        let on = self.hosts.values().filter(|host| host.node == node);
        on.map(|host| host.place).collect()
    }

    fn restart(&mut self, node: u64) {
        self.down.remove(&node);
        for place in self.places_on(node) {
            self.restart_place(place);
        }
    }

    pub(crate) fn restart_place(&mut self, place: Place) {
        let now = self.now;
        self.hosts
            .get_mut(&place)
            .expect("it is placed")
            .restart(now);
        match place {
            Place::Tc => self.with_tc(|tc, ctx, out| tc.recovered(ctx, out)),
            Place::Sgc(partition) => {
                self.with_sgc(partition, |sgc, now, out| sgc.recovered(now, out));
            }
            Place::Group | Place::Leader(_) => {}
        }
    }

    /// Every record is committed, and every machine knows it.
    fn is_over(&self) -> bool {
        if self.without.clients.len() >= WORKERS {
            return !self.is_faulty();
        }
        let all = LOGS.len() * RECORDS as usize;
        !self.is_faulty() && self.oracle.committed.len() == all && self.unsettled().is_empty()
    }

    /// What has not ended.
    fn unsettled(&self) -> Vec<String> {
        let mut open = Vec::new();
        if self.plan.has_queue {
            let missing = self.oracle.without_copy().into_iter();
            open.extend(missing.map(|own| format!("{own:?} is in no dead letter queue")));
        }
        for worker in &self.workers {
            open.extend(
                worker
                    .prepared
                    .iter()
                    .map(|own| format!("prepared: {own:?}")),
            );
        }
        for host in self.hosts.values() {
            match &host.machine {
                Some(Machine::Leader(leader)) => {
                    let writes = leader.unanswered_writes().count();
                    let start = leader.share_partition("g").map(|it| it.start_offset());
                    let pending = leader
                        .share_partition("g")
                        .map_or(0, |it| it.pending_count());
                    if writes > 0 || start.is_some_and(|start| start < RECORDS) {
                        open.push(format!(
                            "{:?}: {writes} writes, start {start:?}, {pending} pending",
                            host.place
                        ));
                    }
                }
                Some(Machine::Sgc(sgc)) => {
                    open.extend(
                        sgc.unanswered()
                            .map(|it| format!("{:?}: {it:?}", host.place)),
                    );
                }
                Some(Machine::Tc(tc)) => {
                    let entries = tc.transactions().filter(|it| it.state.is_prepared());
                    open.extend(entries.map(|it| format!("{it:?}")));
                }
                Some(Machine::Group(_)) => {}
                None => open.push(format!("{:?} is down", host.place)),
            }
        }
        open
    }

    fn stuck(&self) -> String {
        let missing: Vec<_> = LOGS
            .iter()
            .flat_map(|log| (0..RECORDS).map(move |offset| (*log, offset)))
            .filter(|record| !self.oracle.committed.contains_key(record))
            .map(|(log, offset)| {
                let state = self.oracle.mirror(sgc_of(log)).state(&key(log));
                let pending = state.map(|state| state.pending.clone());
                format!("{}-{offset} {pending:?}", log.partition)
            })
            .collect();
        let open = self.unsettled();
        format!(
            "it does not end: {missing:#?} {open:#?} {:#?}",
            self.workers
        )
    }
}
