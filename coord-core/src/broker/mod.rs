//! The sans-IO broker: everything composed.
//!
//! One step is one [`Broker::handle`]. It decides, it passes messages between the machines inside
//! until none is left, it puts all appends of the step together, and it queues what the embedder has
//! to do. [`Broker::poll_effect`] only pops.

mod access;
mod ack_refusals;
mod api;
mod connections;
mod consumer_groups;
mod counters;
mod data;
mod dead_letter_copy;
mod dead_letter_topic;
mod dead_letters;
mod failure;
mod fetch_sessions;
mod figures;
mod gather;
mod group_recovery;
mod journal;
mod producer_ids;
mod recovery;
mod routing;
mod share_counters;
mod share_sessions;
mod storage;
#[cfg(test)]
mod testing;
mod timing;
mod trim;
mod upkeep;
mod waits;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;

use ackord_machine::{
    ApiMisuse, Deadline, DeadlineReason, Entropy, Envelope, Limits, LogId, Now, OpId, Timers,
};
use ackord_proto::api::{Response, encode_response_frame};
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::authorizer::StandardAuthorizer;
use crate::consumer_group::GroupCoordinator;
use crate::contract::{AdminCommand, CloseReason, ConnId, Effect, Event, Input};
use crate::group::ShareGroup;
use crate::leader::Leader;
use crate::log::PartitionLog;
use crate::metadata::{BrokerConfig, Metadata, ShareGroupSettings};
use crate::share::ShareCoordinator;
use crate::txn::TxnCoordinator;
use ack_refusals::AckRefusals;
use connections::{Connections, Waits};
use counters::Counters;
use dead_letters::DeadLetters;
use fetch_sessions::FetchSessions;
use gather::{AppendFailed, Gather, Missing};
use journal::{Gate, Gated, Journal};
use producer_ids::ProducerIdBlock;
use recovery::Recovery;
use share_counters::ShareCounters;
use share_sessions::ShareSessions;
use timing::TimerKey;
use waits::WaitTable;

pub use ack_refusals::AckRefusal;

/// Groups whose settings are kept at hand.
const KEPT_SETTINGS: usize = 10_000;
/// Longer names are not kept, in bytes.
const KEPT_NAME: usize = 255;

/// Where the broker is in its life.
#[derive(Debug)]
enum Phase {
    /// Drain was asked for: finish, write checkpoints, say so.
    Draining,
    /// Drained, or recovery failed: nothing happens any more.
    Ended,
    /// Logs are read back.
    Recovering(Recovery),
    /// Requests are served.
    Serving,
}

/// A Kafka broker as a state machine. See the crate's first page for its use.
#[derive(Debug)]
pub struct Broker {
    config: BrokerConfig,
    /// Who may do what; `None`: everybody everything.
    authorizer: Option<StandardAuthorizer>,
    limits: Limits,
    chance: Entropy,
    now: Now,
    phase: Phase,
    effects: VecDeque<Effect>,
    connections: Connections,
    /// ListOffsets requests that wait for the store.
    offset_lookups: BTreeMap<u64, api::list_offsets::OffsetLookups>,
    /// New share partitions whose first record the store looks for.
    start_lookups: BTreeMap<u64, api::share_start::StartLookup>,
    /// DeleteRecords requests that wait for the store.
    deletions: BTreeMap<u64, api::delete_records::Deletion>,
    /// The earliest moment on the wall clock at which retention was found to have something to do.
    retention_due: Option<i64>,
    journal: Journal,
    metadata: Metadata,
    producer_ids: ProducerIdBlock,
    logs: BTreeMap<LogId, PartitionLog>,
    tcs: BTreeMap<i32, TxnCoordinator>,
    sgcs: BTreeMap<i32, ShareCoordinator>,
    /// How often a share coordinator was read back.
    share_loads: u32,
    gcs: BTreeMap<i32, GroupCoordinator>,
    leaders: BTreeMap<LogId, Leader>,
    groups: BTreeMap<Str, ShareGroup>,
    fetch_sessions: FetchSessions,
    share_sessions: ShareSessions,
    /// Requests whose answer is put together from parts.
    gathers: BTreeMap<u64, Gather>,
    waits: WaitTable,
    /// Records that go to the dead letter queues of share groups.
    dead_letters: DeadLetters,
    /// Produced batches whose transaction is being verified, by correlation.
    verifications: BTreeMap<u64, api::produce::Verification>,
    /// TxnOffsetCommits whose transaction is being verified, by correlation.
    offset_verifications: BTreeMap<u64, u64>,
    last_correlation: u64,
    /// Messages between machines of this step, with what they depend on.
    inbox: VecDeque<(Envelope, Option<OpId>)>,
    /// Waiting requests that may have an answer now.
    woken: BTreeSet<u64>,
    timers: Timers<TimerKey>,
    /// Appends to each log since its last checkpoint.
    since_checkpoint: BTreeMap<LogId, u64>,
    /// Logs whose checkpoint is due.
    checkpoints_due: BTreeSet<LogId>,
    /// Requests that came while the cluster's own log was read back.
    parked: VecDeque<(ConnId, Bytes)>,
    /// Settings of share groups in use.
    settings: BTreeMap<Str, ShareGroupSettings>,
    /// Logs whose contents are unknown after a failed append, until they are read back.
    frozen: BTreeSet<LogId>,
    counters: Counters,
    share_counters: ShareCounters,
    /// Acknowledgements by TxnOffsetCommit that were refused.
    ack_refusals: AckRefusals,
}

impl Broker {
    /// A broker that begins by reading back what its store has. It serves from
    /// [`Event::Ready`] on.
    pub fn new(config: BrokerConfig, limits: Limits, seed: [u8; 32], now: Now) -> Self {
        let chance = Entropy::from_seed(seed);
        let mut broker = Broker {
            // What is wrong with it was said when the configuration was read.
            authorizer: config
                .authorizer()
                .unwrap_or(Some(StandardAuthorizer::default())),
            config,
            limits,
            chance: chance.fork("broker"),
            now,
            phase: Phase::Recovering(Recovery::default()),
            effects: VecDeque::new(),
            connections: Connections::default(),
            offset_lookups: BTreeMap::new(),
            start_lookups: BTreeMap::new(),
            deletions: BTreeMap::new(),
            retention_due: None,
            journal: Journal::default(),
            metadata: Metadata::default(),
            producer_ids: ProducerIdBlock::default(),
            logs: BTreeMap::new(),
            tcs: BTreeMap::new(),
            sgcs: BTreeMap::new(),
            share_loads: 0,
            gcs: BTreeMap::new(),
            leaders: BTreeMap::new(),
            groups: BTreeMap::new(),
            fetch_sessions: FetchSessions::new(chance.fork("fetch sessions")),
            share_sessions: ShareSessions::default(),
            gathers: BTreeMap::new(),
            waits: WaitTable::default(),
            dead_letters: DeadLetters::default(),
            verifications: BTreeMap::new(),
            offset_verifications: BTreeMap::new(),
            last_correlation: 0,
            inbox: VecDeque::new(),
            woken: BTreeSet::new(),
            timers: Timers::new(),
            since_checkpoint: BTreeMap::new(),
            checkpoints_due: BTreeSet::new(),
            parked: VecDeque::new(),
            settings: BTreeMap::new(),
            frozen: BTreeSet::new(),
            counters: Counters::default(),
            share_counters: ShareCounters::default(),
            ack_refusals: AckRefusals::default(),
        };
        broker.begin_recovery();
        broker
    }

    /// Takes one input.
    ///
    /// # Errors
    /// The embedder broke the contract; nothing changed. Bad input of a client is never an error
    /// here: it gets a reply or a close.
    pub fn handle(&mut self, now: Now, input: Input) -> Result<(), ApiMisuse> {
        self.check(now, &input)?;
        self.now = now;
        self.dead_letters.begin_step();
        match input {
            Input::Admin(AdminCommand::Drain) => self.drain(),
            Input::Closed { conn } => self.connection_closed(conn),
            Input::Completed(completion) => self.completed(completion),
            Input::Frame { conn, bytes } => self.frame(conn, bytes),
            Input::Opened {
                conn,
                host,
                principal,
            } => {
                let peer = (host, principal);
                self.connections
                    .open(conn, peer, &self.limits, &mut self.effects);
                self.read_more(conn);
            }
            Input::Sent { conn, bytes } => {
                self.connections.sent(conn, bytes);
                self.read_more(conn);
            }
            Input::Timeout => {}
        }
        self.fire_timers();
        self.settle();
        Ok(())
    }

    fn check(&self, now: Now, input: &Input) -> Result<(), ApiMisuse> {
        if now.mono < self.now.mono {
            return Err(ApiMisuse::TimeWentBackwards);
        }
        match input {
            Input::Opened { conn, .. } => self.connections.check_new(*conn),
            Input::Closed { conn } | Input::Frame { conn, .. } | Input::Sent { conn, .. } => {
                self.connections.check_open(*conn)
            }
            Input::Completed(completion) => self.journal.check(completion),
            Input::Admin(_) | Input::Timeout => Ok(()),
        }
    }

    /// The next thing to do, in order.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Input::Timeout`] is due.
    pub fn next_deadline(&self) -> Option<Deadline> {
        if !self.effects.is_empty() {
            return Some(Deadline {
                at: self.now.mono,
                reason: DeadlineReason::EffectsQueued,
            });
        }
        let (at, key) = self.timers.next()?;
        Some(Deadline {
            at,
            reason: self.reason(key),
        })
    }

    /// Passes messages until none is left, answers whoever can be answered, closes the append.
    fn settle(&mut self) {
        loop {
            self.deliver_all();
            if let Some((log, group)) = self.next_dead_letters() {
                self.write_dead_letters(log, &group);
            } else if let Some(slot) = self.woken.pop_first() {
                self.try_again(slot);
                if ackord_machine::planted!("row-17-one-wake-up-swallows-the-others") {
                    self.woken.clear();
                }
            } else {
                break;
            }
        }
        self.journal.close(&mut self.effects);
        self.write_due_checkpoints();
        self.connections
            .feed_starved(&self.limits, &mut self.effects);
        self.end_drain();
    }

    fn deliver_all(&mut self) {
        while let Some((envelope, gate)) = self.inbox.pop_front() {
            self.deliver(envelope, gate);
        }
    }

    fn read_more(&mut self, conn: ConnId) {
        if matches!(self.phase, Phase::Serving) {
            self.connections.read(conn, &self.limits, &mut self.effects);
        }
    }

    fn connection_closed(&mut self, conn: ConnId) {
        for slot in self.connections.closed(conn) {
            self.waits.remove(slot);
            self.gathers.remove(&slot);
            self.offset_lookups.remove(&slot);
            self.deletions.remove(&slot);
        }
        self.fetch_sessions.connection_closed(conn);
        for session in self.share_sessions.connection_closed(conn) {
            self.release_session(&session);
        }
    }

    /// Answers a request as soon as everything up to `gate` is durable.
    fn respond(&mut self, slot: u64, response: impl Into<Response>, gate: Option<OpId>) {
        let mut response = response.into();
        match self.journal.gate(gate) {
            Gate::Open => self.send(slot, Some(response)),
            Gate::Failed => {
                failure::fail(&mut response);
                self.send(slot, Some(response));
            }
            Gate::Shut(gate) => {
                self.connections.waits(slot, Waits::ForStorage);
                let response = Some(response);
                self.journal.hold(gate, Gated::Reply { slot, response });
                if let Some(conn) = self.connections.request(slot).map(|meta| meta.conn) {
                    self.read_more(conn);
                }
            }
        }
    }

    /// Answers a request whose parts have come; where an append that one of them depended on has
    /// failed since, all of it failed.
    fn respond_whole(&mut self, slot: u64, response: impl Into<Response>, missing: Missing) {
        let mut response = response.into();
        match missing.outcome() {
            Ok(gate) => self.respond(slot, response, gate),
            Err(AppendFailed) => {
                failure::fail(&mut response);
                self.send(slot, Some(response));
            }
        }
    }

    /// Ends a request that wants no answer (acks=0).
    fn end_silently(&mut self, slot: u64) {
        self.send(slot, None);
    }

    fn send(&mut self, slot: u64, response: Option<Response>) {
        let Some(meta) = self.connections.request(slot).cloned() else {
            return;
        };
        let mut chunks = None;
        if let Some(mut response) = response {
            if self.authorizer.is_some() {
                self.hide(slot, &mut response);
            }
            match encode_response_frame(meta.correlation_id, meta.api, meta.version, &response) {
                Ok(encoded) => chunks = Some(encoded),
                Err(error) => {
                    // What cannot be said in this version must not leave the client waiting.
                    let what = format!("{} v{}: {error}", meta.api.name(), meta.version);
                    self.warn(what.clone());
                    let reason = CloseReason::BadRequest(what);
                    self.connections.close(meta.conn, reason, &mut self.effects);
                }
            }
        }
        let answered = self.connections.finish(slot, chunks, &mut self.effects);
        if let Some(conn) = answered {
            self.read_more(conn);
        }
    }

    fn warn(&mut self, what: String) {
        self.effects.push_back(Effect::Emit(Event::Warning(what)));
    }

    /// The settings of a share group, put together once until its configuration changes.
    fn share_settings(&mut self, group: &str) -> ShareGroupSettings {
        let name = Str::from(group);
        if let Some(settings) = self.settings.get(&name) {
            return *settings;
        }
        let configs = self
            .metadata
            .configs(crate::metadata::resource::GROUP, group);
        let settings = ShareGroupSettings::new(&self.config, configs);
        // Requests may name groups that do not exist, and names may be long.
        if name.len() > KEPT_NAME {
            return settings;
        }
        if self.settings.len() >= KEPT_SETTINGS {
            self.settings.clear();
        }
        self.settings.insert(name, settings);
        settings
    }

    fn drain(&mut self) {
        if matches!(self.phase, Phase::Serving | Phase::Recovering(_)) {
            let write = matches!(self.phase, Phase::Serving);
            self.phase = Phase::Draining;
            if write {
                self.write_all_checkpoints();
            }
        }
    }

    fn end_drain(&mut self) {
        if matches!(self.phase, Phase::Draining) && self.journal.is_idle() {
            self.phase = Phase::Ended;
            for conn in self.connections.all() {
                self.connections
                    .close(conn, CloseReason::Draining, &mut self.effects);
            }
            self.effects.push_back(Effect::Emit(Event::Drained));
        }
    }

    /// The cluster's topics and configurations.
    pub fn cluster(&self) -> &Metadata {
        &self.metadata
    }

    /// A partition's log.
    pub fn log(&self, log: LogId) -> Option<&PartitionLog> {
        self.logs.get(&log)
    }

    /// The leader of a partition, once a share group has used it.
    pub fn leader(&self, log: LogId) -> Option<&Leader> {
        self.leaders.get(&log)
    }

    /// The transaction coordinators.
    pub fn transaction_coordinators(&self) -> impl Iterator<Item = &TxnCoordinator> {
        self.tcs.values()
    }

    /// The share coordinators.
    pub fn share_coordinators(&self) -> impl Iterator<Item = &ShareCoordinator> {
        self.sgcs.values()
    }

    /// The group coordinators.
    pub fn group_coordinators(&self) -> impl Iterator<Item = &GroupCoordinator> {
        self.gcs.values()
    }

    /// The share groups with members, now or before.
    pub fn share_groups(&self) -> impl Iterator<Item = &ShareGroup> {
        self.groups.values()
    }

    fn next_correlation(&mut self) -> u64 {
        self.last_correlation += 1;
        self.last_correlation
    }

    /// Bytes of the requests that are under way or wait for the cluster's log.
    pub fn request_bytes(&self) -> usize {
        let parked = self.parked.iter().map(|(_, bytes)| bytes.len());
        self.connections.request_bytes() + parked.sum::<usize>()
    }

    /// Whether requests are served now.
    pub fn is_serving(&self) -> bool {
        matches!(self.phase, Phase::Serving)
    }

    /// Share groups and their sessions use this to free what a member holds.
    fn release_session(&mut self, session: &share_sessions::Released) {
        for log in &session.logs {
            self.release_member(*log, &session.group, &session.member);
        }
        for log in &session.used {
            self.abandon_unused(*log, &session.group);
        }
    }
}
