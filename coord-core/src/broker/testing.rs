//! A broker on a store in memory, for tests that speak to it in typed messages.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{
    Completion, Found, Limits, LoadDetail, LoadedLog, LogAppend, LogExtent, LogId, MonoTime, Now,
    OpKind, Outcome, StorageFault, StorageOp, StoredBatch, StoredCheckpoint, WallTime,
};
use ackord_proto::api::{Request, RequestHeader, Response, ResponseHeader, encode_request_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::CreatableTopic;
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::share_fetch::{self, AcquiredRecords};
use ackord_proto::messages::{
    CreateTopicsRequest, ProduceRequest, ShareAcknowledgeRequest, ShareFetchRequest,
    ShareGroupHeartbeatRequest, WriteShareGroupStateRequest, share_acknowledge as acks,
    write_share_group_state as write,
};
use ackord_proto::reader::Reader;
use ackord_proto::records::BatchHeader;
use ackord_proto::str::Str;
use ackord_proto::tags::UnknownTags;
use ackord_proto::uuid::Uuid;
use bytes::{Bytes, BytesMut};

use super::Broker;
use crate::authorizer::Principal;
use crate::contract::{ConnId, Effect, Event, Input};
use crate::metadata::BrokerConfig;

/// Asks for an answer and takes it out of [`Response`].
macro_rules! ask {
    ($broker:expr, $api:ident, $version:expr, $request:expr) => {
        match $broker.ask($version, $request) {
            ackord_proto::api::Response::$api(response) => response,
            other => panic!("another answer: {other:?}"),
        }
    };
}
pub(in crate::broker) use ask;

#[derive(Debug, Default)]
struct StoredLog {
    start: i64,
    end: i64,
    checkpoint: Option<StoredCheckpoint>,
    batches: Vec<StoredBatch>,
}

/// A broker, its store, and one client.
pub(in crate::broker) struct TestBroker {
    pub(in crate::broker) broker: Broker,
    pub(in crate::broker) now: Now,
    /// While set, the store starts nothing.
    pub(in crate::broker) storage_stands_still: bool,
    /// What the next operations of the store that are no append fail with.
    pub(in crate::broker) faults: VecDeque<StorageFault>,
    pub(in crate::broker) events: Vec<Event>,
    /// Why the client's connection was closed.
    pub(in crate::broker) closed: Vec<ConnId>,
    config: BrokerConfig,
    logs: BTreeMap<LogId, StoredLog>,
    queue: VecDeque<StorageOp>,
    asked: VecDeque<RequestHeader>,
    replies: VecDeque<Response>,
    conn: ConnId,
    correlation: i32,
}

/// A write of the state of one share partition.
pub(in crate::broker) fn write_share_state(
    group: &str,
    topic_id: Uuid,
    data: write::PartitionData,
) -> WriteShareGroupStateRequest {
    let topic = write::WriteStateData {
        topic_id,
        partitions: vec![data],
        ..Default::default()
    };
    WriteShareGroupStateRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    }
}

impl TestBroker {
    /// Serving, with one connection.
    pub(in crate::broker) fn new(configs: &[(&str, &str)]) -> Self {
        let mut config =
            BrokerConfig::from_pairs(configs.iter().copied()).expect("configs are valid");
        config.set_advertised("broker.test", 9092);
        let now = Now {
            mono: MonoTime::from_millis(1),
            wall: WallTime::from_millis(1_000_000),
        };
        let mut test = TestBroker {
            broker: Broker::new(config.clone(), Limits::default(), [7; 32], now),
            now,
            storage_stands_still: false,
            faults: VecDeque::new(),
            events: Vec::new(),
            closed: Vec::new(),
            config,
            logs: BTreeMap::new(),
            queue: VecDeque::new(),
            asked: VecDeque::new(),
            replies: VecDeque::new(),
            conn: ConnId(0),
            correlation: 0,
        };
        test.connect();
        test
    }

    /// Another broker on the same store; what is under way is lost.
    pub(in crate::broker) fn restart(&mut self) {
        self.queue.clear();
        self.asked.clear();
        self.replies.clear();
        self.storage_stands_still = false;
        self.broker = Broker::new(self.config.clone(), Limits::default(), [8; 32], self.now);
        self.connect();
    }

    fn connect(&mut self) {
        self.run();
        assert!(self.broker.is_serving(), "not serving: {:?}", self.events);
        self.connect_as(Principal::default());
    }

    /// Goes on over another connection, which is somebody's.
    pub(in crate::broker) fn connect_as(&mut self, principal: Principal) {
        self.conn = ConnId(self.conn.0 + 1);
        self.handle(Input::Opened {
            conn: self.conn,
            host: "client.test".into(),
            principal,
        });
    }

    /// Gives the broker an input and does what it asks for.
    pub(in crate::broker) fn handle(&mut self, input: Input) {
        self.broker
            .handle(self.now, input)
            .expect("the test keeps the contract");
        self.run();
    }

    /// Lets time pass.
    pub(in crate::broker) fn pass(&mut self, millis: i64) {
        let wall = WallTime::from_millis(self.now.wall.as_millis() + millis);
        self.now = Now {
            mono: self.now.mono.plus_millis(millis),
            wall,
        };
        self.handle(Input::Timeout);
    }

    /// Sends a request.
    pub(in crate::broker) fn send(&mut self, version: i16, request: impl Into<Request>) {
        let request = request.into();
        self.correlation += 1;
        let header = RequestHeader {
            api_key: request.key(),
            api_version: version,
            correlation_id: self.correlation,
            client_id: Some(Str::from("test")),
            unknown_tags: UnknownTags::default(),
        };
        let chunks = encode_request_frame(&header, &request).expect("the version has the fields");
        self.send_frame(header, joined(&chunks).slice(4..));
    }

    /// Sends bytes as the request that the header says.
    pub(in crate::broker) fn send_frame(&mut self, header: RequestHeader, bytes: Bytes) {
        self.asked.push_back(header);
        self.handle(Input::Frame {
            conn: self.conn,
            bytes,
        });
    }

    /// The next answer, if it is there.
    pub(in crate::broker) fn reply(&mut self) -> Option<Response> {
        self.replies.pop_front()
    }

    /// Sends a request and takes its answer.
    pub(in crate::broker) fn ask(&mut self, version: i16, request: impl Into<Request>) -> Response {
        self.send(version, request);
        self.reply().expect("an answer")
    }

    /// What the store has of a partition: its start and its batches, and what a start of the broker
    /// would read of it.
    pub(in crate::broker) fn stored(
        &mut self,
        topic: &str,
        partition: i32,
    ) -> (i64, Vec<StoredBatch>, LoadedLog) {
        let log = self
            .broker
            .metadata
            .log(topic, partition)
            .expect("it is there");
        let loaded = self.load(log, LoadDetail::Full);
        let stored = self.log(log);
        (stored.start, stored.batches.clone(), loaded)
    }

    /// Lets the store do what it was asked for.
    pub(in crate::broker) fn resume_storage(&mut self) {
        self.storage_stands_still = false;
        self.run();
    }

    /// Creates a topic and returns its id.
    pub(in crate::broker) fn create_topic(&mut self, name: &str, num_partitions: i32) -> Uuid {
        let topic = CreatableTopic {
            name: Str::from(name),
            num_partitions,
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest {
            topics: [topic].into(),
            ..Default::default()
        };
        let response = ask!(self, CreateTopics, 7, request);
        let created = response.topics.first().expect("one answer");
        assert!(!created.error_code.is_error(), "{created:?}");
        created.topic_id
    }

    /// Appends a batch to partition 0 of a topic.
    pub(in crate::broker) fn produce(&mut self, topic: &str, batch: Bytes) {
        let partition = PartitionProduceData {
            index: 0,
            records: Some(batch.into()),
            ..Default::default()
        };
        let topic = TopicProduceData {
            name: Str::from(topic),
            partition_data: [partition].into(),
            ..Default::default()
        };
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 1000,
            topic_data: [topic].into(),
            ..Default::default()
        };
        let response = ask!(self, Produce, 9, request);
        for partition in response
            .responses
            .iter()
            .flat_map(|topic| &topic.partition_responses)
        {
            assert!(!partition.error_code.is_error(), "{partition:?}");
        }
    }

    /// Has a member join share group `g` with one topic.
    pub(in crate::broker) fn join_share_group(&mut self, member: &str, topic: &str) {
        let request = ShareGroupHeartbeatRequest {
            group_id: Str::from("g"),
            member_id: Str::from(member),
            subscribed_topic_names: Some([Str::from(topic)].into()),
            ..Default::default()
        };
        let response = ask!(self, ShareGroupHeartbeat, 1, request);
        assert_eq!(response.error_code, ErrorCode::NONE);
    }

    /// What a member of share group `g` acquires of partition 0 of a topic, at once or in half a
    /// second.
    pub(in crate::broker) fn share_fetch(
        &mut self,
        member: &str,
        topic_id: Uuid,
        share_session_epoch: i32,
    ) -> Vec<AcquiredRecords> {
        let topic = share_fetch::FetchTopic {
            topic_id,
            partitions: [share_fetch::FetchPartition::default()].into(),
            ..Default::default()
        };
        let request = ShareFetchRequest {
            group_id: Some(Str::from("g")),
            member_id: Some(Str::from(member)),
            share_session_epoch,
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: i32::MAX,
            max_records: 100,
            batch_size: 100,
            topics: [topic].into(),
            ..Default::default()
        };
        self.send(1, request);
        self.pass(500);
        let Some(Response::ShareFetch(response)) = self.reply() else {
            panic!("no answer")
        };
        assert_eq!(response.error_code, ErrorCode::NONE);
        let topics = response.responses.into_iter();
        let partitions = topics.flat_map(|topic| topic.partitions);
        partitions
            .flat_map(|partition| partition.acquired_records)
            .collect()
    }

    /// Member `m` of `g` acknowledges records of partition 0: their offsets and the types.
    pub(in crate::broker) fn share_acknowledge(
        &mut self,
        topic_id: Uuid,
        share_session_epoch: i32,
        records: impl Iterator<Item = (i64, i8)>,
    ) {
        let batches = records.map(|(offset, kind)| acks::AcknowledgementBatch {
            first_offset: offset,
            last_offset: offset,
            acknowledge_types: vec![kind],
            ..Default::default()
        });
        let partition = acks::AcknowledgePartition {
            acknowledgement_batches: batches.collect(),
            ..Default::default()
        };
        let topic = acks::AcknowledgeTopic {
            topic_id,
            partitions: [partition].into(),
            ..Default::default()
        };
        let request = ShareAcknowledgeRequest {
            group_id: Some(Str::from("g")),
            member_id: Some(Str::from("m")),
            share_session_epoch,
            topics: [topic].into(),
            ..Default::default()
        };
        let response = ask!(self, ShareAcknowledge, 1, request);
        assert_eq!(response.error_code, ErrorCode::NONE);
        let topic = response.responses.first().expect("one topic");
        assert_eq!(topic.partitions[0].error_code, ErrorCode::NONE);
    }

    fn run(&mut self) {
        loop {
            while let Some(effect) = self.broker.poll_effect() {
                self.take(effect);
            }
            if self.storage_stands_still {
                return;
            }
            let Some(op) = self.queue.pop_front() else {
                return;
            };
            let completion = Completion {
                id: op.id,
                outcome: self.store(op.kind),
            };
            self.broker
                .handle(self.now, Input::Completed(completion))
                .expect("the store keeps the contract");
        }
    }

    fn take(&mut self, effect: Effect) {
        match effect {
            Effect::Close { conn, .. } => {
                self.closed.push(conn);
                self.broker
                    .handle(self.now, Input::Closed { conn })
                    .expect("the connection was open");
            }
            Effect::Emit(event) => self.events.push(event),
            Effect::Read { .. } => {}
            Effect::Send { conn, chunks } => {
                let frame = joined(&chunks);
                let bytes = frame.len();
                self.take_reply(frame.slice(4..));
                self.broker
                    .handle(self.now, Input::Sent { conn, bytes })
                    .expect("the connection is open");
            }
            Effect::Store(op) => self.queue.push_back(op),
        }
    }

    fn take_reply(&mut self, frame: Bytes) {
        let header = self.asked.pop_front().expect("an answer to a question");
        let api = header.api_key;
        // An ApiVersions that is too new is answered in version 0.
        let known = api.versions().contains(&header.api_version);
        let version = if known { header.api_version } else { 0 };
        let mut reader = Reader::new(frame);
        let answer = ResponseHeader::decode(api, version, &mut reader).expect("a header");
        assert_eq!(answer.correlation_id, header.correlation_id);
        let response = Response::decode(api, version, &mut reader).expect("a response");
        assert_eq!(
            reader.remaining(),
            0,
            "{} v{version} ends early",
            api.name()
        );
        self.replies.push_back(response);
    }

    fn store(&mut self, kind: OpKind) -> Result<Outcome, StorageFault> {
        if let OpKind::Append { parts } = kind {
            parts.into_iter().for_each(|part| self.append(part));
            return Ok(Outcome::Done);
        }
        if let Some(fault) = self.faults.pop_front() {
            return Err(fault);
        }
        match kind {
            OpKind::Append { .. } => {}
            OpKind::Checkpoint { log, at, state } => {
                self.log(log).checkpoint = Some(StoredCheckpoint { at, state });
            }
            OpKind::DropLog { log } => drop(self.logs.remove(&log)),
            OpKind::Find {
                log,
                from,
                timestamp,
            } => {
                let fits = |batch: &&StoredBatch| {
                    let header = BatchHeader::parse(&batch.bytes).expect("a stored batch");
                    batch.last >= from && header.max_timestamp >= timestamp
                };
                let batch = self.log(log).batches.iter().find(fits).cloned();
                return Ok(Outcome::Found(batch.map(|batch| Found { batch })));
            }
            OpKind::List => {
                let extents = self.logs.iter().map(|(log, stored)| LogExtent {
                    log: *log,
                    start: stored.start,
                    end: stored.end,
                });
                return Ok(Outcome::Listed(extents.collect()));
            }
            OpKind::Load { log, detail } => return Ok(Outcome::Loaded(self.load(log, detail))),
            OpKind::Read {
                log,
                from,
                max_bytes,
            } => {
                let mut left = max_bytes;
                let batches = self
                    .log(log)
                    .batches
                    .iter()
                    .filter(|batch| batch.last >= from);
                let read = batches.take_while(|batch| {
                    let first = left == max_bytes;
                    left = left.saturating_sub(batch.bytes.len());
                    first || left > 0
                });
                return Ok(Outcome::Read(read.cloned().collect()));
            }
            OpKind::Trim { log, before } => {
                let log = self.log(log);
                log.batches.retain(|batch| batch.last >= before);
                log.start = log.start.max(before);
            }
        }
        Ok(Outcome::Done)
    }

    fn log(&mut self, log: LogId) -> &mut StoredLog {
        self.logs.entry(log).or_default()
    }

    fn append(&mut self, part: LogAppend) {
        let LogAppend {
            log,
            base,
            last,
            head,
            body,
        } = part;
        let log = self.log(log);
        assert_eq!(base, log.end, "an append continues its log");
        log.end = last + 1;
        log.batches.push(StoredBatch {
            base,
            last,
            bytes: joined(&[head, body]),
        });
    }

    fn load(&mut self, log: LogId, detail: LoadDetail) -> LoadedLog {
        let stored = self.log(log);
        let at = stored
            .checkpoint
            .as_ref()
            .map_or(stored.start, |checkpoint| checkpoint.at);
        let cut = |batch: &StoredBatch| {
            let mut batch = batch.clone();
            if detail == LoadDetail::Headers && batch.bytes.len() > 256 {
                batch.bytes.truncate(61);
            }
            batch
        };
        LoadedLog {
            start: stored.start,
            end: stored.end,
            cleaned: false,
            checkpoint: stored.checkpoint.clone(),
            batches: stored
                .batches
                .iter()
                .filter(|batch| batch.last >= at)
                .map(cut)
                .collect(),
        }
    }
}

fn joined(chunks: &[Bytes]) -> Bytes {
    let mut joined = BytesMut::new();
    chunks
        .iter()
        .for_each(|chunk| joined.extend_from_slice(chunk));
    joined.freeze()
}
