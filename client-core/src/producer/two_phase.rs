//! Two-phase commit (KIP-939): prepare a transaction, and end it later, perhaps after a crash.
//!
//! A producer with `transaction.two.phase.commit.enable` has no timeout. Once it has prepared a
//! transaction, an application can store the [`PreparedTxnState`] together with its own decision; the
//! next instance keeps the transaction, and completes it by that state: the transaction is
//! committed where the state names it, and aborted where it does not, so a decision that was never
//! stored aborts.

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

use super::{Ending, Producer, ProducerOutput, State, Touched};
use crate::{CallId, ClientError};

/// Names a prepared transaction: `PRODUCER_ID:EPOCH`, or the empty text for none, as Kafka's
/// `PreparedTxnState` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedTxnState {
    /// Producer id of the transaction; -1 for none.
    pub producer_id: i64,
    /// Producer epoch of the transaction; -1 for none.
    pub producer_epoch: i16,
}

impl PreparedTxnState {
    /// No transaction: completing it aborts whatever is prepared.
    pub const NONE: PreparedTxnState = PreparedTxnState {
        producer_id: -1,
        producer_epoch: -1,
    };
}

impl fmt::Display for PreparedTxnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PreparedTxnState::NONE => Ok(()),
            PreparedTxnState {
                producer_id,
                producer_epoch,
            } => write!(f, "{producer_id}:{producer_epoch}"),
        }
    }
}

/// The text is no [`PreparedTxnState`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPreparedTxnState(String);

impl fmt::Display for BadPreparedTxnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no prepared transaction; give PRODUCER_ID:EPOCH as it was stored, or an empty \
             text for none",
            self.0
        )
    }
}

impl core::error::Error for BadPreparedTxnState {}

impl FromStr for PreparedTxnState {
    type Err = BadPreparedTxnState;

    fn from_str(text: &str) -> Result<Self, BadPreparedTxnState> {
        if text.is_empty() {
            return Ok(PreparedTxnState::NONE);
        }
        let pair = text.split_once(':').and_then(|(id, epoch)| {
            let pair: (i64, i16) = (id.parse().ok()?, epoch.parse().ok()?);
            (pair.0 >= 0 && pair.1 >= 0).then_some(pair)
        });
        let (producer_id, producer_epoch) = pair.ok_or(BadPreparedTxnState(text.into()))?;
        Ok(PreparedTxnState {
            producer_id,
            producer_epoch,
        })
    }
}

/// What completing by a [`PreparedTxnState`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnCompletion {
    /// The state names the transaction: it is committed.
    Committed,
    /// The state names another one, or none: it is aborted.
    Aborted,
    /// Nothing was prepared: it was ended before, by an instance that did not come to say so or by
    /// an operator, or held nothing.
    NothingPrepared,
}

impl Producer {
    pub(super) fn prepare(&mut self, call: CallId) -> Result<(), ClientError> {
        self.in_transaction()?;
        if !self.config.two_phase_commit {
            const WHY: &str = "only a producer with two_phase_commit can prepare a transaction";
            return Err(ClientError::IllegalState(WHY));
        }
        self.state = State::Preparing(call);
        Ok(())
    }

    /// Everything is stored, so nothing but the decision is missing.
    pub(super) fn prepare_when_drained(&mut self) {
        let State::Preparing(call) = self.state else {
            return;
        };
        if self.is_drained() {
            let prepared = PreparedTxnState {
                producer_id: self.producer_id,
                producer_epoch: self.producer_epoch,
            };
            self.state = State::Prepared(prepared);
            self.finish(call, Ok(ProducerOutput::Prepared(prepared)));
        }
    }

    /// InitProducerId kept what another instance had prepared.
    pub(super) fn take_up(&mut self, prepared: PreparedTxnState) {
        self.version = self.transaction_version();
        self.touched = Touched::Yes;
        self.state = State::Prepared(prepared);
    }

    pub(super) fn complete(
        &mut self,
        call: CallId,
        state: PreparedTxnState,
    ) -> Result<(), ClientError> {
        match &self.state {
            State::Prepared(own) if *own == state => {
                self.state = State::Committing(call, Ending::Draining);
                self.completing = Some((call, TxnCompletion::Committed));
            }
            State::Prepared(_) => {
                self.state = State::Aborting(call, Ending::Draining);
                self.completing = Some((call, TxnCompletion::Aborted));
            }
            State::Ready => {
                let output = ProducerOutput::Completed(TxnCompletion::NothingPrepared);
                self.finish(call, Ok(output));
            }
            State::Dead(error) => return Err(error.clone()),
            State::InDoubt(_) => {
                const WHY: &str = "its end is in doubt; commit or abort it once more";
                return Err(ClientError::IllegalState(WHY));
            }
            _ => return Err(ClientError::IllegalState("no transaction is prepared")),
        }
        Ok(())
    }

    /// What a call that ended a transaction gives.
    pub(super) fn output_of_ending(&mut self, call: CallId) -> ProducerOutput {
        match self.completing.take() {
            Some((own, completion)) if own == call => ProducerOutput::Completed(completion),
            _ => ProducerOutput::Done,
        }
    }
}
