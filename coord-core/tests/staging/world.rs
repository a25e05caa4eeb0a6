//! The machines, and what can happen to them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::LazyLock;

use ackord_coord_core::BrokerConfig;
use ackord_coord_core::leader::{Leader, LeaderContext, LeaderReply, ShareLoad};
use ackord_coord_core::log::{LogConfig, PartitionLog};
use ackord_coord_core::metadata::{SHARE_STATE_TOPIC, ShareGroupSettings};
use ackord_coord_core::outbox::{Outbox, Ticket};
use ackord_coord_core::share::{ShareCoordinator, ShareCoordinatorConfig, ShareKey, StageCommand};
use ackord_coord_core::txn::{
    AddKind, AddPartitions, Participants, ProducerIds, TxnConfig, TxnCoordinator, TxnCtx,
    TxnDescription, TxnState,
};
use ackord_machine::{Envelope, LogId, MonoTime, Now, Role, StagedRange, TxnOwner, WallTime};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    EndTxnRequest, InitProducerIdRequest, initialize_share_group_state as initialize,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use ackord_share_partition::{AcquireMode, Config, LogBatch};

use crate::network::{Fault, Network, Sabotage};

pub(crate) const LOG: LogId = LogId {
    topic: Uuid([5; 16]),
    partition: 0,
};
const STATE_LOG: LogId = LogId {
    topic: Uuid([6; 16]),
    partition: 0,
};
const TXN_LOG: LogId = LogId {
    topic: Uuid([7; 16]),
    partition: 0,
};
/// An acquisition lock: far longer than all retries of a run together.
const LOCK_MS: i64 = 100_000_000;
/// A transaction: far longer than all locks of a run together, so that nothing times out by itself.
const TIMEOUT_MS: i32 = i32::MAX - 1;
/// Longer than any wait between two copies of a request.
const RETRY_MS: i64 = 33_000;

/// Machines may crash whenever.
pub(crate) const UNLIMITED_CRASHES: u8 = u8::MAX;

/// Requests that a leader keeps while it reads, beside which no share coordinator crashes.
const WAITING: usize = 2;

/// How large a world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) records: i64,
    pub(crate) members: usize,
    pub(crate) producers: usize,
    /// For each producer; without a limit for the greatest number, since what is long over leaves
    /// no trace.
    pub(crate) transactions: usize,
    /// Delivery count limit: counts stay at it.
    pub(crate) count_limit: i16,
    /// Requests without an answer, of whichever machine, beside which no fault happens; those of the
    /// share coordinator beside which nothing is staged, and writes of the leader beside which no
    /// lock ends.
    pub(crate) open: usize,
    /// Messages are lost.
    pub(crate) losses: bool,
    /// Messages that are delayed at one time.
    pub(crate) held: usize,
    /// Of whichever machine.
    pub(crate) crashes: u8,
    /// Transaction version 2.
    pub(crate) epoch_per_txn: bool,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A delayed message arrives.
    Arrive(usize),
    Begin(usize),
    CrashLeader,
    CrashShareCoordinator,
    CrashTransactionCoordinator,
    End(usize, bool),
    /// InitProducerId: an ongoing transaction is aborted under a new epoch.
    Fence(usize),
    Fetch(usize),
    LocksEnd,
    /// Whatever was not answered is sent again.
    Retry,
    Stage {
        producer: usize,
        /// 0 is the current epoch, 1 the one before: a stage that comes late.
        epochs_ago: i16,
        member: usize,
        offset: i64,
    },
    /// Nobody uses the share partition, and the leader drops it where all of it is stored.
    Unused,
}

/// What became of a record, as far as clients were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Told {
    Nothing,
    Staged(i64),
    Committed,
}

/// Crashes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Crashes {
    pub(crate) leader: u32,
    pub(crate) sgc: u32,
    pub(crate) tc: u32,
}

impl Crashes {
    /// Whether there may be one more.
    fn are_left(self, limit: u8) -> bool {
        let unlimited = limit == UNLIMITED_CRASHES;
        unlimited || self.leader + self.sgc + self.tc < u32::from(limit)
    }
}

/// Worlds share the machines that a step between them has not touched.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) scale: Scale,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) tc: Rc<TxnCoordinator>,
    pub(crate) sgc: Rc<ShareCoordinator>,
    /// The log of the share coordinator: it judges markers.
    pub(crate) log: Rc<PartitionLog>,
    pub(crate) leader: Rc<Leader>,
    pub(crate) now: Now,
    pub(crate) told: Vec<Told>,
    /// When the lock of the newest delivery ends.
    pub(crate) locked_until: Vec<MonoTime>,
    /// Transactions that each producer has begun.
    pub(crate) begun: Vec<usize>,
    pub(crate) crashes: Crashes,
    /// Delayed messages.
    pub(crate) held: Vec<Envelope>,
    /// Of the step under way.
    pub(crate) network: Network,
    pub(crate) broken: Option<String>,
}

static SETTINGS: LazyLock<ShareGroupSettings> = LazyLock::new(|| {
    let (name, value) = ("share.auto.offset.reset", "earliest");
    let configs = BTreeMap::from([(Str::from(name), Str::from(value))]);
    ShareGroupSettings::new(&BrokerConfig::default(), &configs)
});

struct Ids(i64);

impl ProducerIds for Ids {
    fn next(&mut self) -> Result<i64, ErrorCode> {
        self.0 += 1;
        Ok(self.0)
    }
}

struct OneShareCoordinator;

impl Participants for OneShareCoordinator {
    fn role(&self, topic: &str, partition: i32) -> Option<Role> {
        (topic == SHARE_STATE_TOPIC).then_some(Role::Sgc(partition))
    }
}

pub(crate) fn group() -> Str {
    Str::from("g")
}

pub(crate) fn key() -> ShareKey {
    ShareKey {
        group: group(),
        topic: LOG.topic,
        partition: LOG.partition,
    }
}

pub(crate) fn member(index: usize) -> Str {
    Str::from(format!("m{index}"))
}

fn transactional_id(producer: usize) -> Str {
    Str::from(format!("t{producer}"))
}

fn ticket(offset: i64, producer: usize) -> Ticket {
    Ticket {
        slot: offset as u64,
        part: producer as u32,
    }
}

fn share_coordinator(epoch: u32) -> ShareCoordinator {
    let config = ShareCoordinatorConfig {
        updates_per_snapshot: usize::MAX - 1,
        transaction_partitions: 1,
    };
    ShareCoordinator::new(0, STATE_LOG, config).with_epoch(epoch)
}

fn txn_config() -> TxnConfig {
    TxnConfig {
        max_timeout_ms: TIMEOUT_MS,
        ..TxnConfig::default()
    }
}

/// Nothing gives a record up, so that a world is finite and whatever is done was committed.
fn partition_config(count_limit: i16) -> Config {
    Config {
        delivery_count_limit: count_limit,
        record_lock_ms: LOCK_MS,
        transactional: true,
        ..Config::default()
    }
}

impl World {
    pub(crate) fn new(scale: Scale) -> Self {
        let mut world = World {
            scale,
            sabotage: None,
            tc: Rc::new(TxnCoordinator::new(0, TXN_LOG, txn_config())),
            sgc: Rc::new(share_coordinator(0)),
            log: Rc::new(PartitionLog::new(STATE_LOG, LogConfig::default())),
            leader: Rc::new(Leader::with_epoch(LOG, 0)),
            now: Now {
                mono: MonoTime::from_millis(0),
                wall: WallTime::from_millis(1000),
            },
            told: vec![Told::Nothing; scale.records as usize],
            locked_until: vec![MonoTime::from_millis(0); scale.records as usize],
            begun: vec![0; scale.producers],
            crashes: Crashes::default(),
            held: Vec::new(),
            network: Network::default(),
            broken: None,
        };
        let data = initialize::PartitionData {
            start_offset: 0,
            ..Default::default()
        };
        Rc::make_mut(&mut world.sgc).initialize(world.now, &key(), &data, &mut Outbox::new());
        for producer in 0..scale.producers {
            world.init_producer_id(producer);
        }
        world.end_step();
        world
    }

    pub(crate) fn with(mut self, sabotage: Sabotage) -> Self {
        self.sabotage = Some(sabotage);
        self
    }

    pub(crate) fn can_hold(&self) -> bool {
        self.held.len() < self.scale.held
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.clone().or_else(|| self.check().err())
    }

    /// The state of a producer at its coordinator.
    pub(crate) fn transaction(&self, producer: usize) -> TxnDescription<'_> {
        let found = self.tc.transaction(&transactional_id(producer));
        found.expect("every producer was initialised")
    }

    /// Whether a message may suffer a fault now.
    pub(crate) fn can_fail(&self) -> bool {
        let prepared = (0..self.scale.producers)
            .filter(|it| self.transaction(*it).state.is_prepared())
            .count();
        let reading = usize::from(self.leader.reading("g").is_some());
        let writes = self.leader.unanswered_writes().count();
        self.sgc.unanswered().count() + writes + reading + prepared < self.scale.open
    }

    /// What can happen now; some of it may turn out to be impossible.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut all: Vec<Event> = (0..self.held.len()).map(Event::Arrive).collect();
        all.extend([Event::LocksEnd, Event::Retry, Event::Unused]);
        all.extend((0..self.scale.members).map(Event::Fetch));
        for producer in 0..self.scale.producers {
            let state = self.transaction(producer).state;
            if state == TxnState::Ongoing {
                all.extend([true, false].map(|commit| Event::End(producer, commit)));
                if self.scale.epoch_per_txn {
                    all.push(Event::Fence(producer));
                }
            } else if !state.is_prepared() {
                all.push(Event::Begin(producer));
            }
            for member in 0..self.scale.members {
                for offset in 0..self.scale.records {
                    all.extend([0, 1].map(|epochs_ago| Event::Stage {
                        producer,
                        epochs_ago,
                        member,
                        offset,
                    }));
                }
            }
        }
        if self.crashes.are_left(self.scale.crashes) {
            all.extend([Event::CrashLeader, Event::CrashTransactionCoordinator]);
            // Each share coordinator asks a leader that reads once more, and the leader keeps it all.
            let reading = self.leader.reading("g");
            if reading.is_none_or(|(_, waiting)| waiting.len() < WAITING) {
                all.push(Event::CrashShareCoordinator);
            }
        }
        all
    }

    /// Does `event` and all that follows, where one message may suffer a fault. `None` where it
    /// cannot happen now; else how many messages there were.
    pub(crate) fn step(&mut self, event: Event, fault: Option<(usize, Fault)>) -> Option<usize> {
        self.begin_step(fault);
        let happens = match event {
            Event::Arrive(index) => {
                let envelope = self.held.remove(index);
                self.deliver(envelope);
                true
            }
            Event::Begin(producer) => self.begin(producer),
            Event::CrashLeader => self.crash_leader(),
            Event::CrashShareCoordinator => self.crash_share_coordinator(),
            Event::CrashTransactionCoordinator => self.crash_transaction_coordinator(),
            Event::End(producer, commit) => self.end(producer, commit),
            Event::Fence(producer) => {
                let ongoing = self.transaction(producer).state == TxnState::Ongoing;
                if ongoing {
                    self.init_producer_id(producer);
                }
                ongoing
            }
            Event::Fetch(member) => self.fetch(member),
            Event::LocksEnd => self.locks_end(),
            Event::Retry => self.retry(),
            Event::Stage {
                producer,
                epochs_ago,
                member,
                offset,
            } => self.stage(producer, epochs_ago, member, offset),
            Event::Unused => self.drop_unused(),
        };
        happens.then(|| self.end_step())
    }

    pub(crate) fn with_tc(
        &mut self,
        run: impl FnOnce(
            &mut TxnCoordinator,
            &mut TxnCtx<'_>,
            &mut Outbox<ackord_coord_core::txn::TxnReply>,
        ),
    ) {
        let mut out = Outbox::new();
        let mut ctx = TxnCtx {
            now: self.now,
            ids: &mut Ids(self.tc.transactions().len() as i64 - 1),
            participants: &OneShareCoordinator,
        };
        run(Rc::make_mut(&mut self.tc), &mut ctx, &mut out);
        self.carry_out(out, |_, _, _| {});
    }

    pub(crate) fn with_sgc(
        &mut self,
        run: impl FnOnce(&mut ShareCoordinator, Now, &mut Outbox<ackord_coord_core::share::ShareReply>),
    ) {
        let mut out = Outbox::new();
        run(Rc::make_mut(&mut self.sgc), self.now, &mut out);
        self.carry_out(out, World::answered);
    }

    pub(crate) fn with_leader(
        &mut self,
        run: impl FnOnce(&mut Leader, LeaderContext<'_>, &mut Outbox<LeaderReply>),
    ) {
        let ctx = LeaderContext {
            now: self.now,
            log_start: 0,
            high_watermark: self.scale.records,
            settings: &SETTINGS,
            state_partitions: 1,
            queue_open: false,
        };
        let mut out = Outbox::new();
        run(Rc::make_mut(&mut self.leader), ctx, &mut out);
        Rc::make_mut(&mut self.leader).set_config("g", &partition_config(self.scale.count_limit));
        self.carry_out(out, |_, _, _| {});
    }

    fn init_producer_id(&mut self, producer: usize) {
        let request = InitProducerIdRequest {
            transactional_id: Some(transactional_id(producer)),
            transaction_timeout_ms: TIMEOUT_MS,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let ticket = ticket(0, producer);
        self.with_tc(|tc, ctx, out| tc.init_producer_id(ctx, ticket, &request, 5, out));
    }

    fn begin(&mut self, producer: usize) -> bool {
        let entry = self.transaction(producer);
        let rests = !entry.state.is_prepared() && entry.state != TxnState::Ongoing;
        if !rests || self.begun[producer] >= self.scale.transactions {
            return false;
        }
        let kind = match self.scale.epoch_per_txn {
            true => AddKind::ShareAcks,
            false => AddKind::Partitions,
        };
        let request = AddPartitions {
            version: 3,
            kind,
            transactional_id: transactional_id(producer),
            producer_id: entry.producer_id,
            producer_epoch: entry.producer_epoch,
            partitions: vec![(Str::from(SHARE_STATE_TOPIC), 0)],
        };
        self.begun[producer] += 1;
        let ticket = ticket(0, producer);
        self.with_tc(|tc, ctx, out| tc.add_partitions(ctx.now, ticket, request, out));
        true
    }

    fn end(&mut self, producer: usize, commit: bool) -> bool {
        let entry = self.transaction(producer);
        if entry.state != TxnState::Ongoing {
            return false;
        }
        let request = EndTxnRequest {
            transactional_id: transactional_id(producer),
            producer_id: entry.producer_id,
            producer_epoch: entry.producer_epoch,
            committed: commit,
            ..Default::default()
        };
        let version = if self.scale.epoch_per_txn { 5 } else { 4 };
        let ticket = ticket(0, producer);
        self.with_tc(|tc, ctx, out| tc.end_txn(ctx, ticket, &request, version, out));
        true
    }

    fn fetch(&mut self, index: usize) -> bool {
        let records = self.scale.records;
        let log: Vec<LogBatch> = (0..records)
            .map(|base| LogBatch { base, last: base })
            .collect();
        let mut got = Vec::new();
        let was_there = self.leader.share_partition("g").is_some();
        self.with_leader(|leader, ctx, out| {
            if let ShareLoad::Ready(partition) = leader.load(ctx, &group(), out) {
                let from = partition.next_fetch_offset().clamp(0, records) as usize;
                let mode = AcquireMode::RecordLimit;
                got = partition.acquire(ctx.now.mono, &member(index), &log[from..], 1, 1, mode);
            }
        });
        for acquired in &got {
            let offset = acquired.first as usize;
            self.locked_until[offset] = self.now.mono.plus_millis(LOCK_MS);
            if self.told[offset] == Told::Committed {
                self.break_rule(format!(
                    "offset {offset} was committed and is delivered again"
                ));
            }
        }
        !got.is_empty() || !was_there
    }

    fn drop_unused(&mut self) -> bool {
        if !self.leader.has("g") {
            return false;
        }
        self.with_leader(|leader, ctx, out| {
            leader.abandon("g");
            leader.drop_unused(ctx, &group(), out);
        });
        !self.leader.has("g")
    }

    fn stage(&mut self, producer: usize, epochs_ago: i16, index: usize, offset: i64) -> bool {
        let entry = self.transaction(producer);
        let producer_epoch = entry.producer_epoch - epochs_ago;
        if producer_epoch < 0 || self.sgc.unanswered().count() >= self.scale.open {
            return false;
        }
        let command = StageCommand {
            key: key(),
            transactional_id: transactional_id(producer),
            owner: TxnOwner {
                producer_id: entry.producer_id,
                producer_epoch,
                ordinal: 0,
            },
            member: Some(member(index)),
            member_error: ErrorCode::NONE,
            // As below version 5 of TxnOffsetCommit.
            any_version: !self.scale.epoch_per_txn,
            ranges: vec![StagedRange {
                first_offset: offset,
                last_offset: offset,
                acknowledge_type: 1,
                delivery_count: None,
            }],
        };
        let ticket = ticket(offset, producer);
        self.with_sgc(|sgc, now, out| sgc.stage(now, ticket, command, out));
        true
    }

    fn locks_end(&mut self) -> bool {
        let now = self.now.mono;
        // Each end is a write; without a bound on those that are lost a world has no end.
        let writes = self.leader.unanswered_writes().count();
        if writes >= self.scale.open || self.locked_until.iter().all(|until| *until <= now) {
            return false;
        }
        self.now.mono = now.plus_millis(LOCK_MS);
        self.with_leader(|leader, ctx, out| {
            leader.expire(ctx, &group(), out);
        });
        true
    }

    /// Time for every copy, but the locks stay: a lock that ends is another event.
    fn retry(&mut self) -> bool {
        let prepared = (0..self.scale.producers).any(|it| self.transaction(it).state.is_prepared());
        let waits = prepared
            || self.sgc.unanswered().next().is_some()
            || self.leader.unanswered_writes().next().is_some()
            || self.leader.reading("g").is_some();
        if !waits {
            return false;
        }
        self.now.mono = self.now.mono.plus_millis(RETRY_MS);
        self.with_tc(|tc, ctx, out| tc.handle_timeout(ctx, out));
        self.with_sgc(|sgc, now, out| sgc.handle_timeout(now, out));
        self.with_leader(|leader, ctx, out| {
            leader.handle_timeout(ctx.now, 1, out);
        });
        true
    }

    fn crash_leader(&mut self) -> bool {
        self.crashes.leader += 1;
        self.leader = Rc::new(Leader::with_epoch(LOG, self.leader.epoch() + 1));
        true
    }

    fn crash_share_coordinator(&mut self) -> bool {
        self.crashes.sgc += 1;
        let mut next = share_coordinator(self.crashes.sgc);
        for record in self.sgc.snapshot(self.now) {
            next.apply(&record, None).expect("own records decode");
        }
        self.sgc = Rc::new(next);
        self.with_sgc(|sgc, now, out| sgc.recovered(now, out));
        true
    }

    fn crash_transaction_coordinator(&mut self) -> bool {
        self.crashes.tc += 1;
        let mut next = TxnCoordinator::new(0, TXN_LOG, txn_config());
        for record in self.tc.snapshot() {
            next.apply(&record).expect("own records decode");
        }
        self.tc = Rc::new(next);
        self.with_tc(|tc, ctx, out| tc.recovered(ctx, out));
        true
    }
}
