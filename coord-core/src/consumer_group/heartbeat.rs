//! Heartbeat (key 12).

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::HeartbeatRequest;

use super::classic_group::GroupState;
use super::coordinator::{ClassicReply, GroupCoordinator};
use super::validate::Caller;
use crate::outbox::Outbox;

impl GroupCoordinator {
    /// Keeps a member in its group: NONE, or INVALID_GROUP_ID, UNKNOWN_MEMBER_ID,
    /// FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS: join again.
    pub fn heartbeat(
        &mut self,
        now: Now,
        request: &HeartbeatRequest,
        out: &mut Outbox<ClassicReply>,
    ) -> ErrorCode {
        match self.check_heartbeat(request) {
            Err(code) => code,
            Ok(code) => {
                self.turn(now, &request.group_id, out, |turn| {
                    turn.extend_session(&request.member_id);
                });
                code
            }
        }
    }

    fn check_heartbeat(&self, request: &HeartbeatRequest) -> Result<ErrorCode, ErrorCode> {
        if request.group_id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        let group = self.group(&request.group_id);
        let group = group.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        group.check_caller(Caller {
            member: &request.member_id,
            instance: request.group_instance_id.as_ref(),
            generation: request.generation_id,
        })?;
        Ok(match group.state() {
            GroupState::PreparingRebalance => ErrorCode::REBALANCE_IN_PROGRESS,
            _ => ErrorCode::NONE,
        })
    }
}
