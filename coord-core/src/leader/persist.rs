//! Reading and writing a share partition's state at the share coordinator.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, Now, PendingAck};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    ReadShareGroupStateRequest, ReadShareGroupStateResponse, WriteShareGroupStateRequest,
    WriteShareGroupStateResponse, read_share_group_state as read, write_share_group_state as write,
};
use ackord_proto::str::Str;
use ackord_share_partition::{AckError, Change, RecordState, SharePartition, StateBatch};

use super::share::{Phase, Share};
use super::transaction::Arrival;
use super::{Leader, LeaderContext, LeaderReply, TimerKey};
use crate::outbox::{Outbox, Ticket};

pub(super) fn acknowledged(refusal: Option<AckError>) -> LeaderReply {
    match refusal {
        None => LeaderReply::Acknowledged {
            code: ErrorCode::NONE,
            message: None,
        },
        Some(error) => {
            let message = Some(Str::from(error.message));
            LeaderReply::Acknowledged {
                code: error.code,
                message,
            }
        }
    }
}

/// A write that the share coordinator has not answered.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) group: Str,
    /// Who waits for it, with what was refused of the request while the rest was done.
    pub(super) tickets: Vec<(Ticket, Option<AckError>)>,
    pub(super) envelope: Envelope,
}

impl Write {
    /// Tells all who wait that nothing was stored.
    pub(super) fn fail(
        &self,
        code: ErrorCode,
        message: Option<&Str>,
        out: &mut Outbox<LeaderReply>,
    ) {
        for (ticket, _) in &self.tickets {
            let message = message.cloned();
            out.reply(*ticket, LeaderReply::Acknowledged { code, message });
        }
    }
}

impl Leader {
    pub(super) fn read_request(
        &self,
        state_partitions: i32,
        group: &Str,
        correlation: u64,
    ) -> Envelope {
        let partition = read::PartitionData {
            partition: self.log.partition,
            leader_epoch: self.epoch,
            ..Default::default()
        };
        let topic = read::ReadStateData {
            topic_id: self.log.topic,
            partitions: vec![partition],
            ..Default::default()
        };
        let request = ReadShareGroupStateRequest {
            group_id: group.clone(),
            topics: vec![topic],
            ..Default::default()
        };
        self.envelope(
            state_partitions,
            group,
            correlation,
            Body::ReadShareGroupState(request),
        )
    }

    pub(super) fn write_request(&self, group: &Str, change: &Change) -> Body {
        let batch = |batch: &StateBatch| write::StateBatch {
            first_offset: batch.first,
            last_offset: batch.last,
            delivery_state: batch.state as i8,
            delivery_count: batch.delivery_count,
            ..Default::default()
        };
        let partition = write::PartitionData {
            partition: self.log.partition,
            state_epoch: self.shares.get(group).map_or(0, Share::state_epoch),
            leader_epoch: self.epoch,
            start_offset: change.start_offset,
            delivery_complete_count: change.delivery_complete_count,
            state_batches: change.batches.iter().map(batch).collect(),
            ..Default::default()
        };
        let topic = write::WriteStateData {
            topic_id: self.log.topic,
            partitions: vec![partition],
            ..Default::default()
        };
        Body::WriteShareGroupState(WriteShareGroupStateRequest {
            group_id: group.clone(),
            topics: vec![topic],
            ..Default::default()
        })
    }

    /// The group whose read is answered by `correlation`.
    pub fn reading_group(&self, correlation: u64) -> Option<&Str> {
        let waits = |share: &Share| share.read_under_way() == Some(correlation);
        self.shares
            .iter()
            .find(|(_, share)| waits(share))
            .map(|(group, _)| group)
    }

    /// The share coordinator's answer to a read has everything in it that the share coordinator sent
    /// up to `newest`. To be called before [`Leader::loaded`].
    pub fn read_covers(&mut self, correlation: u64, newest: u64) {
        let waits = |share: &&mut Share| share.read_under_way() == Some(correlation);
        if let Some(share) = self.shares.values_mut().find(waits) {
            share.note(newest);
        }
    }

    /// The share coordinator's answer to a read. A share partition that has no start yet begins at
    /// `first`. What waited for it goes on.
    pub fn loaded(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        response: &ReadShareGroupStateResponse,
        pending: &[PendingAck],
        first: i64,
        out: &mut Outbox<LeaderReply>,
    ) {
        let result = response
            .results
            .iter()
            .flat_map(|topic| &topic.partitions)
            .next();
        self.timers.cancel(&TimerKey::Read(group.clone()));
        let Some(share) = self.shares.get_mut(group) else {
            return;
        };
        let Some(result) = result.filter(|result| result.error_code == ErrorCode::NONE) else {
            let code = result.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |result| result.error_code);
            let code = leader_code(code);
            share.phase = Phase::Failed(code);
            let waiting = core::mem::take(&mut share.waiting);
            self.turn_away(waiting, code, out);
            return;
        };
        let chosen = (result.start_offset < 0).then_some(first);
        let mut start = chosen.unwrap_or(result.start_offset);
        if ackord_machine::planted!("row-03-start-offset-goes-back-on-load") {
            start = ctx.log_start;
        }
        let batches: Vec<StateBatch> = result
            .state_batches
            .iter()
            .filter_map(state_batch)
            .collect();
        let config = ctx.settings.partition_config();
        let held = match ackord_machine::planted!("row-38-pending-not-handed-over") {
            true => &[],
            false => pending,
        };
        let mut partition = SharePartition::load(config, start, &batches, held);
        if let Some(before) = self.given_up.remove(group) {
            partition.count_on(&before);
        }
        let trimmed = partition.archive_below(ctx.log_start);
        share.phase = Phase::Ready {
            partition: Box::new(partition),
            state_epoch: result.state_epoch,
        };
        let waiting = core::mem::take(&mut share.waiting);
        if chosen.is_some() && trimmed.is_empty() {
            // Without this a restart would choose again and skip what came meanwhile.
            let change = Change {
                start_offset: start,
                start_moved: true,
                ..Change::default()
            };
            self.store(ctx, group, change, None, out);
        }
        self.store(ctx, group, trimmed, None, out);
        for envelope in waiting {
            self.asked(ctx, envelope, Arrival::Waited, out);
        }
    }

    /// The group whose write is answered by `correlation`.
    pub fn writing_group(&self, correlation: u64) -> Option<&Str> {
        self.writes.get(&correlation).map(|write| &write.group)
    }

    /// The share coordinator's answer to a write. A refused write drops the share partition, which
    /// is read again; returns its group then.
    pub fn written(
        &mut self,
        correlation: u64,
        response: &WriteShareGroupStateResponse,
        out: &mut Outbox<LeaderReply>,
    ) -> Option<Str> {
        let write = self.writes.remove(&correlation)?;
        self.timers.cancel(&TimerKey::Write(correlation));
        let result = response
            .results
            .iter()
            .flat_map(|topic| &topic.partitions)
            .next();
        let code = result.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |result| result.error_code);
        if code == ErrorCode::NONE {
            for (ticket, refusal) in write.tickets {
                out.reply(ticket, acknowledged(refusal));
            }
            return None;
        }
        let message = result.and_then(|result| result.error_message.as_ref());
        write.fail(leader_code(code), message, out);
        self.forget(&write.group, out);
        Some(write.group)
    }

    pub(super) fn write_again(
        &mut self,
        now: Now,
        correlation: u64,
        out: &mut Outbox<LeaderReply>,
    ) {
        if let Some(write) = self.writes.get(&correlation) {
            out.send(write.envelope.clone());
            self.retry_later(now, TimerKey::Write(correlation));
        }
    }

    pub(super) fn read_again(
        &mut self,
        now: Now,
        state_partitions: i32,
        group: &Str,
        out: &mut Outbox<LeaderReply>,
    ) {
        let Some(correlation) = self.shares.get(group).and_then(Share::read_under_way) else {
            return;
        };
        self.retry_later(now, TimerKey::Read(group.clone()));
        out.send(self.read_request(state_partitions, group, correlation));
    }
}

/// What the share coordinator says of itself is no business of a client: the state is gone (moved
/// leader) or the coordinator is not there.
fn leader_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::FENCED_LEADER_EPOCH | ErrorCode::FENCED_STATE_EPOCH => {
            ErrorCode::NOT_LEADER_OR_FOLLOWER
        }
        ErrorCode::INVALID_REQUEST => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::NOT_COORDINATOR
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::KAFKA_STORAGE_ERROR => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        other => other,
    }
}

fn state_batch(batch: &read::StateBatch) -> Option<StateBatch> {
    let state = match batch.delivery_state {
        0 => RecordState::Available,
        2 => RecordState::Acknowledged,
        3 => RecordState::Archiving,
        4 => RecordState::Archived,
        _ => return None,
    };
    Some(StateBatch {
        first: batch.first_offset,
        last: batch.last_offset,
        state,
        delivery_count: batch.delivery_count,
    })
}
