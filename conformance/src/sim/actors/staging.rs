//! The requests that acknowledge records in a transaction.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddOffsetsToTxnRequest, AddShareAcksToTxnRequest, TxnOffsetCommitRequest,
    TxnShareAcknowledgeDraftRequest, TxnShareAcknowledgeRequest, add_share_acks_to_txn as register,
    txn_offset_commit as commit, txn_share_acknowledge as stage,
    txn_share_acknowledge_draft as draft,
};

use super::transactional::{Transactional, is_retriable};
use super::{Got, INPUT, Member};
use crate::sim::ctx::{Ctx, Lost};
use crate::sim::wire;
use crate::sim_call;

/// A record and the type of its acknowledgement.
pub(super) type Kinded<'a> = (&'a Got, i8);

/// Acknowledgements as they are sent.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// TxnShareAcknowledge of this version.
    Native(i16, TxnShareAcknowledgeRequest),
    /// The draft of it, which registers by itself (key 95).
    Draft(TxnShareAcknowledgeDraftRequest),
    /// TxnOffsetCommit of this version.
    Text(i16, TxnOffsetCommitRequest),
}

impl Stage {
    /// Whose it is.
    pub(super) fn producer(&self) -> (i64, i16) {
        match self {
            Stage::Native(_, own) => (own.producer_id, own.producer_epoch),
            Stage::Draft(own) => (own.producer_id, own.producer_epoch),
            Stage::Text(_, own) => (own.producer_id, own.producer_epoch),
        }
    }

    /// The same of another client.
    pub(super) fn of_producer(&self, (id, epoch): (i64, i16)) -> Stage {
        let mut same = self.clone();
        match &mut same {
            Stage::Native(_, own) => (own.producer_id, own.producer_epoch) = (id, epoch),
            Stage::Draft(own) => (own.producer_id, own.producer_epoch) = (id, epoch),
            Stage::Text(_, own) => (own.producer_id, own.producer_epoch) = (id, epoch),
        }
        same
    }

    /// The group and the partitions that are to be registered before it.
    pub(super) fn to_register(&self) -> Option<(String, Vec<i32>)> {
        let Stage::Native(_, own) = self else {
            return None;
        };
        let parts = own.topics.iter().flat_map(|topic| &topic.partitions);
        let partitions = parts.map(|part| part.partition).collect();
        Some((own.group_id.to_string(), partitions))
    }

    /// An acknowledgement of the record behind those that it names, by whoever may have it: group,
    /// partition and offset.
    pub(super) fn of_the_next(&self) -> Option<(Stage, (String, i32, i64))> {
        let Stage::Native(_, own) = self else {
            return None;
        };
        let mut next = own.clone();
        let topic = next.topics.first_mut()?;
        topic.partitions.truncate(1);
        let part = topic.partitions.first_mut()?;
        let offset = part.acknowledgement_batches.last()?.last_offset + 1;
        let batch = stage::AcknowledgementBatch {
            first_offset: offset,
            last_offset: offset,
            acknowledge_type: 1,
            ..Default::default()
        };
        part.acknowledgement_batches = vec![batch];
        let place = (own.group_id.to_string(), part.partition, offset);
        next.member_id = Default::default();
        next.member_epoch = -1;
        Some((Stage::Native(0, next), place))
    }

    /// Its producer has the same epoch in the next transaction.
    pub(super) fn keeps_epoch(&self) -> bool {
        matches!(self, Stage::Text(..=4, _))
    }

    /// Sends it once; the worst code of its partitions.
    pub(super) async fn send(&self, ctx: &Ctx) -> Result<ErrorCode, Lost> {
        let mut codes = Vec::new();
        match self {
            Stage::Native(version, request) => {
                let version = *version;
                let answer = sim_call!(ctx, TxnShareAcknowledge v version, request.clone())?;
                let parts = answer.responses.iter().flat_map(|own| &own.partitions);
                codes.extend(parts.map(|part| part.error_code));
                codes.push(answer.error_code);
            }
            Stage::Draft(request) => {
                let answer = sim_call!(ctx, TxnShareAcknowledgeDraft v 0, request.clone())?;
                let parts = answer.responses.iter().flat_map(|own| &own.partitions);
                codes.extend(parts.map(|part| part.error_code));
                codes.push(answer.error_code);
            }
            Stage::Text(version, request) => {
                let version = *version;
                let answer = sim_call!(ctx, TxnOffsetCommit v version, request.clone())?;
                let parts = answer.topics.iter().flat_map(|own| &own.partitions);
                codes.extend(parts.map(|part| part.error_code));
            }
        }
        let worst = codes.into_iter().find(|code| code.is_error());
        match worst.unwrap_or_default() {
            code if is_retriable(code) => Err(Lost),
            code => Ok(code),
        }
    }
}

/// AddShareAcksToTxn.
pub(super) async fn register(
    ctx: &Ctx,
    producer: &Transactional,
    group: &str,
    partitions: &[i32],
) -> Result<ErrorCode, Lost> {
    let topic = register::AddShareAcksToTxnTopic {
        name: INPUT.into(),
        partitions: partitions.to_vec(),
        ..Default::default()
    };
    let request = AddShareAcksToTxnRequest {
        transactional_id: producer.tid.as_str().into(),
        producer_id: producer.producer.0,
        producer_epoch: producer.producer.1,
        group_id: group.into(),
        topics: vec![topic],
        ..Default::default()
    };
    for _ in 0..5 {
        let response = sim_call!(ctx, AddShareAcksToTxn v 0, request.clone());
        let Ok(response) = response else { continue };
        let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
        let worst = parts
            .map(|part| part.error_code)
            .find(|code| code.is_error());
        let code = worst.unwrap_or(response.error_code);
        if !is_retriable(code) {
            return Ok(code);
        }
        ctx.sleep(20).await;
    }
    Err(Lost)
}

/// AddOffsetsToTxn, which producers of transaction version 1 send first.
pub(super) async fn add_offsets(ctx: &Ctx, producer: &Transactional, group: &str) -> bool {
    let request = AddOffsetsToTxnRequest {
        transactional_id: producer.tid.as_str().into(),
        producer_id: producer.producer.0,
        producer_epoch: producer.producer.1,
        group_id: group.into(),
        ..Default::default()
    };
    for _ in 0..5 {
        let response = sim_call!(ctx, AddOffsetsToTxn v 3, request.clone());
        match response.map(|response| response.error_code) {
            Ok(code) if !is_retriable(code) => return code == ErrorCode::NONE,
            _ => ctx.sleep(20).await,
        }
    }
    false
}

/// Acknowledgements as TxnShareAcknowledge.
pub(super) fn native(
    ctx: &Ctx,
    member: &Member,
    producer: &Transactional,
    version: i16,
    acks: &[Kinded<'_>],
) -> TxnShareAcknowledgeRequest {
    let mut parts: Vec<stage::TxnShareAcknowledgePartition> = Vec::new();
    for (record, kind) in acks {
        let mut batch = stage::AcknowledgementBatch {
            first_offset: record.offset,
            last_offset: record.offset,
            ..Default::default()
        };
        match version {
            0 => batch.acknowledge_type = *kind,
            _ => {
                batch.acknowledge_types = (*kind).into();
                batch.delivery_count = record.count;
            }
        }
        let own = parts
            .iter_mut()
            .find(|own| own.partition == record.partition);
        match own {
            Some(own) => match own.acknowledgement_batches.last_mut() {
                Some(last)
                    if last.last_offset + 1 == record.offset
                        && last.delivery_count == batch.delivery_count
                        && (last.acknowledge_type == batch.acknowledge_type)
                        && (last.acknowledge_types == batch.acknowledge_types) =>
                {
                    last.last_offset = record.offset;
                }
                _ => own.acknowledgement_batches.push(batch),
            },
            None => parts.push(stage::TxnShareAcknowledgePartition {
                partition: record.partition,
                acknowledgement_batches: vec![batch],
                ..Default::default()
            }),
        }
    }
    let topic = stage::TxnShareAcknowledgeTopic {
        topic_id: ctx.ledger.borrow().id(INPUT),
        partitions: parts,
        ..Default::default()
    };
    let mut request = TxnShareAcknowledgeRequest {
        group_id: member.group.as_str().into(),
        transactional_id: producer.tid.as_str().into(),
        producer_id: producer.producer.0,
        producer_epoch: producer.producer.1,
        topics: vec![topic],
        ..Default::default()
    };
    if version >= 1 {
        request.member_id = member.id.as_str().into();
        request.member_epoch = member.epoch;
    }
    request
}

/// The same in the form of the draft, which has no delivery counts.
pub(super) fn draft(request: TxnShareAcknowledgeRequest) -> TxnShareAcknowledgeDraftRequest {
    let topics = request.topics.into_iter().map(|topic| draft::DraftTopic {
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .into_iter()
            .map(|part| draft::DraftPartition {
                partition_index: part.partition,
                acknowledgement_batches: part
                    .acknowledgement_batches
                    .into_iter()
                    .map(|batch| draft::DraftBatch {
                        first_offset: batch.first_offset,
                        last_offset: batch.last_offset,
                        acknowledge_types: batch.acknowledge_types.to_vec(),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    TxnShareAcknowledgeDraftRequest {
        transactional_id: Some(request.transactional_id),
        group_id: request.group_id,
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        member_id: request.member_id,
        member_epoch: request.member_epoch,
        topics: topics.collect(),
        ..Default::default()
    }
}

/// Acknowledgements as the text of a TxnOffsetCommit.
pub(super) fn text(
    ctx: &Ctx,
    member: &Member,
    producer: &Transactional,
    version: i16,
    acks: &[Kinded<'_>],
) -> TxnOffsetCommitRequest {
    let mut partitions: Vec<i32> = acks.iter().map(|(record, _)| record.partition).collect();
    partitions.dedup();
    let parts = partitions.into_iter().map(|partition| {
        let own = acks.iter().filter(|own| own.0.partition == partition);
        let own: Vec<(i64, i16, i8)> = own
            .map(|(record, kind)| (record.offset, record.count, *kind))
            .collect();
        commit::TxnOffsetCommitRequestPartition {
            partition_index: partition,
            committed_offset: own.iter().map(|ack| ack.0 + 1).max().unwrap_or(0),
            committed_metadata: Some(wire::text(&own).as_str().into()),
            ..Default::default()
        }
    });
    let topic = commit::TxnOffsetCommitRequestTopic {
        name: INPUT.into(),
        topic_id: ctx.ledger.borrow().id(INPUT),
        partitions: parts.collect(),
        ..Default::default()
    };
    // Below version 3, or where the consumer is not at hand, nobody says which member it is.
    let named = version >= 3 && ctx.percent(80);
    TxnOffsetCommitRequest {
        transactional_id: producer.tid.as_str().into(),
        group_id: member.group.as_str().into(),
        producer_id: producer.producer.0,
        producer_epoch: producer.producer.1,
        member_id: if named { member.id.as_str() } else { "" }.into(),
        generation_id_or_member_epoch: if named { member.epoch } else { -1 },
        topics: vec![topic],
        ..Default::default()
    }
}
