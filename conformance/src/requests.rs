//! From what a client does to the request that it sends.

use ackord_proto::api::Request;
use ackord_proto::messages::add_partitions_to_txn::AddPartitionsToTxnTopic;
use ackord_proto::messages::add_share_acks_to_txn::AddShareAcksToTxnTopic;
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddShareAcksToTxnRequest, DeleteShareGroupStateRequest,
    EndTxnRequest, FetchRequest, InitProducerIdRequest, ProduceRequest,
    ReadShareGroupStateRequest, ShareAcknowledgeRequest, ShareFetchRequest,
    ShareGroupHeartbeatRequest, TxnShareAcknowledgeRequest, WriteShareGroupStateRequest,
    WriteTxnMarkersRequest, delete_share_group_state as delete_state, fetch,
    read_share_group_state as read_state, share_acknowledge as acknowledge, share_fetch,
    txn_share_acknowledge as stage, write_share_group_state as write_state,
    write_txn_markers as markers,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use crate::client::{Clients, Identified, apply_epoch};
use crate::core_arm::WALL_START_MS;
use crate::script::{AckSpan, AckSpans, EpochOption, StageOptions, TopicPartition, Verb};

/// Bytes that a fetch may return.
const MAX_BYTES: i32 = 50 * 1024 * 1024;

/// A request and its version.
pub(crate) type Versioned = (Request, i16);

impl Clients {
    /// The request of a verb; `None` where nothing is sent.
    pub(crate) fn request(&mut self, client: &str, verb: &Verb) -> Result<Versioned, String> {
        let own = self.client(client).clone();
        let identify = |identity| own.producer.identified(identity, &self.suffix);
        Ok(match verb {
            Verb::Ack(acks) => (self.acknowledge(client, acks).into(), 2),
            Verb::AddPartitions { partitions, identity } => {
                (self.add_partitions(identify(identity), partitions).into(), 3)
            }
            Verb::AddShareAcks { group, partitions, identity } => {
                (self.add_share_acks(identify(identity), group, partitions).into(), 0)
            }
            Verb::CloseSession => {
                let mut request = self.acknowledge(client, &Vec::new());
                request.share_session_epoch = -1;
                (request.into(), 2)
            }
            Verb::DeleteState { group, partition } => {
                (self.delete_state(group, partition).into(), 0)
            }
            Verb::EndTxn { commit, version, identity } => {
                let Identified { transactional_id, id, epoch } = identify(identity);
                let request = EndTxnRequest {
                    transactional_id: transactional_id.into(),
                    producer_id: id,
                    producer_epoch: epoch,
                    committed: *commit,
                    ..Default::default()
                };
                (request.into(), *version)
            }
            Verb::Fetch { partitions, acks, max_records, max_wait_ms, exact } => {
                let mut request = self.share_fetch(client, partitions, acks);
                request.max_records = *max_records;
                request.batch_size = *max_records;
                request.max_wait_ms = *max_wait_ms;
                request.share_acquire_mode = i8::from(*exact);
                (request.into(), 2)
            }
            Verb::Heartbeat => (self.heartbeat(client, own.member.epoch).into(), 1),
            Verb::Leave => (self.heartbeat(client, -1).into(), 1),
            Verb::Join { group, topics } => {
                let (group, topics) = (group.clone(), topics.clone());
                let member = &mut self.client(client).member;
                *member = Default::default();
                (member.group, member.topics) = (group, topics);
                (self.heartbeat(client, 0).into(), 1)
            }
            Verb::Init { transactional_id, timeout_ms } => {
                let request = InitProducerIdRequest {
                    transactional_id: Some(self.wire(transactional_id).into()),
                    transaction_timeout_ms: *timeout_ms,
                    ..Default::default()
                };
                (request.into(), 5)
            }
            Verb::Produce { partition, values } => {
                (self.produce(None, partition, values, 0).into(), 12)
            }
            Verb::Read { partitions, max_wait_ms, from } => {
                (self.fetch(partitions, *from, *max_wait_ms).into(), 12)
            }
            Verb::Repeat => {
                own.last_request.clone().ok_or("the client has sent nothing yet")?
            }
            Verb::Send { partition, values, version, identity } => {
                let key = (self.wire(&partition.topic), partition.partition);
                let sequence = own.producer.sequences.get(&key).copied().unwrap_or(0);
                let producer = identify(identity);
                (self.produce(Some(producer), partition, values, sequence).into(), *version)
            }
            Verb::Stage { group, member, acks, options, identity } => {
                let producer = identify(identity);
                let version = options.version.unwrap_or(1);
                (self.stage(producer, group, member, acks, options).into(), version)
            }
            Verb::WriteState { group, partition, first, last, state } => {
                let batch = write_state::StateBatch {
                    first_offset: *first,
                    last_offset: *last,
                    delivery_state: *state,
                    delivery_count: 1,
                    ..Default::default()
                };
                (self.write_state(group, partition, batch).into(), 1)
            }
            Verb::WriteMarkers { producer, partition, commit, identity } => {
                let suffix = self.suffix.clone();
                let own = self.client(producer).producer.identified(identity, &suffix);
                (self.write_markers(own, partition, *commit).into(), 1)
            }
            Verb::Answer | Verb::Begin | Verb::Copy(_) | Verb::Disconnect => {
                return Err("no request belongs to this step".to_string());
            }
        })
    }

    fn produce(
        &self,
        producer: Option<Identified>,
        partition: &TopicPartition,
        values: &[String],
        sequence: i32,
    ) -> ProduceRequest {
        let mut batch = BatchBuilder::new(0);
        if let Some(producer) = &producer {
            batch = batch.producer(producer.id, producer.epoch, sequence).transactional();
        }
        for value in values {
            batch.push(WALL_START_MS, None, Some(value.as_bytes()));
        }
        let data = PartitionProduceData {
            index: partition.partition,
            records: Some(batch.build().into()),
            ..Default::default()
        };
        let topic = TopicProduceData {
            name: self.wire(&partition.topic).into(),
            partition_data: vec![data],
            ..Default::default()
        };
        ProduceRequest {
            transactional_id: producer.map(|producer| producer.transactional_id.into()),
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![topic],
            ..Default::default()
        }
    }

    pub(crate) fn fetch(
        &self,
        partitions: &[TopicPartition],
        from: i64,
        max_wait_ms: i32,
    ) -> FetchRequest {
        let part = |partition: &TopicPartition| fetch::FetchPartition {
            partition: partition.partition,
            fetch_offset: from,
            partition_max_bytes: MAX_BYTES,
            ..Default::default()
        };
        let topics = by_topic(partitions, |own| own);
        let topics = topics.into_iter().map(|(topic, parts)| fetch::FetchTopic {
            topic: self.wire(topic).into(),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        FetchRequest {
            max_wait_ms,
            min_bytes: 1,
            max_bytes: MAX_BYTES,
            isolation_level: 1,
            topics: topics.collect(),
            ..Default::default()
        }
    }

    fn add_partitions(
        &self,
        producer: Identified,
        partitions: &[TopicPartition],
    ) -> AddPartitionsToTxnRequest {
        let topics = by_topic(partitions, |own| own).into_iter();
        let topics = topics.map(|(topic, parts)| AddPartitionsToTxnTopic {
            name: self.wire(topic).into(),
            partitions: parts.iter().map(|own| own.partition).collect(),
            ..Default::default()
        });
        AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: producer.transactional_id.into(),
            v3_and_below_producer_id: producer.id,
            v3_and_below_producer_epoch: producer.epoch,
            v3_and_below_topics: topics.collect(),
            ..Default::default()
        }
    }

    fn add_share_acks(
        &self,
        producer: Identified,
        group: &str,
        partitions: &[TopicPartition],
    ) -> AddShareAcksToTxnRequest {
        let topics = by_topic(partitions, |own| own).into_iter();
        let topics = topics.map(|(topic, parts)| AddShareAcksToTxnTopic {
            name: self.wire(topic).into(),
            partitions: parts.iter().map(|own| own.partition).collect(),
            ..Default::default()
        });
        AddShareAcksToTxnRequest {
            transactional_id: producer.transactional_id.into(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            group_id: self.wire(group).into(),
            topics: topics.collect(),
            ..Default::default()
        }
    }

    fn heartbeat(&mut self, client: &str, epoch: i32) -> ShareGroupHeartbeatRequest {
        let member = self.client(client).member.clone();
        let topics = (epoch == 0)
            .then(|| member.topics.iter().map(|topic| Str::from(self.wire(topic))).collect());
        ShareGroupHeartbeatRequest {
            group_id: self.wire(&member.group).into(),
            member_id: client.into(),
            member_epoch: epoch,
            subscribed_topic_names: topics,
            ..Default::default()
        }
    }

    fn share_fetch(
        &mut self,
        client: &str,
        partitions: &[TopicPartition],
        acks: &AckSpans,
    ) -> ShareFetchRequest {
        let member = self.client(client).member.clone();
        let wanted: Vec<_> = partitions.iter().map(|own| self.key(own)).collect();
        let mut parts: Vec<(TopicPartition, Vec<AckSpan>)> = acks.clone();
        let riding: Vec<_> = acks.iter().map(|(own, _)| own.clone()).collect();
        parts.extend(
            partitions.iter().filter(|own| !riding.contains(own)).map(|own| (own.clone(), vec![])),
        );
        let topics = by_topic(&parts, |(own, _)| own).into_iter();
        let part = |(own, spans): &(TopicPartition, Vec<AckSpan>)| share_fetch::FetchPartition {
            partition_index: own.partition,
            acknowledgement_batches: spans.iter().map(fetch_batch).collect(),
            ..Default::default()
        };
        let topics = topics.map(|(topic, parts)| share_fetch::FetchTopic {
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        let forgotten = member.in_session.iter().filter(|key| !wanted.contains(key));
        let forgotten = forgotten.map(|(topic, partition)| share_fetch::ForgottenTopic {
            topic_id: *topic,
            partitions: vec![*partition],
            ..Default::default()
        });
        ShareFetchRequest {
            group_id: Some(self.wire(&member.group).into()),
            member_id: Some(client.into()),
            share_session_epoch: member.session_epoch,
            min_bytes: 1,
            max_bytes: MAX_BYTES,
            is_renew_ack: acks.iter().flat_map(|(_, spans)| spans).any(renews),
            topics: topics.collect(),
            forgotten_topics_data: forgotten.collect(),
            ..Default::default()
        }
    }

    fn acknowledge(&mut self, client: &str, acks: &AckSpans) -> ShareAcknowledgeRequest {
        let member = self.client(client).member.clone();
        let part = |(own, spans): &(TopicPartition, Vec<AckSpan>)| {
            let batch = |span: &AckSpan| acknowledge::AcknowledgementBatch {
                first_offset: span.first,
                last_offset: span.last,
                acknowledge_types: span.types.clone(),
                ..Default::default()
            };
            acknowledge::AcknowledgePartition {
                partition_index: own.partition,
                acknowledgement_batches: spans.iter().map(batch).collect(),
                ..Default::default()
            }
        };
        let topics = by_topic(acks, |(own, _)| own).into_iter();
        let topics = topics.map(|(topic, parts)| acknowledge::AcknowledgeTopic {
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        ShareAcknowledgeRequest {
            group_id: Some(self.wire(&member.group).into()),
            member_id: Some(client.into()),
            share_session_epoch: member.session_epoch,
            is_renew_ack: acks.iter().flat_map(|(_, spans)| spans).any(renews),
            topics: topics.collect(),
            ..Default::default()
        }
    }

    fn stage(
        &mut self,
        producer: Identified,
        group: &str,
        member: &str,
        acks: &AckSpans,
        options: &StageOptions,
    ) -> TxnShareAcknowledgeRequest {
        let own = self.client(member).member.clone();
        let version = options.version.unwrap_or(1);
        let part = |(tp, spans): &(TopicPartition, Vec<AckSpan>)| {
            let counts = own.acquired.get(&self.key(tp));
            let count = |offset: i64| {
                let known = counts.and_then(|counts| counts.get(&offset)).copied();
                options.count.or(known).unwrap_or(1)
            };
            stage::TxnShareAcknowledgePartition {
                partition: tp.partition,
                acknowledgement_batches: spans
                    .iter()
                    .flat_map(|span| stage_batches(span, version, count))
                    .collect(),
                ..Default::default()
            }
        };
        let topics = by_topic(acks, |(own, _)| own).into_iter();
        let topics = topics.map(|(topic, parts)| stage::TxnShareAcknowledgeTopic {
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        let epoch = i16::try_from(own.epoch).unwrap_or(i16::MAX);
        let member_epoch = match options.member_epoch {
            Some(EpochOption::Absolute(epoch)) => i32::from(epoch),
            Some(option) => i32::from(apply_epoch(option, epoch)),
            None => own.epoch,
        };
        let mut request = TxnShareAcknowledgeRequest {
            group_id: self.wire(group).into(),
            transactional_id: producer.transactional_id.into(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            topics: topics.collect(),
            ..Default::default()
        };
        if version >= 1 {
            request.member_id = options.member.as_deref().unwrap_or(member).into();
            request.member_epoch = member_epoch;
        }
        request
    }

    fn write_markers(
        &self,
        producer: Identified,
        partition: &TopicPartition,
        commit: bool,
    ) -> WriteTxnMarkersRequest {
        let topic = markers::WritableTxnMarkerTopic {
            name: self.wire(&partition.topic).into(),
            partition_indexes: vec![partition.partition],
            ..Default::default()
        };
        let marker = markers::WritableTxnMarker {
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            transaction_result: commit,
            topics: vec![topic],
            ..Default::default()
        };
        WriteTxnMarkersRequest { markers: vec![marker], ..Default::default() }
    }

    fn write_state(
        &self,
        group: &str,
        partition: &TopicPartition,
        batch: write_state::StateBatch,
    ) -> WriteShareGroupStateRequest {
        let data = write_state::PartitionData {
            partition: partition.partition,
            state_epoch: i32::MAX,
            start_offset: -1,
            state_batches: vec![batch],
            ..Default::default()
        };
        let topic = write_state::WriteStateData {
            topic_id: self.topic_id(&partition.topic),
            partitions: vec![data],
            ..Default::default()
        };
        let group_id = self.wire(group).into();
        WriteShareGroupStateRequest { group_id, topics: vec![topic], ..Default::default() }
    }

    fn delete_state(&self, group: &str, tp: &TopicPartition) -> DeleteShareGroupStateRequest {
        let data = delete_state::PartitionData { partition: tp.partition, ..Default::default() };
        let topic = delete_state::DeleteStateData {
            topic_id: self.topic_id(&tp.topic),
            partitions: vec![data],
            ..Default::default()
        };
        let group_id = self.wire(group).into();
        DeleteShareGroupStateRequest { group_id, topics: vec![topic], ..Default::default() }
    }

    pub(crate) fn read_state(
        &self,
        group: &str,
        topic_id: Uuid,
        partition: i32,
    ) -> ReadShareGroupStateRequest {
        let data = read_state::PartitionData { partition, ..Default::default() };
        let topic = read_state::ReadStateData {
            topic_id,
            partitions: vec![data],
            ..Default::default()
        };
        let group_id = self.wire(group).into();
        ReadShareGroupStateRequest { group_id, topics: vec![topic], ..Default::default() }
    }
}

fn renews(span: &AckSpan) -> bool {
    span.types.contains(&4)
}

/// Puts neighbours of one topic together; a topic that comes again is named again.
fn by_topic<T>(items: &[T], partition: fn(&T) -> &TopicPartition) -> Vec<(&str, Vec<&T>)> {
    let mut topics: Vec<(&str, Vec<&T>)> = Vec::new();
    for item in items {
        let topic = partition(item).topic.as_str();
        match topics.last_mut() {
            Some((last, parts)) if *last == topic => parts.push(item),
            _ => topics.push((topic, vec![item])),
        }
    }
    topics
}

fn fetch_batch(span: &AckSpan) -> share_fetch::AcknowledgementBatch {
    share_fetch::AcknowledgementBatch {
        first_offset: span.first,
        last_offset: span.last,
        acknowledge_types: span.types.clone(),
        ..Default::default()
    }
}

/// A range as batches: one for each stretch with one delivery count (v1) or one type (v0).
fn stage_batches(
    span: &AckSpan,
    version: i16,
    count: impl Fn(i64) -> i16,
) -> Vec<stage::AcknowledgementBatch> {
    let length = span.last.saturating_sub(span.first).saturating_add(1);
    let whole = i64::try_from(span.types.len()) != Ok(length) && span.types.len() != 1;
    if whole || length <= 0 {
        let first = span.types.first().copied().unwrap_or_default();
        let types = if version == 0 { Vec::new() } else { span.types.clone() };
        return vec![batch(span.first, span.last, version, first, types, count(span.first))];
    }
    let kind = |offset: i64| match span.types.as_slice() {
        [one] => *one,
        types => {
            let index = usize::try_from(offset - span.first).unwrap_or_default();
            types.get(index).copied().unwrap_or_default()
        }
    };
    let same = |a: i64, b: i64| match version {
        0 => kind(a) == kind(b),
        _ => count(a) == count(b),
    };
    let mut batches = Vec::new();
    let mut first = span.first;
    for offset in span.first..=span.last {
        if offset < span.last && same(offset, offset + 1) {
            continue;
        }
        let types = match (version, span.types.as_slice()) {
            (0, _) => Vec::new(),
            (_, [one]) => vec![*one],
            _ => (first..=offset).map(kind).collect(),
        };
        batches.push(batch(first, offset, version, kind(first), types, count(first)));
        first = offset + 1;
    }
    batches
}

fn batch(
    first_offset: i64,
    last_offset: i64,
    version: i16,
    acknowledge_type: i8,
    acknowledge_types: Vec<i8>,
    delivery_count: i16,
) -> stage::AcknowledgementBatch {
    let mut batch =
        stage::AcknowledgementBatch { first_offset, last_offset, ..Default::default() };
    if version == 0 {
        batch.acknowledge_type = acknowledge_type;
    } else {
        batch.acknowledge_types = acknowledge_types;
        batch.delivery_count = delivery_count;
    }
    batch
}
