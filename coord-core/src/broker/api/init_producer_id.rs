//! InitProducerId (key 22).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{InitProducerIdRequest, InitProducerIdResponse};

use super::super::Broker;
use super::super::gather::Gather;
use crate::group::partition_for_id;
use crate::metadata::Metadata;
use crate::outbox::Ticket;
use crate::txn::ProducerIds;

impl Broker {
    pub(super) fn init_producer_id(&mut self, slot: u64, request: InitProducerIdRequest) {
        let version = self.version(slot);
        let Some(id) = request.transactional_id.clone() else {
            return self.init_idempotent(slot);
        };
        self.ensure_transaction_topic();
        let tc = partition_for_id(&id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            return self.refuse_init(slot, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        self.gathers.insert(slot, Gather::InitProducerId);
        let gate = self.cluster_gate();
        self.with_tc(tc, gate, |tc, ctx, out| {
            tc.init_producer_id(ctx, Ticket { slot, part: 0 }, &request, version, out);
        });
    }

    /// An idempotent producer without transactions: any id that nobody has.
    fn init_idempotent(&mut self, slot: u64) {
        let id = self.producer_ids.next();
        if let Some(reserved) = self.producer_ids.take_reservation() {
            self.append_cluster(&[Metadata::reserve_producer_ids(reserved)]);
        }
        match id {
            Ok(producer_id) => {
                let response = InitProducerIdResponse {
                    producer_id,
                    ..Default::default()
                };
                let gate = self.cluster_gate();
                self.respond(slot, response, gate);
            }
            Err(code) => self.refuse_init(slot, code),
        }
    }

    fn refuse_init(&mut self, slot: u64, error_code: ErrorCode) {
        let (producer_id, producer_epoch) = (-1, -1);
        let response = InitProducerIdResponse {
            error_code,
            producer_id,
            producer_epoch,
            ..Default::default()
        };
        self.respond(slot, response, None);
    }
}
