//! Answers that have to say that storage failed, in place of the success they were made for.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;

/// Puts `code` wherever the response says NONE.
pub(super) fn fail(response: &mut Response, code: ErrorCode) {
    let coordinator = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    match response {
        Response::Produce(response) => {
            for partition in response
                .responses
                .iter_mut()
                .flat_map(|topic| &mut topic.partition_responses)
            {
                partition.base_offset = -1;
                set(&mut partition.error_code, code);
            }
        }
        Response::InitProducerId(response) => {
            response.producer_id = -1;
            response.producer_epoch = -1;
            set(&mut response.error_code, coordinator);
        }
        Response::EndTxn(response) => {
            response.producer_id = -1;
            response.producer_epoch = -1;
            set(&mut response.error_code, coordinator);
        }
        Response::AddPartitionsToTxn(response) => {
            let old = response.results_by_topic_v3_and_below.iter_mut();
            let new = response
                .results_by_transaction
                .iter_mut()
                .flat_map(|transaction| &mut transaction.topic_results);
            for partition in old
                .chain(new)
                .flat_map(|topic| &mut topic.results_by_partition)
            {
                set(&mut partition.partition_error_code, coordinator);
            }
        }
        Response::AddShareAcksToTxn(response) => set(&mut response.error_code, coordinator),
        Response::TxnShareAcknowledge(response) => {
            for partition in response
                .responses
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.error_code, coordinator);
            }
        }
        Response::WriteTxnMarkers(response) => {
            let topics = response
                .markers
                .iter_mut()
                .flat_map(|marker| &mut marker.topics);
            for partition in topics.flat_map(|topic| &mut topic.partitions) {
                set(&mut partition.error_code, code);
            }
        }
        Response::ShareAcknowledge(response) => {
            for partition in response
                .responses
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.error_code, coordinator);
            }
        }
        Response::ShareFetch(response) => {
            for partition in response
                .responses
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.acknowledge_error_code, coordinator);
            }
        }
        Response::CreateTopics(response) => {
            response
                .topics
                .iter_mut()
                .for_each(|topic| set(&mut topic.error_code, code));
        }
        Response::DeleteTopics(response) => {
            response
                .responses
                .iter_mut()
                .for_each(|topic| set(&mut topic.error_code, code));
        }
        Response::IncrementalAlterConfigs(response) => {
            response
                .responses
                .iter_mut()
                .for_each(|resource| set(&mut resource.error_code, code));
        }
        Response::InitializeShareGroupState(response) => {
            for partition in response
                .results
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.error_code, coordinator);
            }
        }
        Response::ReadShareGroupState(response) => {
            for partition in response
                .results
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.error_code, coordinator);
            }
        }
        Response::WriteShareGroupState(response) => {
            for partition in response
                .results
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.error_code, coordinator);
            }
        }
        Response::DeleteShareGroupState(response) => {
            for partition in response
                .results
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
            {
                set(&mut partition.error_code, coordinator);
            }
        }
        Response::ShareGroupHeartbeat(response) => set(&mut response.error_code, coordinator),
        Response::Metadata(response) => {
            for topic in &mut response.topics {
                set(&mut topic.error_code, ErrorCode::LEADER_NOT_AVAILABLE);
            }
        }
        Response::FindCoordinator(response) => {
            set(&mut response.error_code, coordinator);
            for found in &mut response.coordinators {
                set(&mut found.error_code, coordinator);
            }
        }
        // These promise nothing that storage could break.
        Response::ApiVersions(_)
        | Response::DescribeCluster(_)
        | Response::DescribeConfigs(_)
        | Response::DescribeTopicPartitions(_)
        | Response::Fetch(_)
        | Response::ListOffsets(_) => {}
    }
}

fn set(slot: &mut ErrorCode, code: ErrorCode) {
    if *slot == ErrorCode::NONE {
        *slot = code;
    }
}
