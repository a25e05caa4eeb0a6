//! Acknowledgements: by record, by commit, and with the good-bye.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::ACKNOWLEDGE_GAP;
use ackord_proto::messages::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};

use super::session::{Acks, FINAL_EPOCH, Key, UnderWay, acknowledge_topics, has_renewals};
use super::{
    AcknowledgementMode, AcknowledgementResult, Closing, Commit, Farewell, Held, PolledRecords,
    ShareConsumer, ShareOutput, Tag,
};
use crate::network::{Failure, Route, Sending};
use crate::{AcknowledgeType, AcknowledgedRange, CallId, ClientError, PlainAcknowledgements};

impl ShareConsumer {
    pub(super) fn acknowledge(
        &mut self,
        key: Key,
        offset: i64,
        kind: AcknowledgeType,
    ) -> Result<(), ClientError> {
        use AcknowledgeType as Type;
        match (self.config.acknowledgement_mode, kind) {
            (AcknowledgementMode::Implicit, _) => {
                return Err(ClientError::IllegalState(
                    "in implicit mode the next poll acknowledges",
                ));
            }
            (AcknowledgementMode::Transactional, Type::Accept | Type::Reject) => {
                const WHY: &str = "in transactional mode the producer accepts and rejects";
                return Err(ClientError::IllegalState(WHY));
            }
            _ => {}
        }
        let held = self
            .held
            .get_mut(&key)
            .filter(|held| held.get(offset).is_some());
        let Some(held) = held else {
            return Err(ClientError::IllegalState(
                "the record is not held, or is answered already",
            ));
        };
        if kind == Type::Renew {
            held.insert(offset, offset, Held::Renewed);
        } else {
            held.remove(offset, offset);
        }
        self.queue_ack(key, offset, offset, kind.code());
        Ok(())
    }

    /// What no transaction has taken. All or nothing.
    pub(super) fn acknowledge_plainly(
        &mut self,
        now: MonoTime,
        call: CallId,
        plain: &PlainAcknowledgements,
    ) -> Result<(), ClientError> {
        if self.config.acknowledgement_mode != AcknowledgementMode::Transactional {
            const WHY: &str =
                "only in transactional mode a producer acknowledges and may fall back";
            return Err(ClientError::IllegalState(WHY));
        }
        let group = &plain.group;
        if group.group_id != self.config.group_id || group.member_id != self.member.member_id {
            const WHY: &str = "another member has acquired these records";
            return Err(ClientError::InvalidArgument(WHY));
        }
        let is_held = |key, range: AcknowledgedRange| {
            let held = self.held.get(&key);
            range.acknowledge_type == ACKNOWLEDGE_GAP
                || held.is_some_and(|held| {
                    (range.first_offset..=range.last_offset)
                        .all(|offset| held.get(offset).is_some())
                })
        };
        let ranges = || {
            let all = plain.acknowledgements.iter();
            all.map(|(_, topic_id, partition, range)| ((topic_id, partition), range))
        };
        if !ranges().all(|(key, range)| is_held(key, range)) {
            const WHY: &str = "a record is not held any more; they are held until the next poll";
            return Err(ClientError::IllegalState(WHY));
        }
        self.take_commit(now, call)?;
        for (key, range) in ranges() {
            let (first, last) = (range.first_offset, range.last_offset);
            if let Some(held) = self.held.get_mut(&key) {
                held.remove(first, last);
            }
            self.queue_ack(key, first, last, range.acknowledge_type);
        }
        Ok(())
    }

    pub(super) fn take_commit(&mut self, now: MonoTime, call: CallId) -> Result<(), ClientError> {
        if self.commit.is_some() {
            return Err(ClientError::IllegalState("a commit is under way already"));
        }
        if self.config.acknowledgement_mode == AcknowledgementMode::Implicit {
            self.accept_all();
        }
        let until = now.plus_millis(self.config.api_timeout_ms);
        self.commit = Some(Commit {
            call,
            until,
            results: Vec::new(),
        });
        Ok(())
    }

    pub(super) fn advance_commit(&mut self, now: MonoTime) {
        let Some(until) = self.commit.as_ref().map(|commit| commit.until) else {
            return;
        };
        let nodes: Vec<i32> = self.sessions.keys().copied().collect();
        for node in nodes {
            let Some(session) = self.sessions.get(&node) else {
                continue;
            };
            if session.acks.is_empty() || session.under_way.is_some() {
                continue;
            }
            if session.epoch == 0 {
                self.give_up_acks(node, ErrorCode::SHARE_SESSION_NOT_FOUND);
            } else {
                self.send_acknowledgements(node, until);
            }
        }
        let settled = self.sessions.values().all(|session| {
            session.acks.is_empty()
                && !matches!(&session.under_way, Some(UnderWay::Acknowledge(_)))
                && !matches!(&session.under_way, Some(UnderWay::Fetch(acks)) if !acks.is_empty())
        });
        if settled && let Some(commit) = self.commit.take() {
            self.finish(commit.call, Ok(ShareOutput::Acknowledged(commit.results)));
        } else if until <= now
            && let Some(commit) = self.commit.take()
        {
            let last = ErrorCode::REQUEST_TIMED_OUT;
            self.finish(commit.call, Err(ClientError::TimedOut { last }));
        }
    }

    /// Sends the queued acknowledgements of a session by themselves.
    pub(super) fn send_acknowledgements(&mut self, node: i32, limit: MonoTime) {
        let session = self.sessions.entry(node).or_default();
        let acks = core::mem::take(&mut session.acks);
        let epoch = session.epoch;
        self.send_acknowledge(node, epoch, &acks, limit);
        self.sessions.entry(node).or_default().under_way = Some(UnderWay::Acknowledge(acks));
    }

    fn send_acknowledge(
        &mut self,
        node: i32,
        share_session_epoch: i32,
        acks: &BTreeMap<Key, Acks>,
        limit: MonoTime,
    ) {
        let renews = has_renewals(acks);
        let body = ShareAcknowledgeRequest {
            group_id: Some(self.config.group_id.clone()),
            member_id: Some(self.member.member_id.clone()),
            share_session_epoch,
            is_renew_ack: renews,
            topics: acknowledge_topics(acks),
            ..Default::default()
        };
        let sending = Sending::new(Tag::Acknowledge(node), Route::Node(node), body, limit);
        // Renewals begin with version 2.
        let versions = if renews { 2..=2 } else { 1..=2 };
        self.network
            .submit(sending.versions(versions).report_loss());
    }

    pub(super) fn acknowledged(&mut self, node: i32, outcome: Result<Response, Failure>) {
        let session = self.sessions.entry(node).or_default();
        let Some(under_way) = session.under_way.take() else {
            return;
        };
        let last_word = matches!(under_way, UnderWay::Final(_));
        let acks = under_way.into_acks();
        match outcome {
            Ok(Response::ShareAcknowledge(response)) if response.error_code == ErrorCode::NONE => {
                if last_word {
                    session.lose()
                } else {
                    session.step()
                }
                let codes = codes(&response);
                self.settle(&acks, |key| codes.get(key).copied().unwrap_or_default());
            }
            Ok(Response::ShareAcknowledge(response)) => {
                session.lose();
                self.heartbeat_soon();
                self.settle(&acks, |_| response.error_code);
            }
            Err(Failure::Unsupported(_)) => {
                // Only renewals ask for a version that a broker may lack; the session stands.
                if last_word {
                    session.lose();
                }
                self.settle(&acks, |_| ErrorCode::UNSUPPORTED_VERSION);
            }
            _ => {
                session.lose();
                self.heartbeat_soon();
                self.settle(&acks, |_| ErrorCode::NETWORK_EXCEPTION);
            }
        }
    }

    pub(super) fn give_up_acks(&mut self, node: i32, code: ErrorCode) {
        let acks = self
            .sessions
            .get_mut(&node)
            .map(|session| core::mem::take(&mut session.acks));
        self.settle(&acks.unwrap_or_default(), |_| code);
    }

    /// Tells the waiting commit how acknowledgements ended; without one, the next poll tells about
    /// those that were refused.
    pub(super) fn settle(&mut self, acks: &BTreeMap<Key, Acks>, code: impl Fn(&Key) -> ErrorCode) {
        for key in acks.keys() {
            let code = code(key);
            let topic = self.name(*key);
            let result = AcknowledgementResult {
                topic,
                topic_id: key.0,
                partition: key.1,
                code,
            };
            match &mut self.commit {
                Some(commit) => commit.results.push(result),
                None if code.is_error() => self.fetched.refused.push(result),
                None => {}
            }
        }
    }

    pub(super) fn close(&mut self, now: MonoTime, call: CallId) {
        let poll = self.poll.take().map(|poll| poll.call);
        let commit = self.commit.take().map(|commit| commit.call);
        for waiting in poll.into_iter().chain(commit) {
            self.finish(waiting, Err(ClientError::Closed));
        }
        // What nobody has seen goes back with the session.
        self.fetched = PolledRecords::default();
        let until = now.plus_millis(self.config.close_timeout_ms);
        self.closing = Some(Closing {
            call,
            until,
            stage: Farewell::Sessions,
        });
    }

    pub(super) fn advance_close(&mut self, now: MonoTime) {
        let Some(Closing { until, stage, .. }) = self.closing else {
            return;
        };
        if until <= now {
            return self.shut_down();
        }
        if stage == Farewell::Group {
            return;
        }
        let nodes: Vec<i32> = self.sessions.keys().copied().collect();
        for node in nodes {
            let Some(session) = self.sessions.get_mut(&node) else {
                continue;
            };
            if session.under_way.is_none() && session.epoch > 0 {
                let acks = core::mem::take(&mut session.acks);
                self.send_acknowledge(node, FINAL_EPOCH, &acks, until);
                self.sessions.entry(node).or_default().under_way = Some(UnderWay::Final(acks));
            }
        }
        // A join under way still makes us a member, who then has to leave.
        let silent = !self.member.is_under_way();
        if silent
            && self
                .sessions
                .values()
                .all(|session| session.under_way.is_none())
        {
            if let Some(closing) = &mut self.closing {
                closing.stage = Farewell::Group;
            }
            if !self.leave(until) {
                self.shut_down();
            }
        }
    }

    pub(super) fn shut_down(&mut self) {
        self.network.shut_down();
        self.closed = Some(ClientError::Closed);
        if let Some(closing) = self.closing.take() {
            self.finish(closing.call, Ok(ShareOutput::Done));
        }
    }
}

fn codes(response: &ShareAcknowledgeResponse) -> BTreeMap<Key, ErrorCode> {
    let topics = response.responses.iter();
    topics
        .flat_map(|topic| {
            let partitions = topic.partitions.iter();
            partitions.map(|part| ((topic.topic_id, part.partition_index), part.error_code))
        })
        .collect()
}
