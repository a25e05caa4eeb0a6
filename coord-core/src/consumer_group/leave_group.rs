//! LeaveGroup (key 13).

use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::leave_group::{MemberIdentity, MemberResponse};
use ackord_proto::str::Str;

use super::classic_group::GroupState;
use super::coordinator::{ClassicReply, GroupCoordinator, GroupCtx};
use super::rebalance::Turn;
use crate::outbox::Outbox;

impl GroupCoordinator {
    /// Takes members out of a group, each by its id or, for an operator, by its static name alone.
    /// Each is answered by itself: NONE, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    ///
    /// # Errors
    /// INVALID_GROUP_ID.
    pub fn leave_group(
        &mut self,
        ctx: &GroupCtx<'_>,
        group: &Str,
        members: &[MemberIdentity],
        out: &mut Outbox<ClassicReply>,
    ) -> Result<Vec<MemberResponse>, ErrorCode> {
        if group.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        let now = ctx.now;
        let answer = |member: &MemberIdentity, error_code| MemberResponse {
            member_id: member.member_id.clone(),
            group_instance_id: member.group_instance_id.clone(),
            error_code,
            ..MemberResponse::default()
        };
        let left = match self.consumer_group(group) {
            Some(_) => {
                let cluster = ctx.cluster;
                Some(self.leave_by_request(now, group, members, cluster, out))
            }
            None => self.leave_classic_group(now, group, members, out),
        };
        let unknown = || {
            members
                .iter()
                .map(|_| ErrorCode::UNKNOWN_MEMBER_ID)
                .collect()
        };
        let codes = left.unwrap_or_else(unknown);
        let answers = members.iter().zip(codes);
        Ok(answers.map(|(member, code)| answer(member, code)).collect())
    }

    fn leave_classic_group(
        &mut self,
        now: Now,
        group: &Str,
        members: &[MemberIdentity],
        out: &mut Outbox<ClassicReply>,
    ) -> Option<Vec<ErrorCode>> {
        self.turn(now, group, out, |turn| {
            let codes: Vec<ErrorCode> = members.iter().map(|member| turn.leave(member)).collect();
            if codes.contains(&ErrorCode::NONE) {
                turn.members_left();
            }
            codes
        })
    }
}

impl Turn<'_> {
    fn leave(&mut self, member: &MemberIdentity) -> ErrorCode {
        let instance = member.group_instance_id.as_ref();
        let id = &member.member_id;
        if id.is_empty() {
            let named = instance.and_then(|own| self.group.static_members.get(own));
            let Some(id) = named.cloned() else {
                return ErrorCode::UNKNOWN_MEMBER_ID;
            };
            self.remove_member(&id);
            return ErrorCode::NONE;
        }
        if self.group.pending_members.contains(id) {
            self.remove_member(id);
            return ErrorCode::NONE;
        }
        match self.group.check_member(id, instance) {
            Ok(()) => {
                self.remove_member(id);
                ErrorCode::NONE
            }
            Err(code) => code,
        }
    }

    fn members_left(&mut self) {
        match self.group.state() {
            GroupState::CompletingRebalance | GroupState::Stable => self.prepare_rebalance(),
            GroupState::PreparingRebalance => self.complete_join_if_all_joined(),
            GroupState::Empty => {}
        }
    }
}
