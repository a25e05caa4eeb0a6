//! TxnShareAcknowledge at the share coordinator: verify with the transaction coordinator, have the
//! leader hold the records, store them as pending (KIP-1289).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{
    Body, Envelope, LogId, ResolveShareAcks, Role, StageShareAcks, StageShareAcksReply,
    StageVerdict, StagedRange, TxnOwner,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, add_partitions_to_txn as add,
};
use ackord_proto::str::Str;

use super::coordinator::{ShareCoordinator, ShareReply};
use super::records::{self, ShareUpdate};
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
    /// The transaction.
    pub owner: TxnOwner,
    /// The member that acquired the records; `None` in version 0.
    pub member: Option<Str>,
    /// NONE, or what is wrong with the member.
    pub member_error: ErrorCode,
    /// What to stage.
    pub ranges: Vec<StagedRange>,
}

/// Stages under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    last_correlation: u64,
    open: BTreeMap<u64, Stage>,
}

#[derive(Clone, Debug)]
struct Stage {
    ticket: Ticket,
    command: StageCommand,
    /// The transaction ended while the stage was under way.
    too_late: bool,
}

impl Stages {
    /// Marks stages of a transaction that ends now.
    pub(super) fn cancel(&mut self, marker: ProducerEpoch) {
        for stage in self.open.values_mut() {
            let owner = stage.command.owner;
            stage.too_late |=
                owner.producer_id == marker.id && owner.producer_epoch <= marker.epoch;
        }
    }
}

impl ShareCoordinator {
    /// Begins a stage; it ends in a [`ShareReply::Staged`] for `ticket`.
    pub fn stage(&mut self, ticket: Ticket, command: StageCommand, out: &mut Outbox<ShareReply>) {
        self.stages.last_correlation += 1;
        let correlation = self.stages.last_correlation;
        let tc = partition_for_id(
            &command.transactional_id,
            self.config.transaction_partitions,
        );
        let body = Body::AddPartitionsToTxn(self.verification(&command));
        self.stages.open.insert(
            correlation,
            Stage {
                ticket,
                command,
                too_late: false,
            },
        );
        let from = Role::Sgc(self.partition);
        out.send_chained(Envelope {
            from,
            to: Role::Tc(tc),
            correlation,
            body,
        });
    }

    /// The producer of a stage under way.
    pub fn staging_producer(&self, correlation: u64) -> Option<i64> {
        self.stages
            .open
            .get(&correlation)
            .map(|stage| stage.command.owner.producer_id)
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
        correlation: u64,
        response: &AddPartitionsToTxnResponse,
        owner: Option<TxnOwner>,
        out: &mut Outbox<ShareReply>,
    ) {
        let Some(stage) = self.stages.open.get_mut(&correlation) else {
            return;
        };
        let code = verdict(response);
        if code != ErrorCode::NONE && !ackord_machine::planted!("row-57-stage-not-verified") {
            let whole = code != ErrorCode::INVALID_TXN_STATE;
            let message = "the state partition is not in an ongoing transaction of this producer";
            return self.end(correlation, code, Some(Str::from(message)), whole, out);
        }
        if stage.too_late {
            return self.end_too_late(correlation, out);
        }
        // What is staged belongs to the transaction, whichever epoch its client has by now.
        stage.command.owner = owner.unwrap_or(stage.command.owner);
        let command = &stage.command;
        let log = LogId {
            topic: command.key.topic,
            partition: command.key.partition,
        };
        let body = Body::StageShareAcks(StageShareAcks {
            group: command.key.group.clone(),
            owner: command.owner,
            member: command.member.clone(),
            ranges: command.ranges.clone(),
            member_error: command.member_error,
        });
        let from = Role::Sgc(self.partition);
        out.send_chained(Envelope {
            from,
            to: Role::Leader(log),
            correlation,
            body,
        });
    }

    /// The leader's verdict.
    pub(super) fn staged(
        &mut self,
        correlation: u64,
        reply: StageShareAcksReply,
        out: &mut Outbox<ShareReply>,
    ) {
        let Some(stage) = self.stages.open.get(&correlation) else {
            return;
        };
        match reply.verdict {
            StageVerdict::Refused {
                code,
                message,
                whole_request,
            } => {
                self.end(correlation, code, Some(message), whole_request, out);
            }
            // The leader may not have heard of the end yet.
            StageVerdict::Repeated if stage.too_late => self.end_too_late(correlation, out),
            StageVerdict::Repeated => self.end(correlation, ErrorCode::NONE, None, false, out),
            StageVerdict::Staged(_) if stage.too_late => {
                self.give_back(correlation, out);
                self.end_too_late(correlation, out);
            }
            StageVerdict::Staged(ranges) => {
                let (key, owner) = (stage.command.key.clone(), stage.command.owner);
                let mut update = ShareUpdate::of_stage(reply.leader_epoch, &ranges);
                update.snapshot_epoch = self.state(&key).map_or(0, |state| state.snapshot_epoch);
                let producer = ProducerEpoch {
                    id: owner.producer_id,
                    epoch: owner.producer_epoch,
                };
                self.append(
                    alloc::vec![records::update(&key, &update)],
                    Some(producer),
                    out,
                );
                self.end(correlation, ErrorCode::NONE, None, false, out);
            }
        }
    }

    /// Has the leader free what it held for a stage that came too late.
    fn give_back(&self, correlation: u64, out: &mut Outbox<ShareReply>) {
        let Some(stage) = self.stages.open.get(&correlation) else {
            return;
        };
        let (key, owner) = (&stage.command.key, stage.command.owner);
        out.send(Envelope {
            from: Role::Sgc(self.partition),
            to: Role::Leader(LogId {
                topic: key.topic,
                partition: key.partition,
            }),
            correlation,
            body: Body::ResolveShareAcks(ResolveShareAcks {
                group: key.group.clone(),
                producer_id: owner.producer_id,
                marker_epoch: owner.producer_epoch,
                strict: false,
                commit: false,
            }),
        });
    }

    fn end_too_late(&mut self, correlation: u64, out: &mut Outbox<ShareReply>) {
        let message = Str::from("the transaction ended before the acknowledgements arrived");
        self.end(
            correlation,
            ErrorCode::INVALID_TXN_STATE,
            Some(message),
            false,
            out,
        );
    }

    fn end(
        &mut self,
        correlation: u64,
        code: ErrorCode,
        message: Option<Str>,
        whole_request: bool,
        out: &mut Outbox<ShareReply>,
    ) {
        if let Some(stage) = self.stages.open.remove(&correlation) {
            out.reply(
                stage.ticket,
                ShareReply::Staged {
                    code,
                    message,
                    whole_request,
                },
            );
        }
    }
}

/// The one code that the answer to a verification of one partition holds.
fn verdict(response: &AddPartitionsToTxnResponse) -> ErrorCode {
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
