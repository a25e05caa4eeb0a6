//! EndTxn: the client decides (KIP-98, KIP-890).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::EndTxnRequest;

use super::coordinator::{TxnCoordinator, TxnCtx, TxnReply};
use super::entry::{Caller, EPOCH_PER_TXN, Entry, NO_PRODUCER_ID};
use super::state::{TxnEvent, TxnState};
use crate::outbox::{Outbox, Ticket};

/// From this version on each EndTxn bumps the epoch, and the answer carries the new one.
const BUMPS_EPOCH: i16 = 5;

/// From this version on a fenced producer is told PRODUCER_FENCED.
const KNOWS_PRODUCER_FENCED: i16 = 2;

/// What an EndTxn comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It decides.
    Decide(TxnEvent),
    /// A repeat of the one that decided: answered together with it.
    Wait,
    /// A repeat after the end.
    Done,
    /// It changes nothing.
    Refuse(ErrorCode),
}

impl TxnCoordinator {
    /// Commits or aborts. Answered when every participant knows the outcome; a repeat waits for the
    /// same moment or, after it, gets the same answer, also after a restart.
    ///
    /// Answers [`TxnReply::EndTxn`]: INVALID_REQUEST (no transactional id),
    /// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (below v2 INVALID_PRODUCER_EPOCH),
    /// INVALID_TXN_STATE (nothing to commit, decided the other way, or share acknowledgements
    /// of transaction version 2 committed below v5).
    pub fn end_txn(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        ticket: Ticket,
        request: &EndTxnRequest,
        version: i16,
        out: &mut Outbox<TxnReply>,
    ) {
        let id = &request.transactional_id;
        let Some(entry) = self.entry(id) else {
            let error = if id.is_empty() {
                ErrorCode::INVALID_REQUEST
            } else {
                ErrorCode::INVALID_PRODUCER_ID_MAPPING
            };
            return out.reply(ticket, refusal(error));
        };
        match judge(entry, request, version) {
            Verdict::Decide(event) => {
                let prepared = decided(ctx, entry, event, version)
                    .and_then(|prepared| self.prepare(ctx, id, prepared, Some(ticket), out));
                if let Err(error) = prepared {
                    out.reply(ticket, refusal(error));
                }
            }
            Verdict::Wait => self.await_ending(id, ticket),
            Verdict::Done => out.reply(ticket, success(entry)),
            Verdict::Refuse(error) => out.reply(ticket, refusal(error)),
        }
    }
}

fn decided(
    ctx: &mut TxnCtx<'_>,
    entry: &Entry,
    event: TxnEvent,
    version: i16,
) -> Result<Entry, ErrorCode> {
    let client_version = match version {
        BUMPS_EPOCH.. => EPOCH_PER_TXN,
        _ if entry.needs_new_epoch() => entry.client_version,
        // The client keeps its epoch, however its partitions came in.
        _ => 0,
    };
    let next_producer_id = if client_version >= EPOCH_PER_TXN && entry.is_exhausted() {
        ctx.ids.next()?
    } else {
        NO_PRODUCER_ID
    };
    entry.decided(event, client_version, next_producer_id, ctx.now)
}

fn judge(entry: &Entry, request: &EndTxnRequest, version: i16) -> Verdict {
    match entry.caller(request.producer_id, request.producer_epoch) {
        Caller::Stranger => Verdict::Refuse(ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        Caller::Fenced
            if entry.state == TxnState::Ongoing
                && ackord_machine::planted!("row-42-late-end-decides-the-next") =>
        {
            judge_current(entry, request.committed, version)
        }
        Caller::Fenced => Verdict::Refuse(fenced(version)),
        Caller::Previous => judge_repeat(entry, request.committed, version),
        Caller::Current => judge_current(entry, request.committed, version),
    }
}

/// Under the epoch before the last bump: the EndTxn that made the bump, or one that came too late
/// for a transaction that the coordinator had aborted.
fn judge_repeat(entry: &Entry, commit: bool, version: i16) -> Verdict {
    match entry.state.outcome() {
        None => Verdict::Refuse(fenced(version)),
        Some(outcome) if outcome != commit => Verdict::Refuse(ErrorCode::INVALID_TXN_STATE),
        Some(_) if entry.state.is_prepared() => Verdict::Wait,
        Some(_) => Verdict::Done,
    }
}

fn judge_current(entry: &Entry, commit: bool, version: i16) -> Verdict {
    let bumps = version >= BUMPS_EPOCH;
    let same = entry.state.outcome() == Some(commit);
    // The epoch is newer than the last transaction, so nothing can be a repeat of its end.
    let fresh = entry.bumps_at_end() || entry.previous_producer_id != NO_PRODUCER_ID;
    match entry.state {
        TxnState::Ongoing if !commit => Verdict::Decide(TxnEvent::Abort),
        TxnState::Ongoing if bumps || !entry.needs_new_epoch() => Verdict::Decide(TxnEvent::Commit),
        // Nobody was told this epoch yet.
        TxnState::PrepareCommit | TxnState::PrepareAbort if fresh => {
            Verdict::Refuse(fenced(version))
        }
        TxnState::PrepareCommit | TxnState::PrepareAbort if same => Verdict::Wait,
        TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort
            if bumps && !commit =>
        {
            Verdict::Decide(TxnEvent::AbortNothing)
        }
        TxnState::CompleteCommit | TxnState::CompleteAbort if same && !fresh && !bumps => {
            Verdict::Done
        }
        _ => Verdict::Refuse(ErrorCode::INVALID_TXN_STATE),
    }
}

fn fenced(version: i16) -> ErrorCode {
    if version < KNOWS_PRODUCER_FENCED {
        ErrorCode::INVALID_PRODUCER_EPOCH
    } else {
        ErrorCode::PRODUCER_FENCED
    }
}

fn refusal(error: ErrorCode) -> TxnReply {
    TxnReply::EndTxn {
        error,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: -1,
    }
}

/// The answer once every participant knows.
pub(super) fn success(entry: &Entry) -> TxnReply {
    TxnReply::EndTxn {
        error: ErrorCode::NONE,
        producer_id: entry.client().0,
        producer_epoch: entry.client().1,
    }
}
