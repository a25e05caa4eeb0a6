//! Records to partitions, partitions to batches, batches to leaders.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{MonoTime, Now};
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::add_partitions_to_txn::AddPartitionsToTxnTopic;
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::{AddPartitionsToTxnRequest, ProduceRequest};
use ackord_proto::records::Records;
use ackord_proto::str::Str;
use bytes::Bytes;

use super::accumulator::{Registration, TopicPartition};
use super::verdict::{Asked, Verdict, error, verdict};
use super::{
    Producer, ProducerOutput, State, Tag, Touched, TransactionVersion, Unrouted, WRONG_KIND,
};
use crate::ClientError;
use crate::network::{CoordinatorKind, Failure, Route, Sending};
use crate::partitioner::partition_for_key;

impl Producer {
    pub(super) fn take_record(&mut self, unrouted: Unrouted) -> Result<(), ClientError> {
        self.in_transaction()?;
        if unrouted.topic.is_empty() {
            return Err(ClientError::InvalidArgument("a topic name cannot be empty"));
        }
        if unrouted.partition.is_some_and(|partition| partition < 0) {
            return Err(ClientError::InvalidArgument(
                "a partition cannot be negative",
            ));
        }
        self.unrouted.push_back(unrouted);
        Ok(())
    }

    /// Gives each record its partition, as soon as its topic is known.
    pub(super) fn route_records(&mut self, now: MonoTime) {
        for _ in 0..self.unrouted.len() {
            let Some(unrouted) = self.unrouted.pop_front() else {
                break;
            };
            let Some(count) = self
                .network
                .cluster
                .topic(&unrouted.topic)
                .map(|t| t.partition_count())
            else {
                let refusal = self.network.cluster.take_refusal(&unrouted.topic);
                let last = self.network.cluster.topic_error(&unrouted.topic);
                let failure = match refusal {
                    Some(code) => ClientError::Refused {
                        code,
                        message: unrouted.topic.clone(),
                    },
                    None if unrouted.record.give_up_at <= now => ClientError::TimedOut { last },
                    None => {
                        self.network.want_topic(&unrouted.topic);
                        self.unrouted.push_back(unrouted);
                        continue;
                    }
                };
                self.finish(unrouted.record.call, Err(failure.clone().into_abortable()));
                return self.break_transaction(failure);
            };
            let partition = self.choose(&unrouted, count);
            let queue = self
                .partitions
                .entry((unrouted.topic, partition))
                .or_default();
            queue.push(unrouted.record);
        }
    }

    fn choose(&mut self, unrouted: &Unrouted, count: i32) -> i32 {
        match (unrouted.partition, &unrouted.record.key) {
            (Some(partition), _) => partition,
            (None, Some(key)) => partition_for_key(key, count),
            (None, None) => {
                let turn = self.turns.entry(unrouted.topic.clone()).or_default();
                let count = u32::try_from(count).unwrap_or(1).max(1);
                let partition = *turn % count;
                *turn = turn.wrapping_add(1);
                partition.cast_signed()
            }
        }
    }

    /// Sends a batch for each partition that has records and none under way.
    pub(super) fn send_batches(&mut self, now: Now) {
        if self.version == TransactionVersion::One {
            self.add_partitions(now);
        }
        let (producer_id, epoch) = (self.producer_id, self.producer_epoch);
        let mut batches = Vec::new();
        for (partition, queue) in &mut self.partitions {
            let registered =
                self.version == TransactionVersion::Two || queue.registration == Registration::Done;
            if registered
                && queue.is_ready()
                && let Some(batch) = queue.take_batch(self.config.batch_bytes, producer_id, epoch)
            {
                batches.push((partition.clone(), batch));
            }
        }
        for (partition, (batch, give_up_at)) in batches {
            self.produce(partition, batch, give_up_at);
        }
    }

    fn produce(&mut self, partition: TopicPartition, batch: Bytes, give_up_at: MonoTime) {
        let (topic, index) = partition.clone();
        let records = Some(Records::from(batch));
        let data = PartitionProduceData {
            index,
            records,
            ..Default::default()
        };
        let body = ProduceRequest {
            transactional_id: Some(self.config.transactional_id.clone()),
            acks: -1,
            timeout_ms: i32::try_from(self.config.request_timeout_ms).unwrap_or(i32::MAX),
            // The topic id is filled in when the request leaves.
            topic_data: [TopicProduceData {
                name: topic.clone(),
                partition_data: [data].into(),
                ..Default::default()
            }]
            .into(),
            ..Default::default()
        };
        let versions = match self.version {
            TransactionVersion::One => 3..=11,
            TransactionVersion::Two => 12..=13,
        };
        let route = Route::Leader(topic, index);
        self.touched = Touched::Yes;
        self.send(
            Sending::new(Tag::Produce(partition), route, body, give_up_at).versions(versions),
        );
    }

    pub(super) fn send(&mut self, sending: Sending<Tag>) {
        self.on_wire += 1;
        self.network.submit(sending);
    }

    /// Sends the request again, unless the transaction is being given up.
    pub(super) fn send_again(&mut self, sending: Sending<Tag>, code: ErrorCode) {
        self.on_wire += 1;
        self.network.again(sending, code);
    }

    /// Whether requests of the transaction are still worth repeating.
    pub(super) fn is_worth_repeating(&self) -> bool {
        matches!(
            self.state,
            State::Open | State::Preparing(_) | State::Committing(..)
        )
    }

    pub(super) fn produced(
        &mut self,
        partition: TopicPartition,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        let (code, offset, message) = match outcome {
            Ok(response) => produce_result(&response),
            Err(failure) => return self.batch_failed(&partition, failure.into()),
        };
        match verdict(Asked::Produce, code) {
            Verdict::Fine => {
                let calls = self
                    .partitions
                    .get_mut(&partition)
                    .map(|queue| queue.stored());
                for (call, index) in calls.into_iter().flatten().zip(0..) {
                    let offset = if offset < 0 { -1 } else { offset + index };
                    self.finish(
                        call,
                        Ok(ProducerOutput::Sent {
                            partition: partition.1,
                            offset,
                        }),
                    );
                }
            }
            Verdict::Retry if self.is_worth_repeating() => self.send_again(sending, code),
            other => {
                let message =
                    message.unwrap_or_else(|| "the broker did not take the records".into());
                self.batch_failed(&partition, error(&other, code, &message));
            }
        }
    }

    fn batch_failed(&mut self, partition: &TopicPartition, error: ClientError) {
        self.sequences_broken = true;
        let calls = self
            .partitions
            .get_mut(partition)
            .map(|queue| queue.failed());
        for call in calls.into_iter().flatten() {
            self.finish(call, Err(error.clone().into_abortable()));
        }
        self.break_transaction(error);
    }

    /// Transaction version 1: the coordinator has to know a partition before its first batch.
    fn add_partitions(&mut self, now: Now) {
        if self
            .partitions
            .values()
            .any(|queue| queue.registration == Registration::UnderWay)
        {
            return;
        }
        let mut topics: BTreeMap<Str, Vec<i32>> = BTreeMap::new();
        for ((topic, partition), queue) in &mut self.partitions {
            if queue.registration == Registration::None && queue.is_ready() {
                queue.registration = Registration::UnderWay;
                topics.entry(topic.clone()).or_default().push(*partition);
            }
        }
        if topics.is_empty() {
            return;
        }
        let topics = topics.into_iter();
        let body = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.config.transactional_id.clone(),
            v3_and_below_producer_id: self.producer_id,
            v3_and_below_producer_epoch: self.producer_epoch,
            v3_and_below_topics: topics
                .map(|(name, partitions)| AddPartitionsToTxnTopic {
                    name,
                    partitions,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        self.touched = Touched::Yes;
        let limit = self.api_limit(now);
        // From version 4 on this is the batched form between brokers.
        let route = self.coordinator();
        self.send(Sending::new(Tag::AddPartitions, route, body, limit).versions(0..=3));
    }

    pub(super) fn coordinator(&self) -> Route {
        Route::Coordinator(
            CoordinatorKind::Transaction,
            self.config.transactional_id.clone(),
        )
    }

    pub(super) fn partitions_added(
        &mut self,
        sending: Sending<Tag>,
        outcome: Result<Response, Failure>,
    ) {
        let code = match outcome {
            Ok(Response::AddPartitionsToTxn(response)) => {
                let topics = response.results_by_topic_v3_and_below.into_iter();
                let codes = topics.flat_map(|topic| topic.results_by_partition);
                first_cause(codes.map(|result| result.partition_error_code))
            }
            Ok(_) => WRONG_KIND,
            Err(failure) => return self.break_transaction(failure.into()),
        };
        match verdict(Asked::Register, code) {
            Verdict::Fine => {
                for queue in self.partitions.values_mut() {
                    if queue.registration == Registration::UnderWay {
                        queue.registration = Registration::Done;
                    }
                }
            }
            Verdict::Retry if self.is_worth_repeating() => self.send_again(sending, code),
            other => {
                let message = "the coordinator did not take a partition into the transaction";
                self.break_transaction(error(&other, code, message));
            }
        }
    }
}

/// The code that explains the others: partitions that were only dragged along do not.
pub(super) fn first_cause(codes: impl Iterator<Item = ErrorCode>) -> ErrorCode {
    codes.fold(ErrorCode::NONE, |found, code| match found {
        ErrorCode::NONE | ErrorCode::OPERATION_NOT_ATTEMPTED if code.is_error() => code,
        _ => found,
    })
}

/// Code, base offset and message for the one partition of the request.
fn produce_result(response: &Response) -> (ErrorCode, i64, Option<Str>) {
    let Response::Produce(response) = response else {
        return (WRONG_KIND, -1, None);
    };
    let mut partitions = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses);
    match partitions.next() {
        Some(one) => (one.error_code, one.base_offset, one.error_message.clone()),
        None => (ErrorCode::UNKNOWN_SERVER_ERROR, -1, None),
    }
}
