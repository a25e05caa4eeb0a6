//! The machines and the messages between them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use ackord_coord_core::BrokerConfig;
use ackord_coord_core::leader::{Leader, LeaderContext, LeaderReply, ShareLoad};
use ackord_coord_core::metadata::ShareGroupSettings;
use ackord_coord_core::outbox::{Outbox, Output, ProducerEpoch, Ticket};
use ackord_coord_core::share::{
    EndMarker, ShareCoordinator, ShareCoordinatorConfig, ShareKey, ShareReply, StageCommand,
};
use ackord_machine::{
    Body, Envelope, LogId, MonoTime, Now, ResolveShareAcks, Role, StagedRange, TxnOwner, WallTime,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, add_partitions_to_txn as add,
    initialize_share_group_state as initialize,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use ackord_share_partition::{AcquireMode, LogBatch, RecordState};

const LOG: LogId = LogId {
    topic: Uuid([5; 16]),
    partition: 0,
};
const STATE_LOG: LogId = LogId {
    topic: Uuid([6; 16]),
    partition: 0,
};
const TICKET: Ticket = Ticket { slot: 1, part: 0 };
const EPOCHS: i16 = 2;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Begin(usize),
    End(usize, bool),
    Fetch(usize),
    LocksEnd,
    ReloadCoordinator,
    ReloadLeader,
    /// The leader hears how a transaction ended. In one broker the ends come in their order.
    Resolve,
    /// In one broker a stage is verified, held and stored in one step.
    Stage {
        producer: usize,
        epoch: i16,
        member: usize,
        offset: i64,
    },
}

impl Event {
    pub(crate) fn all(members: &[usize], offsets: &[i64]) -> Vec<Event> {
        let mut all = vec![
            Event::LocksEnd,
            Event::ReloadCoordinator,
            Event::ReloadLeader,
            Event::Resolve,
        ];
        all.extend(members.iter().map(|member| Event::Fetch(*member)));
        for producer in [0, 1] {
            all.push(Event::Begin(producer));
            all.extend([true, false].map(|commit| Event::End(producer, commit)));
            for epoch in 0..EPOCHS {
                for member in members {
                    for offset in offsets {
                        all.push(Event::Stage {
                            producer,
                            epoch,
                            member: *member,
                            offset: *offset,
                        });
                    }
                }
            }
        }
        all
    }
}

/// What the transaction coordinator knows of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Producer {
    epoch: i16,
    ongoing: bool,
}

/// What became of a record, as far as the clients were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Staged(usize),
    Committed,
}

#[derive(Clone)]
pub(crate) struct World {
    sgc: ShareCoordinator,
    leader: Leader,
    settings: ShareGroupSettings,
    now: Now,
    producers: [Producer; 2],
    told: Vec<Told>,
    /// Ends of transactions that the leader has not heard of.
    resolves: Vec<ResolveShareAcks>,
    members: [Str; 2],
}

fn group() -> Str {
    Str::from("g")
}

fn key() -> ShareKey {
    ShareKey {
        group: group(),
        topic: LOG.topic,
        partition: LOG.partition,
    }
}

fn coordinator() -> ShareCoordinator {
    let config = ShareCoordinatorConfig {
        updates_per_snapshot: usize::MAX - 1,
        transaction_partitions: 1,
    };
    ShareCoordinator::new(0, STATE_LOG, config)
}

impl World {
    pub(crate) fn new(records: i64) -> Self {
        let configs = [
            ("share.auto.offset.reset", "earliest"),
            ("share.delivery.count.limit", "2"),
        ];
        let configs: BTreeMap<Str, Str> = configs
            .into_iter()
            .map(|(name, value)| (Str::from(name), Str::from(value)))
            .collect();
        let mut world = World {
            sgc: coordinator(),
            leader: Leader::new(LOG),
            settings: ShareGroupSettings::new(&BrokerConfig::default(), &configs),
            now: Now {
                mono: MonoTime::from_millis(0),
                wall: WallTime::from_millis(0),
            },
            producers: [Producer {
                epoch: 0,
                ongoing: false,
            }; 2],
            told: vec![Told::Nothing; records as usize],
            resolves: Vec::new(),
            members: [Str::from("m0"), Str::from("m1")],
        };
        let data = initialize::PartitionData {
            start_offset: 0,
            ..Default::default()
        };
        let now = world.now;
        world.sgc.initialize(now, &key(), &data, &mut Outbox::new());
        world
    }

    fn records(&self) -> i64 {
        self.told.len() as i64
    }

    /// Does `event`; `false` where it cannot happen now.
    pub(crate) fn step(&mut self, event: Event) -> bool {
        match event {
            Event::Begin(producer) => {
                let own = &mut self.producers[producer];
                let can = !own.ongoing && own.epoch < EPOCHS;
                own.ongoing |= can;
                can
            }
            Event::End(producer, commit) => self.end(producer, commit),
            Event::Fetch(member) => self.fetch(member),
            Event::LocksEnd => {
                self.now.mono = self.now.mono.plus_millis(30_000);
                self.with_leader(|leader, ctx, out| {
                    leader.expire(ctx, &group(), out);
                });
                true
            }
            Event::ReloadCoordinator => self.reload_coordinator(),
            Event::ReloadLeader => self.reload_leader(),
            Event::Resolve => {
                if self.resolves.is_empty() {
                    return false;
                }
                let resolve = self.resolves.remove(0);
                self.with_leader(|leader, ctx, out| {
                    leader.resolve(ctx, resolve, out);
                });
                true
            }
            Event::Stage {
                producer,
                epoch,
                member,
                offset,
            } => self.stage(producer, epoch, member, offset),
        }
    }

    /// The coordinator is read back; in one process the leader's state goes with it.
    fn reload_coordinator(&mut self) -> bool {
        let mut copy = coordinator();
        for record in self.sgc.snapshot(self.now) {
            copy.apply(&record, None).expect("own records decode");
        }
        self.sgc = copy;
        self.reload_leader()
    }

    fn reload_leader(&mut self) -> bool {
        self.leader = Leader::new(LOG);
        self.with_leader(|leader, ctx, out| {
            leader.load(ctx, &group(), out);
        });
        true
    }

    fn fetch(&mut self, member: usize) -> bool {
        let member = self.members[member].clone();
        self.with_leader(|leader, ctx, out| {
            leader.load(ctx, &group(), out);
        });
        let log: Vec<LogBatch> = (0..self.records())
            .map(|base| LogBatch { base, last: base })
            .collect();
        let records = self.records();
        let mut got = Vec::new();
        self.with_leader(|leader, ctx, out| {
            if let ShareLoad::Ready(partition) = leader.load(ctx, &group(), out) {
                let from = partition.next_fetch_offset().clamp(0, records) as usize;
                let mode = AcquireMode::RecordLimit;
                got = partition.acquire(ctx.now.mono, &member, &log[from..], 1, 1, mode);
            }
        });
        !got.is_empty()
    }

    fn stage(&mut self, producer: usize, epoch: i16, member: usize, offset: i64) -> bool {
        let command = StageCommand {
            key: key(),
            transactional_id: Str::from(format!("t{producer}")),
            owner: TxnOwner {
                producer_id: producer as i64,
                producer_epoch: epoch,
            },
            member: Some(self.members[member].clone()),
            member_error: ErrorCode::NONE,
            ranges: vec![StagedRange {
                first_offset: offset,
                last_offset: offset,
                acknowledge_type: 1,
                delivery_count: None,
            }],
        };
        let mut out = Outbox::new();
        self.sgc.stage(TICKET, command, &mut out);
        for stage in self.route(out, producer, offset) {
            let answers = self.with_leader(|leader, ctx, out| leader.stage(ctx, stage, out));
            for answer in answers {
                let mut out = Outbox::new();
                self.sgc.handle_envelope(self.now, answer, &mut out);
                self.route(out, producer, offset);
            }
        }
        true
    }

    /// Routes what the coordinator sends; returns stages for the leader.
    fn route(
        &mut self,
        mut out: Outbox<ShareReply>,
        producer: usize,
        offset: i64,
    ) -> Vec<Envelope> {
        let mut for_leader = Vec::new();
        let mut outputs = VecDeque::from(out.take());
        while let Some(output) = outputs.pop_front() {
            match output {
                Output::Append { .. }
                | Output::Barrier
                | Output::Count(_)
                | Output::Measure { .. } => {}
                Output::Reply { reply, .. } => {
                    let ShareReply::Staged { code, .. } = reply;
                    if code == ErrorCode::NONE {
                        let told = &mut self.told[offset as usize];
                        let own = [Told::Nothing, Told::Staged(producer)].contains(told);
                        assert!(own, "offset {offset} is {told:?} and staged once more");
                        *told = Told::Staged(producer);
                    }
                }
                Output::Send { envelope, .. } => match &envelope.body {
                    Body::AddPartitionsToTxn(request) => {
                        let body = Body::AddPartitionsToTxnReply {
                            response: self.verdict(request),
                            ordinal: 1,
                            owner: None,
                        };
                        let reply = Envelope {
                            from: envelope.to.clone(),
                            to: envelope.from.clone(),
                            correlation: envelope.correlation,
                            body,
                        };
                        let mut more = Outbox::new();
                        self.sgc.handle_envelope(self.now, reply, &mut more);
                        outputs.extend(more.take());
                    }
                    Body::ResolveShareAcks(resolve) => self.resolves.push(resolve.clone()),
                    _ => for_leader.push(envelope),
                },
            }
        }
        for_leader
    }

    /// The transaction coordinator's answer to a verification.
    fn verdict(&self, request: &AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse {
        let transaction = &request.transactions[0];
        let own = self.producers[transaction.producer_id as usize];
        let code = match own.ongoing && own.epoch == transaction.producer_epoch {
            true => ErrorCode::NONE,
            false => ErrorCode::INVALID_TXN_STATE,
        };
        let partition = add::AddPartitionsToTxnPartitionResult {
            partition_error_code: code,
            ..Default::default()
        };
        let topic = add::AddPartitionsToTxnTopicResult {
            results_by_partition: vec![partition],
            ..Default::default()
        };
        let result = add::AddPartitionsToTxnResult {
            topic_results: vec![topic],
            ..Default::default()
        };
        AddPartitionsToTxnResponse {
            results_by_transaction: vec![result],
            ..Default::default()
        }
    }

    /// Ends a transaction by its marker, or by a fencing bump, which is an abort.
    fn end(&mut self, producer: usize, commit: bool) -> bool {
        let own = &mut self.producers[producer];
        if !own.ongoing || self.resolves.len() >= 2 {
            return false;
        }
        own.ongoing = false;
        own.epoch += 1;
        let marker = EndMarker {
            producer: ProducerEpoch {
                id: producer as i64,
                epoch: own.epoch,
            },
            commit,
        };
        for told in &mut self.told {
            if *told == Told::Staged(producer) {
                *told = if commit {
                    Told::Committed
                } else {
                    Told::Nothing
                };
            }
        }
        let mut out = Outbox::new();
        self.sgc.complete_transaction(marker, true, &mut out);
        self.route(out, producer, 0);
        true
    }

    /// Runs something on the leader; its reads and writes reach the coordinator at once. Returns
    /// its answers to stages.
    fn with_leader(
        &mut self,
        run: impl FnOnce(&mut Leader, LeaderContext<'_>, &mut Outbox<LeaderReply>),
    ) -> Vec<Envelope> {
        let settings = self.settings;
        let ctx = LeaderContext {
            now: self.now,
            log_start: 0,
            high_watermark: self.records(),
            settings: &settings,
            state_partitions: 1,
            queue_open: false,
        };
        let mut out = Outbox::new();
        run(&mut self.leader, ctx, &mut out);
        let mut answers = Vec::new();
        let mut outputs = VecDeque::from(out.take());
        while let Some(output) = outputs.pop_front() {
            let Output::Send { envelope, .. } = output else {
                continue;
            };
            if matches!(envelope.body, Body::StageShareAcksReply(_)) {
                answers.push(envelope);
                continue;
            }
            let mut to_leader = Outbox::new();
            self.sgc.handle_envelope(self.now, envelope, &mut to_leader);
            for output in to_leader.take() {
                let Output::Send { envelope, .. } = output else {
                    continue;
                };
                let mut more = Outbox::new();
                match envelope.body {
                    Body::ReadShareGroupStateReply { response, pending } => {
                        self.leader
                            .loaded(ctx, &group(), &response, &pending, 0, &mut more);
                    }
                    Body::WriteShareGroupStateReply(response) => {
                        self.leader
                            .written(envelope.correlation, &response, &mut more);
                    }
                    other => panic!("{other:?} for {:?}", Role::Leader(LOG)),
                }
                outputs.extend(more.take());
            }
        }
        answers
    }

    /// Nothing is on its way, no transaction is open and none holds anything.
    pub(crate) fn is_settled(&self) -> bool {
        self.resolves.is_empty()
            && self.producers.iter().all(|own| !own.ongoing)
            && self
                .leader
                .share_partition("g")
                .is_none_or(|partition| partition.pending_count() == 0)
    }

    /// What must hold after every event.
    pub(crate) fn check(&self, event: Event) {
        let state = self.sgc.state(&key()).expect("it was initialised");
        for ack in &state.pending {
            let own = self.producers[ack.owner.producer_id as usize];
            assert!(
                own.ongoing && own.epoch == ack.owner.producer_epoch,
                "{event:?}: pending for a transaction that has ended: {ack:?}"
            );
        }
        for (offset, told) in self.told.iter().enumerate() {
            let offset = offset as i64;
            let done = offset < state.start_offset
                || state.deliveries.iter().any(|(first, last, delivery)| {
                    (first..=last).contains(&offset) && delivery.is_terminal()
                });
            let held = state
                .pending
                .iter()
                .any(|ack| (ack.first_offset..=ack.last_offset).contains(&offset));
            match told {
                Told::Committed => assert!(done, "{event:?}: offset {offset} was committed"),
                Told::Staged(_) => assert!(held && !done, "{event:?}: offset {offset} is staged"),
                // Nothing gives a record up but the limit, and nobody accepts outside.
                Told::Nothing => assert!(!held, "{event:?}: offset {offset} is held by nobody"),
            }
        }
        let Some(partition) = self.leader.share_partition("g") else {
            return;
        };
        // The leader may only be behind, by ends that are on their way to it.
        if self.resolves.is_empty() {
            let pending: i64 = state
                .pending
                .iter()
                .map(|ack| ack.last_offset - ack.first_offset + 1)
                .sum();
            assert_eq!(partition.pending_count(), pending, "{event:?}");
            assert!(partition.start_offset() <= self.records());
        }
        for range in partition.ranges() {
            for offset in range.first..=range.last {
                let committed = self.told.get(offset as usize) == Some(&Told::Committed);
                let again = matches!(range.state, RecordState::Available | RecordState::Acquired);
                assert!(
                    !(committed && again),
                    "{event:?}: {offset} is delivered again"
                );
            }
        }
    }

    /// Equal for worlds that behave alike.
    pub(crate) fn key(&self) -> String {
        let mut key = String::new();
        if let Some(partition) = self.leader.share_partition("g") {
            let _ = write!(
                key,
                "{} {}:",
                partition.start_offset(),
                partition.end_offset()
            );
            for range in partition.ranges() {
                let live = range.deadline.map(|deadline| deadline > self.now.mono);
                let _ = write!(
                    key,
                    " {}-{} {} {} {:?} {:?} {live:?}",
                    range.first,
                    range.last,
                    range.state,
                    range.delivery_count,
                    range.member,
                    range.owner,
                );
            }
        }
        if let Some(state) = self.sgc.state(&self::key()) {
            let _ = write!(
                key,
                "|{} {:?} {:?}",
                state.start_offset, state.deliveries, state.pending
            );
        }
        let _ = write!(
            key,
            "|{:?} {:?} {:?}",
            self.producers, self.told, self.resolves
        );
        key
    }
}
