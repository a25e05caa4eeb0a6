//! DeleteRecords: logs begin later (KIP-107).

use ackord_machine::LogId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use ackord_proto::messages::{DeleteRecordsRequest, DeleteRecordsResponse};
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::DeletionPart;

/// Stands for the high watermark.
const HIGH_WATERMARK: i64 = -1;

/// A request of which some partitions are still being trimmed.
#[derive(Debug)]
pub(in crate::broker) struct Deletion {
    topics: Vec<DeleteRecordsTopicResult>,
    /// Partitions without an answer.
    missing: usize,
}

impl Broker {
    pub(in crate::broker) fn delete_records(&mut self, slot: u64, request: DeleteRecordsRequest) {
        let mut trims = Vec::new();
        let mut topics = Vec::with_capacity(request.topics.len());
        for (topic, asked) in request.topics.iter().enumerate() {
            let mut partitions = Vec::with_capacity(asked.partitions.len());
            for (partition, data) in asked.partitions.iter().enumerate() {
                let mut result = DeleteRecordsPartitionResult {
                    partition_index: data.partition_index,
                    low_watermark: -1,
                    ..Default::default()
                };
                match self.new_start(slot, &asked.name, data) {
                    Ok((_, start, before)) if before <= start => result.low_watermark = start,
                    Ok((log, _, before)) => {
                        let part = DeletionPart {
                            slot,
                            topic,
                            partition,
                        };
                        trims.push((log, before, part));
                    }
                    Err(code) => result.error_code = code,
                }
                partitions.push(result);
            }
            topics.push(DeleteRecordsTopicResult {
                name: asked.name.clone(),
                partitions,
                ..Default::default()
            });
        }
        let missing = trims.len();
        self.deletions.insert(slot, Deletion { topics, missing });
        for (log, before, part) in trims {
            self.start_log_at(log, before, Some(part));
        }
        self.answer_deletion(slot);
    }

    /// The log, where it starts, and where it shall start.
    fn new_start(
        &self,
        slot: u64,
        topic: &str,
        asked: &DeleteRecordsPartition,
    ) -> Result<(LogId, i64, i64), ErrorCode> {
        self.check_topic(slot, topic)?;
        let known = self
            .metadata
            .topic(topic)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        if known.is_internal() {
            return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
        }
        let id = self
            .metadata
            .log(topic, asked.partition_index)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let log = self.readable_log(id)?;
        let config = log.config();
        if config.keys_required && config.retention.is_none() {
            return Err(ErrorCode::POLICY_VIOLATION);
        }
        let before = match asked.offset {
            HIGH_WATERMARK => log.high_watermark(),
            offset => offset,
        };
        if !(0..=log.high_watermark()).contains(&before) {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        Ok((id, log.start_offset(), before))
    }

    /// One partition is done: the offset at which it starts now, or nothing where that failed.
    pub(in crate::broker) fn records_deleted(&mut self, part: DeletionPart, low: Option<i64>) {
        let Some(deletion) = self.deletions.get_mut(&part.slot) else {
            return;
        };
        deletion.missing = deletion.missing.saturating_sub(1);
        let result = deletion
            .topics
            .get_mut(part.topic)
            .and_then(|topic| topic.partitions.get_mut(part.partition));
        if let Some(result) = result {
            match low {
                Some(low) => result.low_watermark = low,
                None => result.error_code = ErrorCode::KAFKA_STORAGE_ERROR,
            }
        }
        self.answer_deletion(part.slot);
    }

    fn answer_deletion(&mut self, slot: u64) {
        if let Some(deletion) = self.deletions.remove(&slot) {
            if deletion.missing > 0 {
                self.deletions.insert(slot, deletion);
                return;
            }
            let response = DeleteRecordsResponse {
                topics: deletion.topics,
                ..Default::default()
            };
            self.respond(slot, response, self.cluster_gate());
        }
    }
}
