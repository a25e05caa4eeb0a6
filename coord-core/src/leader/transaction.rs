//! Records held for a transaction, at the leader (KIP-1289). The share coordinator drives: it asks
//! again until it is answered, and the leader does as it is told.

use alloc::vec::Vec;

use ackord_machine::{
    Body, Envelope, PendingAck, ResolveShareAcks, Role, StageShareAcks, StageShareAcksReply,
    StageVerdict, TxnOwner,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{Change, RecordState, TxnOutcome};

use super::share::{Phase, Share, ShareLoad};
use super::{Leader, LeaderContext, LeaderReply};
use crate::outbox::Outbox;

/// Whether a request of a share coordinator is new here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It comes from the network now.
    Now,
    /// It came while the state was read. Nobody has acquired anything since, so even an old copy of
    /// a stage can take nothing.
    Waited,
}

/// What a leader makes of it.
enum Taken {
    Done(Body),
    /// An old copy.
    Dropped,
}

impl Leader {
    /// Holds records for a transaction, ends or returns what it holds, or lists it: StageShareAcks,
    /// ResolveShareAcks, ListShareAcks. Returns whether records became available.
    pub fn coordinator_asks(
        &mut self,
        ctx: LeaderContext<'_>,
        envelope: Envelope,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        self.asked(ctx, envelope, Arrival::Now, out)
    }

    pub(super) fn asked(
        &mut self,
        ctx: LeaderContext<'_>,
        envelope: Envelope,
        arrival: Arrival,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let group = match &envelope.body {
            Body::StageShareAcks(request) => request.group.clone(),
            Body::ResolveShareAcks(resolve) => resolve.group.clone(),
            Body::ListShareAcks { group } => group.clone(),
            _ => return false,
        };
        if matches!(envelope.body, Body::StageShareAcks(_)) {
            self.load(ctx, &group, out);
        }
        let Some(share) = self.shares.get_mut(&group) else {
            self.turn_away(alloc::vec![envelope], ErrorCode::NONE, out);
            return false;
        };
        match &share.phase {
            Phase::Failed(code) => {
                let code = *code;
                self.turn_away(alloc::vec![envelope], code, out);
                return false;
            }
            Phase::Reading { .. } => {
                // Requests are sent again until they are answered; one copy is enough.
                let same = |own: &Envelope| {
                    own.from == envelope.from && own.correlation == envelope.correlation
                };
                if !share.waiting.iter().any(same) {
                    share.waiting.push(envelope);
                }
                return false;
            }
            Phase::Ready { .. } => {}
        }
        let is_old = arrival == Arrival::Now && envelope.correlation <= share.newest;
        share.note(envelope.correlation);
        let mut available = false;
        let taken = match &envelope.body {
            Body::StageShareAcks(_) if is_old => Taken::Dropped,
            Body::StageShareAcks(request) => self.stage(ctx, request),
            Body::ResolveShareAcks(resolve) if is_old && resolve.in_order => Taken::Dropped,
            Body::ResolveShareAcks(resolve) => {
                available = self.resolve(ctx, resolve, out);
                Taken::Done(Body::ResolveShareAcksReply)
            }
            _ => Taken::Done(Body::ListShareAcksReply(share.pending(0, i64::MAX))),
        };
        if let Taken::Done(body) = taken {
            self.answer(envelope, body, out);
        }
        available
    }

    fn stage(&mut self, ctx: LeaderContext<'_>, request: &StageShareAcks) -> Taken {
        let Some(share) = self.shares.get_mut(&request.group) else {
            return Taken::Dropped;
        };
        let ShareLoad::Ready(partition) = share.load() else {
            return Taken::Dropped;
        };
        let StageShareAcks {
            owner,
            member,
            ranges,
            member_error,
            ..
        } = request;
        let now = ctx.now.mono;
        let verdict = partition.stage(now, member.as_ref(), *owner, *member_error, ranges);
        let mut held = Vec::new();
        if !matches!(verdict, StageVerdict::Refused { .. }) {
            for range in ranges {
                held.extend(partition.pending_acks(range.first_offset, range.last_offset));
            }
            join(&mut held);
        }
        Taken::Done(Body::StageShareAcksReply(StageShareAcksReply {
            verdict,
            held,
            state_epoch: share.state_epoch(),
            leader_epoch: self.epoch,
        }))
    }

    /// Answers what a share partition that is not loaded cannot do: stages are refused with `code`,
    /// and it holds nothing.
    pub(super) fn turn_away(
        &self,
        waiting: Vec<Envelope>,
        code: ErrorCode,
        out: &mut Outbox<LeaderReply>,
    ) {
        for envelope in waiting {
            let body = match &envelope.body {
                Body::StageShareAcks(_) => Body::StageShareAcksReply(StageShareAcksReply {
                    verdict: refused(code),
                    held: Vec::new(),
                    state_epoch: 0,
                    leader_epoch: self.epoch,
                }),
                Body::ResolveShareAcks(_) => Body::ResolveShareAcksReply,
                _ => Body::ListShareAcksReply(Vec::new()),
            };
            self.answer(envelope, body, out);
        }
    }

    fn answer(&self, request: Envelope, body: Body, out: &mut Outbox<LeaderReply>) {
        out.send_chained(Envelope {
            from: Role::Leader(self.log),
            to: request.from,
            correlation: request.correlation,
            body,
        });
    }

    /// Ends what transactions held. Returns whether records became available. The share coordinator
    /// has stored the outcome already.
    fn resolve(
        &mut self,
        ctx: LeaderContext<'_>,
        resolve: &ResolveShareAcks,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let share = self.shares.get_mut(&resolve.group);
        let Some(partition) = share.and_then(Share::ready_mut) else {
            return false;
        };
        let outcome = if resolve.commit {
            TxnOutcome::Commit
        } else {
            let queue_open = ctx.queue_open;
            TxnOutcome::Abort { queue_open }
        };
        let ended = partition.resolve_ranges(&resolve.ended, outcome);
        let mut available = ended.available_again;
        let mut changes: Vec<Change> = given_up(ended, resolve).into_iter().collect();
        let by_owner = |one: &PendingAck, next: &PendingAck| one.owner == next.owner;
        for returned in resolve.returned.chunk_by(by_owner) {
            let owner = returned
                .first()
                .map_or(TxnOwner::default(), |ack| ack.owner);
            let change = partition.unstage(ctx.now.mono, owner, returned);
            available |= change.available_again;
            changes.push(change);
        }
        for change in changes {
            self.store(ctx, &resolve.group, change, None, out);
        }
        available
    }
}

/// Records that an abort sends to the dead letter queue, or that lie below the start of the log; to
/// the share coordinator they are available.
fn given_up(mut change: Change, resolve: &ResolveShareAcks) -> Option<Change> {
    change
        .batches
        .retain(|batch| matches!(batch.state, RecordState::Archived | RecordState::Archiving));
    (!resolve.commit && !change.batches.is_empty()).then_some(change)
}

/// Joins neighbours that are held alike.
fn join(held: &mut Vec<PendingAck>) {
    held.dedup_by(|next, last| {
        let alike = PendingAck {
            first_offset: last.first_offset,
            last_offset: last.last_offset,
            ..*next
        };
        let joins = alike == *last && last.last_offset.checked_add(1) == Some(next.first_offset);
        if joins {
            last.last_offset = next.last_offset;
        }
        joins
    });
}

fn refused(code: ErrorCode) -> StageVerdict {
    let message = Str::from("the share partition cannot be loaded; abort and try again");
    StageVerdict::Refused {
        code,
        message,
        whole_request: false,
    }
}
