//! The answers to requests that lack what they need as a whole, as Kafka's requests build them: at
//! the top where the answer has a place for it, else at everything that was asked for.

use ackord_proto::api::{ApiKey, Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages as m;
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;

use super::needs::sentence;

/// From here on AddPartitionsToTxn has a code at the top.
const BATCHED_ADD_PARTITIONS: i16 = 4;
/// From here on FindCoordinator names several keys.
const BATCHED_FIND_COORDINATOR: i16 = 4;

/// The same code at each partition of each topic of a request.
macro_rules! at_partitions {
    ($topics:expr, $topic:path { $($same:ident),* }, $parts:ident => $to:ident, |$part:ident| $answer:expr) => {
        $topics
            .iter()
            .map(|topic| {
                let mut answer = <$topic>::default();
                $(answer.$same = topic.$same.clone();)*
                answer.$to = topic.$parts.iter().map(|$part| $answer).collect();
                answer
            })
            .collect()
    };
}

/// The answer to a request that may not be carried out.
pub(super) fn refused(request: &Request, version: i16, code: ErrorCode) -> Response {
    match request {
        Request::AddPartitionsToTxn(own) => add_partitions(own, version, code).into(),
        Request::CreateAcls(own) => create_acls(own, code).into(),
        Request::DeleteAcls(own) => delete_acls(own, code).into(),
        Request::FindCoordinator(own) => find_coordinator(own, version, code).into(),
        Request::OffsetCommit(own) => offset_commit(own, code).into(),
        Request::Produce(own) => produce(own, code).into(),
        Request::TxnOffsetCommit(own) => txn_offset_commit(own, code).into(),
        Request::WriteTxnMarkers(own) => write_markers(own, code).into(),
        Request::DeleteShareGroupState(_)
        | Request::InitializeShareGroupState(_)
        | Request::ReadShareGroupState(_)
        | Request::ReadShareGroupStateSummary(_)
        | Request::WriteShareGroupState(_) => share_state(request, code),
        other => at_the_top(other.key(), version, code),
    }
}

/// A code at the top, with Kafka's sentence where Kafka gives it.
fn at_the_top(api: ApiKey, version: i16, code: ErrorCode) -> Response {
    let mut response = Response::default_of(api);
    let message = || Some(Str::from(sentence(code)));
    match &mut response {
        Response::AddOffsetsToTxn(own) => own.error_code = code,
        Response::AddShareAcksToTxn(own) => own.error_code = code,
        Response::AlterShareGroupOffsets(own) => {
            (own.error_code, own.error_message) = (code, message());
        }
        Response::ConsumerGroupHeartbeat(own) => own.error_code = code,
        Response::DeleteShareGroupOffsets(own) => {
            (own.error_code, own.error_message) = (code, message());
        }
        Response::DescribeAcls(own) => (own.error_code, own.error_message) = (code, message()),
        Response::EndTxn(own) => own.error_code = code,
        Response::Heartbeat(own) => own.error_code = code,
        Response::InitProducerId(own) => (own.error_code, own.producer_epoch) = (code, -1),
        Response::JoinGroup(own) => {
            own.error_code = code;
            // Before version 7 it cannot be null.
            own.protocol_name = (version < 7).then_some(Str::EMPTY);
        }
        Response::LeaveGroup(own) => own.error_code = code,
        Response::ListConfigResources(own) => own.error_code = code,
        Response::OffsetDelete(own) => own.error_code = code,
        Response::ShareAcknowledge(own) => own.error_code = code,
        Response::ShareFetch(own) => own.error_code = code,
        Response::ShareGroupHeartbeat(own) => own.error_code = code,
        Response::SyncGroup(own) => own.error_code = code,
        Response::TxnShareAcknowledge(own) => own.error_code = code,
        Response::TxnShareAcknowledgeDraft(own) => own.error_code = code,
        // All others need nothing as a whole.
        _ => debug_assert!(false, "{} has no place for a refusal", api.name()),
    }
    response
}

fn add_partitions(
    request: &m::AddPartitionsToTxnRequest,
    version: i16,
    code: ErrorCode,
) -> m::AddPartitionsToTxnResponse {
    use m::add_partitions_to_txn::{
        AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
    };
    if version >= BATCHED_ADD_PARTITIONS {
        return m::AddPartitionsToTxnResponse {
            error_code: code,
            ..Default::default()
        };
    }
    let results = at_partitions!(
        request.v3_and_below_topics,
        AddPartitionsToTxnTopicResult { name },
        partitions => results_by_partition,
        |index| AddPartitionsToTxnPartitionResult {
            partition_index: *index,
            partition_error_code: code,
            ..Default::default()
        }
    );
    m::AddPartitionsToTxnResponse {
        results_by_topic_v3_and_below: results,
        ..Default::default()
    }
}

fn create_acls(request: &m::CreateAclsRequest, code: ErrorCode) -> m::CreateAclsResponse {
    let result = m::create_acls::AclCreationResult {
        error_code: code,
        error_message: Some(Str::from(sentence(code))),
        ..Default::default()
    };
    m::CreateAclsResponse {
        results: vec![result; request.creations.len()],
        ..Default::default()
    }
}

fn delete_acls(request: &m::DeleteAclsRequest, code: ErrorCode) -> m::DeleteAclsResponse {
    let result = m::delete_acls::DeleteAclsFilterResult {
        error_code: code,
        error_message: Some(Str::from(sentence(code))),
        ..Default::default()
    };
    m::DeleteAclsResponse {
        filter_results: vec![result; request.filters.len()],
        ..Default::default()
    }
}

fn find_coordinator(
    request: &m::FindCoordinatorRequest,
    version: i16,
    code: ErrorCode,
) -> m::FindCoordinatorResponse {
    let nowhere = |key: &Str| m::find_coordinator::Coordinator {
        key: key.clone(),
        node_id: -1,
        port: -1,
        error_code: code,
        error_message: Some(Str::from(sentence(code))),
        ..Default::default()
    };
    if version >= BATCHED_FIND_COORDINATOR {
        return m::FindCoordinatorResponse {
            coordinators: request.coordinator_keys.iter().map(nowhere).collect(),
            ..Default::default()
        };
    }
    let own = nowhere(&request.key);
    m::FindCoordinatorResponse {
        error_code: own.error_code,
        error_message: own.error_message,
        node_id: own.node_id,
        port: own.port,
        ..Default::default()
    }
}

fn offset_commit(request: &m::OffsetCommitRequest, code: ErrorCode) -> m::OffsetCommitResponse {
    use m::offset_commit::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
    let topics = at_partitions!(
        request.topics,
        OffsetCommitResponseTopic { name, topic_id },
        partitions => partitions,
        |part| OffsetCommitResponsePartition {
            partition_index: part.partition_index,
            error_code: code,
            ..Default::default()
        }
    );
    m::OffsetCommitResponse {
        topics,
        ..Default::default()
    }
}

fn txn_offset_commit(
    request: &m::TxnOffsetCommitRequest,
    code: ErrorCode,
) -> m::TxnOffsetCommitResponse {
    use m::txn_offset_commit::{TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic};
    let topics = at_partitions!(
        request.topics,
        TxnOffsetCommitResponseTopic { name, topic_id },
        partitions => partitions,
        |part| TxnOffsetCommitResponsePartition {
            partition_index: part.partition_index,
            error_code: code,
            ..Default::default()
        }
    );
    m::TxnOffsetCommitResponse {
        topics,
        ..Default::default()
    }
}

fn produce(request: &m::ProduceRequest, code: ErrorCode) -> m::ProduceResponse {
    use m::produce::{PartitionProduceResponse, TopicProduceResponse};
    let responses = at_partitions!(
        request.topic_data,
        TopicProduceResponse { name, topic_id },
        partition_data => partition_responses,
        |part| PartitionProduceResponse {
            index: part.index,
            error_code: code,
            base_offset: -1,
            ..Default::default()
        }
    );
    m::ProduceResponse {
        responses,
        ..Default::default()
    }
}

fn write_markers(
    request: &m::WriteTxnMarkersRequest,
    code: ErrorCode,
) -> m::WriteTxnMarkersResponse {
    use m::write_txn_markers::{
        WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
    };
    let markers = request.markers.iter().map(|marker| {
        let topics: Vec<WritableTxnMarkerTopicResult> = at_partitions!(
            marker.topics,
            WritableTxnMarkerTopicResult { name },
            partition_indexes => partitions,
            |index| WritableTxnMarkerPartitionResult {
                partition_index: *index,
                error_code: code,
                ..Default::default()
            }
        );
        WritableTxnMarkerResult {
            producer_id: marker.producer_id,
            topics,
            ..Default::default()
        }
    });
    m::WriteTxnMarkersResponse {
        markers: markers.collect(),
        ..Default::default()
    }
}

/// The five requests to share coordinators have one shape.
fn share_state(request: &Request, code: ErrorCode) -> Response {
    macro_rules! each {
        ($own:expr, $api:ident, $response:ident, $topic:ident) => {{
            let results = at_partitions!(
                $own.topics,
                m::$api::$topic { topic_id },
                partitions => partitions,
                |part| m::$api::PartitionResult {
                    partition: part.partition,
                    error_code: code,
                    error_message: Some(Str::from(sentence(code))),
                    ..Default::default()
                }
            );
            let response = m::$response {
                results,
                ..Default::default()
            };
            response.into()
        }};
    }
    match request {
        Request::DeleteShareGroupState(own) => each!(
            own,
            delete_share_group_state,
            DeleteShareGroupStateResponse,
            DeleteStateResult
        ),
        Request::InitializeShareGroupState(own) => each!(
            own,
            initialize_share_group_state,
            InitializeShareGroupStateResponse,
            InitializeStateResult
        ),
        Request::ReadShareGroupState(own) => each!(
            own,
            read_share_group_state,
            ReadShareGroupStateResponse,
            ReadStateResult
        ),
        Request::ReadShareGroupStateSummary(own) => each!(
            own,
            read_share_group_state_summary,
            ReadShareGroupStateSummaryResponse,
            ReadStateSummaryResult
        ),
        Request::WriteShareGroupState(own) => each!(
            own,
            write_share_group_state,
            WriteShareGroupStateResponse,
            WriteStateResult
        ),
        other => Response::default_of(other.key()),
    }
}
