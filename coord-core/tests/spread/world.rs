//! Time, the network, and crashes.

use std::collections::{BTreeMap, BTreeSet};

use ackord_machine::{Entropy, Envelope, LogId, MonoTime, Now, WallTime};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use crate::host::{Host, Machine, Place};
use crate::network::Sabotage;
use crate::oracle::Oracle;
use crate::worker::{Answer, Ask, Worker, key, sgc_of};

pub(crate) const STATE_PARTITIONS: i32 = 2;
pub(crate) const ORDERS: Uuid = Uuid([9; 16]);
pub(crate) const LOGS: [LogId; 3] = [log(0), log(1), log(2)];
/// Of each partition.
pub(crate) const RECORDS: i64 = 12;
const WORKERS: usize = 3;
const FAULTS_MS: u64 = 60_000;
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

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) messages: u64,
    pub(crate) lost: u64,
    pub(crate) repeated: u64,
    pub(crate) crashes: u64,
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    /// Stages of workers that had stopped for long.
    pub(crate) late: u64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: Figures) {
        self.messages += other.messages;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.crashes += other.crashes;
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.late += other.late;
    }
}

/// Something that happens at its time.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Ask(usize, Place, u64, Box<Ask>),
    Beat(usize),
    Crash,
    Message(Box<Envelope>),
    Reply(u64, Box<Answer>),
    Restart(u64),
    Stage(usize, u64),
    Turn(usize),
    Written(Place, u32),
}

pub(crate) struct World {
    pub(crate) now: Now,
    pub(crate) chance: Entropy,
    pub(crate) events: BTreeMap<(u64, u64), Event>,
    pub(crate) order: u64,
    pub(crate) hosts: BTreeMap<Place, Host>,
    pub(crate) down: BTreeSet<u64>,
    pub(crate) next_producer: i64,
    pub(crate) workers: Vec<Worker>,
    pub(crate) slots: u64,
    /// Whose request a ticket is, and what it was.
    pub(crate) asked: BTreeMap<u64, (usize, u64, Ask)>,
    pub(crate) tickets: u64,
    pub(crate) oracle: Oracle,
    pub(crate) figures: Figures,
    pub(crate) sabotage: Option<Sabotage>,
}

impl World {
    /// Runs a seed to its end.
    pub(crate) fn run(seed: u64, sabotage: Option<Sabotage>) -> Result<Figures, String> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut world = World::new(Entropy::from_seed(bytes));
        world.sabotage = sabotage;
        while !world.is_over() {
            world.next_moment();
            if let Some(broken) = &world.oracle.broken {
                return Err(format!("at {} ms: {broken}", world.now_ms()));
            }
            if world.now_ms() > END_MS {
                return Err(world.stuck());
            }
        }
        world.oracle.audit();
        match world.oracle.broken {
            Some(broken) => Err(broken),
            None => Ok(world.figures),
        }
    }

    fn new(chance: Entropy) -> Self {
        let mut world = World {
            now: Now {
                mono: MonoTime::from_millis(1),
                wall: WallTime::from_millis(1_000_000),
            },
            chance,
            events: BTreeMap::new(),
            order: 0,
            hosts: BTreeMap::new(),
            down: BTreeSet::new(),
            next_producer: 0,
            workers: (0..WORKERS).map(Worker::new).collect(),
            slots: 0,
            asked: BTreeMap::new(),
            tickets: 0,
            oracle: Oracle::new(STATE_PARTITIONS),
            figures: Figures::default(),
            sabotage: None,
        };
        let places = [Place::Tc, Place::Sgc(0), Place::Sgc(1), Place::Group];
        let places = places.into_iter().chain(LOGS.map(Place::Leader));
        for (place, node) in places.zip([0, 1, 2, 3, 3, 0, 1]) {
            world.hosts.insert(place, Host::new(place, node));
        }
        for node in 0..4 {
            world.restart(node);
        }
        for index in 0..WORKERS {
            world.later(index as u64, Event::Beat(index));
            world.later(10 + index as u64, Event::Turn(index));
        }
        let first = world.chance.below(8000);
        world.later(first, Event::Crash);
        world
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now.mono.as_micros() / 1000
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.now_ms() < FAULTS_MS
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
        let event = event.expect("workers always have a turn");
        match due.filter(|(at, _)| *at <= event.0) {
            Some((at, place)) => {
                self.move_to(at);
                self.deadline(place);
            }
            None => {
                self.move_to(event.0);
                let event = self.events.remove(&event).expect("it was there");
                self.happen(event);
            }
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
        match event {
            Event::Ask(index, place, slot, ask) => self.arrives(index, place, slot, *ask),
            Event::Beat(index) => {
                self.beat(index);
                self.later(3000, Event::Beat(index));
            }
            Event::Crash => self.crash(),
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
                let pause = 20 + self.chance.below(200);
                self.later(pause, Event::Turn(index));
            }
            Event::Written(place, epoch) => self.written(place, epoch),
        }
    }

    fn crash(&mut self) {
        if !self.is_faulty() {
            return;
        }
        let next = 500 + self.chance.below(9000);
        self.later(next, Event::Crash);
        let node = self.chance.below(4);
        if !self.down.insert(node) {
            return;
        }
        self.figures.crashes += 1;
        let places: Vec<Place> = self.places_on(node);
        for place in places {
            let kept = self.chance.below(4) as usize;
            let host = self.hosts.get_mut(&place).expect("it is placed");
            for entry in host.crash(kept) {
                self.is_durable(place, &entry);
            }
        }
        let away = self.chance.below(4000);
        self.later(away, Event::Restart(node));
    }

    fn places_on(&self, node: u64) -> Vec<Place> {
        let on = self.hosts.values().filter(|host| host.node == node);
        on.map(|host| host.place).collect()
    }

    fn restart(&mut self, node: u64) {
        self.down.remove(&node);
        for place in self.places_on(node) {
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
    }

    /// Every record is committed, and every machine knows it.
    fn is_over(&self) -> bool {
        let all = LOGS.len() * RECORDS as usize;
        !self.is_faulty() && self.oracle.committed.len() == all && self.unsettled().is_empty()
    }

    /// What has not ended.
    fn unsettled(&self) -> Vec<String> {
        let mut open = Vec::new();
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
