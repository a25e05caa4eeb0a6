//! LeaveGroup (key 13).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::leave_group::MemberIdentity;
use ackord_proto::messages::{LeaveGroupRequest, LeaveGroupResponse};
use alloc::vec;

use super::super::Broker;

/// From this version on several members leave at once, each with a code of its own (KIP-345).
const FIRST_BATCHED: i16 = 3;

impl Broker {
    pub(super) fn leave_group(&mut self, slot: u64, request: LeaveGroupRequest) {
        let batched = self.version(slot) >= FIRST_BATCHED;
        let members = match batched {
            true => request.members,
            false => vec![MemberIdentity {
                member_id: request.member_id,
                ..Default::default()
            }],
        };
        let coordinator = self.coordinator_of_group(&request.group_id);
        let left = coordinator.and_then(|partition| {
            let left = self.with_gc(partition, |gc, ctx, out| {
                gc.leave_group(ctx, &request.group_id, &members, out)
            });
            let gate = self.gc_gate(partition);
            left.unwrap_or(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE))
                .map(|members| (members, gate))
        });
        let mut response = LeaveGroupResponse::default();
        let gate = match left {
            Ok((members, gate)) => {
                if !batched {
                    let first = members.first();
                    response.error_code = first.map_or(ErrorCode::NONE, |own| own.error_code);
                } else {
                    response.members = members;
                }
                gate
            }
            Err(code) => {
                response.error_code = code;
                None
            }
        };
        self.respond(slot, response, gate);
    }
}
