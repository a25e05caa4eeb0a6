//! Answers that have to say that storage failed, in place of the success they were made for.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::records::Records;

/// Puts a code wherever a list of results, or the lists inside a list, say NONE.
macro_rules! put {
    ($code:expr, $results:expr, $field:ident) => {
        $results
            .iter_mut()
            .for_each(|result| set(&mut result.$field, $code))
    };
    ($code:expr, $results:expr, $inner:ident, $field:ident) => {
        $results
            .iter_mut()
            .for_each(|result| put!($code, result.$inner, $field))
    };
}

const LOG: ErrorCode = ErrorCode::KAFKA_STORAGE_ERROR;
const COORDINATOR: ErrorCode = ErrorCode::COORDINATOR_NOT_AVAILABLE;

/// Puts the code for failed storage wherever the response says NONE: what it promises is not there.
pub(super) fn fail(response: &mut Response) {
    use Response as R;
    match response {
        R::AddOffsetsToTxn(response) => set(&mut response.error_code, COORDINATOR),
        R::AddPartitionsToTxn(response) => fail_add_partitions(response, COORDINATOR),
        R::AddShareAcksToTxn(response) => set(&mut response.error_code, COORDINATOR),
        R::CreatePartitions(response) => put!(LOG, response.results, error_code),
        R::CreateTopics(response) => put!(LOG, response.topics, error_code),
        R::DeleteTopics(response) => put!(LOG, response.responses, error_code),
        R::EndTxn(response) => {
            (response.producer_id, response.producer_epoch) = (-1, -1);
            set(&mut response.error_code, COORDINATOR);
        }
        R::FindCoordinator(response) => {
            set(&mut response.error_code, COORDINATOR);
            put!(COORDINATOR, response.coordinators, error_code);
        }
        R::IncrementalAlterConfigs(response) => put!(LOG, response.responses, error_code),
        R::InitProducerId(response) => {
            (response.producer_id, response.producer_epoch) = (-1, -1);
            set(&mut response.error_code, COORDINATOR);
        }
        R::Metadata(response) => {
            put!(ErrorCode::LEADER_NOT_AVAILABLE, response.topics, error_code);
        }
        R::Produce(response) => {
            let topics = response.responses.iter_mut();
            for partition in topics.flat_map(|topic| &mut topic.partition_responses) {
                partition.base_offset = -1;
                set(&mut partition.error_code, LOG);
            }
        }
        R::TxnOffsetCommit(response) => {
            put!(COORDINATOR, response.topics, partitions, error_code);
        }
        R::WriteTxnMarkers(response) => {
            for marker in &mut response.markers {
                put!(LOG, marker.topics, partitions, error_code);
            }
        }
        other => fail_group(other),
    }
}

/// Answers of group coordinators.
fn fail_group(response: &mut Response) {
    use Response as R;
    match response {
        R::ConsumerGroupHeartbeat(response) => {
            (response.member_epoch, response.assignment) = (0, None);
            set(&mut response.error_code, COORDINATOR);
        }
        R::ConsumerGroupDescribe(response) => put!(COORDINATOR, response.groups, error_code),
        R::DeleteGroups(response) => put!(COORDINATOR, response.results, error_code),
        R::DescribeGroups(response) => put!(COORDINATOR, response.groups, error_code),
        R::JoinGroup(response) => set(&mut response.error_code, COORDINATOR),
        R::LeaveGroup(response) => {
            set(&mut response.error_code, COORDINATOR);
            put!(COORDINATOR, response.members, error_code);
        }
        R::OffsetCommit(response) => put!(COORDINATOR, response.topics, partitions, error_code),
        R::OffsetDelete(response) => set(&mut response.error_code, COORDINATOR),
        R::OffsetFetch(response) => {
            set(&mut response.error_code, COORDINATOR);
            put!(COORDINATOR, response.topics, partitions, error_code);
            put!(COORDINATOR, response.groups, error_code);
        }
        R::ShareGroupHeartbeat(response) => set(&mut response.error_code, COORDINATOR),
        R::SyncGroup(response) => set(&mut response.error_code, COORDINATOR),
        other => fail_share(other),
    }
}

/// Answers about share partitions and their states.
fn fail_share(response: &mut Response) {
    use Response as R;
    match response {
        R::AlterShareGroupOffsets(response) => {
            put!(COORDINATOR, response.responses, partitions, error_code);
        }
        R::DeleteShareGroupOffsets(response) => put!(COORDINATOR, response.responses, error_code),
        R::DeleteShareGroupState(response) => {
            put!(COORDINATOR, response.results, partitions, error_code);
        }
        R::DescribePendingShareAcks(response) => set(&mut response.error_code, COORDINATOR),
        R::DescribeShareGroupOffsets(response) => put!(COORDINATOR, response.groups, error_code),
        R::InitializeShareGroupState(response) => {
            put!(COORDINATOR, response.results, partitions, error_code);
        }
        R::ReadShareGroupState(response) => {
            put!(COORDINATOR, response.results, partitions, error_code);
        }
        R::ShareAcknowledge(response) => {
            put!(COORDINATOR, response.responses, partitions, error_code);
        }
        R::ShareFetch(response) => {
            put!(
                COORDINATOR,
                response.responses,
                partitions,
                acknowledge_error_code
            );
            // The share partitions are read again, and what was acquired is anybody's.
            let topics = response.responses.iter_mut();
            for partition in topics.flat_map(|topic| &mut topic.partitions) {
                partition.records = Some(Records::default());
                partition.acquired_records.clear();
            }
        }
        R::TxnShareAcknowledge(response) => {
            put!(COORDINATOR, response.responses, partitions, error_code);
        }
        R::TxnShareAcknowledgeDraft(response) => {
            put!(COORDINATOR, response.responses, partitions, error_code);
        }
        R::WriteShareGroupState(response) => {
            put!(COORDINATOR, response.results, partitions, error_code);
        }
        other => fail_transaction_admin(other),
    }
}

/// Answers that describe transactions and producers.
fn fail_transaction_admin(response: &mut Response) {
    use Response as R;
    const NOT_LEADER: ErrorCode = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    match response {
        R::DescribeProducers(response) => put!(NOT_LEADER, response.topics, partitions, error_code),
        R::DescribeTransactions(response) => {
            put!(COORDINATOR, response.transaction_states, error_code);
        }
        R::ListTransactions(response) => set(&mut response.error_code, COORDINATOR),
        // All others promise nothing that storage could break.
        _ => {}
    }
}

fn fail_add_partitions(
    response: &mut ackord_proto::messages::AddPartitionsToTxnResponse,
    code: ErrorCode,
) {
    let topics = &mut response.results_by_topic_v3_and_below;
    put!(code, topics, results_by_partition, partition_error_code);
    for transaction in &mut response.results_by_transaction {
        put!(
            code,
            transaction.topic_results,
            results_by_partition,
            partition_error_code
        );
    }
}

fn set(slot: &mut ErrorCode, code: ErrorCode) {
    if *slot == ErrorCode::NONE {
        *slot = code;
    }
}
