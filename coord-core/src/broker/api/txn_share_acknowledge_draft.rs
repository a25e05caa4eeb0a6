//! TxnShareAcknowledge as the newest draft of KIP-1289 has it (key 95): registers the state
//! partitions in the transaction, then stages like [`super::txn_share_acknowledge`]. Ranges carry no
//! delivery count, so a record that was delivered again to the same member is not told apart.

use ackord_machine::LogId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::txn_share_acknowledge::{
    AcknowledgementBatch, TxnShareAcknowledgePartition, TxnShareAcknowledgeTopic,
};
use ackord_proto::messages::txn_share_acknowledge_draft::{DraftBatch, DraftPartition, DraftTopic};
use ackord_proto::messages::{
    TxnShareAcknowledgeDraftRequest, TxnShareAcknowledgeDraftResponse, TxnShareAcknowledgeRequest,
    TxnShareAcknowledgeResponse,
};

use super::super::Broker;
use super::super::gather::Gather;
use crate::group::partition_for_id;
use crate::outbox::Ticket;
use crate::txn::{AddKind, AddPartitions};

impl Broker {
    pub(super) fn txn_share_acknowledge_draft(
        &mut self,
        slot: u64,
        request: TxnShareAcknowledgeDraftRequest,
    ) {
        let request = command(request);
        self.ensure_transaction_topic();
        self.ensure_share_state_topic();
        if let Err(error_code) = self.check_stage(&request) {
            return self.refuse_draft(slot, error_code);
        }
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        let add = AddPartitions {
            version: 0,
            kind: AddKind::ShareAcks,
            transactional_id: request.transactional_id.clone(),
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            partitions: self
                .state_partitions_of(&request.group_id, self.partitions_in(slot, &request)),
        };
        self.gathers.insert(slot, Gather::StageDraft(request));
        let ticket = Ticket { slot, part: 0 };
        self.with_tc(tc, None, |tc, ctx, out| {
            tc.add_partitions(ctx.now, ticket, add, out);
        });
    }

    /// The state partitions are in the transaction, or not.
    pub(in crate::broker) fn draft_registered(
        &mut self,
        slot: u64,
        request: TxnShareAcknowledgeRequest,
        error_code: ErrorCode,
    ) {
        match error_code {
            // The stage is verified behind the registration, and stored after it.
            ErrorCode::NONE => self.begin_stage(slot, &request, StageForm::Draft),
            // The code that the stage itself has for it.
            ErrorCode::PRODUCER_FENCED => {
                self.refuse_draft(slot, ErrorCode::INVALID_PRODUCER_EPOCH);
            }
            error_code => self.refuse_draft(slot, error_code),
        }
    }

    fn refuse_draft(&mut self, slot: u64, error_code: ErrorCode) {
        let response = TxnShareAcknowledgeResponse {
            error_code,
            ..Default::default()
        };
        self.respond(slot, draft(response), None);
    }

    /// Of the partitions that exist and may be read; the others are refused one by one.
    fn partitions_in<'a>(
        &'a self,
        slot: u64,
        request: &'a TxnShareAcknowledgeRequest,
    ) -> impl Iterator<Item = LogId> + 'a {
        let topics = request.topics.iter();
        let allowed = topics.filter(move |own| self.check_topic_id(slot, own.topic_id).is_ok());
        allowed.flat_map(|own| {
            let known = self.metadata.topic_by_id(own.topic_id);
            let count = known.map_or(0, |topic| topic.partitions);
            let indexes = own.partitions.iter().map(|own| own.partition);
            let existing = indexes.filter(move |index| (0..count).contains(index));
            existing.map(|partition| LogId {
                topic: own.topic_id,
                partition,
            })
        })
    }
}

/// How a stage came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::broker) enum StageForm {
    /// TxnShareAcknowledge v0: one type for a range; no member.
    Plain,
    /// TxnShareAcknowledge v1: with member and delivery counts.
    Member,
    /// The draft: with a member, without delivery counts.
    Draft,
}

/// The answer in the draft's form.
pub(in crate::broker) fn draft(
    response: TxnShareAcknowledgeResponse,
) -> TxnShareAcknowledgeDraftResponse {
    TxnShareAcknowledgeDraftResponse {
        throttle_time_ms: response.throttle_time_ms,
        error_code: response.error_code,
        responses: response.responses,
        ..Default::default()
    }
}

/// The request as the same command as TxnShareAcknowledge; no transactional id is refused like an
/// empty one.
fn command(request: TxnShareAcknowledgeDraftRequest) -> TxnShareAcknowledgeRequest {
    TxnShareAcknowledgeRequest {
        group_id: request.group_id,
        transactional_id: request.transactional_id.unwrap_or_default(),
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        member_id: request.member_id,
        member_epoch: request.member_epoch,
        topics: request.topics.into_iter().map(topic).collect(),
        ..Default::default()
    }
}

fn topic(topic: DraftTopic) -> TxnShareAcknowledgeTopic {
    TxnShareAcknowledgeTopic {
        topic_id: topic.topic_id,
        partitions: topic.partitions.into_iter().map(partition).collect(),
        ..Default::default()
    }
}

fn partition(partition: DraftPartition) -> TxnShareAcknowledgePartition {
    let batches = partition.acknowledgement_batches.into_iter();
    TxnShareAcknowledgePartition {
        partition: partition.partition_index,
        acknowledgement_batches: batches.map(batch).collect(),
        ..Default::default()
    }
}

fn batch(batch: DraftBatch) -> AcknowledgementBatch {
    AcknowledgementBatch {
        first_offset: batch.first_offset,
        last_offset: batch.last_offset,
        acknowledge_types: batch.acknowledge_types[..].into(),
        ..Default::default()
    }
}
