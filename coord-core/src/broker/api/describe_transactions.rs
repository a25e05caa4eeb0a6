//! DescribeTransactions: who holds a transactional id, and what takes part in its transaction
//! (KIP-664).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_transactions::{TopicData, TransactionState};
use ackord_proto::messages::{DescribeTransactionsRequest, DescribeTransactionsResponse};
use ackord_proto::str::Str;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::later;
use super::once::once;
use crate::authorizer::ResourceType;
use crate::group::partition_for_id;
use crate::txn::TxnDescription;

impl Broker {
    pub(in crate::broker) fn describe_transactions(
        &mut self,
        slot: u64,
        request: DescribeTransactionsRequest,
    ) {
        let mut gate = None;
        let mut transaction_states = Vec::new();
        for id in once(request.transactional_ids) {
            let partition = partition_for_id(&id, self.transaction_partitions());
            gate = later(gate, self.tc_gate(partition));
            let found = self.known_transaction(slot, &id, partition);
            transaction_states.push(match found {
                Ok(transaction) => described(id, &transaction),
                Err(error_code) => TransactionState {
                    error_code,
                    transactional_id: id,
                    ..Default::default()
                },
            });
        }
        let response = DescribeTransactionsResponse {
            transaction_states,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn known_transaction(
        &self,
        slot: u64,
        id: &str,
        partition: i32,
    ) -> Result<TxnDescription<'_>, ErrorCode> {
        self.check_each(slot, ResourceType::TransactionalId, id)?;
        if id.is_empty() {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        if self.is_tc_frozen(partition) {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let tc = self.tcs.get(&partition);
        tc.and_then(|tc| tc.transaction(id))
            .ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)
    }
}

/// The partitions of `__share_group_state` are listed like all others: they say that the
/// transaction holds acknowledgements (KIP-1289).
fn described(transactional_id: Str, transaction: &TxnDescription<'_>) -> TransactionState {
    let topics = transaction.partitions();
    TransactionState {
        error_code: ErrorCode::NONE,
        transactional_id,
        transaction_state: Str::from(transaction.state.name()),
        transaction_timeout_ms: transaction.timeout_ms,
        transaction_start_time_ms: transaction.start_ms,
        producer_id: transaction.producer_id,
        producer_epoch: transaction.producer_epoch,
        topics: topics
            .map(|(topic, partitions)| TopicData {
                topic: topic.clone(),
                partitions,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}
