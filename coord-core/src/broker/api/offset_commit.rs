//! OffsetCommit (key 8).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::offset_commit::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ackord_proto::messages::{OffsetCommitRequest, OffsetCommitResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec::Vec;

use super::super::Broker;
use crate::consumer_group::{CommitRequest, CommittedPartition};
use crate::metadata::Topic;

/// From this version on topics are named by their ids (KIP-848).
const FIRST_WITH_IDS: i16 = 10;

impl Broker {
    pub(super) fn offset_commit(&mut self, slot: u64, request: OffsetCommitRequest) {
        let version = self.version(slot);
        let mut commit = CommitRequest {
            group: request.group_id,
            member: request.member_id,
            instance: request.group_instance_id,
            generation: request.generation_id_or_member_epoch,
            partitions: Vec::new(),
        };
        let mut response = OffsetCommitResponse::default();
        for topic in &request.topics {
            let found =
                self.topic_of_offsets(slot, version >= FIRST_WITH_IDS, &topic.name, topic.topic_id);
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let error_code = check_partition(found, asked.partition_index);
                if let (Ok(found), ErrorCode::NONE) = (found, error_code) {
                    commit.partitions.push(CommittedPartition {
                        topic: found.name.clone(),
                        topic_id: found.id,
                        partition: asked.partition_index,
                        offset: asked.committed_offset,
                        leader_epoch: asked.committed_leader_epoch,
                        metadata: asked.committed_metadata.clone(),
                    });
                }
                partitions.push(OffsetCommitResponsePartition {
                    partition_index: asked.partition_index,
                    error_code,
                    ..Default::default()
                });
            }
            response.topics.push(OffsetCommitResponseTopic {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partitions,
                ..Default::default()
            });
        }
        if commit.partitions.is_empty() {
            return self.respond(slot, response, None);
        }
        let (codes, gate) = self.commit_offsets(version, &commit, request.retention_time_ms);
        let results = response.topics.iter_mut();
        let accepted = results
            .flat_map(|topic| &mut topic.partitions)
            .filter(|partition| partition.error_code == ErrorCode::NONE);
        for (partition, code) in accepted.zip(codes) {
            partition.error_code = code;
        }
        self.respond(slot, response, gate);
    }

    /// One code for each partition, and what they depend on.
    fn commit_offsets(
        &mut self,
        version: i16,
        commit: &CommitRequest,
        retention_ms: i64,
    ) -> (Vec<ErrorCode>, Option<ackord_machine::OpId>) {
        let all = |code| commit.partitions.iter().map(|_| code).collect();
        if self.is_share_group(&commit.group) {
            return (all(ErrorCode::GROUP_ID_NOT_FOUND), None);
        }
        let partition = match self.coordinator_of_group(&commit.group) {
            Ok(partition) => partition,
            Err(code) => return (all(code), None),
        };
        let committed = self.with_gc(partition, |gc, ctx, out| {
            gc.commit_offsets(ctx.now, version, commit, retention_ms, out)
        });
        match committed {
            Some(Ok(codes)) => (codes, self.gc_gate(partition)),
            Some(Err(code)) => (all(code), None),
            None => (all(ErrorCode::COORDINATOR_NOT_AVAILABLE), None),
        }
    }

    /// A topic that a group API names by id, or by name below the version that has ids.
    pub(super) fn topic_of_offsets(
        &self,
        slot: u64,
        by_id: bool,
        name: &Str,
        id: Uuid,
    ) -> Result<&Topic, ErrorCode> {
        if by_id {
            self.check_topic_id(slot, id)?;
            let found = self.metadata.topic_by_id(id);
            return found.ok_or(ErrorCode::UNKNOWN_TOPIC_ID);
        }
        self.check_topic(slot, name)?;
        let found = self.metadata.topic(name);
        found.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }
}

pub(super) fn check_partition(topic: Result<&Topic, ErrorCode>, partition: i32) -> ErrorCode {
    match topic {
        Ok(topic) if (0..topic.partitions).contains(&partition) => ErrorCode::NONE,
        Ok(_) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Err(code) => code,
    }
}
