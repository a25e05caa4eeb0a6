//! Clients: each is a member of the share group and a transactional producer, and copies records.

use ackord_coord_core::group::{GroupReply, state_partition_for};
use ackord_coord_core::metadata::SHARE_STATE_TOPIC;
use ackord_coord_core::share::{ShareKey, ShareReply, StageCommand};
use ackord_coord_core::txn::{AddKind, AddPartitions, TxnReply};
use ackord_machine::{LogId, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{EndTxnRequest, InitProducerIdRequest, ShareGroupHeartbeatRequest};
use ackord_proto::str::Str;

use super::host::Place;
use super::world::{LOGS, STATE_PARTITIONS, World, group};
use crate::sim::chance::Chance;

/// Milliseconds that a worker waits for an answer.
const PATIENCE_MS: u64 = 2500;

/// A request to a coordinator.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Add(AddPartitions),
    End(EndTxnRequest),
    Heartbeat(ShareGroupHeartbeatRequest),
    Init(InitProducerIdRequest),
    Stage(StageCommand),
}

/// What a machine answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Group(GroupReply),
    Share(ShareReply),
    Txn(TxnReply),
}

/// What a worker does.
#[derive(Clone, Debug, PartialEq)]
enum Doing {
    Adding,
    Ending,
    Idle,
    Initialising,
    /// Stages without an answer.
    Staging(usize),
}

/// A record that a worker has taken, and how it acknowledges it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) log: LogId,
    pub(crate) offset: i64,
    pub(crate) count: i16,
    pub(crate) kind: i8,
}

/// What a participant of two-phase commit has stored (KIP-939).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    /// The pair under which the transaction was prepared.
    producer: (i64, i16),
    commit: bool,
    /// Somebody was asked to end it.
    asked: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Worker {
    index: usize,
    pub(crate) chance: Chance,
    pub(crate) member: Str,
    member_epoch: i32,
    producer: Option<(i64, i16)>,
    /// Records of the transaction under way, with their delivery counts.
    records: Vec<Taken>,
    /// It takes part in two-phase commit.
    two_phase: bool,
    pub(crate) prepared: Option<Prepared>,
    doing: Doing,
    /// The current request; an answer to an older one is late.
    slot: u64,
    until_ms: u64,
    failed: bool,
    end: Option<EndTxnRequest>,
}

impl Worker {
    pub(crate) fn new(index: usize, chance: Chance) -> Self {
        Worker {
            index,
            chance,
            member: Str::from(format!("m{index}")),
            member_epoch: 0,
            producer: None,
            records: Vec::new(),
            two_phase: index == 2,
            prepared: None,
            doing: Doing::Idle,
            slot: 0,
            until_ms: 0,
            failed: false,
            end: None,
        }
    }

    fn transactional_id(&self) -> Str {
        Str::from(format!("t{}", self.index))
    }

    fn restart(&mut self) {
        self.producer = None;
        self.records.clear();
        self.doing = Doing::Idle;
        self.end = None;
        self.failed = false;
    }
}

impl World<'_> {
    /// A worker looks at what it has to do.
    pub(crate) fn worker_turn(&mut self, index: usize) {
        let now_ms = self.now_ms();
        let worker = &self.workers[index];
        let waits = worker.doing != Doing::Idle && now_ms < worker.until_ms;
        if !waits {
            self.next_step(index);
        }
    }

    pub(crate) fn beat(&mut self, index: usize) {
        let worker = &self.workers[index];
        let join = worker.member_epoch == 0;
        let request = ShareGroupHeartbeatRequest {
            group_id: group(),
            member_id: worker.member.clone(),
            member_epoch: worker.member_epoch,
            subscribed_topic_names: join.then(|| vec![Str::from("orders")]),
            ..Default::default()
        };
        self.ask(index, Place::Group, 0, Ask::Heartbeat(request));
    }

    fn next_step(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        match worker.doing {
            // Nobody has answered: the same again, or from the start.
            Doing::Ending => {
                let end = worker.end.clone().expect("it is ending");
                self.request(index, Place::Tc, Doing::Ending, Ask::End(end));
            }
            Doing::Staging(_) => self.end_transaction(index, false),
            Doing::Idle if worker.prepared.is_some() => self.initialise(index),
            Doing::Adding | Doing::Initialising => {
                worker.restart();
                self.initialise(index);
            }
            Doing::Idle if worker.producer.is_none() => self.initialise(index),
            Doing::Idle if worker.member_epoch == 0 => {}
            Doing::Idle => self.take_records(index),
        }
    }

    fn initialise(&mut self, index: usize) {
        let request = InitProducerIdRequest {
            transactional_id: Some(self.workers[index].transactional_id()),
            transaction_timeout_ms: 8000,
            producer_id: -1,
            producer_epoch: -1,
            enable_2pc: self.workers[index].two_phase,
            keep_prepared_txn: self.workers[index].prepared.is_some(),
            ..Default::default()
        };
        self.request(index, Place::Tc, Doing::Initialising, Ask::Init(request));
    }

    fn take_records(&mut self, index: usize) {
        let mut records = Vec::new();
        let first = self.workers[index].chance.below(LOGS.len() as u64) as usize;
        for step in 0..1 + self.workers[index].chance.below(2) as usize {
            records.extend(self.acquire(index, LOGS[(first + step) % LOGS.len()]));
        }
        let worker = &mut self.workers[index];
        let Some((id, epoch)) = worker.producer.filter(|_| !records.is_empty()) else {
            return;
        };
        worker.records = records;
        worker.failed = false;
        let mut partitions: Vec<i32> = worker.records.iter().map(|it| sgc_of(it.log)).collect();
        partitions.dedup();
        let topic = Str::from(SHARE_STATE_TOPIC);
        let add = AddPartitions {
            version: 0,
            kind: AddKind::ShareAcks,
            transactional_id: worker.transactional_id(),
            producer_id: id,
            producer_epoch: epoch,
            partitions: partitions
                .into_iter()
                .map(|it| (topic.clone(), it))
                .collect(),
        };
        self.request(index, Place::Tc, Doing::Adding, Ask::Add(add));
    }

    fn stage(&mut self, index: usize) {
        let worker = &self.workers[index];
        let (producer_id, producer_epoch) = worker.producer.expect("it has begun");
        let commands: Vec<StageCommand> = worker
            .records
            .chunk_by(|one, next| one.log == next.log)
            .map(|records| StageCommand {
                key: key(records[0].log),
                transactional_id: worker.transactional_id(),
                owner: TxnOwner {
                    producer_id,
                    producer_epoch,
                    ordinal: 0,
                },
                member: Some(worker.member.clone()),
                member_error: ErrorCode::NONE,
                any_version: false,
                ranges: records
                    .iter()
                    .map(|it| StagedRange {
                        first_offset: it.offset,
                        last_offset: it.offset,
                        acknowledge_type: it.kind,
                        delivery_count: Some(it.count),
                    })
                    .collect(),
            })
            .collect();
        let count = commands.len();
        for command in commands {
            let log = LOGS[command.key.partition as usize];
            let place = Place::Sgc(sgc_of(log));
            let slot = self.begin_request(index, Doing::Staging(count));
            self.ask(index, place, slot, Ask::Stage(command));
        }
    }

    fn end_transaction(&mut self, index: usize, committed: bool) {
        let worker = &mut self.workers[index];
        let Some((producer_id, producer_epoch)) = worker.producer else {
            return worker.restart();
        };
        let end = EndTxnRequest {
            transactional_id: worker.transactional_id(),
            producer_id,
            producer_epoch,
            committed,
            ..Default::default()
        };
        worker.end = Some(end.clone());
        self.request(index, Place::Tc, Doing::Ending, Ask::End(end));
    }

    fn request(&mut self, index: usize, place: Place, doing: Doing, ask: Ask) {
        self.workers[index].slot = 0;
        let slot = self.begin_request(index, doing);
        self.ask(index, place, slot, ask);
    }

    /// All requests of one step have one slot.
    fn begin_request(&mut self, index: usize, doing: Doing) -> u64 {
        let now_ms = self.now_ms();
        if self.workers[index].doing != doing || self.workers[index].slot == 0 {
            self.slots += 1;
            self.workers[index].slot = self.slots;
        }
        let worker = &mut self.workers[index];
        worker.doing = doing;
        worker.until_ms = now_ms + PATIENCE_MS;
        worker.slot
    }

    /// An answer reaches its client.
    pub(crate) fn answered(&mut self, index: usize, slot: u64, ask: &Ask, answer: Answer) {
        if let (Ask::Stage(command), Answer::Share(ShareReply::Staged { code, .. })) =
            (ask, &answer)
            && *code == ErrorCode::NONE
        {
            for range in &command.ranges {
                let log = LOGS[command.key.partition as usize];
                self.oracle.told((log, range.first_offset), command.owner);
            }
        }
        if let Answer::Group(GroupReply::Heartbeat(response)) = &answer {
            let worker = &mut self.workers[index];
            worker.member_epoch = match response.error_code {
                ErrorCode::NONE => response.member_epoch,
                _ => 0,
            };
            return;
        }
        if self.workers[index].slot == slot {
            self.go_on(index, slot, answer);
        }
    }

    /// The answer that a worker waits for.
    fn go_on(&mut self, index: usize, slot: u64, answer: Answer) {
        let doing = self.workers[index].doing.clone();
        match (doing, answer) {
            (
                Doing::Initialising,
                Answer::Txn(TxnReply::InitProducerId {
                    error,
                    producer_id,
                    producer_epoch,
                    kept,
                }),
            ) => {
                let worker = &mut self.workers[index];
                worker.restart();
                if error == ErrorCode::NONE {
                    worker.producer = Some((producer_id, producer_epoch));
                    self.come_back(index, kept);
                }
            }
            (
                Doing::Adding,
                Answer::Txn(TxnReply::AddPartitions {
                    error: ErrorCode::NONE,
                }),
            ) => {
                if self.workers[index].chance.below(100) < 4 {
                    // It stops for long, and then goes on as if nothing had been.
                    let long = self.now_ms() + 12_000;
                    self.workers[index].until_ms = long;
                    self.later(12_000, super::world::Event::Stage(index, slot));
                } else {
                    self.stage(index);
                }
            }
            (Doing::Adding, _) => self.workers[index].restart(),
            (Doing::Staging(left), Answer::Share(ShareReply::Staged { code, .. })) => {
                let worker = &mut self.workers[index];
                worker.failed |= code != ErrorCode::NONE;
                worker.doing = Doing::Staging(left.saturating_sub(1));
                if left <= 1 {
                    let commits = !worker.failed && self.workers[index].chance.below(100) < 85;
                    if self.workers[index].two_phase && !self.workers[index].failed {
                        return self.prepare(index, commits);
                    }
                    self.end_transaction(index, commits);
                }
            }
            (
                Doing::Ending,
                Answer::Txn(TxnReply::EndTxn {
                    error,
                    producer_id,
                    producer_epoch,
                }),
            ) => {
                let worker = &mut self.workers[index];
                match error {
                    ErrorCode::NONE => {
                        worker.restart();
                        worker.prepared = None;
                        worker.producer = Some((producer_id, producer_epoch));
                    }
                    _ => worker.restart(),
                }
            }
            _ => {}
        }
    }

    /// The transaction is prepared, and stored how it ends; perhaps its client crashes then.
    fn prepare(&mut self, index: usize, commit: bool) {
        let worker = &mut self.workers[index];
        let (producer_id, producer_epoch) = worker.producer.expect("it has begun");
        worker.prepared = Some(Prepared {
            producer: (producer_id, producer_epoch),
            commit,
            asked: false,
        });
        let owner = TxnOwner {
            producer_id,
            producer_epoch,
            ordinal: 0,
        };
        self.oracle.decided(owner, commit);
        match self.workers[index].chance.percent(40) {
            true => self.workers[index].restart(),
            false => self.end_prepared(index, commit),
        }
    }

    fn end_prepared(&mut self, index: usize, commit: bool) {
        let prepared = self.workers[index].prepared.as_mut();
        prepared.expect("it is stored").asked = true;
        self.end_transaction(index, commit);
    }

    /// A client has begun anew, or come back for what was prepared.
    fn come_back(&mut self, index: usize, kept: Option<TxnOwner>) {
        let Some(prepared) = self.workers[index].prepared else {
            return;
        };
        let kept = kept.map(|owner| (owner.producer_id, owner.producer_epoch));
        match kept {
            Some(pair) if pair == prepared.producer => self.end_prepared(index, prepared.commit),
            None if prepared.asked => self.workers[index].prepared = None,
            _ => self
                .oracle
                .break_rule(format!("{prepared:?} is stored, kept is {kept:?}")),
        }
    }

    /// A worker that had stopped goes on.
    pub(crate) fn stage_late(&mut self, index: usize, slot: u64) {
        let worker = &self.workers[index];
        if worker.slot == slot && worker.doing == Doing::Adding && worker.producer.is_some() {
            self.stage(index);
        }
    }
}

pub(crate) fn key(log: LogId) -> ShareKey {
    ShareKey {
        group: group(),
        topic: log.topic,
        partition: log.partition,
    }
}

pub(crate) fn sgc_of(log: LogId) -> i32 {
    state_partition_for(&group(), log.topic, log.partition, STATE_PARTITIONS)
}
