//! WriteTxnMarkers (key 27) from outside: an operator ends a transaction that hangs.

use ackord_machine::OpId;
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
            results.push(answered(&marker, |topic, index| {
                let written = match self.outside_marker(&marker, topic, index) {
                    Ok(Ends::Open) => self.write_marker(&marker, topic, index, 0),
                    Ok(Ends::Nothing(own)) => Ok(own),
                    Err(code) => Err(code),
                };
                match written {
                    Ok(own) => {
                        gate = later(gate, own);
                        ErrorCode::NONE
                    }
                    Err(code) => code,
                }
            }));
        }
        let response = WriteTxnMarkersResponse {
            markers: results,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    /// An open transaction can be ended under its own epoch or the one that fences it; any other
    /// epoch would lock out producers to come. Where none is open there is nothing to write: Kafka
    /// appends a marker that ends nothing, and answers the same.
    fn outside_marker(
        &self,
        marker: &markers::WritableTxnMarker,
        topic: &str,
        partition: i32,
    ) -> Result<Ends, ErrorCode> {
        let id = self.metadata.log(topic, partition);
        let id = id.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let Some(log) = self.logs.get(&id).filter(|_| !self.frozen.contains(&id)) else {
            return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        };
        let (id_of_producer, epoch) = (marker.producer_id, marker.producer_epoch);
        if id_of_producer < 0 {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let fits = match log.open_transaction(id_of_producer) {
            Some(open) => (open.epoch..=open.epoch.saturating_add(1)).contains(&epoch),
            None => log
                .producer_epoch(id_of_producer)
                .is_none_or(|own| own <= epoch),
        };
        match log.open_transaction(id_of_producer) {
            _ if !fits => Err(ErrorCode::INVALID_PRODUCER_EPOCH),
            Some(_) => Ok(Ends::Open),
            None => Ok(Ends::Nothing(self.journal.newest(id))),
        }
    }
}

/// What a marker from outside ends.
enum Ends {
    /// An open transaction.
    Open,
    /// Nothing that is open; whatever ended it is stored with this operation.
    Nothing(Option<OpId>),
}

/// The answer to a marker, with the code of each partition.
fn answered(
    marker: &markers::WritableTxnMarker,
    mut code: impl FnMut(&str, i32) -> ErrorCode,
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
