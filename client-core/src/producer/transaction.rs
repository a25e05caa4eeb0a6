//! Initialise, begin, commit, abort.

use ackord_machine::Now;
use ackord_proto::api::Response;
use ackord_proto::messages::{EndTxnRequest, InitProducerIdRequest};

use super::accumulator::{PartitionQueue, Registration};
use super::verdict::{Asked, Verdict, error, verdict};
use super::{
    Ending, Ongoing, Outcome, PreparedTxnState, Producer, ProducerOutput, State, Tag, Touched,
    TransactionVersion, WRONG_KIND,
};
use crate::network::{Failure, Sending};
use crate::{CallId, ClientError};

impl Producer {
    pub(super) fn init(
        &mut self,
        now: Now,
        call: CallId,
        ongoing: Ongoing,
    ) -> Result<(), ClientError> {
        match &self.state {
            State::New => {}
            State::Dead(error) => return Err(error.clone()),
            // Perhaps nobody waits for the first call any longer.
            State::Initializing(first) if self.producer_id < 0 => {
                let first = *first;
                self.state = State::Initializing(call);
                self.taken_over(first);
                return Ok(());
            }
            _ => {
                return Err(ClientError::IllegalState(
                    "transactions are initialised already",
                ));
            }
        }
        if self.config.transactional_id.is_empty() {
            return Err(ClientError::InvalidArgument(
                "the transactional id cannot be empty",
            ));
        }
        self.ask_for_producer_id(now, call, ongoing);
        Ok(())
    }

    /// With the id and epoch that we have, so that only our own epoch is bumped.
    fn ask_for_producer_id(&mut self, now: Now, call: CallId, ongoing: Ongoing) {
        self.state = State::Initializing(call);
        let (two_phase, keep) = (self.config.two_phase_commit, ongoing == Ongoing::Kept);
        let body = InitProducerIdRequest {
            transactional_id: Some(self.config.transactional_id.clone()),
            transaction_timeout_ms: self.config.transaction_timeout_ms,
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            enable_2pc: two_phase,
            keep_prepared_txn: keep,
            ..Default::default()
        };
        // Version 6 is for two-phase commit. Versions below 3 cannot carry an id.
        let versions = match self.producer_id < 0 {
            _ if two_phase || keep => 6..=6,
            true => 0..=5,
            false => 3..=5,
        };
        let (route, limit) = (self.coordinator(), self.api_limit(now));
        self.send(Sending::new(Tag::InitProducerId, route, body, limit).versions(versions));
    }

    pub(super) fn initialized(
        &mut self,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        let State::Initializing(call) = self.state else {
            return;
        };
        let (code, producer_id, epoch, kept) = match outcome {
            Ok(Response::InitProducerId(response)) => (
                response.error_code,
                response.producer_id,
                response.producer_epoch,
                PreparedTxnState {
                    producer_id: response.ongoing_txn_producer_id,
                    producer_epoch: response.ongoing_txn_producer_epoch,
                },
            ),
            Ok(_) => (WRONG_KIND, -1, -1, PreparedTxnState::NONE),
            // It may be called again.
            Err(failure @ Failure::TimedOut(_)) if self.producer_id < 0 => {
                self.state = State::New;
                return self.finish(call, Err(failure.into()));
            }
            Err(failure) => return self.die_of(failure.into()),
        };
        match verdict(Asked::Init, code) {
            Verdict::Fine => {
                self.adopt(producer_id, epoch);
                self.sequences_broken = false;
                self.state = State::Ready;
                if kept != PreparedTxnState::NONE {
                    self.take_up(kept);
                }
                self.finish_ending(call);
            }
            Verdict::Retry => self.send_again(sending, code),
            other => self.die(error(&other, code, "the coordinator gave no producer id")),
        }
    }

    /// Ends the producer for a reason that is not yet worded as fatal.
    fn die_of(&mut self, error: ClientError) {
        let message = alloc::format!("{error}");
        self.die(ClientError::Fatal {
            code: error.code(),
            message: message.into(),
        });
    }

    /// A new id or epoch counts its sequences from 0.
    fn adopt(&mut self, producer_id: i64, epoch: i16) {
        if (producer_id, epoch) != (self.producer_id, self.producer_epoch) {
            self.partitions
                .values_mut()
                .for_each(PartitionQueue::restart);
        }
        self.producer_id = producer_id;
        self.producer_epoch = epoch;
    }

    pub(super) fn begin(&mut self, call: CallId) -> Result<(), ClientError> {
        match &self.state {
            State::Ready => {}
            State::New => return Err(ClientError::IllegalState("call init_transactions first")),
            State::Dead(error) => return Err(error.clone()),
            State::Initializing(_) => {
                return Err(ClientError::IllegalState("init_transactions has not ended"));
            }
            State::Committing(..) | State::Aborting(..) | State::InDoubt(_) => {
                const WHY: &str = "the transaction before has not ended; ask for its end once more";
                return Err(ClientError::IllegalState(WHY));
            }
            State::Preparing(_) | State::Prepared(_) => self.in_transaction()?,
            State::Open | State::Broken(_) => {
                return Err(ClientError::IllegalState("a transaction is open already"));
            }
        }
        self.version = self.transaction_version();
        self.touched = Touched::No;
        self.state = State::Open;
        self.finish(call, Ok(ProducerOutput::Done));
        Ok(())
    }

    /// Looked at anew for each transaction, as a cluster may be upgraded under us.
    pub(super) fn transaction_version(&self) -> TransactionVersion {
        match self.network.feature("transaction.version") {
            2.. => TransactionVersion::Two,
            _ => TransactionVersion::One,
        }
    }

    pub(super) fn commit(&mut self, call: CallId) -> Result<(), ClientError> {
        match &self.state {
            State::Open | State::Prepared(_) | State::InDoubt(Outcome::Commit) => {
                self.state = State::Committing(call, Ending::Draining);
                Ok(())
            }
            State::Committing(first, ending) => {
                let (first, ending) = (*first, *ending);
                self.state = State::Committing(call, ending);
                self.taken_over(first);
                Ok(())
            }
            State::Broken(error) | State::Dead(error) => Err(error.clone()),
            State::InDoubt(Outcome::Abort) => {
                Err(ClientError::IllegalState("an abort is in doubt"))
            }
            State::Aborting(..) => Err(ClientError::IllegalState("an abort is under way")),
            _ => Err(ClientError::IllegalState("no transaction is open")),
        }
    }

    pub(super) fn abort(&mut self, call: CallId) -> Result<(), ClientError> {
        match &self.state {
            State::Open
            | State::Broken(_)
            | State::Prepared(_)
            | State::InDoubt(Outcome::Abort) => {
                self.state = State::Aborting(call, Ending::Draining);
                let message = "the transaction was aborted".into();
                let code = ackord_proto::error_code::ErrorCode::NONE;
                self.give_up_records(&ClientError::Abortable { code, message });
                Ok(())
            }
            State::Aborting(first, ending) => {
                let (first, ending) = (*first, *ending);
                self.state = State::Aborting(call, ending);
                self.taken_over(first);
                Ok(())
            }
            State::Dead(error) => Err(error.clone()),
            State::InDoubt(Outcome::Commit) => {
                Err(ClientError::IllegalState("a commit is in doubt"))
            }
            State::Committing(..) => Err(ClientError::IllegalState("a commit is under way")),
            _ => Err(ClientError::IllegalState("no transaction is open")),
        }
    }

    /// The same was asked for once more: perhaps nobody waits for the first call any longer.
    fn taken_over(&mut self, first: CallId) {
        const WHY: &str = "a later call of the same waits for the end";
        self.finish(first, Err(ClientError::IllegalState(WHY)));
    }

    /// Whether all records and acknowledgements have their answers.
    pub(super) fn is_drained(&self) -> bool {
        self.unrouted.is_empty()
            && self.stages.is_empty()
            && self.partitions.values().all(PartitionQueue::is_idle)
    }

    pub(super) fn end_when_drained(&mut self, now: Now) {
        if let (Some(call), State::Open | State::Broken(_)) = (self.closing, &self.state) {
            self.state = State::Aborting(call, Ending::Draining);
        }
        let (call, how) = match self.state {
            State::Committing(call, Ending::Draining) if self.is_drained() => {
                (call, Outcome::Commit)
            }
            State::Aborting(call, Ending::Draining) => {
                // What comes back from a broken connection now is not repeated.
                self.give_up_records(&ClientError::Closed);
                if self.on_wire > 0 {
                    return;
                }
                (call, Outcome::Abort)
            }
            _ => return,
        };
        if self.touched == Touched::No {
            // No broker knows of this transaction.
            self.state = State::Ready;
            return self.finish_ending(call);
        }
        self.state = match how {
            Outcome::Commit => State::Committing(call, Ending::Asked),
            Outcome::Abort => State::Aborting(call, Ending::Asked),
        };
        let body = EndTxnRequest {
            transactional_id: self.config.transactional_id.clone(),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            committed: how == Outcome::Commit,
            ..Default::default()
        };
        let versions = match self.version {
            TransactionVersion::One => 0..=4,
            TransactionVersion::Two => 5..=5,
        };
        let (route, limit) = (self.coordinator(), self.api_limit(now));
        self.send(Sending::new(Tag::EndTxn(how), route, body, limit).versions(versions));
    }

    pub(super) fn transaction_ended(
        &mut self,
        now: Now,
        how: Outcome,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        let (State::Committing(call, _) | State::Aborting(call, _)) = self.state else {
            return;
        };
        let (code, producer_id, epoch) = match outcome {
            Ok(Response::EndTxn(response)) => (
                response.error_code,
                response.producer_id,
                response.producer_epoch,
            ),
            Ok(_) => (WRONG_KIND, -1, -1),
            Err(failure @ (Failure::TimedOut(_) | Failure::Lost)) => {
                self.state = State::InDoubt(how);
                return self.fail_ending(call, failure.into());
            }
            Err(failure) => return self.die_of(failure.into()),
        };
        match verdict(Asked::End, code) {
            Verdict::Fine => self.ended(now, call, producer_id, epoch),
            Verdict::Retry => self.send_again(sending, code),
            Verdict::Abort if how == Outcome::Commit => {
                let error = error(&Verdict::Abort, code, "the coordinator did not commit");
                self.state = State::Broken(error.clone());
                self.fail_ending(call, error);
            }
            Verdict::Abort => {
                self.die(error(
                    &Verdict::Fatal,
                    code,
                    "the coordinator did not abort",
                ));
            }
            other => self.die(error(&other, code, "the coordinator refused")),
        }
    }

    fn ended(&mut self, now: Now, call: CallId, producer_id: i64, epoch: i16) {
        for queue in self.partitions.values_mut() {
            queue.registration = Registration::None;
        }
        self.touched = Touched::No;
        if producer_id >= 0 {
            // Version 2: the next transaction has its own epoch.
            self.adopt(producer_id, epoch);
            self.sequences_broken = false;
        } else if self.sequences_broken {
            return self.ask_for_producer_id(now, call, Ongoing::Aborted);
        }
        self.state = State::Ready;
        self.finish_ending(call);
    }

    /// The call that ended a transaction succeeded; a waiting `close` goes on.
    fn finish_ending(&mut self, call: CallId) {
        if self.closing != Some(call) {
            let output = self.output_of_ending(call);
            self.finish(call, Ok(output));
        }
        self.shut_down();
    }

    fn fail_ending(&mut self, call: CallId, error: ClientError) {
        if self.closing != Some(call) {
            self.finish(call, Err(error));
        }
        self.shut_down();
    }
}
