//! JoinGroup (key 11).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{JoinGroupRequest, JoinGroupResponse};
use ackord_proto::str::Str;

use super::super::Broker;
use super::super::gather::Gather;
use crate::outbox::Ticket;

impl Broker {
    pub(super) fn join_group(&mut self, slot: u64, request: JoinGroupRequest) {
        let is_share_group = self.is_share_group(&request.group_id);
        let coordinator = match is_share_group {
            true => Err((ErrorCode::INCONSISTENT_GROUP_PROTOCOL, Str::EMPTY)),
            false => self
                .coordinator_of_group(&request.group_id)
                .map_err(|code| (code, request.member_id.clone())),
        };
        let partition = match coordinator {
            Ok(partition) => partition,
            Err((error_code, member_id)) => {
                let response = JoinGroupResponse {
                    error_code,
                    member_id,
                    ..Default::default()
                };
                return self.respond_join(slot, response, None);
            }
        };
        let (version, client) = (self.version(slot), self.client_of(slot));
        self.gathers.insert(slot, Gather::JoinGroup(partition));
        let ticket = Ticket { slot, part: 0 };
        self.with_gc_for(Some(slot), partition, |gc, ctx, out| {
            gc.join_group(ctx, ticket, version, &request, &client, out);
        });
    }
}
