//! What the loads say: topics, records, members of share groups.

use std::fmt;

use ackord_proto::messages::create_topics::CreatableTopic;
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch as AckRange,
};
use ackord_proto::messages::share_fetch::{AcknowledgementBatch, FetchPartition, FetchTopic};
use ackord_proto::messages::{
    CreateTopicsRequest, IncrementalAlterConfigsRequest, ProduceRequest, ProduceResponse,
    ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareFetchRequest, ShareFetchResponse,
    ShareGroupHeartbeatRequest,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::peer::{Fallible, Peer, take};

const TIMEOUT_MS: i32 = 30_000;
const GROUP: i8 = 32;
const ACCEPT: i8 = 1;

/// A topic by name and id.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) name: Str,
    pub(crate) id: Uuid,
    pub(crate) partitions: i32,
}

pub(crate) fn create_topic(
    peer: &mut impl Peer,
    conn: usize,
    name: &str,
    partitions: i32,
) -> Fallible<Topic> {
    let topic = CreatableTopic {
        name: Str::from(name),
        num_partitions: partitions,
        replication_factor: 1,
        ..Default::default()
    };
    let request = CreateTopicsRequest {
        topics: vec![topic],
        timeout_ms: TIMEOUT_MS,
        ..Default::default()
    };
    let response = take!(peer.ask(conn, 7, request), CreateTopics);
    let created = response.topics.first().ok_or("no topic in the answer")?;
    if created.error_code.is_error() {
        return Err(format!("the topic cannot be created: {created:?}").into());
    }
    Ok(Topic {
        name: Str::from(name),
        id: created.topic_id,
        partitions,
    })
}

/// Sets a config of a group.
/// From now on the group takes acknowledgements by TxnOffsetCommit, and plain ones no more.
pub(crate) fn take_texts(peer: &mut impl Peer, conn: usize, group: &str) -> Fallible<()> {
    configure(
        peer,
        conn,
        group,
        "share.acknowledgement.mode",
        "transactional",
    )
}

pub(crate) fn configure(
    peer: &mut impl Peer,
    conn: usize,
    group: &str,
    name: &str,
    value: &str,
) -> Fallible<()> {
    let config = AlterableConfig {
        name: Str::from(name),
        value: Some(Str::from(value)),
        ..Default::default()
    };
    let resource = AlterConfigsResource {
        resource_type: GROUP,
        resource_name: Str::from(group),
        configs: vec![config],
        ..Default::default()
    };
    let request = IncrementalAlterConfigsRequest {
        resources: vec![resource],
        ..Default::default()
    };
    let response = take!(peer.ask(conn, 1, request), IncrementalAlterConfigs);
    match response.responses.first() {
        Some(done) if !done.error_code.is_error() => Ok(()),
        other => Err(format!("{name} cannot be set: {other:?}").into()),
    }
}

pub(crate) fn batch(records: i32, value: &[u8]) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for _ in 0..records {
        builder.push(1_700_000_000_000, None, Some(value));
    }
    builder.build()
}

pub(crate) fn produce_request(
    topic: &Topic,
    partitions: impl Iterator<Item = (i32, Bytes)>,
) -> ProduceRequest {
    let partition_data = partitions.map(|(index, batch)| PartitionProduceData {
        index,
        records: Some(batch.into()),
        ..Default::default()
    });
    let topic = TopicProduceData {
        name: topic.name.clone(),
        partition_data: partition_data.collect(),
        ..Default::default()
    };
    ProduceRequest {
        acks: -1,
        timeout_ms: TIMEOUT_MS,
        topic_data: vec![topic],
        ..Default::default()
    }
}

pub(crate) fn check_produced(response: &ProduceResponse) -> Fallible<()> {
    let refused = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses)
        .find(|partition| partition.error_code.is_error());
    match refused {
        Some(refused) => Err(format!("a batch is refused: {refused:?}").into()),
        None => Ok(()),
    }
}

/// The same batch into each partition.
pub(crate) fn produce(
    peer: &mut impl Peer,
    conn: usize,
    topic: &Topic,
    batch: &Bytes,
) -> Fallible<()> {
    let each = (0..topic.partitions).map(|index| (index, batch.clone()));
    let response = take!(peer.ask(conn, 9, produce_request(topic, each)), Produce);
    check_produced(&response)
}

/// Records that a member holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) delivery: i16,
}

/// A member of a share group with one topic and a share session.
pub(crate) struct Member {
    pub(crate) conn: usize,
    pub(crate) group: Str,
    pub(crate) id: Str,
    pub(crate) epoch: i32,
    topic: Topic,
    partitions: Vec<i32>,
    session: i32,
    /// What the last fetch brought.
    pub(crate) held: Vec<Held>,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in {} at epoch {}, partitions {:?}, session {}",
            self.id, self.group, self.epoch, self.partitions, self.session
        )
    }
}

impl Member {
    pub(crate) fn join(
        peer: &mut impl Peer,
        conn: usize,
        group: &str,
        number: u64,
        topic: &Topic,
    ) -> Fallible<Self> {
        let mut member = Member {
            conn,
            group: Str::from(group),
            id: Str::from(format!("member-{number}").as_str()),
            epoch: 0,
            topic: topic.clone(),
            partitions: Vec::new(),
            session: 0,
            held: Vec::new(),
        };
        member.heartbeat(peer)?;
        Ok(member)
    }

    /// Takes the assignment as it is now.
    pub(crate) fn heartbeat(&mut self, peer: &mut impl Peer) -> Fallible<()> {
        let request = ShareGroupHeartbeatRequest {
            group_id: self.group.clone(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            subscribed_topic_names: Some(vec![self.topic.name.clone()]),
            ..Default::default()
        };
        let response = take!(peer.ask(self.conn, 1, request), ShareGroupHeartbeat);
        if response.error_code.is_error() {
            return Err(format!("heartbeat: {response:?}").into());
        }
        self.epoch = response.member_epoch;
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions;
            self.partitions = topics.into_iter().flat_map(|t| t.partitions).collect();
        }
        Ok(())
    }

    /// Whether the partition is assigned to it.
    pub(crate) fn has(&self, partition: i32) -> bool {
        self.partitions.contains(&partition)
    }

    /// A fetch of at most so many records that accepts what is held.
    pub(crate) fn fetch_request(
        &mut self,
        max_records: i32,
        max_wait_ms: i32,
    ) -> ShareFetchRequest {
        let mut partitions: Vec<FetchPartition> = Vec::new();
        if self.session == 0 {
            partitions.extend(self.partitions.iter().map(|partition| FetchPartition {
                partition_index: *partition,
                ..Default::default()
            }));
        }
        for held in self.held.drain(..) {
            let batch = AcknowledgementBatch {
                first_offset: held.first,
                last_offset: held.last,
                acknowledge_types: vec![ACCEPT],
                ..Default::default()
            };
            match partitions.last_mut() {
                Some(last) if last.partition_index == held.partition => {
                    last.acknowledgement_batches.push(batch);
                }
                _ => partitions.push(FetchPartition {
                    partition_index: held.partition,
                    acknowledgement_batches: vec![batch],
                    ..Default::default()
                }),
            }
        }
        let topic = FetchTopic {
            topic_id: self.topic.id,
            partitions,
            ..Default::default()
        };
        let request = ShareFetchRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.id.clone()),
            share_session_epoch: self.session,
            max_wait_ms,
            min_bytes: 1,
            max_bytes: 50 << 20,
            max_records,
            batch_size: max_records,
            topics: Some(topic)
                .filter(|topic| !topic.partitions.is_empty())
                .into_iter()
                .collect(),
            ..Default::default()
        };
        self.session += 1;
        request
    }

    /// Notes what a fetch brought; returns how many records.
    pub(crate) fn fetched(&mut self, response: &ShareFetchResponse) -> Fallible<i64> {
        if response.error_code.is_error() {
            return Err(format!("share fetch: {response:?}").into());
        }
        let partitions = response
            .responses
            .iter()
            .flat_map(|topic| &topic.partitions);
        let mut count = 0;
        for partition in partitions {
            let refused =
                partition.error_code.is_error() || partition.acknowledge_error_code.is_error();
            if refused {
                return Err(format!("share fetch: {partition:?}").into());
            }
            for acquired in &partition.acquired_records {
                count += acquired.last_offset - acquired.first_offset + 1;
                self.held.push(Held {
                    partition: partition.partition_index,
                    first: acquired.first_offset,
                    last: acquired.last_offset,
                    delivery: acquired.delivery_count,
                });
            }
        }
        Ok(count)
    }

    /// Opens the session and has the share partitions begin, before there is a record.
    pub(crate) fn begin(&mut self, peer: &mut impl Peer) -> Fallible<()> {
        match self.fetch(peer, 1)? {
            0 => Ok(()),
            early => Err(format!("{early} records too early").into()),
        }
    }

    /// Accepts what is held and fetches what is there.
    pub(crate) fn fetch(&mut self, peer: &mut impl Peer, max_records: i32) -> Fallible<i64> {
        let request = self.fetch_request(max_records, 0);
        let response = take!(peer.ask(self.conn, 2, request), ShareFetch);
        self.fetched(&response)
    }

    /// Accepts every second of these records, a thousand ranges at a time.
    pub(crate) fn accept_every_second(
        &mut self,
        peer: &mut impl Peer,
        held: &[Held],
    ) -> Fallible<()> {
        for held in held {
            let request = self.accept_request(&[*held], 2);
            let response = take!(peer.ask(self.conn, 2, request), ShareAcknowledge);
            check_acknowledged(&response)?;
        }
        Ok(())
    }

    /// Accepts each `step`th of these records of one partition, one range for each.
    pub(crate) fn accept_request(&mut self, held: &[Held], step: usize) -> ShareAcknowledgeRequest {
        let offsets = held
            .iter()
            .flat_map(|held| (held.first..=held.last).step_by(step));
        let ranges = offsets.map(|offset| AckRange {
            first_offset: offset,
            last_offset: offset,
            acknowledge_types: vec![ACCEPT],
            ..Default::default()
        });
        let partition = AcknowledgePartition {
            partition_index: held.first().map_or(0, |held| held.partition),
            acknowledgement_batches: ranges.collect(),
            ..Default::default()
        };
        let topic = AcknowledgeTopic {
            topic_id: self.topic.id,
            partitions: vec![partition],
            ..Default::default()
        };
        let session = self.session;
        self.session += 1;
        ShareAcknowledgeRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.id.clone()),
            share_session_epoch: session,
            topics: vec![topic],
            ..Default::default()
        }
    }
}

pub(crate) fn check_acknowledged(response: &ShareAcknowledgeResponse) -> Fallible<()> {
    let partitions = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partitions);
    let refused = partitions
        .clone()
        .any(|partition| partition.error_code.is_error());
    match refused || response.error_code.is_error() {
        true => Err(format!("refused: {response:?}").into()),
        false => Ok(()),
    }
}
