//! WriteTxnMarkers (key 27) from outside: an operator ends a transaction that hangs.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    WriteTxnMarkersRequest, WriteTxnMarkersResponse, write_txn_markers as markers,
};
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::later;

impl Broker {
    /// Writes markers for producers that no coordinator has in a transaction. Those of a
    /// transaction that a coordinator holds are refused without effect: ending one partition of it
    /// would part its output from its acknowledgements (KIP-1289).
    pub(super) fn write_txn_markers_request(&mut self, slot: u64, request: WriteTxnMarkersRequest) {
        let mut gate = None;
        let mut results = Vec::with_capacity(request.markers.len());
        for marker in request.markers {
            let claimed = self.tcs.values().any(|tc| tc.claims(marker.producer_id));
            if claimed {
                results.push(refused(&marker));
                continue;
            }
            let single = WriteTxnMarkersRequest {
                markers: alloc::vec![marker],
                ..Default::default()
            };
            let (response, own) = self.write_markers(&single, 0);
            gate = later(gate, own);
            results.extend(response.markers);
        }
        let response = WriteTxnMarkersResponse {
            markers: results,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }
}

fn refused(marker: &markers::WritableTxnMarker) -> markers::WritableTxnMarkerResult {
    let topic = |topic: &markers::WritableTxnMarkerTopic| markers::WritableTxnMarkerTopicResult {
        name: topic.name.clone(),
        partitions: topic
            .partition_indexes
            .iter()
            .map(
                |&partition_index| markers::WritableTxnMarkerPartitionResult {
                    partition_index,
                    error_code: ErrorCode::INVALID_TXN_STATE,
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
