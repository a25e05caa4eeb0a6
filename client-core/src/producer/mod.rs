//! `Producer`: the transactional producer, with share acknowledgements in the transaction.
//!
//! One transaction after the other: begin, send, acknowledge, then commit or abort. With
//! `transaction.version` 2 (KIP-890) partitions join the transaction by the first batch and each
//! end of a transaction gives the epoch of the next; with version 1 they are registered before.

mod accumulator;
mod config;
mod sender;
mod share_acks;
mod transaction;
mod two_phase;
mod verdict;

use alloc::collections::{BTreeMap, VecDeque};

use ackord_machine::{Deadline, DeadlineReason, Entropy, MonoTime, Now};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

pub use ackord_proto::records::RecordHeader;
pub use config::{ProducerCommand, ProducerConfig, ProducerOutput};
pub use two_phase::{BadPreparedTxnState, PreparedTxnState, TxnCompletion};

use crate::network::{Network, NetworkConfig, Reply, TopicCreation};
use crate::{CallId, ClientEffect, ClientError, ClientInput, Machine};
use accumulator::{Accumulator, PendingRecord, TopicPartition};
use share_acks::{Stage, WhereUnsupported};

/// How transactions work with this broker (KIP-890).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionVersion {
    /// Partitions are registered before the first batch; the epoch stays.
    One,
    /// Partitions register themselves; each transaction has its own epoch.
    Two,
}

/// How far the end of a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Waiting for what is under way.
    Draining,
    /// EndTxn is under way.
    Asked,
}

/// Where the producer is in its life.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// `init_transactions` has not been called.
    New,
    /// InitProducerId is under way for this call.
    Initializing(CallId),
    /// Between transactions.
    Ready,
    /// In a transaction.
    Open,
    /// In a transaction that can only be aborted, and why.
    Broken(ClientError),
    /// Waiting for what is under way, to be prepared for two-phase commit.
    Preparing(CallId),
    /// Only the end of the transaction is missing.
    Prepared(PreparedTxnState),
    /// The transaction ends.
    Committing(CallId, Ending),
    /// The transaction ends.
    Aborting(CallId, Ending),
    /// The end was asked for and no answer came in time.
    InDoubt(Outcome),
    /// Nothing goes any more, and why.
    Dead(ClientError),
}

/// What becomes of a transaction that an older instance left ongoing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ongoing {
    Aborted,
    Kept,
}

/// How a transaction is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Abort,
    Commit,
}

/// Names a request in its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tag {
    AddPartitions,
    AddShareAcks(CallId),
    EndTxn(Outcome),
    InitProducerId,
    Produce(TopicPartition),
    StageShareAcks(CallId),
}

/// Whether anything of the transaction reached a broker, so that it has to be ended there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touched {
    No,
    Yes,
}

/// A record whose partition is not known yet.
#[derive(Clone, Debug)]
struct Unrouted {
    topic: Str,
    partition: Option<i32>,
    record: PendingRecord,
}

/// The transactional producer as a machine; see [`ProducerCommand`] for what it does.
#[derive(Debug)]
pub struct Producer {
    config: ProducerConfig,
    network: Network<Tag>,
    state: State,
    producer_id: i64,
    producer_epoch: i16,
    version: TransactionVersion,
    touched: Touched,
    /// Version 1 only: a batch failed, so sequences have a hole and the epoch has to be bumped.
    sequences_broken: bool,
    unrouted: VecDeque<Unrouted>,
    partitions: Accumulator,
    turns: BTreeMap<Str, u32>,
    stages: BTreeMap<CallId, Stage>,
    on_wire: usize,
    flushes: VecDeque<CallId>,
    closing: Option<CallId>,
    /// The call that completes a prepared transaction, and what it will say.
    completing: Option<(CallId, TxnCompletion)>,
    done: VecDeque<ClientEffect<ProducerOutput>>,
}

impl Producer {
    /// A producer that has not contacted anybody. `seed` feeds pauses between attempts.
    pub fn new(config: ProducerConfig, seed: [u8; 32]) -> Self {
        let network = NetworkConfig {
            bootstrap: config.bootstrap.clone(),
            client_id: config.client_id.clone(),
            request_timeout_ms: config.request_timeout_ms,
            topic_creation: TopicCreation::Allowed,
        };
        Producer {
            config,
            network: Network::new(network, Entropy::from_seed(seed)),
            state: State::New,
            producer_id: -1,
            producer_epoch: -1,
            version: TransactionVersion::One,
            touched: Touched::No,
            sequences_broken: false,
            unrouted: VecDeque::new(),
            partitions: Accumulator::new(),
            turns: BTreeMap::new(),
            stages: BTreeMap::new(),
            on_wire: 0,
            flushes: VecDeque::new(),
            closing: None,
            completing: None,
            done: VecDeque::new(),
        }
    }

    fn command(&mut self, now: Now, call: CallId, command: ProducerCommand) {
        if self.closing.is_some() {
            // The one that closes is still at work.
            return self.finish(call, Err(ClientError::Closed));
        }
        let taken = match command {
            ProducerCommand::AbortTransaction => self.abort(call),
            ProducerCommand::BeginTransaction => self.begin(call),
            ProducerCommand::Close => {
                self.close(call);
                Ok(())
            }
            ProducerCommand::CommitTransaction => self.commit(call),
            ProducerCommand::CompleteTransaction(state) => self.complete(call, state),
            ProducerCommand::Flush => self.flush(call),
            ProducerCommand::InitTransactions => self.init(now, call, Ongoing::Aborted),
            ProducerCommand::InitTransactionsKeepingPrepared => self.init(now, call, Ongoing::Kept),
            ProducerCommand::PrepareTransaction => self.prepare(call),
            ProducerCommand::Send {
                topic,
                partition,
                key,
                value,
                headers,
            } => {
                let give_up_at = now.mono.plus_millis(self.config.delivery_timeout_ms);
                let timestamp = now.wall;
                let record = PendingRecord {
                    call,
                    timestamp,
                    give_up_at,
                    key,
                    value,
                    headers,
                };
                self.take_record(Unrouted {
                    topic,
                    partition,
                    record,
                })
            }
            ProducerCommand::SendShareAcksOrFallBack {
                acknowledgements,
                group,
            } => {
                let stage = Stage::new(acknowledgements, group, WhereUnsupported::FallBack);
                self.take_share_acks(now, call, stage)
            }
            ProducerCommand::SendShareAcksToTransaction {
                acknowledgements,
                group,
            } => {
                let stage = Stage::new(acknowledgements, group, WhereUnsupported::Fail);
                self.take_share_acks(now, call, stage)
            }
        };
        if let Err(error) = taken {
            self.finish(call, Err(error));
        }
    }

    fn flush(&mut self, call: CallId) -> Result<(), ClientError> {
        match self.state {
            // Nothing can be under way between transactions.
            State::Ready => self.finish(call, Ok(ProducerOutput::Done)),
            _ => {
                self.in_transaction()?;
                self.flushes.push_back(call);
            }
        }
        Ok(())
    }

    /// Nothing else is accepted from now on; an open transaction is aborted first, a prepared one
    /// stays for whoever completes it.
    fn close(&mut self, call: CallId) {
        self.closing = Some(call);
        match self.state {
            State::Open | State::Broken(_) => self.state = State::Aborting(call, Ending::Draining),
            State::Preparing(waiting) => {
                self.finish(waiting, Err(ClientError::Closed));
                self.state = State::Aborting(call, Ending::Draining);
            }
            State::Committing(..) | State::Aborting(..) => {}
            _ => self.shut_down(),
        }
    }

    fn shut_down(&mut self) {
        let Some(call) = self.closing.take() else {
            return;
        };
        if let State::Initializing(waiting) = self.state {
            self.finish(waiting, Err(ClientError::Closed));
        }
        self.give_up_records(&ClientError::Closed);
        self.state = State::Dead(ClientError::Closed);
        self.network.shut_down();
        self.on_wire = 0;
        self.finish(call, Ok(ProducerOutput::Done));
    }

    fn in_transaction(&self) -> Result<(), ClientError> {
        match &self.state {
            State::Open => Ok(()),
            State::Broken(error) | State::Dead(error) => Err(error.clone()),
            State::Preparing(_) | State::Prepared(_) => {
                const WHY: &str = "the transaction is prepared; commit, abort or complete it";
                Err(ClientError::IllegalState(WHY))
            }
            _ => Err(ClientError::IllegalState("no transaction is open")),
        }
    }

    fn finish(&mut self, call: CallId, result: Result<ProducerOutput, ClientError>) {
        self.done.push_back(ClientEffect::Done { call, result });
    }

    /// A request of the transaction failed: what has not left is given up, and only an abort (or,
    /// after a fatal error, nothing) is left.
    fn break_transaction(&mut self, error: ClientError) {
        match error {
            ClientError::Fatal { .. } | ClientError::Fenced { .. } => self.die(error),
            _ => {
                let error = error.into_abortable();
                match self.state {
                    State::Open => self.state = State::Broken(error.clone()),
                    State::Preparing(call) | State::Committing(call, Ending::Draining) => {
                        self.state = State::Broken(error.clone());
                        self.finish(call, Err(error.clone()));
                    }
                    _ => {}
                }
                self.give_up_records(&error);
            }
        }
    }

    fn die(&mut self, error: ClientError) {
        if let State::Committing(call, _)
        | State::Aborting(call, _)
        | State::Initializing(call)
        | State::Preparing(call) = self.state
            && Some(call) != self.closing
        {
            self.finish(call, Err(error.clone()));
        }
        self.state = State::Dead(error.clone());
        self.give_up_records(&error);
        self.shut_down();
    }

    /// Fails everything of the transaction that is not on the wire.
    fn give_up_records(&mut self, error: &ClientError) {
        let mut calls: VecDeque<CallId> = self
            .unrouted
            .drain(..)
            .map(|unrouted| unrouted.record.call)
            .collect();
        for queue in self.partitions.values_mut() {
            calls.extend(queue.drain());
        }
        for tag in self.network.cancel_queued() {
            self.on_wire = self.on_wire.saturating_sub(1);
            if let Tag::Produce(partition) = tag
                && let Some(queue) = self.partitions.get_mut(&partition)
            {
                calls.extend(queue.failed());
                self.sequences_broken = true;
            }
        }
        calls.extend(core::mem::take(&mut self.stages).into_keys());
        calls.append(&mut self.flushes);
        for call in calls {
            self.finish(call, Err(error.clone()));
        }
    }

    fn reply(&mut self, now: Now, reply: Reply<Tag>) {
        self.on_wire = self.on_wire.saturating_sub(1);
        let Reply {
            tag,
            sending,
            outcome,
        } = reply;
        match tag {
            Tag::AddPartitions => self.partitions_added(sending, outcome),
            Tag::AddShareAcks(call) => self.share_acks_added(now, call, sending, outcome),
            Tag::EndTxn(how) => self.transaction_ended(now, how, sending, outcome),
            Tag::InitProducerId => self.initialized(sending, outcome),
            Tag::Produce(partition) => self.produced(partition, sending, outcome),
            Tag::StageShareAcks(call) => self.share_acks_staged(call, sending, outcome),
        }
    }

    fn advance(&mut self, now: Now) {
        if matches!(
            self.state,
            State::Open | State::Preparing(_) | State::Committing(_, Ending::Draining)
        ) {
            self.route_records(now.mono);
            self.send_batches(now);
            if self.is_drained() {
                for call in core::mem::take(&mut self.flushes) {
                    self.finish(call, Ok(ProducerOutput::Done));
                }
            }
        }
        self.prepare_when_drained();
        self.end_when_drained(now);
    }

    fn api_limit(&self, now: Now) -> MonoTime {
        now.mono.plus_millis(self.config.api_timeout_ms)
    }
}

/// Stands for a response of another kind than asked for.
const WRONG_KIND: ErrorCode = ErrorCode::UNKNOWN_SERVER_ERROR;

impl Machine for Producer {
    type Command = ProducerCommand;
    type Output = ProducerOutput;

    fn handle(&mut self, now: Now, input: ClientInput<ProducerCommand>) {
        self.network.tick(now.mono);
        match input {
            ClientInput::Network(input) => self.network.handle(input),
            ClientInput::Call { call, command } => self.command(now, call, command),
        }
        loop {
            while let Some(reply) = self.network.next_reply() {
                self.reply(now, reply);
            }
            self.advance(now);
            self.network.pump();
            if !self.network.has_replies() {
                break;
            }
        }
    }

    fn poll_effect(&mut self) -> Option<ClientEffect<ProducerOutput>> {
        let network = self.network.next_effect().map(ClientEffect::Network);
        network.or_else(|| self.done.pop_front())
    }

    fn next_deadline(&self) -> Option<Deadline> {
        let records = self
            .unrouted
            .iter()
            .map(|unrouted| unrouted.record.give_up_at);
        let at = records.chain(self.network.next_deadline()).min()?;
        Some(Deadline {
            at,
            reason: DeadlineReason::Retry,
        })
    }
}
