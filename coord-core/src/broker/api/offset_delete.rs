//! OffsetDelete (key 47).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::offset_delete::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use ackord_proto::messages::{OffsetDeleteRequest, OffsetDeleteResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec::Vec;

use super::super::Broker;
use super::offset_commit::check_partition;

impl Broker {
    pub(super) fn offset_delete(&mut self, slot: u64, request: OffsetDeleteRequest) {
        let mut response = OffsetDeleteResponse::default();
        let mut wanted: Vec<(Str, i32)> = Vec::new();
        for topic in &request.topics {
            let found = self.topic_of_offsets(slot, false, &topic.name, Uuid::ZERO);
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let error_code = check_partition(found, asked.partition_index);
                if error_code == ErrorCode::NONE {
                    wanted.push((topic.name.clone(), asked.partition_index));
                }
                partitions.push(OffsetDeleteResponsePartition {
                    partition_index: asked.partition_index,
                    error_code,
                });
            }
            response.topics.push(OffsetDeleteResponseTopic {
                name: topic.name.clone(),
                partitions,
            });
        }
        let coordinator = self.offsets_to_delete(&request.group_id);
        let deleted = coordinator.and_then(|partition| {
            let deleted = self.with_gc(partition, |gc, _, out| {
                gc.delete_offsets(&request.group_id, &wanted, out)
            });
            let gate = self.gc_gate(partition);
            deleted
                .unwrap_or(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE))
                .map(|codes| (codes, gate))
        });
        match deleted {
            Ok((codes, gate)) => {
                let partitions = response.topics.iter_mut();
                let accepted = partitions
                    .flat_map(|topic| &mut topic.partitions)
                    .filter(|partition| partition.error_code == ErrorCode::NONE);
                for (partition, code) in accepted.zip(codes) {
                    partition.error_code = code;
                }
                self.respond(slot, response, gate);
            }
            Err(error_code) => {
                let response = OffsetDeleteResponse {
                    error_code,
                    ..Default::default()
                };
                self.respond(slot, response, None);
            }
        }
    }

    fn offsets_to_delete(&self, group: &str) -> Result<i32, ErrorCode> {
        if group.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        self.existing_coordinator(group)?
            .ok_or(ErrorCode::GROUP_ID_NOT_FOUND)
    }
}
