//! EndTxn (key 26).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{EndTxnRequest, EndTxnResponse};

use super::super::Broker;
use super::super::gather::Gather;
use crate::group::partition_for_id;
use crate::outbox::Ticket;

impl Broker {
    pub(super) fn end_txn(&mut self, slot: u64, request: EndTxnRequest) {
        let version = self.version(slot);
        self.ensure_transaction_topic();
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            let response = EndTxnResponse {
                error_code: ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        self.gathers.insert(slot, Gather::EndTxn);
        self.with_tc(tc, None, |tc, ctx, out| {
            tc.end_txn(ctx, Ticket { slot, part: 0 }, &request, version, out);
        });
    }
}
