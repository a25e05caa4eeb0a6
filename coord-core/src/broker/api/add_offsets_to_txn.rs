//! AddOffsetsToTxn (key 25): adds the offsets of a group to a transaction (KIP-98).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use ackord_proto::str::Str;
use alloc::vec;

use super::super::Broker;
use super::super::gather::Gather;
use crate::group::partition_for_id;
use crate::metadata::OFFSETS_TOPIC;
use crate::outbox::Ticket;
use crate::txn::{AddKind, AddPartitions};

/// What a request adds.
#[derive(Debug)]
pub(in crate::broker) struct AddedOffsets {
    tc: i32,
    transactional_id: Str,
    group: Str,
}

impl Broker {
    pub(super) fn add_offsets_to_txn(&mut self, slot: u64, request: AddOffsetsToTxnRequest) {
        self.ensure_offsets_topic();
        self.ensure_transaction_topic();
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            return self.offsets_added(slot, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, None);
        }
        let own = partition_for_id(&request.group_id, self.offsets_partitions());
        let command = AddPartitions {
            version: self.version(slot),
            kind: AddKind::Partitions,
            transactional_id: request.transactional_id,
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            partitions: vec![(Str::from(OFFSETS_TOPIC), own)],
        };
        let added = AddedOffsets {
            tc,
            transactional_id: command.transactional_id.clone(),
            group: request.group_id,
        };
        self.gathers.insert(slot, Gather::AddOffsets(added));
        let ticket = Ticket { slot, part: 0 };
        self.with_tc(tc, None, |tc, ctx, out| {
            tc.add_partitions(ctx.now, ticket, command, out)
        });
    }

    /// A share group in transactional mode may have acknowledgements in a transaction that has
    /// added it.
    pub(in crate::broker) fn note_added_offsets(&mut self, added: &AddedOffsets, error: ErrorCode) {
        if error == ErrorCode::NONE
            && self.share_settings(&added.group).transactional
            && let Some(tc) = self.tcs.get_mut(&added.tc)
        {
            tc.note_offset_group(&added.transactional_id, &added.group);
        }
    }

    pub(in crate::broker) fn offsets_added(
        &mut self,
        slot: u64,
        error_code: ErrorCode,
        gate: Option<ackord_machine::OpId>,
    ) {
        let response = AddOffsetsToTxnResponse {
            error_code,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }
}
