//! From what a client does to the request that it sends.

use ackord_proto::api::Request;
use ackord_proto::messages::add_partitions_to_txn::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use ackord_proto::messages::add_share_acks_to_txn::AddShareAcksToTxnTopic;
use ackord_proto::messages::create_partitions::CreatePartitionsTopic;
use ackord_proto::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::{
    AddPartitionsToTxnRequest, AddShareAcksToTxnRequest, CreatePartitionsRequest,
    DeleteRecordsRequest, DeleteShareGroupStateRequest, EndTxnRequest, FetchRequest,
    InitProducerIdRequest, ProduceRequest, ReadShareGroupStateRequest, WriteShareGroupStateRequest,
    WriteTxnMarkersRequest, delete_share_group_state as delete_state, fetch,
    read_share_group_state as read_state, write_share_group_state as write_state,
    write_txn_markers as markers,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::uuid::Uuid;

use crate::client::{Clients, Identified};
use crate::script::{AckSpans, RecordOptions, StageOptions, TopicPartition, Verb};
use crate::share_requests::as_draft;

/// Bytes that a fetch may return.
pub(crate) const MAX_BYTES: i32 = 50 * 1024 * 1024;
/// Bytes of one partition.
const PARTITION_BYTES: i32 = 1024 * 1024;

/// A request and its version.
pub(crate) type Versioned = (Request, i16);

impl Clients {
    /// The request of a verb.
    ///
    /// # Errors
    /// Nothing is sent for it, or nothing was sent that could be repeated.
    pub(crate) fn request(&mut self, client: &str, verb: &Verb) -> Result<Versioned, String> {
        if let Some(request) = self.member_request(client, verb) {
            return Ok(request);
        }
        if let Some(request) = self.producer_request(client, verb) {
            return Ok(request);
        }
        match verb {
            Verb::CreatePartitions { topic, count } => {
                Ok((self.create_partitions(topic, *count).into(), 3))
            }
            Verb::DeleteRecords { partition, before } => {
                Ok((self.delete_records(partition, *before).into(), 2))
            }
            Verb::Consumer(verb) => Ok(self.consumer_request(client, verb)),
            Verb::DeleteState { group, partition } => {
                Ok((self.delete_state(group, partition).into(), 0))
            }
            Verb::GroupAdmin(verb) => Ok(self.group_admin(verb)),
            Verb::TxnAdmin(verb) => Ok(self.txn_admin(verb)),
            Verb::AclAdmin(verb) => Ok(self.acl_admin(verb)),
            Verb::OffsetAcks(verb) => Ok(self.offset_acks(client, verb)),
            Verb::Read {
                partitions,
                max_wait_ms,
                from,
            } => Ok((self.fetch(partitions, *from, *max_wait_ms).into(), 12)),
            Verb::Repeat => {
                let last = self.client(client).last_request.clone();
                last.ok_or_else(|| "the client has sent nothing yet".to_string())
            }
            Verb::WriteState {
                group,
                partition,
                first,
                last,
                state,
            } => {
                let batch = write_state::StateBatch {
                    first_offset: *first,
                    last_offset: *last,
                    delivery_state: *state,
                    delivery_count: 1,
                    ..Default::default()
                };
                Ok((self.write_state(group, partition, batch).into(), 1))
            }
            Verb::WriteMarkers {
                producer,
                partition,
                commit,
                identity,
            } => {
                let suffix = self.suffix.clone();
                let own = self.client(producer).producer.identified(identity, &suffix);
                Ok((self.write_markers(own, partition, *commit).into(), 1))
            }
            _ => Err("no request belongs to this step".to_string()),
        }
    }

    fn create_partitions(&self, topic: &str, count: i32) -> CreatePartitionsRequest {
        let topic = CreatePartitionsTopic {
            name: self.wire(topic).into(),
            count,
            ..Default::default()
        };
        CreatePartitionsRequest {
            topics: vec![topic],
            timeout_ms: 30_000,
            ..Default::default()
        }
    }

    fn delete_records(&self, partition: &TopicPartition, before: i64) -> DeleteRecordsRequest {
        let data = DeleteRecordsPartition {
            partition_index: partition.partition,
            offset: before,
            ..Default::default()
        };
        let topic = DeleteRecordsTopic {
            name: self.wire(&partition.topic).into(),
            partitions: vec![data],
            ..Default::default()
        };
        DeleteRecordsRequest {
            topics: vec![topic],
            timeout_ms: 30_000,
            ..Default::default()
        }
    }

    fn member_request(&mut self, client: &str, verb: &Verb) -> Option<Versioned> {
        Some(match verb {
            Verb::Ack(acks) => (self.acknowledge(client, acks).into(), 2),
            Verb::CloseSession => {
                let mut request = self.acknowledge(client, &Vec::new());
                request.share_session_epoch = -1;
                (request.into(), 2)
            }
            Verb::Fetch {
                partitions,
                acks,
                max_records,
                max_wait_ms,
                exact,
            } => {
                let mut request = self.share_fetch(client, partitions, acks);
                request.max_records = *max_records;
                request.batch_size = *max_records;
                request.max_wait_ms = *max_wait_ms;
                request.share_acquire_mode = i8::from(*exact);
                (request.into(), 2)
            }
            Verb::Heartbeat { epoch, topics } => (self.stay(client, *epoch, topics).into(), 1),
            Verb::Leave => (self.heartbeat(client, -1).into(), 1),
            Verb::Join { group, topics } => {
                let member = &mut self.client(client).member;
                *member = Default::default();
                (member.group, member.topics) = (group.clone(), topics.clone());
                (self.heartbeat(client, 0).into(), 1)
            }
            _ => return None,
        })
    }

    fn producer_request(&mut self, client: &str, verb: &Verb) -> Option<Versioned> {
        let own = self.client(client).producer.clone();
        let identify = |identity| own.identified(identity, &self.suffix);
        Some(match verb {
            Verb::AddPartitions {
                verify,
                partitions,
                identity,
            } => {
                let request = self.add_partitions(identify(identity), partitions);
                match verify {
                    true => (as_verification(request).into(), 5),
                    false => (request.into(), 3),
                }
            }
            Verb::AddShareAcks {
                group,
                partitions,
                identity,
            } => {
                let request = self.add_share_acks(identify(identity), group, partitions);
                (request.into(), 0)
            }
            Verb::EndTxn {
                commit,
                version,
                identity,
            } => (end_txn(identify(identity), *commit).into(), *version),
            Verb::Init {
                transactional_id,
                timeout_ms,
                two_phase,
            } => {
                let version = if two_phase.is_asked() { 6 } else { 5 };
                let mut request = self.init(transactional_id, *timeout_ms);
                request.enable_2pc = two_phase.enable;
                request.keep_prepared_txn = two_phase.keep;
                (request.into(), version)
            }
            Verb::Produce {
                partition,
                values,
                options,
            } => (self.produce(None, partition, values, options, 0).into(), 12),
            Verb::Send {
                partition,
                values,
                version,
                identity,
            } => {
                let key = (self.wire(&partition.topic), partition.partition);
                let sequence = own.sequences.get(&key).copied().unwrap_or(0);
                let producer = Some(identify(identity));
                let options = RecordOptions::default();
                let request = self.produce(producer, partition, values, &options, sequence);
                (request.into(), *version)
            }
            Verb::Stage {
                group,
                member,
                acks,
                options,
                identity,
            } => {
                let producer = identify(identity);
                self.staging(producer, group, member, acks, options)
            }
            _ => return None,
        })
    }

    fn staging(
        &mut self,
        producer: Identified,
        group: &str,
        member: &str,
        acks: &AckSpans,
        options: &StageOptions,
    ) -> Versioned {
        let request = self.stage(producer, group, member, acks, options);
        match options.draft {
            true => (as_draft(request).into(), 0),
            false => (request.into(), options.version.unwrap_or(1)),
        }
    }

    fn init(&self, transactional_id: &str, timeout_ms: i32) -> InitProducerIdRequest {
        InitProducerIdRequest {
            transactional_id: Some(self.wire(transactional_id).into()),
            transaction_timeout_ms: timeout_ms,
            ..Default::default()
        }
    }

    fn produce(
        &self,
        producer: Option<Identified>,
        partition: &TopicPartition,
        values: &[String],
        options: &RecordOptions,
        sequence: i32,
    ) -> ProduceRequest {
        let mut batch = BatchBuilder::new(0);
        if let Some(producer) = &producer {
            batch = batch
                .producer(producer.id, producer.epoch, sequence)
                .transactional();
        }
        for value in values {
            let key = options.key.as_deref().map(str::as_bytes);
            let tombstone = key.is_some() && value == "null";
            let value = (!tombstone).then_some(value.as_bytes());
            batch.push(self.wall_start_ms + options.time_ms, key, value);
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
            partition_max_bytes: PARTITION_BYTES,
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
        WriteTxnMarkersRequest {
            markers: vec![marker],
            ..Default::default()
        }
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
        WriteShareGroupStateRequest {
            group_id,
            topics: vec![topic],
            ..Default::default()
        }
    }

    fn delete_state(&self, group: &str, tp: &TopicPartition) -> DeleteShareGroupStateRequest {
        let data = delete_state::PartitionData {
            partition: tp.partition,
            ..Default::default()
        };
        let topic = delete_state::DeleteStateData {
            topic_id: self.topic_id(&tp.topic),
            partitions: vec![data],
            ..Default::default()
        };
        let group_id = self.wire(group).into();
        DeleteShareGroupStateRequest {
            group_id,
            topics: vec![topic],
            ..Default::default()
        }
    }

    pub(crate) fn read_state(
        &self,
        group: &str,
        topic_id: Uuid,
        partition: i32,
    ) -> ReadShareGroupStateRequest {
        let data = read_state::PartitionData {
            partition,
            ..Default::default()
        };
        let topic = read_state::ReadStateData {
            topic_id,
            partitions: vec![data],
            ..Default::default()
        };
        let group_id = self.wire(group).into();
        ReadShareGroupStateRequest {
            group_id,
            topics: vec![topic],
            ..Default::default()
        }
    }
}

fn end_txn(producer: Identified, committed: bool) -> EndTxnRequest {
    EndTxnRequest {
        transactional_id: producer.transactional_id.into(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        committed,
        ..Default::default()
    }
}

/// Puts neighbours of one topic together; a topic that comes again is named again.
/// The same partitions, asked for and not added.
fn as_verification(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnRequest {
    let transaction = AddPartitionsToTxnTransaction {
        transactional_id: request.v3_and_below_transactional_id,
        producer_id: request.v3_and_below_producer_id,
        producer_epoch: request.v3_and_below_producer_epoch,
        verify_only: true,
        topics: request.v3_and_below_topics,
        ..Default::default()
    };
    AddPartitionsToTxnRequest {
        transactions: vec![transaction],
        ..Default::default()
    }
}

pub(crate) fn by_topic<T>(
    items: &[T],
    partition: fn(&T) -> &TopicPartition,
) -> Vec<(&str, Vec<&T>)> {
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
