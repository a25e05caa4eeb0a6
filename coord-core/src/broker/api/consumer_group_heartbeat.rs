//! ConsumerGroupHeartbeat (key 68, KIP-848).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use ackord_proto::str::Str;
use alloc::format;

use super::super::Broker;

impl Broker {
    pub(super) fn consumer_group_heartbeat(
        &mut self,
        slot: u64,
        request: ConsumerGroupHeartbeatRequest,
    ) {
        let refused = |error_code, error_message| ConsumerGroupHeartbeatResponse {
            error_code,
            error_message,
            ..Default::default()
        };
        if self.is_share_group(&request.group_id) {
            let why = format!("Group {} is not a consumer group.", request.group_id);
            let response = refused(ErrorCode::GROUP_ID_NOT_FOUND, Some(Str::from(why)));
            return self.respond(slot, response, None);
        }
        let partition = match self.coordinator_of_group(&request.group_id) {
            Ok(partition) => partition,
            Err(code) => return self.respond(slot, refused(code, None), None),
        };
        let (version, client) = (self.version(slot), self.client_of(slot));
        let answered = self.with_gc_for(Some(slot), partition, |gc, ctx, out| {
            gc.consumer_heartbeat(ctx, version, &request, &client, out)
        });
        let response =
            answered.unwrap_or_else(|| refused(ErrorCode::COORDINATOR_NOT_AVAILABLE, None));
        // Epoch and assignment may come from an append of another member that is under way.
        self.respond(slot, response, self.gc_gate(partition));
    }
}
