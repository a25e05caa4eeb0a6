//! Heartbeat (key 12).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::HeartbeatRequest;
use ackord_proto::str::Str;

use super::classic_group::{ClassicGroup, GroupState};
use super::coordinator::{ClassicReply, GroupCoordinator, GroupCtx};
use super::validate::Caller;
use crate::outbox::Outbox;

impl GroupCoordinator {
    /// Keeps a member in its group: NONE, or INVALID_GROUP_ID, UNKNOWN_MEMBER_ID,
    /// FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS: join again.
    pub fn heartbeat(
        &mut self,
        ctx: &GroupCtx<'_>,
        request: &HeartbeatRequest,
        out: &mut Outbox<ClassicReply>,
    ) -> ErrorCode {
        if self.consumer_group(&request.group_id).is_some() {
            return self.heartbeat_consumer_group(ctx.now, request, ctx.cluster);
        }
        match self.check_heartbeat(request) {
            Err(code) => code,
            Ok(code) => {
                self.turn(ctx.now, &request.group_id, out, |turn| {
                    turn.extend_session(&request.member_id);
                });
                code
            }
        }
    }

    fn check_heartbeat(&self, request: &HeartbeatRequest) -> Result<ErrorCode, ErrorCode> {
        let caller = Caller {
            member: &request.member_id,
            instance: request.group_instance_id.as_ref(),
            generation: request.generation_id,
        };
        let group = self.group_of(&request.group_id, caller)?;
        Ok(match group.state() {
            GroupState::PreparingRebalance => ErrorCode::REBALANCE_IN_PROGRESS,
            _ => ErrorCode::NONE,
        })
    }

    /// The group that a member speaks to.
    pub(super) fn group_of(
        &self,
        id: &Str,
        caller: Caller<'_>,
    ) -> Result<&ClassicGroup, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        let group = self.group(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        group.check_caller(caller)?;
        Ok(group)
    }
}
