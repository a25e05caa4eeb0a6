//! ShareGroupHeartbeat: joining, staying and leaving.

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackord_proto::str::Str;

use super::member::{ClientInfo, Parked};
use super::share_group::{GroupReply, ShareGroup, Timer, Topics, logs};
use crate::outbox::{Outbox, Ticket};

/// Member epoch of a heartbeat that joins, or joins again.
const JOIN: i32 = 0;

/// Member epoch of a heartbeat that leaves.
const LEAVE: i32 = -1;

/// Characters of a member id.
const LONGEST_MEMBER_ID: usize = 36;

/// How long an answer may wait for share states. Below the request timeout of any client.
const ANSWER_WITHIN_MS: i64 = 3000;

/// Why a heartbeat is refused.
struct Refusal {
    code: ErrorCode,
    message: &'static str,
}

const fn refuse(code: ErrorCode, message: &'static str) -> Result<(), Refusal> {
    Err(Refusal { code, message })
}

impl ShareGroup {
    /// A heartbeat.
    ///
    /// The answer to a member that joins or changes its subscription waits until the share
    /// partitions of its topics have a state, at most three seconds, so that the first member has its
    /// partitions at once. It does not wait for the end of an assignment interval: who comes within one
    /// is told of its partitions with a later heartbeat.
    pub fn heartbeat(
        &mut self,
        now: Now,
        ticket: Ticket,
        req: &ShareGroupHeartbeatRequest,
        client: ClientInfo,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) {
        let accepted = check_request(req).and_then(|()| match req.member_epoch {
            LEAVE => self.check_known(&req.member_id),
            JOIN => self.check_room(&req.member_id),
            received => self.check_epoch(&req.member_id, received),
        });
        match accepted {
            Err(refusal) => out.reply(ticket, GroupReply::Heartbeat(refusal.response())),
            Ok(()) if req.member_epoch == LEAVE => self.leave(now, ticket, req, topics, out),
            Ok(()) => {
                let member = self.members.entry(req.member_id.clone()).or_default();
                self.changed |= member.introduce(client, req.rack_id.as_ref());
                self.stay(now, ticket, req, topics, out);
            }
        }
    }

    fn check_known(&self, member_id: &str) -> Result<(), Refusal> {
        if self.is_member(member_id) {
            return Ok(());
        }
        if self.is_empty() && !self.is_stored() {
            return refuse(ErrorCode::GROUP_ID_NOT_FOUND, "The group does not exist.");
        }
        refuse(
            ErrorCode::UNKNOWN_MEMBER_ID,
            "The group has no such member; join with epoch 0.",
        )
    }

    fn check_room(&self, member_id: &str) -> Result<(), Refusal> {
        if self.is_member(member_id) || self.members.len() < self.config.max_size {
            return Ok(());
        }
        refuse(
            ErrorCode::GROUP_MAX_SIZE_REACHED,
            "The group has group.share.max.size members.",
        )
    }

    fn check_epoch(&self, member_id: &str, epoch: i32) -> Result<(), Refusal> {
        self.check_known(member_id)?;
        if self
            .members
            .get(member_id)
            .is_some_and(|member| member.holds(epoch))
        {
            return Ok(());
        }
        refuse(
            ErrorCode::FENCED_MEMBER_EPOCH,
            "The member epoch is neither the current nor the previous one; join again with epoch 0.",
        )
    }

    /// The heartbeat of a member, new or not.
    fn stay(
        &mut self,
        now: Now,
        ticket: Ticket,
        req: &ShareGroupHeartbeatRequest,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) {
        let (id, before) = (&req.member_id, self.epoch());
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        let received = req.member_epoch;
        // True for every new member: it names topics.
        let other_topics = member.subscribe(req.subscribed_topic_names.as_deref());
        let may_wait = other_topics || received == JOIN || member.parked.is_some();
        if other_topics {
            self.bump(before);
            self.refresh(now, before, topics, out);
        } else {
            self.metadata_changed(now, topics, out);
        }
        // One parked heartbeat a member: a client repeats only what it has given up.
        self.answer_parked(now, id, out);
        self.park(now, id, Parked { ticket, received });
        let is_to_wait = self
            .members
            .get(id)
            .is_some_and(|member| self.is_to_wait(member));
        if !(may_wait && is_to_wait) {
            self.answer_parked(now, id, out);
        }
    }

    fn leave(
        &mut self,
        now: Now,
        ticket: Ticket,
        req: &ShareGroupHeartbeatRequest,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) {
        let before = self.epoch();
        self.remove(&req.member_id, before, out);
        self.departed.push(req.member_id.clone());
        let response = ShareGroupHeartbeatResponse {
            member_id: Some(req.member_id.clone()),
            member_epoch: LEAVE,
            ..ShareGroupHeartbeatResponse::default()
        };
        out.reply(ticket, GroupReply::Heartbeat(response));
        self.refresh(now, before, topics, out);
    }

    /// Takes the member out; [`refresh`](ShareGroup::refresh) has to follow.
    pub(super) fn remove(&mut self, member_id: &Str, before: i32, out: &mut Outbox<GroupReply>) {
        let Some(member) = self.members.remove(member_id) else {
            return;
        };
        self.bump(before);
        self.unassigned.extend(logs(&member.target));
        if self.members.is_empty() {
            // Whoever comes next does not wait.
            self.assigned_at = 0;
        }
        self.timers.cancel(&Timer::Session(member_id.clone()));
        self.timers.cancel(&Timer::Answer(member_id.clone()));
        if let Some(parked) = member.parked {
            let code = ErrorCode::UNKNOWN_MEMBER_ID;
            let gone = Refusal {
                code,
                message: "The member was removed from the group.",
            };
            out.reply(parked.ticket, GroupReply::Heartbeat(gone.response()));
        }
    }

    fn park(&mut self, now: Now, member_id: &Str, heartbeat: Parked) {
        let Some(member) = self.members.get_mut(member_id) else {
            return;
        };
        member.parked = Some(heartbeat);
        self.timers.arm(
            Timer::Answer(member_id.clone()),
            now.mono.plus_millis(ANSWER_WITHIN_MS),
        );
        self.arm_session(now, member_id);
    }

    pub(super) fn arm_session(&mut self, now: Now, member_id: &Str) {
        let ends = now
            .mono
            .plus_millis(i64::from(self.config.session_timeout_ms));
        self.timers.arm(Timer::Session(member_id.clone()), ends);
    }

    /// Answers the heartbeat of the member that waits, if there is one.
    pub(super) fn answer_parked(
        &mut self,
        now: Now,
        member_id: &Str,
        out: &mut Outbox<GroupReply>,
    ) {
        let group_epoch = self.epoch();
        let Some(member) = self.members.get_mut(member_id) else {
            return;
        };
        let Some(Parked { ticket, received }) = member.parked.take() else {
            return;
        };
        self.changed |= member.epoch() != group_epoch;
        let assignment = member.advance(received, group_epoch);
        let response = ShareGroupHeartbeatResponse {
            member_id: Some(member_id.clone()),
            member_epoch: member.epoch(),
            heartbeat_interval_ms: self.config.heartbeat_interval_ms,
            assignment,
            ..ShareGroupHeartbeatResponse::default()
        };
        out.reply(ticket, GroupReply::Heartbeat(response));
        self.timers.cancel(&Timer::Answer(member_id.clone()));
        self.arm_session(now, member_id);
    }
}

fn check_request(req: &ShareGroupHeartbeatRequest) -> Result<(), Refusal> {
    let topics = req.subscribed_topic_names.as_ref();
    let message = if req.group_id.is_empty() {
        "GroupId is empty."
    } else if !(1..=LONGEST_MEMBER_ID).contains(&req.member_id.chars().count()) {
        "MemberId has to have 1 to 36 characters."
    } else if req.rack_id.as_ref().is_some_and(|rack| rack.is_empty()) {
        "RackId is empty."
    } else if req.member_epoch < LEAVE {
        "MemberEpoch is below -1."
    } else if req.member_epoch == JOIN && topics.is_none_or(|topics| topics.is_empty()) {
        "SubscribedTopicNames is needed to join."
    } else {
        return Ok(());
    };
    refuse(ErrorCode::INVALID_REQUEST, message)
}

impl Refusal {
    fn response(&self) -> ShareGroupHeartbeatResponse {
        ShareGroupHeartbeatResponse {
            error_code: self.code,
            error_message: Some(self.message.into()),
            ..ShareGroupHeartbeatResponse::default()
        }
    }
}
