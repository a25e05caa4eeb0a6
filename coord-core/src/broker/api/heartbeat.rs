//! Heartbeat (key 12).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{HeartbeatRequest, HeartbeatResponse};

use super::super::Broker;

impl Broker {
    pub(super) fn heartbeat(&mut self, slot: u64, request: HeartbeatRequest) {
        let answered = self.coordinator_of_group(&request.group_id);
        let answered = answered.map(|partition| {
            self.with_gc(partition, |gc, ctx, out| gc.heartbeat(ctx, &request, out))
                .unwrap_or(ErrorCode::UNKNOWN_MEMBER_ID)
        });
        let response = HeartbeatResponse {
            error_code: answered.unwrap_or_else(|code| code),
            ..Default::default()
        };
        // It says nothing that a failed append could take back: the client would be told to join
        // again then.
        self.respond(slot, response, None);
    }
}
