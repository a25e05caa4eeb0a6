//! `ShareConsumer`: a member of a share group (KIP-932).
//!
//! Records are fetched only while a poll waits, so that no acquisition lock runs while nobody
//! works on the record.

mod acknowledging;
mod config;
mod delivery;
mod fetching;
mod membership;
mod session;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use ackord_machine::{Deadline, DeadlineReason, Entropy, MonoTime, Now};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

pub use config::{
    AcknowledgementMode, AcknowledgementResult, AcquireMode, ConsumerRecord, GapRange,
    PartitionFault, PolledRecords, ShareCommand, ShareConsumerConfig, ShareOutput,
};

use crate::network::{Network, NetworkConfig, Reply, TopicCreation};
use crate::ranges::RangeMap;
use crate::{
    AcknowledgeType, CallId, ClientEffect, ClientError, ClientInput, Machine, ShareGroupMetadata,
};
use membership::Membership;
use session::{Key, Session};

/// Names a request in its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Acknowledge(i32),
    Fetch(i32),
    Heartbeat,
    Leave,
}

#[derive(Debug)]
struct Poll {
    call: CallId,
    until: MonoTime,
}

#[derive(Debug)]
struct Commit {
    call: CallId,
    until: MonoTime,
    results: Vec<AcknowledgementResult>,
}

/// How far the good-bye is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    Sessions,
    Group,
}

#[derive(Debug)]
struct Closing {
    call: CallId,
    until: MonoTime,
    stage: Farewell,
}

/// A record that the application holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It has to say what becomes of it.
    Unanswered,
    /// It asked for more time.
    Renewed,
}

/// The share consumer as a machine; see [`ShareCommand`] for what it does.
#[derive(Debug)]
pub struct ShareConsumer {
    config: ShareConsumerConfig,
    network: Network<Tag>,
    member: Membership,
    names: BTreeMap<Uuid, Str>,
    sessions: BTreeMap<i32, Session>,
    /// The node that each partition's records came from.
    homes: BTreeMap<Key, i32>,
    held: BTreeMap<Key, RangeMap<Held>>,
    fetched: PolledRecords,
    failed: Option<ClientError>,
    poll: Option<Poll>,
    commit: Option<Commit>,
    closing: Option<Closing>,
    closed: Option<ClientError>,
    done: VecDeque<ClientEffect<ShareOutput>>,
}

impl ShareConsumer {
    /// A consumer that has not contacted anybody. `seed` gives the member id and pauses between
    /// attempts; two members need two seeds.
    pub fn new(config: ShareConsumerConfig, seed: [u8; 32]) -> Self {
        let network = NetworkConfig {
            bootstrap: config.bootstrap.clone(),
            client_id: config.client_id.clone(),
            request_timeout_ms: config.request_timeout_ms,
            topic_creation: TopicCreation::Never,
        };
        let chance = Entropy::from_seed(seed);
        let member_id = alloc::format!("{}", chance.fork("member").uuid());
        ShareConsumer {
            config,
            network: Network::new(network, chance),
            member: Membership::new(member_id.into()),
            names: BTreeMap::new(),
            sessions: BTreeMap::new(),
            homes: BTreeMap::new(),
            held: BTreeMap::new(),
            fetched: PolledRecords::default(),
            failed: None,
            poll: None,
            commit: None,
            closing: None,
            closed: None,
            done: VecDeque::new(),
        }
    }

    /// The membership at this moment, for a producer's transaction.
    pub fn group_metadata(&self) -> ShareGroupMetadata {
        ShareGroupMetadata {
            group_id: self.config.group_id.clone(),
            member_id: self.member.member_id.clone(),
            member_epoch: self.member.epoch,
        }
    }

    fn command(&mut self, now: MonoTime, call: CallId, command: ShareCommand) {
        if self.closed.is_some() || self.closing.is_some() {
            return self.finish(call, Err(ClientError::Closed));
        }
        let taken = match command {
            ShareCommand::Acknowledge {
                topic_id,
                partition,
                offset,
                kind,
            } => self
                .acknowledge((topic_id, partition), offset, kind)
                .map(|()| self.finish(call, Ok(ShareOutput::Done))),
            ShareCommand::AcknowledgePlainly(plain) => self.acknowledge_plainly(now, call, &plain),
            ShareCommand::Close => {
                self.close(now, call);
                Ok(())
            }
            ShareCommand::CommitSync => self.take_commit(now, call),
            ShareCommand::GroupMetadata => {
                let group = self.group_metadata();
                self.finish(call, Ok(ShareOutput::Group(group)));
                Ok(())
            }
            ShareCommand::Poll { timeout_ms } => self.take_poll(call, now.plus_millis(timeout_ms)),
            ShareCommand::Subscribe(topics) => self
                .subscribe(now, topics)
                .map(|()| self.finish(call, Ok(ShareOutput::Done))),
        };
        if let Err(error) = taken {
            self.finish(call, Err(error));
        }
    }

    fn take_poll(&mut self, call: CallId, until: MonoTime) -> Result<(), ClientError> {
        if self.poll.is_some() {
            return Err(ClientError::IllegalState("a poll is under way already"));
        }
        if self.member.topics.is_empty() {
            return Err(ClientError::IllegalState("subscribe first"));
        }
        match self.config.acknowledgement_mode {
            AcknowledgementMode::Implicit => self.accept_all(),
            AcknowledgementMode::Explicit => {
                let mut all = self.held.values().flat_map(RangeMap::iter);
                if all.any(|(.., held)| held == Held::Unanswered) {
                    const WHY: &str = "acknowledge all records of the last poll first";
                    return Err(ClientError::IllegalState(WHY));
                }
            }
            // The transaction has them, or their lock ends.
            AcknowledgementMode::Transactional => self.held.clear(),
        }
        self.poll = Some(Poll { call, until });
        Ok(())
    }

    /// Implicit mode: everything that was handed out is done.
    fn accept_all(&mut self) {
        for (key, held) in core::mem::take(&mut self.held) {
            for (first, last, _) in held.iter() {
                self.queue_ack(key, first, last, AcknowledgeType::Accept.code());
            }
        }
    }

    fn queue_ack(&mut self, key: Key, first: i64, last: i64, kind: i8) {
        if let Some(node) = self.homes.get(&key) {
            self.sessions
                .entry(*node)
                .or_default()
                .acknowledge(key, first, last, kind);
        }
    }

    fn finish(&mut self, call: CallId, result: Result<ShareOutput, ClientError>) {
        self.done.push_back(ClientEffect::Done { call, result });
    }

    fn reply(&mut self, now: MonoTime, reply: Reply<Tag>) {
        let Reply {
            tag,
            sending,
            outcome,
        } = reply;
        match tag {
            Tag::Acknowledge(node) => self.acknowledged(node, outcome),
            Tag::Fetch(node) => self.fetch_answered(now, node, outcome),
            Tag::Heartbeat => self.heartbeat_answered(now, sending, outcome),
            // Whatever the answer, we are gone.
            Tag::Leave => self.shut_down(),
        }
    }

    fn advance(&mut self, now: MonoTime) {
        if self.closed.is_some() {
            return;
        }
        self.learn_topics();
        self.heartbeat_when_due(now);
        if self.closing.is_some() {
            return self.advance_close(now);
        }
        self.advance_commit(now);
        self.advance_poll(now);
    }

    /// Names of topics by their ids, kept also while a leader is looked up.
    fn learn_topics(&mut self) {
        for name in &self.member.topics {
            match self.network.cluster.topic(name) {
                Some(topic) => {
                    self.names.insert(topic.id, name.clone());
                }
                None => {
                    if let Some(code) = self.network.cluster.take_refusal(name) {
                        self.failed = Some(ClientError::Refused {
                            code,
                            message: name.clone(),
                        });
                    }
                    // Somebody may create it still.
                    self.network.want_topic(name);
                }
            }
        }
        let known = self.names.keys();
        let unknown = self
            .member
            .assignment
            .iter()
            .any(|(id, _)| !known.clone().any(|k| k == id));
        if unknown {
            // Created anew under the same name: the old description misleads.
            for name in self.member.topics.clone() {
                self.network.want_topic(&name);
            }
        }
    }

    fn advance_poll(&mut self, now: MonoTime) {
        let Some(poll) = &self.poll else { return };
        let (call, over) = (poll.call, poll.until <= now);
        let refused = self.failed.is_some() || self.member.refusal.is_some();
        if !over && !refused && self.fetched.is_empty() {
            self.fetch_all(now);
        }
        if let Some(error) = self.failed.take().or_else(|| self.member.refusal.take()) {
            self.poll = None;
            self.finish(call, Err(error));
        } else if over || !self.fetched.is_empty() {
            self.poll = None;
            let polled = self.hand_out();
            self.finish(call, Ok(ShareOutput::Polled(polled)));
        }
    }

    fn hand_out(&mut self) -> PolledRecords {
        let polled = core::mem::take(&mut self.fetched);
        for record in &polled.records {
            let key = (record.topic_id, record.partition);
            let held = self.held.entry(key).or_default();
            held.insert(record.offset, record.offset, Held::Unanswered);
        }
        PolledRecords {
            group: self.group_metadata(),
            ..polled
        }
    }
}

impl ShareConsumer {
    /// Nobody has seen these records: the next poll hands them out, and nothing accepts them before.
    fn take_back(&mut self, mut polled: PolledRecords) {
        polled.records.retain(|record| {
            let held = self.held.get_mut(&(record.topic_id, record.partition));
            held.is_some_and(|held| {
                let unanswered = held.get(record.offset) == Some(Held::Unanswered);
                if unanswered {
                    held.remove(record.offset, record.offset);
                }
                unanswered
            })
        });
        let later = core::mem::take(&mut self.fetched);
        polled.records.extend(later.records);
        polled.gaps.extend(later.gaps);
        polled.faults.extend(later.faults);
        polled.refused.extend(later.refused);
        self.fetched = polled;
    }
}

impl Machine for ShareConsumer {
    type Command = ShareCommand;
    type Output = ShareOutput;

    fn handle(&mut self, now: Now, input: ClientInput<ShareCommand>) {
        self.network.tick(now.mono);
        match input {
            ClientInput::Network(input) => self.network.handle(input),
            ClientInput::Call { call, command } => self.command(now.mono, call, command),
        }
        if self.network.take_broke() {
            self.heartbeat_soon();
        }
        loop {
            while let Some(reply) = self.network.next_reply() {
                self.reply(now.mono, reply);
            }
            self.advance(now.mono);
            self.network.pump();
            if !self.network.has_replies() {
                break;
            }
        }
    }

    fn poll_effect(&mut self) -> Option<ClientEffect<ShareOutput>> {
        let network = self.network.next_effect().map(ClientEffect::Network);
        network.or_else(|| self.done.pop_front())
    }

    fn next_deadline(&self) -> Option<Deadline> {
        if self.closed.is_some() {
            return None;
        }
        let heartbeat = self
            .member
            .next_heartbeat
            .filter(|_| self.closing.is_none());
        let poll = self.poll.as_ref().map(|poll| poll.until);
        let quiet = self.sessions.values().map(|session| session.quiet_until);
        let quiet = quiet.filter(|at| self.poll.is_some() && self.network.is_ahead(*at));
        let commit = self.commit.as_ref().map(|commit| commit.until);
        let closing = self.closing.as_ref().map(|closing| closing.until);
        let retry = quiet
            .chain(commit)
            .chain(closing)
            .chain(self.network.next_deadline())
            .min();
        let all = [
            heartbeat.map(|at| Deadline {
                at,
                reason: DeadlineReason::MemberSession,
            }),
            poll.map(|at| Deadline {
                at,
                reason: DeadlineReason::FetchWait,
            }),
            retry.map(|at| Deadline {
                at,
                reason: DeadlineReason::Retry,
            }),
        ];
        all.into_iter().flatten().min()
    }

    fn abandoned(&mut self, _now: Now, call: CallId, output: Option<ShareOutput>) {
        if self.poll.as_ref().is_some_and(|poll| poll.call == call) {
            self.poll = None;
        }
        if let Some(ShareOutput::Polled(polled)) = output {
            self.take_back(polled);
        }
    }
}
