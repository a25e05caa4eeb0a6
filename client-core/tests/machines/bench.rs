//! A broker in memory that plays its part by hand: it opens connections, shakes hands and answers
//! look-ups by itself; every other request waits for the test to answer it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ackord_client_core::{
    CallId, ClientEffect, ClientError, ClientInput, ConnId, Machine, NetworkEffect, NetworkInput,
};
use ackord_machine::{MonoTime, Now, WallTime};
use ackord_proto::api::{ApiKey, Request, RequestHeader, Response, encode_response_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::frame::FrameBuffer;
use ackord_proto::messages::api_versions::{ApiVersion, FinalizedFeatureKey};
use ackord_proto::messages::find_coordinator::Coordinator;
use ackord_proto::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackord_proto::messages::{
    ApiVersionsResponse, FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest,
    MetadataResponse,
};
use ackord_proto::reader::Reader;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

pub(crate) const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);

/// A request that the client sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) conn: ConnId,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) request: Request,
}

pub(crate) struct Bench<M: Machine> {
    pub(crate) machine: M,
    pub(crate) now: Now,
    /// Key to versions.
    pub(crate) offers: BTreeMap<i16, (i16, i16)>,
    pub(crate) transaction_version: i16,
    /// Versions of ApiVersions up to this one are understood.
    pub(crate) api_versions_max: i16,
    /// Partitions of the topic `t`; none where it does not exist.
    pub(crate) partitions: i32,
    pub(crate) coordinator_codes: VecDeque<ErrorCode>,
    pub(crate) refuse_connections: bool,
    pub(crate) look_ups: Vec<(i16, Request)>,
    pub(crate) connects: usize,
    pub(crate) open: BTreeSet<ConnId>,
    waiting: VecDeque<Sent>,
    /// Look-ups behind requests that the test has not answered, with their answers.
    behind: Vec<(Sent, i16, Response)>,
    /// Correlation ids that wait for an answer, for replies keep their order.
    owed: BTreeMap<ConnId, VecDeque<i32>>,
    buffers: BTreeMap<ConnId, FrameBuffer>,
    done: BTreeMap<CallId, Result<M::Output, ClientError>>,
    calls: u64,
}

impl<M: Machine> Bench<M>
where
    M::Output: std::fmt::Debug,
{
    pub(crate) fn new(machine: M) -> Self {
        let offers = ApiKey::ALL.iter().map(|api| {
            let versions = api.versions();
            (api.key(), (*versions.start(), *versions.end()))
        });
        Bench {
            machine,
            now: Now {
                mono: MonoTime::from_millis(1),
                wall: WallTime::from_millis(1_000_000),
            },
            offers: offers.collect(),
            transaction_version: 2,
            api_versions_max: 5,
            partitions: 3,
            coordinator_codes: VecDeque::new(),
            refuse_connections: false,
            look_ups: Vec::new(),
            connects: 0,
            open: BTreeSet::new(),
            waiting: VecDeque::new(),
            behind: Vec::new(),
            owed: BTreeMap::new(),
            buffers: BTreeMap::new(),
            done: BTreeMap::new(),
            calls: 0,
        }
    }

    pub(crate) fn call(&mut self, command: M::Command) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        self.input(ClientInput::Call { call, command });
        call
    }

    fn input(&mut self, input: ClientInput<M::Command>) {
        self.machine.handle(self.now, input);
        self.drain();
    }

    /// The future of the call was dropped.
    pub(crate) fn abandon(&mut self, call: CallId, output: Option<M::Output>) {
        self.machine.abandoned(self.now, call, output);
        self.drain();
    }

    pub(crate) fn network(&mut self, input: NetworkInput) {
        self.input(ClientInput::Network(input));
    }

    fn drain(&mut self) {
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                ClientEffect::Done { call, result } => {
                    assert!(
                        self.done.insert(call, result).is_none(),
                        "{call:?} ended twice"
                    );
                }
                ClientEffect::Network(NetworkEffect::Connect { conn, .. }) => {
                    self.connects += 1;
                    let answer = if self.refuse_connections {
                        NetworkInput::ConnectFailed { conn }
                    } else {
                        self.open.insert(conn);
                        self.buffers.insert(conn, FrameBuffer::new(1 << 20));
                        NetworkInput::Connected { conn }
                    };
                    self.machine.handle(self.now, ClientInput::Network(answer));
                }
                ClientEffect::Network(NetworkEffect::Close { conn }) => {
                    assert!(self.open.remove(&conn), "closed twice");
                    self.waiting.retain(|sent| sent.conn != conn);
                }
                ClientEffect::Network(NetworkEffect::Send { conn, chunks }) => {
                    self.sent(conn, chunks);
                }
            }
        }
    }

    fn sent(&mut self, conn: ConnId, chunks: Vec<Bytes>) {
        assert!(self.open.contains(&conn), "sent on a closed connection");
        let buffer = self.buffers.get_mut(&conn).expect("an open connection");
        chunks.into_iter().for_each(|chunk| buffer.push(chunk));
        let mut frames = Vec::new();
        while let Some(frame) = buffer.next_frame().expect("a good size") {
            frames.push(frame);
        }
        for frame in frames {
            let mut reader = Reader::new(frame);
            let header = RequestHeader::decode(&mut reader).expect("a header");
            let (version, correlation_id) = (header.api_version, header.correlation_id);
            let request = Request::decode(header.api_key, version, &mut reader).expect("a body");
            let sent = Sent {
                conn,
                version,
                correlation_id,
                request,
            };
            self.owed.entry(conn).or_default().push_back(correlation_id);
            match self.automatic(&sent) {
                Some((version, response)) => {
                    self.look_ups.push((sent.version, sent.request.clone()));
                    self.behind.push((sent, version, response));
                }
                None => self.waiting.push_back(sent),
            }
        }
        self.answer_look_ups(conn);
    }

    /// Answers the look-ups that stand first in line.
    fn answer_look_ups(&mut self, conn: ConnId) {
        let first = |bench: &Self| {
            let first = *bench.owed.get(&conn)?.front()?;
            let mut behind = bench.behind.iter();
            behind.position(|(sent, ..)| sent.conn == conn && sent.correlation_id == first)
        };
        while let Some(index) = first(self) {
            let (sent, version, response) = self.behind.remove(index);
            self.answer_in(&sent, version, response);
        }
    }

    /// The answers that tests do not care about, with the version of their layout.
    fn automatic(&mut self, sent: &Sent) -> Option<(i16, Response)> {
        let response = match &sent.request {
            Request::ApiVersions(_) if sent.version > self.api_versions_max => {
                let mut response = self.versions();
                response.error_code = ErrorCode::UNSUPPORTED_VERSION;
                return Some((0, response.into()));
            }
            Request::ApiVersions(_) => self.versions().into(),
            Request::FindCoordinator(request) => self.coordinator(sent.version, request).into(),
            Request::Metadata(request) => self.metadata(request).into(),
            _ => return None,
        };
        Some((sent.version, response))
    }

    fn versions(&self) -> ApiVersionsResponse {
        let api_keys = self
            .offers
            .iter()
            .map(|(&api_key, &(min_version, max_version))| {
                let max_version = if api_key == 18 {
                    max_version.min(self.api_versions_max)
                } else {
                    max_version
                };
                ApiVersion {
                    api_key,
                    min_version,
                    max_version,
                    ..Default::default()
                }
            });
        let feature = FinalizedFeatureKey {
            name: "transaction.version".into(),
            max_version_level: self.transaction_version,
            min_version_level: self.transaction_version,
            ..Default::default()
        };
        ApiVersionsResponse {
            api_keys: api_keys.collect(),
            finalized_features_epoch: 0,
            finalized_features: vec![feature],
            ..Default::default()
        }
    }

    fn coordinator(
        &mut self,
        version: i16,
        request: &FindCoordinatorRequest,
    ) -> FindCoordinatorResponse {
        let error_code = self.coordinator_codes.pop_front().unwrap_or_default();
        let (host, port) = ("broker".into(), 9092);
        if version < 4 {
            return FindCoordinatorResponse {
                error_code,
                node_id: 1,
                host,
                port,
                ..Default::default()
            };
        }
        let key = request.coordinator_keys[0].clone();
        let one = Coordinator {
            key,
            node_id: 1,
            host,
            port,
            error_code,
            ..Default::default()
        };
        FindCoordinatorResponse {
            coordinators: vec![one],
            ..Default::default()
        }
    }

    fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let broker = MetadataResponseBroker {
            node_id: 1,
            host: "broker".into(),
            port: 9092,
            ..Default::default()
        };
        let names = request
            .topics
            .iter()
            .flatten()
            .map(|topic| topic.name.clone());
        let topics = names.map(|name| {
            let exists = name.as_deref() == Some("t") && self.partitions > 0;
            let partitions = (0..if exists { self.partitions } else { 0 }).map(|partition_index| {
                MetadataResponsePartition {
                    partition_index,
                    leader_id: 1,
                    ..Default::default()
                }
            });
            let error_code = match exists {
                true => ErrorCode::NONE,
                false => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            };
            let topic_id = if exists { TOPIC_ID } else { Uuid::ZERO };
            let partitions = partitions.collect();
            MetadataResponseTopic {
                error_code,
                name,
                topic_id,
                partitions,
                ..Default::default()
            }
        });
        MetadataResponse {
            brokers: vec![broker],
            topics: topics.collect(),
            ..Default::default()
        }
    }

    /// The next request that waits for an answer.
    pub(crate) fn next(&mut self) -> Sent {
        self.waiting.pop_front().expect("the client sent nothing")
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn answer(&mut self, sent: &Sent, response: impl Into<Response>) {
        self.answer_in(sent, sent.version, response.into());
        self.answer_look_ups(sent.conn);
        self.drain();
    }

    fn answer_in(&mut self, sent: &Sent, version: i16, response: Response) {
        let first = self.owed.get_mut(&sent.conn).and_then(VecDeque::pop_front);
        assert_eq!(
            first,
            Some(sent.correlation_id),
            "the test answers out of order"
        );
        let key = sent.request.key();
        let chunks = encode_response_frame(sent.correlation_id, key, version, &response)
            .expect("a response that can be said");
        let bytes = Bytes::from(chunks.concat()).slice(4..);
        let input = NetworkInput::Frame {
            conn: sent.conn,
            bytes,
        };
        self.machine.handle(self.now, ClientInput::Network(input));
    }

    /// The connection breaks; what was sent on it is lost.
    pub(crate) fn cut(&mut self, conn: ConnId) {
        assert!(self.open.remove(&conn));
        self.waiting.retain(|sent| sent.conn != conn);
        self.network(NetworkInput::Closed { conn });
    }

    /// Moves the clock.
    pub(crate) fn pass(&mut self, millis: i64) {
        self.now.mono = self.now.mono.plus_millis(millis);
        self.network(NetworkInput::Timeout);
    }

    /// Moves the clock from deadline to deadline until the client sends something.
    pub(crate) fn pass_until_sent(&mut self) -> Sent {
        for _ in 0..200 {
            if let Some(sent) = self.waiting.pop_front() {
                return sent;
            }
            self.step();
        }
        panic!("the client stays silent");
    }

    /// Moves the clock to the next deadline.
    pub(crate) fn step(&mut self) {
        let deadline = self.machine.next_deadline().expect("something to wait for");
        assert!(
            deadline.at > self.now.mono,
            "a deadline that is over: {deadline}"
        );
        self.now.mono = deadline.at;
        self.network(NetworkInput::Timeout);
    }

    /// Moves the clock from deadline to deadline until the call ends.
    pub(crate) fn pass_until_done(&mut self, call: CallId) -> Result<M::Output, ClientError> {
        for _ in 0..1000 {
            if let Some(result) = self.done.remove(&call) {
                return result;
            }
            self.step();
        }
        panic!("{call:?} does not end");
    }

    pub(crate) fn is_done(&self, call: CallId) -> bool {
        self.done.contains_key(&call)
    }

    /// How a call ended.
    pub(crate) fn result(&mut self, call: CallId) -> Result<M::Output, ClientError> {
        self.done
            .remove(&call)
            .unwrap_or_else(|| panic!("{call:?} has not ended"))
    }
}
