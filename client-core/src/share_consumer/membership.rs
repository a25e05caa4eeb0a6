//! The member of the share group: joining, heartbeats, assignment.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::{ShareConsumer, Tag};
use crate::ClientError;
use crate::network::{CoordinatorKind, Failure, Route, Sending};

/// First pause after a join that brought no partitions yet, in milliseconds; doubled each time up
/// to the heartbeat interval. A broker may still be preparing the state of the partitions.
const EAGER_MS: i64 = 100;

/// Member epochs that are requests of their own.
const JOIN: i32 = 0;
const LEAVE: i32 = -1;

#[derive(Debug)]
pub(super) struct Membership {
    pub(super) member_id: Str,
    pub(super) epoch: i32,
    pub(super) topics: Vec<Str>,
    pub(super) assignment: BTreeSet<(Uuid, i32)>,
    /// Why the group does not take us, told once.
    pub(super) refusal: Option<ClientError>,
    /// The next heartbeat; `None` before the first subscription and while one is under way.
    pub(super) next_heartbeat: Option<MonoTime>,
    /// The broker may not know us any more; the next heartbeat tells.
    pub(super) in_doubt: bool,
    under_way: bool,
    topics_told: bool,
    eager: u32,
    failures: u32,
}

impl Membership {
    pub(super) fn new(member_id: Str) -> Self {
        Membership {
            member_id,
            epoch: JOIN,
            topics: Vec::new(),
            assignment: BTreeSet::new(),
            refusal: None,
            next_heartbeat: None,
            in_doubt: false,
            under_way: false,
            topics_told: false,
            eager: 0,
            failures: 0,
        }
    }

    /// The group does not know us any more, or has fenced us: begin as a new member.
    fn rejoin(&mut self) {
        self.epoch = JOIN;
        self.assignment.clear();
        self.topics_told = false;
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way
    }

    fn is_joined(&self) -> bool {
        self.epoch > JOIN
    }
}

impl ShareConsumer {
    pub(super) fn subscribe(&mut self, now: MonoTime, topics: Vec<Str>) -> Result<(), ClientError> {
        if topics.is_empty() || topics.iter().any(|topic| topic.is_empty()) {
            return Err(ClientError::InvalidArgument(
                "a subscription names at least one topic",
            ));
        }
        let member = &mut self.member;
        member.topics = topics;
        member.topics_told = false;
        member.eager = 0;
        if !member.under_way {
            member.next_heartbeat = Some(now);
        }
        Ok(())
    }

    /// A broker that has lost a connection or the share session may have lost the member too: the
    /// sooner it is asked, the sooner records can be acknowledged again.
    pub(super) fn heartbeat_soon(&mut self) {
        self.member.in_doubt = self.member.is_joined();
        if self.member.next_heartbeat.is_some() {
            self.member.next_heartbeat = Some(MonoTime::ZERO);
        }
    }

    pub(super) fn heartbeat_when_due(&mut self, now: MonoTime) {
        if self.member.next_heartbeat.is_none_or(|at| at > now) || self.closing.is_some() {
            return;
        }
        self.member.next_heartbeat = None;
        self.member.under_way = true;
        let tell = !self.member.topics_told;
        self.member.topics_told = true;
        let topics = tell.then(|| self.member.topics.clone());
        let limit = now.plus_millis(self.config.request_timeout_ms);
        self.heartbeat(Tag::Heartbeat, self.member.epoch, topics, limit);
    }

    /// Says good-bye to the group. Nothing is sent where it does not know us.
    pub(super) fn leave(&mut self, limit: MonoTime) -> bool {
        let joined = self.member.is_joined();
        if joined {
            self.heartbeat(Tag::Leave, LEAVE, None, limit);
        }
        joined
    }

    fn heartbeat(
        &mut self,
        tag: Tag,
        member_epoch: i32,
        topics: Option<Vec<Str>>,
        limit: MonoTime,
    ) {
        let body = ShareGroupHeartbeatRequest {
            group_id: self.config.group_id.clone(),
            member_id: self.member.member_id.clone(),
            member_epoch,
            subscribed_topic_names: topics,
            ..Default::default()
        };
        let route = Route::Coordinator(CoordinatorKind::Group, self.config.group_id.clone());
        self.network.submit(Sending::new(tag, route, body, limit));
    }

    pub(super) fn heartbeat_answered(
        &mut self,
        now: MonoTime,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        self.member.under_way = false;
        let response = match outcome {
            Ok(Response::ShareGroupHeartbeat(response)) => response,
            Ok(_) => return self.heartbeat_failed(now, ErrorCode::UNKNOWN_SERVER_ERROR),
            Err(Failure::TimedOut(code)) => return self.heartbeat_failed(now, code),
            Err(failure) => {
                self.member.refusal = Some(failure.into());
                return self.heartbeat_failed(now, ErrorCode::NONE);
            }
        };
        match response.error_code {
            ErrorCode::NONE => self.joined(now, response),
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => {
                self.member.rejoin();
                self.member.next_heartbeat = Some(now);
            }
            code if code.is_retriable() => {
                self.member.under_way = true;
                self.network.again(sending, code);
            }
            code => {
                let message = response.error_message;
                let message = message.unwrap_or_else(|| "the group does not take us".into());
                self.member.refusal = Some(ClientError::Refused { code, message });
                self.heartbeat_failed(now, code);
            }
        }
    }

    fn heartbeat_failed(&mut self, now: MonoTime, code: ErrorCode) {
        self.member.failures += 1;
        self.member.topics_told = false;
        let pause = self.network.pause_ms(code, self.member.failures);
        self.member.next_heartbeat = Some(now.plus_millis(pause));
    }

    fn joined(&mut self, now: MonoTime, response: ShareGroupHeartbeatResponse) {
        let member = &mut self.member;
        member.failures = 0;
        member.refusal = None;
        member.in_doubt = false;
        member.epoch = response.member_epoch;
        if let Some(member_id) = response.member_id {
            member.member_id = member_id;
        }
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            let partitions = topics.flat_map(|topic| {
                topic
                    .partitions
                    .into_iter()
                    .map(move |part| (topic.topic_id, part))
            });
            member.assignment = partitions.collect();
        }
        let interval = i64::from(response.heartbeat_interval_ms.max(1));
        let wait = if member.assignment.is_empty() {
            let eager = EAGER_MS << member.eager.min(10);
            member.eager += 1;
            eager.min(interval)
        } else {
            interval
        };
        // A subscription that changed in the meantime is told at once.
        let wait = if member.topics_told { wait } else { 0 };
        member.next_heartbeat = Some(now.plus_millis(wait));
    }
}
