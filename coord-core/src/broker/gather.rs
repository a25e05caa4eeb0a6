//! Requests whose answer comes in parts, from the machines that know them.

use ackord_machine::OpId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{EndTxnResponse, InitProducerIdResponse, TxnShareAcknowledgeRequest};

use super::Broker;
use super::api::add_offsets_to_txn::AddedOffsets;
use super::api::add_partitions_to_txn::AddPartitionsGather;
use super::api::add_share_acks_to_txn::AddShareAcksGather;
use super::api::produce::ProduceGather;
use super::api::share_acknowledge::ShareAcknowledgeGather;
use super::api::share_fetch::ShareFetchAcks;
use super::api::txn_offset_acks::AcksGather;
use super::api::txn_offset_commit::TxnOffsetGather;
use super::api::txn_share_acknowledge::StageGather;
use super::journal::later;
use crate::group::GroupReply;
use crate::leader::LeaderReply;
use crate::outbox::Ticket;
use crate::share::ShareReply;
use crate::txn::TxnReply;

/// What the parts are put together into.
#[derive(Debug)]
pub(super) enum Gather {
    AddOffsets(AddedOffsets),
    AddPartitions(AddPartitionsGather),
    AddShareAcks(AddShareAcksGather),
    EndTxn,
    InitProducerId,
    /// With the partition of its group coordinator.
    JoinGroup(i32),
    OffsetAcks(AcksGather),
    Produce(ProduceGather),
    ShareAcknowledge(ShareAcknowledgeGather),
    ShareFetch(ShareFetchAcks),
    /// With the partition of its group coordinator.
    ShareGroupHeartbeat(i32),
    Stage(StageGather),
    /// Waits for its registration.
    StageDraft(TxnShareAcknowledgeRequest),
    /// With the partition of its group coordinator.
    SyncGroup(i32),
    TxnOffsets(TxnOffsetGather),
}

/// Parts that are still missing, and the append that those which came depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missing {
    parts: usize,
    gate: Option<OpId>,
    failed: bool,
}

/// An append that a part depended on has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AppendFailed;

impl Missing {
    pub(super) fn one_more(&mut self) {
        self.parts += 1;
    }

    /// Takes one part in.
    pub(super) fn arrived(&mut self, gate: Option<OpId>) {
        self.parts = self.parts.saturating_sub(1);
        self.gate = later(self.gate, gate);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.parts == 0
    }

    /// The append that all parts depend on.
    pub(super) fn outcome(self) -> Result<Option<OpId>, AppendFailed> {
        if self.failed {
            Err(AppendFailed)
        } else {
            Ok(self.gate)
        }
    }

    /// An append failed. Every later one that was under way fails with it, so whatever depends on
    /// one that is not older fails too.
    fn fail_from(&mut self, id: OpId) {
        self.failed |= self.gate.is_some_and(|gate| gate >= id);
    }
}

impl Gather {
    fn missing(&mut self) -> Option<&mut Missing> {
        match self {
            Gather::AddPartitions(gather) => Some(gather.missing()),
            Gather::OffsetAcks(gather) => Some(gather.missing()),
            Gather::Produce(gather) => Some(gather.missing()),
            Gather::ShareAcknowledge(gather) => Some(gather.missing()),
            Gather::ShareFetch(acks) => Some(acks.missing()),
            Gather::Stage(gather) => Some(gather.missing()),
            Gather::AddOffsets(_)
            | Gather::AddShareAcks(_)
            | Gather::EndTxn
            | Gather::InitProducerId
            | Gather::JoinGroup(_)
            | Gather::StageDraft(_)
            | Gather::ShareGroupHeartbeat(_)
            | Gather::SyncGroup(_)
            | Gather::TxnOffsets(_) => None,
        }
    }
}

impl Broker {
    /// Parts that depended on a failed append have failed, whenever the last part comes.
    pub(super) fn fail_gathers(&mut self, id: OpId) {
        let gathers = self.gathers.values_mut().filter_map(Gather::missing);
        for missing in gathers.chain(self.waits.appends()) {
            missing.fail_from(id);
        }
    }

    /// A coordinator is being read back, so parts that it owes will not come. What waits for parts
    /// is answered with codes that clients retry.
    pub(super) fn abandon_gathers(&mut self) {
        self.verifications.clear();
        self.offset_verifications.clear();
        let code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
        for (slot, gather) in core::mem::take(&mut self.gathers) {
            match gather {
                Gather::AddOffsets(_) => self.offsets_added(slot, code, None),
                Gather::AddPartitions(mut gather) => {
                    let missing = *gather.missing();
                    self.respond_whole(slot, gather.into_response(), missing);
                }
                Gather::AddShareAcks(gather) => {
                    self.respond(slot, gather.into_response(code), None);
                }
                Gather::EndTxn => {
                    let response = EndTxnResponse {
                        error_code: code,
                        ..Default::default()
                    };
                    self.respond(slot, response, None);
                }
                Gather::InitProducerId => {
                    let response = InitProducerIdResponse {
                        error_code: code,
                        ..Default::default()
                    };
                    self.respond(slot, response, None);
                }
                Gather::OffsetAcks(gather) => self.abandon_acks(slot, gather),
                Gather::Produce(gather) => self.abandon_produce(slot, gather),
                Gather::Stage(gather) => self.abandon_stage(slot, gather),
                Gather::StageDraft(request) => self.draft_registered(slot, request, code),
                Gather::TxnOffsets(gather) => self.abandon_txn_offsets(slot, gather),
                of_group @ (Gather::JoinGroup(_)
                | Gather::ShareGroupHeartbeat(_)
                | Gather::SyncGroup(_)) => {
                    self.abandon_member(slot, of_group);
                }
                // Their parts come from leaders, which send again what was not answered.
                kept @ (Gather::ShareAcknowledge(_) | Gather::ShareFetch(_)) => {
                    self.gathers.insert(slot, kept);
                }
            }
        }
    }

    pub(super) fn transaction_reply(
        &mut self,
        ticket: Ticket,
        reply: TxnReply,
        gate: Option<OpId>,
    ) {
        let slot = ticket.slot;
        match reply {
            TxnReply::InitProducerId {
                error,
                producer_id,
                producer_epoch,
                kept,
            } => {
                self.gathers.remove(&slot);
                let kept = kept.map(|owner| (owner.producer_id, owner.producer_epoch));
                let (ongoing_txn_producer_id, ongoing_txn_producer_epoch) =
                    kept.unwrap_or((-1, -1));
                let response = InitProducerIdResponse {
                    error_code: error,
                    producer_id,
                    producer_epoch,
                    ongoing_txn_producer_id,
                    ongoing_txn_producer_epoch,
                    ..Default::default()
                };
                self.respond(slot, response, gate);
            }
            TxnReply::EndTxn {
                error,
                producer_id,
                producer_epoch,
            } => {
                self.gathers.remove(&slot);
                let response = EndTxnResponse {
                    error_code: error,
                    producer_id,
                    producer_epoch,
                    ..Default::default()
                };
                self.respond(slot, response, gate);
            }
            TxnReply::AddPartitions { error } => self.partitions_added(ticket, error, gate),
        }
    }

    fn partitions_added(&mut self, ticket: Ticket, error: ErrorCode, gate: Option<OpId>) {
        let slot = ticket.slot;
        match self.gathers.remove(&slot) {
            Some(Gather::AddPartitions(mut gather)) => {
                if gather.arrived(ticket.part, error, gate) {
                    let missing = *gather.missing();
                    self.respond_whole(slot, gather.into_response(), missing);
                } else {
                    self.gathers.insert(slot, Gather::AddPartitions(gather));
                }
            }
            Some(Gather::AddOffsets(added)) => {
                self.note_added_offsets(&added, error);
                self.offsets_added(slot, error, gate);
            }
            Some(Gather::OffsetAcks(gather)) => self.acks_registered(slot, gather, error, gate),
            Some(Gather::AddShareAcks(gather)) => {
                self.respond(slot, gather.into_response(error), gate);
            }
            Some(Gather::StageDraft(request)) => self.draft_registered(slot, request, error),
            _ => {}
        }
    }

    pub(super) fn group_reply(&mut self, ticket: Ticket, reply: GroupReply, gate: Option<OpId>) {
        let GroupReply::Heartbeat(response) = reply;
        if self.gathers.remove(&ticket.slot).is_some() {
            self.respond(ticket.slot, response, gate);
        }
    }

    pub(super) fn leader_reply(&mut self, ticket: Ticket, reply: LeaderReply, gate: Option<OpId>) {
        let LeaderReply::Acknowledged { code, message } = reply;
        let slot = ticket.slot;
        match self.gathers.remove(&slot) {
            Some(Gather::ShareAcknowledge(mut gather)) => {
                gather.arrived(ticket.part, code, message, gate);
                self.share_acknowledge_progress(slot, gather);
            }
            Some(Gather::ShareFetch(mut acks)) => {
                acks.arrived(ticket.part, code, message, gate);
                self.share_fetch_progress(slot, acks);
            }
            _ => {}
        }
    }

    pub(super) fn share_reply(&mut self, ticket: Ticket, reply: ShareReply, gate: Option<OpId>) {
        match self.gathers.remove(&ticket.slot) {
            Some(Gather::Stage(mut gather)) => {
                gather.arrived(ticket.part, reply, gate);
                self.stage_progress(ticket.slot, gather);
            }
            Some(Gather::OffsetAcks(mut gather)) => {
                gather.arrived(ticket.part, reply, gate);
                self.acks_progress(ticket.slot, gather);
            }
            _ => {}
        }
    }
}
