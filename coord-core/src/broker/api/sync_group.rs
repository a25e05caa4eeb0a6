//! SyncGroup (key 14).

use ackord_proto::messages::{SyncGroupRequest, SyncGroupResponse};

use super::super::Broker;
use super::super::gather::Gather;
use crate::outbox::Ticket;

impl Broker {
    pub(super) fn sync_group(&mut self, slot: u64, request: SyncGroupRequest) {
        let partition = match self.coordinator_of_group(&request.group_id) {
            Ok(partition) => partition,
            Err(error_code) => {
                let response = SyncGroupResponse {
                    error_code,
                    ..Default::default()
                };
                return self.respond(slot, response, None);
            }
        };
        let version = self.version(slot);
        self.gathers.insert(slot, Gather::SyncGroup(partition));
        let ticket = Ticket { slot, part: 0 };
        self.with_gc(partition, |gc, ctx, out| {
            gc.sync_group(ctx, ticket, version, &request, out);
        });
    }
}
