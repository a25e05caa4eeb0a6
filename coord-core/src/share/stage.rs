//! TxnShareAcknowledge at the share coordinator: verify with the transaction coordinator, have the
//! leader hold the records, store them as pending (KIP-1289).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{
    Body, Now, PendingAck, Role, StageShareAcks, StageShareAcksReply, StageVerdict, StagedRange,
    TxnOwner,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, add_partitions_to_txn as add,
};
use ackord_proto::str::Str;

use super::coordinator::{ShareCoordinator, ShareReply};
use super::records::{self, ShareUpdate};
use super::requests::{Asked, leader_of};
use super::state::ShareKey;
use crate::group::partition_for_id;
use crate::metadata::SHARE_STATE_TOPIC;
use crate::outbox::{Outbox, ProducerEpoch, Ticket};

/// One partition of a TxnShareAcknowledge.
#[derive(Clone, Debug, PartialEq)]
pub struct StageCommand {
    /// The share partition.
    pub key: ShareKey,
    /// Whose transaction.
    pub transactional_id: Str,
    /// The transaction; its ordinal comes from the transaction coordinator.
    pub owner: TxnOwner,
    /// The member that acquired the records; `None` in version 0.
    pub member: Option<Str>,
    /// NONE, or why only what is staged already may be staged again: what is wrong with the member,
    /// or INVALID_TXN_STATE where the transaction takes nothing more.
    pub member_error: ErrorCode,
    /// The caller knows a late request from one of this transaction, whatever its version
    /// ([`TxnCoordinator::take_offset_content`](crate::txn::TxnCoordinator::take_offset_content)).
    /// Else only a transaction of version 2 can stage: the next one has another epoch.
    pub any_version: bool,
    /// What to stage.
    pub ranges: Vec<StagedRange>,
}

/// A stage under way.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    ticket: Ticket,
    command: StageCommand,
    step: Step,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The transaction coordinator, whether the transaction is ongoing.
    Verify,
    /// The leader, to hold the records.
    Hold,
}

/// How a stage ends.
/// What the transaction coordinator says of a stage.
pub(super) struct Verdict {
    pub(super) code: ErrorCode,
    /// Under which pair the transaction goes on.
    pub(super) owner: Option<TxnOwner>,
    /// It is of version 2.
    pub(super) bumps_at_end: bool,
}

struct Ending {
    code: ErrorCode,
    message: Option<Str>,
    whole_request: bool,
}

impl ShareCoordinator {
    /// Begins a stage; it ends in a [`ShareReply::Staged`] for `ticket`.
    ///
    /// COORDINATOR_LOAD_IN_PROGRESS: this coordinator was read back and does not know yet what the
    /// leader holds.
    pub fn stage(
        &mut self,
        now: Now,
        ticket: Ticket,
        command: StageCommand,
        out: &mut Outbox<ShareReply>,
    ) {
        let stage = Stage {
            ticket,
            command,
            step: Step::Verify,
        };
        if self.requests.unsettled.contains(&stage.command.key) {
            let message = "the share coordinator asks the leader what it holds; try again";
            let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
            return end(&stage, Ending::partition(code, message), out);
        }
        self.ask(now, Asked::Stage(stage), out);
    }

    /// The producer of a stage whose verification is under way.
    pub fn staging_producer(&self, number: u64) -> Option<ProducerEpoch> {
        let Some(Asked::Stage(stage)) = self.requests.get(number) else {
            return None;
        };
        let owner = stage.command.owner;
        Some(ProducerEpoch {
            id: owner.producer_id,
            epoch: owner.producer_epoch,
        })
    }

    pub(super) fn stage_request(&self, stage: &Stage) -> (Role, Body) {
        let command = &stage.command;
        match stage.step {
            Step::Verify => {
                let id = &command.transactional_id;
                let tc = partition_for_id(id, self.config.transaction_partitions);
                let verification = Body::AddPartitionsToTxn(self.verification(command));
                (Role::Tc(tc), verification)
            }
            Step::Hold => {
                let request = StageShareAcks {
                    group: command.key.group.clone(),
                    owner: command.owner,
                    member: command.member.clone(),
                    ranges: command.ranges.clone(),
                    member_error: command.member_error,
                };
                (leader_of(&command.key), Body::StageShareAcks(request))
            }
        }
    }

    fn verification(&self, command: &StageCommand) -> AddPartitionsToTxnRequest {
        let topic = add::AddPartitionsToTxnTopic {
            name: Str::from(SHARE_STATE_TOPIC),
            partitions: alloc::vec![self.partition],
            ..Default::default()
        };
        let transaction = add::AddPartitionsToTxnTransaction {
            transactional_id: command.transactional_id.clone(),
            producer_id: command.owner.producer_id,
            producer_epoch: command.owner.producer_epoch,
            verify_only: true,
            topics: alloc::vec![topic],
            ..Default::default()
        };
        AddPartitionsToTxnRequest {
            transactions: alloc::vec![transaction],
            ..Default::default()
        }
    }

    /// The transaction coordinator's verdict.
    pub(super) fn verified(
        &mut self,
        now: Now,
        number: u64,
        verdict: Verdict,
        out: &mut Outbox<ShareReply>,
    ) {
        let Some(mut stage) = self.close_stage(number, Step::Verify) else {
            return;
        };
        let code = match verdict.code {
            ErrorCode::NONE if !verdict.bumps_at_end && !stage.command.any_version => {
                ErrorCode::INVALID_TXN_STATE
            }
            code => code,
        };
        if code != ErrorCode::NONE && !ackord_machine::planted!("row-57-stage-not-verified") {
            let message = match verdict.code {
                ErrorCode::NONE => {
                    "the transaction took the state partition by another way than \
                                    AddShareAcksToTxn"
                }
                _ => "the state partition is not in an ongoing transaction of this producer",
            };
            let ending = Ending {
                whole_request: code != ErrorCode::INVALID_TXN_STATE,
                ..Ending::partition(code, message)
            };
            return end(&stage, ending, out);
        }
        // Its leader could only say that there is nothing to load, again and again.
        if self.state(&stage.command.key).is_none() {
            let message = "the group does not share this partition, so nobody has its records";
            let ending = Ending::partition(ErrorCode::INVALID_RECORD_STATE, message);
            return end(&stage, ending, out);
        }
        // What is staged belongs to the transaction, whichever epoch its client has by now.
        if let Some(owner) = verdict.owner {
            if !owner.is_same_producer(stage.command.owner) {
                // InitProducerId kept it: it takes nothing more, but knows what it has.
                stage.command.member_error = ErrorCode::INVALID_TXN_STATE;
            }
            stage.command.owner = owner;
        }
        stage.step = Step::Hold;
        self.ask(now, Asked::Stage(stage), out);
    }

    /// The leader's verdict.
    pub(super) fn staged(
        &mut self,
        now: Now,
        number: u64,
        reply: StageShareAcksReply,
        out: &mut Outbox<ShareReply>,
    ) {
        let Some(Asked::Stage(stage)) = self.requests.get(number) else {
            return;
        };
        let state = self.state(&stage.command.key);
        if state.is_some_and(|state| reply.leader_epoch < state.leader_epoch) {
            // A leader of before; the one of now will be asked.
            return;
        }
        let current = state.is_some_and(|state| reply.state_epoch >= state.state_epoch);
        let Some(stage) = self.close_stage(number, Step::Hold) else {
            return;
        };
        let new = match reply.verdict {
            StageVerdict::Refused {
                code,
                message,
                whole_request,
            } => {
                let ending = Ending {
                    code,
                    message: Some(message),
                    whole_request,
                };
                return end(&stage, ending, out);
            }
            StageVerdict::Repeated => Vec::new(),
            StageVerdict::Staged(new) => new,
        };
        if !current {
            self.hand_back(now, &stage.command.key, reply.held, out);
            let message = "the state of the share partition was begun anew; fetch again";
            let code = ErrorCode::INVALID_RECORD_STATE;
            return end(&stage, Ending::partition(code, message), out);
        }
        self.store_stage(&stage, reply.leader_epoch, &reply.held, &new, out);
        end(&stage, Ending::success(), out);
    }

    /// Stores what is not stored yet of what a leader holds, of which `new` is new to it.
    fn store_stage(
        &mut self,
        stage: &Stage,
        leader_epoch: i32,
        held: &[PendingAck],
        new: &[PendingAck],
        out: &mut Outbox<ShareReply>,
    ) {
        let (key, owner) = (&stage.command.key, stage.command.owner);
        let missing = match self.state(key) {
            Some(state) if held != new => state.not_pending(held),
            _ => new.to_vec(),
        };
        if missing.is_empty() {
            return;
        }
        let mut update = ShareUpdate::of_stage(leader_epoch, &missing);
        update.snapshot_epoch = self.state(key).map_or(0, |state| state.snapshot_epoch);
        let producer = ProducerEpoch {
            id: owner.producer_id,
            epoch: owner.producer_epoch,
        };
        let record = records::update(key, update);
        self.append(alloc::vec![record], Some(producer), out);
    }

    /// Ends the stages of a transaction that ends now. Returns what leaders may hold for them.
    pub(super) fn cancel_stages(
        &mut self,
        marker: ProducerEpoch,
        ordinal: i64,
        out: &mut Outbox<ShareReply>,
    ) -> BTreeMap<ShareKey, Vec<PendingAck>> {
        let late = |number: &u64| match self.requests.get(*number) {
            Some(Asked::Stage(stage)) => {
                let owner = stage.command.owner;
                let later = ordinal != 0 && owner.ordinal > ordinal;
                owner.producer_epoch <= marker.epoch && !later
            }
            _ => false,
        };
        let late = self.requests.stages_of(marker.id).filter(late).collect();
        let mut returned: BTreeMap<ShareKey, Vec<PendingAck>> = BTreeMap::new();
        for stage in self.close_stages(late) {
            let message = "the transaction ended before the acknowledgements arrived";
            end(
                &stage,
                Ending::partition(ErrorCode::INVALID_TXN_STATE, message),
                out,
            );
            if stage.step == Step::Hold {
                let asked = returned.entry(stage.command.key.clone()).or_default();
                asked.extend(stage.asked_for());
            }
        }
        returned
    }

    /// Ends the stages of a share partition that is gone.
    pub(super) fn end_stages_of(&mut self, key: &ShareKey, out: &mut Outbox<ShareReply>) {
        let of_key = |asked: &Asked| match asked {
            Asked::Stage(stage) => stage.command.key == *key,
            Asked::List { .. } | Asked::Resolve { .. } => false,
        };
        let numbers = self.requests.iter().filter(|(_, asked)| of_key(asked));
        let numbers = numbers.map(|(number, _)| number).collect();
        for stage in self.close_stages(numbers) {
            let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            end(
                &stage,
                Ending::partition(code, "the topic was deleted"),
                out,
            );
        }
    }

    fn close_stages(&mut self, numbers: Vec<u64>) -> Vec<Stage> {
        let closed = numbers
            .into_iter()
            .filter_map(|number| self.requests.close(number));
        closed
            .filter_map(|asked| match asked {
                Asked::Stage(stage) => Some(stage),
                Asked::List { .. } | Asked::Resolve { .. } => None,
            })
            .collect()
    }

    fn close_stage(&mut self, number: u64, step: Step) -> Option<Stage> {
        match self.requests.get(number) {
            Some(Asked::Stage(stage)) if stage.step == step => {}
            _ => return None,
        }
        match self.requests.close(number) {
            Some(Asked::Stage(stage)) => Some(stage),
            _ => None,
        }
    }
}

impl Stage {
    pub(super) fn producer_id(&self) -> i64 {
        self.command.owner.producer_id
    }

    /// What it asks for, as a leader is told to give it back.
    fn asked_for(&self) -> impl Iterator<Item = PendingAck> {
        let owner = self.command.owner;
        self.command.ranges.iter().map(move |range| PendingAck {
            first_offset: range.first_offset,
            last_offset: range.last_offset,
            acknowledge_type: range.acknowledge_type,
            delivery_count: range.delivery_count.unwrap_or(0),
            owner,
            dead_letter: false,
        })
    }
}

impl Ending {
    fn success() -> Self {
        Ending {
            code: ErrorCode::NONE,
            message: None,
            whole_request: false,
        }
    }

    fn partition(code: ErrorCode, message: &'static str) -> Self {
        Ending {
            code,
            message: Some(Str::from(message)),
            whole_request: false,
        }
    }
}

fn end(stage: &Stage, ending: Ending, out: &mut Outbox<ShareReply>) {
    let Ending {
        code,
        message,
        whole_request,
    } = ending;
    let reply = ShareReply::Staged {
        code,
        message,
        whole_request,
    };
    out.reply(stage.ticket, reply);
}

/// The one code that the answer to a verification of one partition holds.
pub(super) fn verdict(response: &AddPartitionsToTxnResponse) -> ErrorCode {
    if response.error_code != ErrorCode::NONE {
        return response.error_code;
    }
    let partition = response
        .results_by_transaction
        .iter()
        .flat_map(|transaction| &transaction.topic_results)
        .flat_map(|topic| &topic.results_by_partition)
        .next();
    partition.map_or(ErrorCode::INVALID_TXN_STATE, |result| {
        result.partition_error_code
    })
}
