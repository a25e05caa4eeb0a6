//! `send_share_acks_to_transaction` (KIP-1289): AddShareAcksToTxn to the transaction coordinator,
//! then TxnShareAcknowledge to the coordinator of the group.

use ackord_machine::Now;
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{AddShareAcksToTxnRequest, TxnShareAcknowledgeRequest};
use ackord_proto::str::Str;
use alloc::format;

use super::sender::first_cause;
use super::verdict::{Asked, Verdict, error, verdict};
use super::{Producer, ProducerOutput, Tag, Touched, TransactionVersion, WRONG_KIND};
use crate::network::{CoordinatorKind, Failure, Route, Sending};
use crate::{
    CallId, ClientError, PlainAcknowledgements, ShareAcknowledgements, ShareGroupMetadata,
};

/// Acknowledgements on their way into the transaction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    acknowledgements: ShareAcknowledgements,
    group: ShareGroupMetadata,
    where_unsupported: WhereUnsupported,
}

/// What becomes of acknowledgements that the broker cannot take into a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhereUnsupported {
    Fail,
    /// The application gets them back.
    FallBack,
}

impl Stage {
    pub(super) fn new(
        acknowledgements: ShareAcknowledgements,
        group: ShareGroupMetadata,
        where_unsupported: WhereUnsupported,
    ) -> Self {
        Stage {
            acknowledgements,
            group,
            where_unsupported,
        }
    }

    /// The answer where the broker does not offer `api`.
    fn unsupported(self, api: &'static str) -> Result<ProducerOutput, ClientError> {
        match self.where_unsupported {
            WhereUnsupported::Fail => Err(ClientError::Unsupported { api }),
            WhereUnsupported::FallBack => Ok(ProducerOutput::FallenBack(PlainAcknowledgements {
                acknowledgements: self.acknowledgements,
                group: self.group,
                missing: api,
            })),
        }
    }
}

impl Producer {
    pub(super) fn take_share_acks(
        &mut self,
        now: Now,
        call: CallId,
        stage: Stage,
    ) -> Result<(), ClientError> {
        self.in_transaction()?;
        let Stage {
            acknowledgements,
            group,
            ..
        } = &stage;
        if group.group_id.is_empty() {
            return Err(ClientError::InvalidArgument("the group id cannot be empty"));
        }
        if !acknowledgements.fits_transaction() {
            const WHY: &str = "a transaction takes accept and reject; to release records, abort";
            return Err(ClientError::InvalidArgument(WHY));
        }
        if self.version == TransactionVersion::One {
            let output = stage.unsupported("transaction.version 2")?;
            self.finish(call, Ok(output));
            return Ok(());
        }
        if acknowledgements.is_empty() {
            self.finish(call, Ok(ProducerOutput::Done));
            return Ok(());
        }
        let body = AddShareAcksToTxnRequest {
            transactional_id: self.config.transactional_id.clone(),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            group_id: group.group_id.clone(),
            topics: acknowledgements.registration(),
            ..Default::default()
        };
        self.stages.insert(call, stage);
        let (route, limit) = (self.coordinator(), self.api_limit(now));
        self.send(Sending::new(Tag::AddShareAcks(call), route, body, limit));
        Ok(())
    }

    pub(super) fn share_acks_added(
        &mut self,
        now: Now,
        call: CallId,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        let code = match outcome {
            Ok(Response::AddShareAcksToTxn(response)) => {
                self.touched = Touched::Yes;
                let topics = response.topics.iter().flat_map(|topic| &topic.partitions);
                let codes = topics.map(|partition| partition.error_code);
                first_cause([response.error_code].into_iter().chain(codes))
            }
            Ok(_) => WRONG_KIND,
            // Nothing has happened at the broker: the transaction goes on without these.
            Err(Failure::Unsupported(api)) => return self.stage_unsupported(call, api),
            Err(failure) => {
                self.touched = Touched::Yes;
                return self.stage_broke(call, failure.into());
            }
        };
        match verdict(Asked::Register, code) {
            Verdict::Fine => self.stage(now, call),
            Verdict::Retry if self.is_worth_repeating() => self.send_again(sending, code),
            other => {
                let message = "the coordinator did not take the acknowledgements";
                self.stage_broke(call, error(&other, code, message));
            }
        }
    }

    fn stage(&mut self, now: Now, call: CallId) {
        // Given up in the meantime.
        let Some(stage) = self.stages.get(&call) else {
            return;
        };
        let group_id = stage.group.group_id.clone();
        let body = TxnShareAcknowledgeRequest {
            group_id: group_id.clone(),
            transactional_id: self.config.transactional_id.clone(),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            member_id: stage.group.member_id.clone(),
            member_epoch: stage.group.member_epoch,
            topics: stage.acknowledgements.stage(),
            ..Default::default()
        };
        let route = Route::Coordinator(CoordinatorKind::Group, group_id);
        let limit = self.api_limit(now);
        // Version 0 fences neither member nor delivery count.
        self.send(Sending::new(Tag::StageShareAcks(call), route, body, limit).versions(1..=1));
    }

    pub(super) fn share_acks_staged(
        &mut self,
        call: CallId,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        let (code, message) = match outcome {
            Ok(Response::TxnShareAcknowledge(response)) => {
                let partitions = response
                    .responses
                    .iter()
                    .flat_map(|topic| &topic.partitions);
                let failed = partitions.clone().find(|part| part.error_code.is_error());
                let codes = partitions.map(|partition| partition.error_code);
                let code = first_cause([response.error_code].into_iter().chain(codes));
                let message = failed.map(|part| {
                    let reason = part.error_message.as_deref().unwrap_or("refused");
                    Str::from(format!("partition {}: {reason}", part.partition_index))
                });
                (code, message)
            }
            Ok(_) => (WRONG_KIND, None),
            // What was registered has nothing staged in it, which a commit may end.
            Err(Failure::Unsupported(api)) if self.falls_back(call) => {
                return self.stage_unsupported(call, api);
            }
            Err(failure) => return self.stage_broke(call, failure.into()),
        };
        match verdict(Asked::Stage, code) {
            Verdict::Fine => {
                if self.stages.remove(&call).is_some() {
                    self.finish(call, Ok(ProducerOutput::Done));
                }
            }
            // What is staged already is recognised and changes nothing.
            Verdict::Retry if self.is_worth_repeating() => self.send_again(sending, code),
            other => {
                let message = message.unwrap_or_else(|| "the group refused".into());
                let refusal = stage_error(&other, code, &message);
                self.stage_broke(call, refusal);
            }
        }
    }

    fn falls_back(&self, call: CallId) -> bool {
        let stage = self.stages.get(&call);
        stage.is_some_and(|stage| stage.where_unsupported == WhereUnsupported::FallBack)
    }

    fn stage_unsupported(&mut self, call: CallId, api: &'static str) {
        if let Some(stage) = self.stages.remove(&call) {
            self.finish(call, stage.unsupported(api));
        }
    }

    fn stage_failed(&mut self, call: CallId, error: ClientError) {
        if self.stages.remove(&call).is_some() {
            self.finish(call, Err(error));
        }
    }

    fn stage_broke(&mut self, call: CallId, error: ClientError) {
        self.stage_failed(call, error.clone().into_abortable());
        self.break_transaction(error);
    }
}

/// A group that refuses is no reason to give the producer up.
fn stage_error(verdict: &Verdict, code: ErrorCode, message: &str) -> ClientError {
    match (verdict, code) {
        (Verdict::Fatal, ErrorCode::INVALID_PRODUCER_ID_MAPPING) => error(verdict, code, message),
        (Verdict::Fatal, _) => error(&Verdict::Abort, code, message),
        _ => error(verdict, code, message),
    }
}
