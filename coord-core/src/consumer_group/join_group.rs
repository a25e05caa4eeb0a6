//! JoinGroup (key 11).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{JoinGroupRequest, JoinGroupResponse};
use ackord_proto::str::Str;
use bytes::Bytes;

use super::classic_group::{ClassicGroup, GroupState};
use super::coordinator::{ClassicReply, Client, GroupCoordinator, GroupCtx, Timer};
use super::member::{Awaits, Member, protocols_of};
use super::rebalance::Turn;
use crate::outbox::{Outbox, Ticket};

/// From this version on a new member gets its id before it joins (KIP-394).
const KNOWS_MEMBER_ID: i16 = 4;
/// From this version on a leader can be told that there is nothing to assign (KIP-814).
const SKIPS_ASSIGNMENT: i16 = 9;
/// How long a new member may wait for the answer to its first JoinGroup. It does not know its id, so
/// it sends no heartbeat, and may be gone.
const NEW_MEMBER_JOIN_TIMEOUT_MS: i32 = 5 * 60 * 1000;
/// Ids given out to clients that have not come back with them.
const MOST_PENDING_MEMBERS: usize = 10_000;
/// Leaves room for the rest of a member id within the longest string.
const LONGEST_NAME: usize = 32_000;

/// A JoinGroup with all that belongs to it.
#[derive(Clone, Copy)]
struct Joining<'a> {
    ticket: Ticket,
    version: i16,
    request: &'a JoinGroupRequest,
    client: &'a Client,
}

impl GroupCoordinator {
    /// Joins a classic group. Answers [`ClassicReply::Join`], now or when the other members have
    /// joined: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL,
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, MEMBER_ID_REQUIRED (from v4 on, with the id),
    /// GROUP_MAX_SIZE_REACHED.
    pub fn join_group(
        &mut self,
        ctx: &mut GroupCtx<'_>,
        ticket: Ticket,
        version: i16,
        request: &JoinGroupRequest,
        client: &Client,
        out: &mut Outbox<ClassicReply>,
    ) {
        if let Some(group) = self.consumer_group(&request.group_id) {
            let occupied = !group.is_empty();
            let checked = match self.check_join(request, client) {
                Ok(()) if !occupied && !request.member_id.is_empty() => {
                    Err(ErrorCode::UNKNOWN_MEMBER_ID)
                }
                checked => checked.map_err(|(code, _)| code),
            };
            if let Err(code) = checked {
                return out.reply(ticket, refusal(code, request.member_id.clone()));
            }
            if occupied {
                let reply = self.join_consumer_group(ctx, version, request, client, out);
                return out.reply(ticket, ClassicReply::Join(reply));
            }
            self.become_classic_group(ctx.now, &request.group_id, out);
        }
        if let Err((code, member)) = self.check_join(request, client) {
            out.reply(ticket, refusal(code, member));
            if code == ErrorCode::GROUP_MAX_SIZE_REACHED && !request.member_id.is_empty() {
                self.turn(ctx.now, &request.group_id, out, |turn| {
                    turn.remove_member(&request.member_id);
                    turn.complete_join_if_all_joined();
                });
            }
            return;
        }
        let id = &request.group_id;
        let joining = Joining {
            ticket,
            version,
            request,
            client,
        };
        let unknown = request.member_id.is_empty();
        let name = request.group_instance_id.as_ref().unwrap_or(&client.id);
        let new_id = unknown.then(|| self.new_member_id(id, name, ctx.chance));
        if !self.groups.contains_key(id) {
            self.group_mut(id).classic = ClassicGroup::new(ctx.now.wall.as_millis());
            self.check_retention(ctx.now);
        }
        self.turn(ctx.now, id, out, |turn| match new_id {
            Some(new_id) => turn.join_new(joining, new_id),
            None => turn.join_known(joining),
        });
    }

    fn check_join(
        &self,
        request: &JoinGroupRequest,
        client: &Client,
    ) -> Result<(), (ErrorCode, Str)> {
        let config = &self.config;
        let timeouts = config.min_session_timeout_ms..=config.max_session_timeout_ms;
        let name = request.group_instance_id.as_ref().unwrap_or(&client.id);
        let member = request.member_id.clone();
        let code = if request.group_id.is_empty() {
            ErrorCode::INVALID_GROUP_ID
        } else if !timeouts.contains(&request.session_timeout_ms) {
            ErrorCode::INVALID_SESSION_TIMEOUT
        } else if name.len() > LONGEST_NAME {
            ErrorCode::INVALID_REQUEST
        } else {
            match self.groups.get(&request.group_id) {
                None if !request.member_id.is_empty() => ErrorCode::UNKNOWN_MEMBER_ID,
                Some(group) if !self.has_room(&group.classic, &request.member_id) => {
                    return Err((ErrorCode::GROUP_MAX_SIZE_REACHED, Str::EMPTY));
                }
                Some(group)
                    if !group
                        .classic
                        .supports(&request.protocol_type, &request.protocols) =>
                {
                    ErrorCode::INCONSISTENT_GROUP_PROTOCOL
                }
                // As an empty group judges.
                None if request.protocol_type.is_empty() || request.protocols.is_empty() => {
                    ErrorCode::INCONSISTENT_GROUP_PROTOCOL
                }
                _ => return Ok(()),
            }
        };
        Err((code, member))
    }

    /// While a group rebalances those who have joined count, so the last to join stay outside; else
    /// its members do.
    fn has_room(&self, group: &ClassicGroup, member: &str) -> bool {
        let own = group.members.get(member);
        if member.is_empty() && group.pending_members.len() >= MOST_PENDING_MEMBERS {
            return false;
        }
        match group.state() {
            GroupState::Empty => true,
            GroupState::PreparingRebalance => {
                let joined = group.members.values().filter(|other| other.awaits_join());
                own.is_some_and(Member::awaits_join) || joined.count() < self.config.max_size
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                own.is_some() || group.members.len() < self.config.max_size
            }
        }
    }
}

fn refusal(error_code: ErrorCode, member_id: Str) -> ClassicReply {
    ClassicReply::Join(JoinGroupResponse {
        error_code,
        member_id,
        ..JoinGroupResponse::default()
    })
}

impl Turn<'_> {
    fn refuse(&mut self, joining: Joining<'_>, code: ErrorCode, member: &Str) {
        let reply = refusal(code, member.clone());
        self.replies.push((joining.ticket, reply));
    }

    fn join_new(&mut self, joining: Joining<'_>, new_id: Str) {
        let instance = joining.request.group_instance_id.as_ref();
        if let Some(old_id) = instance.and_then(|own| self.group.static_members.get(own)) {
            let old_id = old_id.clone();
            return self.replace_static(joining, &old_id, new_id);
        }
        if instance.is_none() && joining.version >= KNOWS_MEMBER_ID {
            let timer = Timer::Session(self.id.clone(), new_id.clone());
            self.arm(timer, joining.request.session_timeout_ms);
            self.refuse(joining, ErrorCode::MEMBER_ID_REQUIRED, &new_id);
            self.group.pending_members.insert(new_id);
            return;
        }
        self.add_member(joining, new_id);
    }

    fn join_known(&mut self, joining: Joining<'_>) {
        let request = joining.request;
        let member_id = &request.member_id;
        if self.group.pending_members.contains(member_id) {
            if request.group_instance_id.is_some() {
                return self.refuse(joining, ErrorCode::UNKNOWN_MEMBER_ID, member_id);
            }
            return self.add_member(joining, member_id.clone());
        }
        let instance = request.group_instance_id.as_ref();
        if let Err(code) = self.group.check_member(member_id, instance) {
            return self.refuse(joining, code, member_id);
        }
        let members = &self.group.members;
        let same = members
            .get(member_id)
            .is_some_and(|member| member.matches(&request.protocols));
        let leads = self.group.is_leader(member_id);
        match self.group.state() {
            GroupState::Empty => self.refuse(joining, ErrorCode::UNKNOWN_MEMBER_ID, member_id),
            // The answer got lost: it gets the generation again. A leader that joins a stable group
            // wants a new assignment; topics may have changed.
            GroupState::CompletingRebalance if same => self.answer_again(joining, member_id),
            GroupState::Stable if same && !leads => self.answer_again(joining, member_id),
            _ => {
                self.update_member(joining, member_id);
                self.rebalance();
            }
        }
    }

    fn answer_again(&mut self, joining: Joining<'_>, member: &Str) {
        let reply = self.joined(member);
        self.replies
            .push((joining.ticket, ClassicReply::Join(reply)));
    }

    fn add_member(&mut self, joining: Joining<'_>, id: Str) {
        let request = joining.request;
        let mut member = Member {
            instance_id: request.group_instance_id.clone(),
            client_id: joining.client.id.clone(),
            client_host: joining.client.host.clone(),
            rebalance_timeout_ms: 0,
            session_timeout_ms: 0,
            protocols: alloc::vec![],
            assignment: Bytes::new(),
            awaits: Awaits::Nothing,
            is_new: true,
        };
        say(&mut member, joining);
        if let Some(delay) = &mut self.group.initial_delay {
            delay.new_member = true;
        }
        self.group.add(id.clone(), &request.protocol_type, member);
        self.arm(
            Timer::Session(self.id.clone(), id),
            NEW_MEMBER_JOIN_TIMEOUT_MS,
        );
        self.rebalance();
    }

    /// What the member says now counts; an older JoinGroup of it that still waits is over.
    fn update_member(&mut self, joining: Joining<'_>, id: &Str) {
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        let before = say(member, joining);
        self.end_wait(before, id, ErrorCode::REBALANCE_IN_PROGRESS);
    }

    /// A static member comes back without its id, and whoever has used its name is fenced (KIP-345).
    /// A stable group goes on as it is if the protocol stays.
    fn replace_static(&mut self, joining: Joining<'_>, old_id: &Str, new_id: Str) {
        let Some(mut member) = self.group.members.remove(old_id) else {
            return;
        };
        self.cancel_session(old_id);
        self.end_wait(member.awaits, old_id, ErrorCode::FENCED_INSTANCE_ID);
        member.awaits = Awaits::Nothing;
        say(&mut member, joining);
        let old_leader = self.group.leader.clone().unwrap_or_default();
        if self.group.is_leader(old_id) {
            self.group.leader = Some(new_id.clone());
        }
        if self.group.pending_sync.remove(old_id) {
            self.group.pending_sync.insert(new_id.clone());
        }
        if let Some(instance) = member.instance_id.clone() {
            self.group.static_members.insert(instance, new_id.clone());
        }
        self.group.members.insert(new_id.clone(), member);
        self.extend_session(&new_id);
        match self.group.state() {
            GroupState::Stable if self.group.select_protocol() == self.group.protocol => {
                self.store = true;
                self.let_static_in(joining, &new_id, old_leader);
            }
            // The leader may be assigning to the old id already.
            GroupState::CompletingRebalance => self.prepare_rebalance(),
            GroupState::Stable => self.rebalance(),
            GroupState::Empty | GroupState::PreparingRebalance => {
                self.complete_join_if_all_joined();
            }
        }
    }

    fn let_static_in(&mut self, joining: Joining<'_>, id: &Str, old_leader: Str) {
        let mut reply = self.joined(id);
        if joining.version >= SKIPS_ASSIGNMENT {
            reply.skip_assignment = self.group.is_leader(id);
        } else {
            // Older clients would assign anew as leader: they are told of the old id.
            reply.members.clear();
            reply.leader = old_leader;
        }
        if let Some(member) = self.group.members.get_mut(id) {
            member.awaits = Awaits::Nothing;
        }
        self.replies
            .push((joining.ticket, ClassicReply::Join(reply)));
    }
}

/// Takes over what a JoinGroup says; returns what the member waited for before.
fn say(member: &mut Member, joining: Joining<'_>) -> Awaits {
    let request = joining.request;
    member.session_timeout_ms = request.session_timeout_ms;
    // Version 0 has one timeout for both.
    member.rebalance_timeout_ms = match joining.version {
        0 => request.session_timeout_ms,
        _ => request.rebalance_timeout_ms,
    };
    member.protocols = protocols_of(&request.protocols);
    core::mem::replace(&mut member.awaits, Awaits::Join(joining.ticket))
}
