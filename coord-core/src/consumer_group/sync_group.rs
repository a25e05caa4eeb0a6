//! SyncGroup (key 14).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{SyncGroupRequest, SyncGroupResponse};
use ackord_proto::str::Str;
use bytes::Bytes;

use super::classic_group::GroupState;
use super::coordinator::{ClassicReply, GroupCoordinator, GroupCtx};
use super::member::Awaits;
use super::rebalance::Turn;
use super::validate::Caller;
use crate::outbox::{Outbox, Ticket};

/// From this version on protocol type and name have to be said (KIP-559).
const NAMES_PROTOCOL: i16 = 5;

impl GroupCoordinator {
    /// Spreads the assignment of the leader. Answers [`ClassicReply::Sync`], now or when the leader
    /// has sent it: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
    /// INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
    pub fn sync_group(
        &mut self,
        ctx: &GroupCtx<'_>,
        ticket: Ticket,
        version: i16,
        request: &SyncGroupRequest,
        out: &mut Outbox<ClassicReply>,
    ) {
        let now = ctx.now;
        if self.consumer_group(&request.group_id).is_some() {
            let unnamed = request.protocol_type.is_none() || request.protocol_name.is_none();
            let reply = match version >= NAMES_PROTOCOL && unnamed {
                true => SyncGroupResponse {
                    error_code: ErrorCode::INCONSISTENT_GROUP_PROTOCOL,
                    ..SyncGroupResponse::default()
                },
                false => self.sync_consumer_group(now, request, ctx.cluster),
            };
            return out.reply(ticket, ClassicReply::Sync(reply));
        }
        if let Err(error_code) = self.check_sync(version, request) {
            let reply = SyncGroupResponse {
                error_code,
                ..SyncGroupResponse::default()
            };
            return out.reply(ticket, ClassicReply::Sync(reply));
        }
        self.turn(now, &request.group_id, out, |turn| {
            turn.sync(ticket, request);
        });
    }

    fn check_sync(&self, version: i16, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
        let (kind, name) = (&request.protocol_type, &request.protocol_name);
        if version >= NAMES_PROTOCOL && (kind.is_none() || name.is_none()) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        let caller = Caller {
            member: &request.member_id,
            instance: request.group_instance_id.as_ref(),
            generation: request.generation_id,
        };
        let group = self.group_of(&request.group_id, caller)?;
        let differs = |asked: &Option<Str>, own: &Option<Str>| match (asked, own) {
            (Some(asked), Some(own)) => asked != own,
            _ => false,
        };
        if differs(kind, &group.protocol_type) || differs(name, &group.protocol) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        match group.state() {
            GroupState::PreparingRebalance => Err(ErrorCode::REBALANCE_IN_PROGRESS),
            _ => Ok(()),
        }
    }
}

impl Turn<'_> {
    fn sync(&mut self, ticket: Ticket, request: &SyncGroupRequest) {
        let id = &request.member_id;
        self.group.pending_sync.remove(id);
        if self.group.pending_sync.is_empty() {
            self.end_pending_sync();
        }
        if self.group.state() == GroupState::Stable {
            let reply = self.synced(id);
            return self.replies.push((ticket, ClassicReply::Sync(reply)));
        }
        if let Some(member) = self.group.members.get_mut(id) {
            let before = core::mem::replace(&mut member.awaits, Awaits::Sync(ticket));
            self.end_wait(before, id, ErrorCode::REBALANCE_IN_PROGRESS);
        }
        if self.group.is_leader(id) {
            self.take_assignments(request);
        }
    }

    /// The leader has assigned: the group is stored, then everybody who waits is told.
    fn take_assignments(&mut self, request: &SyncGroupRequest) {
        for member in self.group.members.values_mut() {
            member.assignment = Bytes::new();
        }
        for assigned in &request.assignments {
            if let Some(member) = self.group.members.get_mut(&assigned.member_id) {
                member.assignment = Bytes::copy_from_slice(&assigned.assignment);
            }
        }
        let now_ms = self.now.wall.as_millis();
        self.group.enter(GroupState::Stable, now_ms);
        self.store = true;
        let waiting = self.group.members.iter();
        let waiting = waiting.filter_map(|(id, member)| match member.awaits {
            Awaits::Sync(ticket) => Some((id.clone(), ticket)),
            _ => None,
        });
        for (id, ticket) in waiting.collect::<alloc::vec::Vec<_>>() {
            let reply = self.synced(&id);
            self.replies.push((ticket, ClassicReply::Sync(reply)));
            if let Some(member) = self.group.members.get_mut(&id) {
                member.awaits = Awaits::Nothing;
            }
            self.extend_session(&id);
        }
    }

    fn synced(&self, member: &str) -> SyncGroupResponse {
        let found = self.group.members.get(member);
        SyncGroupResponse {
            protocol_type: self.group.protocol_type.clone(),
            protocol_name: self.group.protocol.clone(),
            assignment: found.map(|own| own.assignment.clone()).unwrap_or_default(),
            ..SyncGroupResponse::default()
        }
    }
}
