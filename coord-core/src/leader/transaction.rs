//! Records held for a transaction, at the leader (KIP-1289).

use alloc::vec::Vec;

use ackord_machine::{
    Body, Envelope, ResolveShareAcks, Role, StageShareAcks, StageShareAcksReply, StageVerdict,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{Change, RecordState, SharePartition, TxnOutcome};

use super::persist::LEADER_EPOCH;
use super::share::{Phase, Share, ShareLoad};
use super::{Leader, LeaderContext, LeaderReply};
use crate::outbox::Outbox;

impl Leader {
    /// Holds records for a transaction; waits for the state where it is not loaded.
    pub fn stage(
        &mut self,
        ctx: LeaderContext<'_>,
        envelope: Envelope,
        out: &mut Outbox<LeaderReply>,
    ) {
        let Body::StageShareAcks(request) = &envelope.body else {
            return;
        };
        let group = request.group.clone();
        let verdict = match self.load(ctx, &group, out) {
            ShareLoad::Failed(code) => refused(code),
            ShareLoad::Reading => {
                if let Some(share) = self.shares.get_mut(&group) {
                    share.stages.push(envelope);
                }
                return;
            }
            ShareLoad::Ready(partition) => {
                let StageShareAcks {
                    owner,
                    member,
                    ranges,
                    member_error,
                    ..
                } = request;
                partition.stage(ctx.now.mono, member.as_ref(), *owner, *member_error, ranges)
            }
        };
        let state_epoch = self.shares.get(&group).map_or(0, Share::state_epoch);
        let reply = StageShareAcksReply {
            verdict,
            state_epoch,
            leader_epoch: LEADER_EPOCH,
        };
        out.send_chained(self.answer(envelope, reply));
    }

    pub(super) fn refuse_stages(
        &self,
        stages: Vec<Envelope>,
        code: ErrorCode,
        out: &mut Outbox<LeaderReply>,
    ) {
        for stage in stages {
            let verdict = refused(code);
            let reply = StageShareAcksReply {
                verdict,
                state_epoch: 0,
                leader_epoch: LEADER_EPOCH,
            };
            out.send_chained(self.answer(stage, reply));
        }
    }

    fn answer(&self, request: Envelope, reply: StageShareAcksReply) -> Envelope {
        Envelope {
            from: Role::Leader(self.log),
            to: request.from,
            correlation: request.correlation,
            body: Body::StageShareAcksReply(reply),
        }
    }

    /// Ends what a transaction held. Returns whether records became available. The share
    /// coordinator has stored the outcome already.
    pub fn resolve(
        &mut self,
        ctx: LeaderContext<'_>,
        resolve: ResolveShareAcks,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let Some(share) = self.shares.get_mut(&resolve.group) else {
            return false;
        };
        match &mut share.phase {
            Phase::Failed(_) => false,
            Phase::Reading { .. } => {
                share.resolves.push(resolve);
                false
            }
            Phase::Ready { partition, .. } => {
                let change = end(ctx, partition, &resolve);
                let available = change.available_again;
                if let Some(given_up) = given_up(change, &resolve) {
                    self.store(ctx, &resolve.group, given_up, None, out);
                }
                available
            }
        }
    }
}

pub(super) fn end(
    ctx: LeaderContext<'_>,
    partition: &mut SharePartition,
    resolve: &ResolveShareAcks,
) -> Change {
    let outcome = if resolve.commit {
        TxnOutcome::Commit
    } else {
        let queue_open = ctx.queue_open;
        TxnOutcome::Abort { queue_open }
    };
    let (id, epoch) = (resolve.producer_id, resolve.marker_epoch);
    partition.resolve(id, epoch, resolve.strict, outcome)
}

/// Records that an abort sends to the dead letter queue; to the share coordinator they are available.
pub(super) fn given_up(mut change: Change, resolve: &ResolveShareAcks) -> Option<Change> {
    change
        .batches
        .retain(|batch| batch.state == RecordState::Archiving);
    (!resolve.commit && !change.batches.is_empty()).then_some(change)
}

fn refused(code: ErrorCode) -> StageVerdict {
    let message = Str::from("the share partition cannot be loaded; abort and try again");
    StageVerdict::Refused {
        code,
        message,
        whole_request: false,
    }
}
