//! InitProducerId for a transactional id (KIP-98, KIP-360, KIP-939).

use ackord_machine::TxnOwner;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::InitProducerIdRequest;
use ackord_proto::str::Str;

use super::coordinator::{TxnCoordinator, TxnCtx, TxnReply};
use super::entry::{Caller, Entry, NO_PRODUCER_ID, NO_TIMEOUT};
use super::state::TxnState;
use crate::outbox::{Outbox, Ticket};

/// What a caller is given.
struct Given {
    held: (i64, i16),
    kept: Option<TxnOwner>,
}

/// From this version on a fenced producer is told PRODUCER_FENCED.
const KNOWS_PRODUCER_FENCED: i16 = 4;

impl TxnCoordinator {
    /// Gives the caller the producer id and a new epoch, which fences whoever had it before. The
    /// request without a transactional id is the embedder's: it takes a fresh producer id.
    ///
    /// Answers [`TxnReply::InitProducerId`]: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT,
    /// CONCURRENT_TRANSACTIONS while the last transaction ends (one that is ongoing is aborted),
    /// PRODUCER_FENCED (below v4 INVALID_PRODUCER_EPOCH) where the request names a pair that is
    /// neither the current one nor the one before it. A request to keep a prepared transaction leaves
    /// the one that is ongoing as it is, and tells its pair beside the caller's new one; where its
    /// producer does not take part in two-phase commit: INVALID_TXN_STATE (KIP-939).
    pub fn init_producer_id(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        ticket: Ticket,
        request: &InitProducerIdRequest,
        version: i16,
        out: &mut Outbox<TxnReply>,
    ) {
        let reply = match self.initialize(ctx, request, out) {
            Ok(Given { held, kept }) => TxnReply::InitProducerId {
                error: ErrorCode::NONE,
                producer_id: held.0,
                producer_epoch: held.1,
                kept,
            },
            Err(error) => TxnReply::InitProducerId {
                error: match error {
                    ErrorCode::PRODUCER_FENCED if version < KNOWS_PRODUCER_FENCED => {
                        ErrorCode::INVALID_PRODUCER_EPOCH
                    }
                    error => error,
                },
                producer_id: NO_PRODUCER_ID,
                producer_epoch: -1,
                kept: None,
            },
        };
        out.reply(ticket, reply);
    }

    fn initialize(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        request: &InitProducerIdRequest,
        out: &mut Outbox<TxnReply>,
    ) -> Result<Given, ErrorCode> {
        let id = self.validate(request)?;
        let timeout_ms = match request.enable_2pc {
            true => NO_TIMEOUT,
            false => request.transaction_timeout_ms,
        };
        let Some(entry) = self.entry(id) else {
            // Also for a caller that names a pair: its transactional id was forgotten.
            let entry = Entry::new(ctx.ids.next()?, timeout_ms, ctx.now);
            let held = (entry.producer_id, entry.producer_epoch);
            self.store(id, entry, out)?;
            return Ok(Given { held, kept: None });
        };
        let entry = entry.clone();
        let caller = match (request.producer_id, request.producer_epoch) {
            (NO_PRODUCER_ID, -1) => None,
            (producer_id, epoch) => Some(entry.caller(producer_id, epoch)),
        };
        if matches!(caller, Some(Caller::Fenced | Caller::Stranger)) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        if entry.state == TxnState::Ongoing && request.keep_prepared_txn {
            return self.keep(ctx, id, &entry, out);
        }
        if entry.state == TxnState::Ongoing {
            self.fence(ctx, id, &entry, caller.is_some(), out)?;
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        if entry.state.is_prepared() {
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        let held = match caller {
            // The answer to an earlier request or EndTxn was lost.
            Some(Caller::Previous) => (entry.producer_id, entry.producer_epoch),
            _ if entry.is_exhausted() => (ctx.ids.next()?, 0),
            _ => (entry.producer_id, entry.producer_epoch.saturating_add(1)),
        };
        let previous = match caller {
            Some(Caller::Previous) => entry.previous_producer_id,
            Some(_) => entry.producer_id,
            // A new producer: the old one must not learn the new epoch.
            None => NO_PRODUCER_ID,
        };
        self.store(
            id,
            entry.initialized(held, previous, timeout_ms, ctx.now)?,
            out,
        )?;
        Ok(Given { held, kept: None })
    }

    /// Gives the ongoing transaction to a new client, untouched.
    fn keep(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        id: &Str,
        entry: &Entry,
        out: &mut Outbox<TxnReply>,
    ) -> Result<Given, ErrorCode> {
        if !entry.is_two_phase() {
            return Err(ErrorCode::INVALID_TXN_STATE);
        }
        let next_producer_id = match entry.is_exhausted() {
            true => ctx.ids.next()?,
            false => NO_PRODUCER_ID,
        };
        let entry = entry.kept(next_producer_id, ctx.now);
        let given = Given {
            held: entry.client(),
            kept: Some(entry.owner()),
        };
        self.store(id, entry, out)?;
        Ok(given)
    }

    fn validate<'r>(&self, request: &'r InitProducerIdRequest) -> Result<&'r Str, ErrorCode> {
        let id = request
            .transactional_id
            .as_ref()
            .ok_or(ErrorCode::INVALID_REQUEST)?;
        let names_half = (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == -1);
        if id.is_empty() || names_half {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let two_phase = request.enable_2pc || request.keep_prepared_txn;
        if two_phase && !self.config.two_phase_commit {
            return Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        }
        let timeout_ms = request.transaction_timeout_ms;
        if request.enable_2pc {
            return Ok(id);
        }
        if timeout_ms <= 0 || timeout_ms > self.config.max_timeout_ms {
            return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
        }
        Ok(id)
    }
}
