//! Named clients: what each knows of its producer and its membership, and what it learns from
//! answers.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    EndTxnResponse, InitProducerIdResponse, ProduceRequest, ProduceResponse, ShareFetchRequest,
    ShareFetchResponse, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use ackord_proto::records::BatchHeader;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use crate::consumer_protocol::Consumer;
use crate::script::{EpochOption, Identity, TopicPartition};

/// The producer of a client.
#[derive(Clone, Debug)]
pub(crate) struct Producer {
    pub(crate) transactional_id: String,
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    /// Next sequence by topic name and partition.
    pub(crate) sequences: BTreeMap<(String, i32), i32>,
}

impl Default for Producer {
    fn default() -> Self {
        let sequences = BTreeMap::new();
        Producer {
            transactional_id: String::new(),
            id: -1,
            epoch: -1,
            sequences,
        }
    }
}

impl Producer {
    /// Each epoch counts its sequences from 0.
    fn become_(&mut self, id: i64, epoch: i16) {
        if (id, epoch) != (self.id, self.epoch) {
            (self.id, self.epoch) = (id, epoch);
            self.sequences.clear();
        }
    }

    pub(crate) fn identified(&self, identity: &Identity, suffix: &str) -> Identified {
        let transactional_id = match &identity.transactional_id {
            Some(id) => format!("{id}{suffix}"),
            None => self.transactional_id.clone(),
        };
        Identified {
            transactional_id,
            id: identity.producer_id.unwrap_or(self.id),
            epoch: identity
                .epoch
                .map_or(self.epoch, |option| apply_epoch(option, self.epoch)),
        }
    }
}

/// A producer as a request names it.
#[derive(Clone, Debug)]
pub(crate) struct Identified {
    pub(crate) transactional_id: String,
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

pub(crate) fn apply_epoch(option: EpochOption, own: i16) -> i16 {
    match option {
        EpochOption::Absolute(epoch) => epoch,
        EpochOption::Relative(by) => own.saturating_add(by),
    }
}

/// The membership of a client in a share group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    /// Its member id, where that is not the name of the client.
    pub(crate) id: Option<String>,
    pub(crate) group: String,
    pub(crate) topics: Vec<String>,
    pub(crate) epoch: i32,
    pub(crate) assigned: bool,
    pub(crate) session_epoch: i32,
    pub(crate) in_session: BTreeSet<(Uuid, i32)>,
    /// Delivery count of each record by the last fetch that brought it.
    pub(crate) acquired: BTreeMap<(Uuid, i32), BTreeMap<i64, i16>>,
}

impl Member {
    pub(crate) fn forget_session(&mut self) {
        self.session_epoch = 0;
        self.in_session.clear();
    }
}

/// A request that was sent and not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    pub(crate) request: Request,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
}

/// One client with one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) correlation: i32,
    pub(crate) outstanding: VecDeque<Outstanding>,
    pub(crate) last_request: Option<(Request, i16)>,
    pub(crate) producer: Producer,
    pub(crate) member: Member,
    pub(crate) consumer: Consumer,
}

impl Client {
    /// The connection is gone, and with it what was under way.
    pub(crate) fn connection_lost(&mut self) {
        self.outstanding.clear();
        self.member.forget_session();
    }
}

/// All clients of a script and the topics that they know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    pub(crate) by_name: BTreeMap<String, Client>,
    /// Ids by the name in the script.
    topics: BTreeMap<String, Uuid>,
    /// Names of topics that never existed, by the id that was made up for them.
    ghosts: RefCell<BTreeMap<Uuid, String>>,
    pub(crate) suffix: String,
    /// What the times of records are counted from.
    pub(crate) wall_start_ms: i64,
}

impl Clients {
    pub(crate) fn new(suffix: String, wall_start_ms: i64) -> Self {
        Clients {
            suffix,
            wall_start_ms,
            ..Default::default()
        }
    }

    pub(crate) fn client(&mut self, name: &str) -> &mut Client {
        self.by_name.entry(name.to_string()).or_default()
    }

    /// The member id of a client.
    pub(crate) fn member_id(&self, name: &str) -> Str {
        let own = self.by_name.get(name);
        let own = own.and_then(|own| own.member.id.as_deref());
        Str::from(own.unwrap_or(name))
    }

    /// Makes a client a second instance of another one's producer and member.
    pub(crate) fn copy(&mut self, name: &str, from: &str) {
        let Client {
            producer, member, ..
        } = self.client(from).clone();
        let id = Some(member.id.unwrap_or_else(|| from.to_string()));
        let own = self.client(name);
        own.producer = producer;
        own.member = Member { id, ..member };
    }

    /// The name that goes over the wire; names of other runs differ. The empty name stays empty.
    pub(crate) fn wire(&self, name: &str) -> String {
        let internal = name.is_empty() || name.starts_with("__");
        if internal {
            name.to_string()
        } else {
            format!("{name}{}", self.suffix)
        }
    }

    pub(crate) fn learn_topic(&mut self, name: &str, id: Uuid) {
        self.topics.insert(name.to_string(), id);
    }

    /// The id of a topic; one that nobody has where the script never created it.
    pub(crate) fn topic_id(&self, name: &str) -> Uuid {
        self.topics.get(name).copied().unwrap_or_else(|| {
            let mut digest = crate::transcript::Digest::default();
            digest.update(name.as_bytes());
            let id = Uuid::from_bytes((u128::from(digest.0) << 64 | 1).to_be_bytes());
            self.ghosts.borrow_mut().insert(id, name.to_string());
            id
        })
    }

    /// The name of a topic that was created, the last one of its name.
    pub(crate) fn topic_name(&self, id: Uuid) -> Option<&str> {
        let mut topics = self.topics.iter();
        topics
            .find(|(_, own)| **own == id)
            .map(|(name, _)| name.as_str())
    }

    /// A partition as scripts write it.
    pub(crate) fn label_by_id(&self, id: Uuid, partition: i32) -> String {
        let name = self.topic_name(id).map(str::to_string);
        let name = name.or_else(|| self.ghosts.borrow().get(&id).cloned());
        format!("{}-{partition}", name.unwrap_or_else(|| id.to_string()))
    }

    /// A partition as scripts write it.
    pub(crate) fn label_by_name(&self, name: &str, partition: i32) -> String {
        format!(
            "{}-{partition}",
            name.strip_suffix(self.suffix.as_str()).unwrap_or(name)
        )
    }

    pub(crate) fn key(&self, partition: &TopicPartition) -> (Uuid, i32) {
        (self.topic_id(&partition.topic), partition.partition)
    }

    /// Takes from an answer what the client has to know for its next request.
    pub(crate) fn absorb(&mut self, client: &str, request: &Request, response: &Response) {
        let own = self.client(client);
        match (request, response) {
            (Request::Produce(request), Response::Produce(response)) => {
                sequence_on(&mut own.producer, request, response);
            }
            (Request::InitProducerId(request), Response::InitProducerId(response)) => {
                let InitProducerIdResponse {
                    error_code,
                    producer_id,
                    producer_epoch,
                    ..
                } = response;
                if !error_code.is_error() {
                    let id = request.transactional_id.as_ref();
                    own.producer.transactional_id = id.map_or(String::new(), |id| id.to_string());
                    own.producer.become_(*producer_id, *producer_epoch);
                }
            }
            (Request::EndTxn(_), Response::EndTxn(response)) => {
                let EndTxnResponse {
                    error_code,
                    producer_id,
                    producer_epoch,
                    ..
                } = response;
                if !error_code.is_error() && *producer_id >= 0 {
                    own.producer.become_(*producer_id, *producer_epoch);
                }
            }
            (Request::ShareGroupHeartbeat(request), Response::ShareGroupHeartbeat(response)) => {
                membership(&mut own.member, request, response);
            }
            (Request::ShareFetch(request), Response::ShareFetch(response)) => {
                fetched(&mut own.member, request, response);
            }
            (Request::ShareAcknowledge(request), Response::ShareAcknowledge(response)) => {
                proceed(
                    &mut own.member,
                    request.share_session_epoch,
                    response.error_code,
                );
            }
            (_, response) => own.consumer.absorb(response),
        }
    }
}

fn sequence_on(producer: &mut Producer, request: &ProduceRequest, response: &ProduceResponse) {
    for (topic, answer) in request.topic_data.iter().zip(&response.responses) {
        for (part, answer) in topic.partition_data.iter().zip(&answer.partition_responses) {
            let bytes = part.records.as_ref().map(|records| records.to_bytes());
            let Some(header) = bytes.and_then(|bytes| BatchHeader::parse(&bytes).ok()) else {
                continue;
            };
            let own = (header.producer_id, header.producer_epoch) == (producer.id, producer.epoch);
            if own && header.has_producer_id() && !answer.error_code.is_error() {
                let next = header.last_sequence().wrapping_add(1) & i32::MAX;
                producer
                    .sequences
                    .insert((topic.name.to_string(), part.index), next);
            }
        }
    }
}

fn membership(
    member: &mut Member,
    request: &ShareGroupHeartbeatRequest,
    response: &ShareGroupHeartbeatResponse,
) {
    if response.error_code.is_error() {
        return;
    }
    if request.member_epoch < 0 {
        member.epoch = 0;
        member.assigned = false;
        return;
    }
    member.epoch = response.member_epoch;
    if let Some(assignment) = &response.assignment {
        member.assigned = !assignment.topic_partitions.is_empty();
    }
}

fn proceed(member: &mut Member, request_epoch: i32, error: ErrorCode) {
    if error == ErrorCode::SHARE_SESSION_NOT_FOUND || request_epoch == -1 {
        member.forget_session();
    } else if !error.is_error() {
        member.session_epoch = request_epoch + 1;
    }
}

fn fetched(member: &mut Member, request: &ShareFetchRequest, response: &ShareFetchResponse) {
    proceed(member, request.share_session_epoch, response.error_code);
    if response.error_code.is_error() {
        return;
    }
    if request.share_session_epoch >= 0 {
        for topic in &request.topics {
            let keys = topic
                .partitions
                .iter()
                .map(|part| (topic.topic_id, part.partition_index));
            member.in_session.extend(keys);
        }
        for topic in &request.forgotten_topics_data {
            for partition in &topic.partitions {
                member.in_session.remove(&(topic.topic_id, *partition));
            }
        }
    }
    for topic in &response.responses {
        for part in &topic.partitions {
            let counts = member
                .acquired
                .entry((topic.topic_id, part.partition_index))
                .or_default();
            for range in &part.acquired_records {
                for offset in range.first_offset..=range.last_offset {
                    counts.insert(offset, range.delivery_count);
                }
            }
        }
    }
}
