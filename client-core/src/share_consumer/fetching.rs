//! ShareFetch: records in, acknowledgements out.

use alloc::collections::{BTreeMap, BTreeSet};

use ackord_machine::MonoTime;
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::{ACKNOWLEDGE_GAP, ACKNOWLEDGE_RELEASE};
use ackord_proto::messages::share_fetch::PartitionData;
use ackord_proto::messages::{ShareFetchRequest, ShareFetchResponse};
use ackord_proto::str::Str;

use super::delivery::{acquired, deliver};
use super::session::{Acks, Key, UnderWay, fetch_topics, forgotten_topics};
use super::{AcknowledgementMode, AcquireMode, PartitionFault, ShareConsumer, Tag};
use crate::ClientError;
use crate::network::{Failure, Route, Sending, is_about_leader};

impl ShareConsumer {
    /// A fetch to each node that leads assigned partitions and owes no answer.
    pub(super) fn fetch_all(&mut self, now: MonoTime) {
        let mut nodes: BTreeMap<i32, BTreeSet<Key>> = BTreeMap::new();
        // Records that a stranger acquires cannot be bound to a transaction, they only age.
        let withheld = self.config.acknowledgement_mode == AcknowledgementMode::Transactional
            && self.member.in_doubt;
        for key in self.member.assignment.iter().filter(|_| !withheld) {
            let Some(name) = self.names.get(&key.0) else {
                continue;
            };
            match self.network.cluster.leader(name, key.1) {
                Some(node) => drop(nodes.entry(node).or_default().insert(*key)),
                None => self.network.want_topic(name),
            }
        }
        // Acknowledgements also leave for nodes that lead nothing of ours any more.
        for (node, session) in &self.sessions {
            if !session.acks.is_empty() {
                nodes.entry(*node).or_default();
            }
        }
        for (node, wanted) in nodes {
            let session = self.sessions.entry(node).or_default();
            if session.under_way.is_some() || session.quiet_until > now {
                continue;
            }
            if session.epoch == 0 {
                // What was acquired in the session before has been given back.
                self.give_up_acks(node, ErrorCode::SHARE_SESSION_NOT_FOUND);
            }
            let session = self.sessions.entry(node).or_default();
            if session.has_renewals() || (wanted.is_empty() && !session.acks.is_empty()) {
                self.send_acknowledgements(node, now.plus_millis(self.config.api_timeout_ms));
            } else if !wanted.is_empty() {
                self.fetch(now, node, wanted);
            }
        }
    }

    fn fetch(&mut self, now: MonoTime, node: i32, wanted: BTreeSet<Key>) {
        let session = self.sessions.entry(node).or_default();
        let acks = core::mem::take(&mut session.acks);
        let new: BTreeSet<Key> = wanted.difference(&session.known).copied().collect();
        let gone = session.known.difference(&wanted).copied();
        let body = ShareFetchRequest {
            group_id: Some(self.config.group_id.clone()),
            member_id: Some(self.member.member_id.clone()),
            share_session_epoch: session.epoch,
            max_wait_ms: self.config.max_wait_ms,
            min_bytes: 1,
            max_bytes: self.config.max_bytes,
            max_records: self.config.max_poll_records,
            batch_size: self.config.max_poll_records,
            share_acquire_mode: match self.config.acquire_mode {
                AcquireMode::BatchOptimized => 0,
                AcquireMode::RecordLimit => 1,
            },
            topics: fetch_topics(&new, &acks),
            forgotten_topics_data: forgotten_topics(gone),
            ..Default::default()
        };
        session.known = wanted;
        session.under_way = Some(UnderWay::Fetch(acks));
        let wait = i64::from(self.config.max_wait_ms);
        let limit = now.plus_millis(self.config.request_timeout_ms.saturating_add(wait));
        let sending = Sending::new(Tag::Fetch(node), Route::Node(node), body, limit);
        self.network.submit(sending.report_loss());
    }

    pub(super) fn fetch_answered(
        &mut self,
        now: MonoTime,
        node: i32,
        outcome: Result<Response, Failure>,
    ) {
        let session = self.sessions.entry(node).or_default();
        let acks = session
            .under_way
            .take()
            .map(UnderWay::into_acks)
            .unwrap_or_default();
        match outcome {
            Ok(Response::ShareFetch(response)) if response.error_code == ErrorCode::NONE => {
                session.step();
                session.failures = 0;
                self.take(now, node, &acks, response);
            }
            Ok(Response::ShareFetch(response)) => {
                let code = response.error_code;
                session.lose();
                self.settle(&acks, |_| code);
                if !code.is_retriable() {
                    let message = response
                        .error_message
                        .unwrap_or_else(|| "ShareFetch".into());
                    self.failed = Some(ClientError::Refused { code, message });
                }
                // A lost session is opened anew at once, unless that does not help.
                self.pause_session(now, node, code);
            }
            Ok(_) => self.failed = Some(ClientError::Protocol("a response of another kind")),
            Err(failure) => {
                session.lose();
                self.settle(&acks, |_| ErrorCode::NETWORK_EXCEPTION);
                match failure {
                    Failure::Lost | Failure::TimedOut(_) => {
                        // Perhaps another node leads by now.
                        for name in self.member.topics.clone() {
                            self.network.want_topic(&name);
                        }
                    }
                    other => self.failed = Some(other.into()),
                }
                self.pause_session(now, node, ErrorCode::NETWORK_EXCEPTION);
            }
        }
    }

    fn pause_session(&mut self, now: MonoTime, node: i32, code: ErrorCode) {
        let session = self.sessions.entry(node).or_default();
        session.failures += 1;
        let lost = matches!(
            code,
            ErrorCode::SHARE_SESSION_NOT_FOUND | ErrorCode::INVALID_SHARE_SESSION_EPOCH
        );
        let failures = session.failures;
        if !(lost && failures == 1) {
            let pause = self.network.pause_ms(code, failures);
            session.quiet_until = now.plus_millis(pause);
        }
        self.heartbeat_soon();
    }

    fn take(
        &mut self,
        now: MonoTime,
        node: i32,
        acks: &BTreeMap<Key, Acks>,
        response: ShareFetchResponse,
    ) {
        let mut codes: BTreeMap<Key, ErrorCode> = BTreeMap::new();
        for topic in response.responses {
            for data in topic.partitions {
                let key = (topic.topic_id, data.partition_index);
                codes.insert(key, data.acknowledge_error_code);
                if data.error_code.is_error() {
                    self.partition_refused(now, node, key, &data);
                } else if !data.acquired_records.is_empty() {
                    self.homes.insert(key, node);
                    self.deliver(key, &data);
                }
            }
        }
        self.settle(acks, |key| codes.get(key).copied().unwrap_or_default());
    }

    fn partition_refused(&mut self, now: MonoTime, node: i32, key: Key, data: &PartitionData) {
        let code = data.error_code;
        let name = self.name(key);
        // It is told again with the next fetch.
        self.sessions.entry(node).or_default().known.remove(&key);
        if is_about_leader(code) {
            self.network.cluster.forget_topic(&name);
        } else if !code.is_retriable() {
            let message = data
                .error_message
                .clone()
                .unwrap_or_else(|| "ShareFetch".into());
            self.fault(key, code, message);
        }
        self.pause_session(now, node, code);
    }

    fn fault(&mut self, key: Key, code: ErrorCode, message: Str) {
        let topic = self.name(key);
        self.fetched.faults.push(PartitionFault {
            topic,
            partition: key.1,
            code,
            message,
        });
    }

    fn deliver(&mut self, key: Key, data: &PartitionData) {
        let ranges = acquired(data);
        match deliver(&self.name(key), key.0, data, &ranges) {
            Ok(delivery) => {
                let with_records = self.config.acknowledgement_mode
                    == AcknowledgementMode::Transactional
                    && !delivery.records.is_empty();
                if with_records {
                    self.fetched.gaps.extend(delivery.gaps);
                } else {
                    // Nobody works on a gap: it is answered at once.
                    for gap in delivery.gaps {
                        self.queue_ack(key, gap.first_offset, gap.last_offset, ACKNOWLEDGE_GAP);
                    }
                }
                self.fetched.records.extend(delivery.records);
            }
            Err(error) => {
                for range in ranges {
                    self.queue_ack(
                        key,
                        range.first_offset,
                        range.last_offset,
                        ACKNOWLEDGE_RELEASE,
                    );
                }
                self.fault(key, error.error_code(), alloc::format!("{error}").into());
            }
        }
    }

    pub(super) fn name(&self, key: Key) -> Str {
        self.names.get(&key.0).cloned().unwrap_or_default()
    }
}
