//! WriteTxnMarkers (key 27) from outside: an operator ends a transaction that hangs.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    WriteTxnMarkersRequest, WriteTxnMarkersResponse, write_txn_markers as markers,
};
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::later;

impl Broker {
    /// Writes markers for producers that no coordinator knows, where they have a transaction open.
    /// Those of a producer that a coordinator knows are refused without effect: ending one partition
    /// of its transaction would part its output from its acknowledgements (KIP-1289).
    pub(super) fn write_txn_markers_request(&mut self, slot: u64, request: WriteTxnMarkersRequest) {
        let mut gate = None;
        let mut results = Vec::with_capacity(request.markers.len());
        for marker in request.markers {
            let claimed = self.tcs.values().any(|tc| tc.claims(marker.producer_id));
            let unknown = self
                .tcs
                .keys()
                .any(|partition| self.is_tc_frozen(*partition));
            if claimed || unknown {
                let code = match unknown {
                    true => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                    false => ErrorCode::INVALID_TXN_STATE,
                };
                results.push(answered(&marker, |_, _| code));
                continue;
            }
            let fit = |topic: &str, index| self.outside_marker_fits(&marker, topic, index);
            let mut result = answered(&marker, fit);
            for topic in &mut result.topics {
                for partition in &mut topic.partitions {
                    if partition.error_code == ErrorCode::NONE {
                        let index = partition.partition_index;
                        match self.write_marker(&marker, &topic.name, index, 0) {
                            Ok(own) => gate = later(gate, own),
                            Err(code) => partition.error_code = code,
                        }
                    }
                }
            }
            results.push(result);
        }
        let response = WriteTxnMarkersResponse {
            markers: results,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    /// Only an open transaction can be ended, under its own epoch or the one that fences it; any
    /// other epoch would lock out producers to come.
    fn outside_marker_fits(
        &self,
        marker: &markers::WritableTxnMarker,
        topic: &str,
        partition: i32,
    ) -> ErrorCode {
        let Some(log) = self.metadata.log(topic, partition) else {
            return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        };
        let open = self
            .logs
            .get(&log)
            .and_then(|log| log.open_transaction(marker.producer_id));
        match open {
            None => ErrorCode::INVALID_TXN_STATE,
            Some(open)
                if marker.producer_epoch < open.epoch
                    || marker.producer_epoch > open.epoch.saturating_add(1) =>
            {
                ErrorCode::INVALID_PRODUCER_EPOCH
            }
            Some(_) => ErrorCode::NONE,
        }
    }
}

/// The answer to a marker, with the code of each partition.
fn answered(
    marker: &markers::WritableTxnMarker,
    code: impl Fn(&str, i32) -> ErrorCode,
) -> markers::WritableTxnMarkerResult {
    let topic = |topic: &markers::WritableTxnMarkerTopic| markers::WritableTxnMarkerTopicResult {
        name: topic.name.clone(),
        partitions: topic
            .partition_indexes
            .iter()
            .map(
                |&partition_index| markers::WritableTxnMarkerPartitionResult {
                    partition_index,
                    error_code: code(&topic.name, partition_index),
                    ..Default::default()
                },
            )
            .collect(),
        ..Default::default()
    };
    markers::WritableTxnMarkerResult {
        producer_id: marker.producer_id,
        topics: marker.topics.iter().map(topic).collect(),
        ..Default::default()
    }
}
