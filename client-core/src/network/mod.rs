//! Everything between a machine and its sockets: connections, routes, look-ups, repetition.
//!
//! A machine submits a [`Sending`] and gets one [`Reply`] for it, unless it cancels it. In between
//! the request may wait for a leader or coordinator to be found, for a connection, or for a pause
//! after a failure.

mod backoff;
mod cluster;
mod look_up;
mod request;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::mem;

use ackord_machine::{Entropy, MonoTime};
use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use bytes::Bytes;

pub(crate) use cluster::Cluster;
use look_up::find_coordinator;
pub(crate) use request::{CoordinatorKind, Failure, OnLoss, Owner, Reply, Route, Sending};

use crate::connection::{Connection, Heard, Purpose};
use crate::versions::Advertised;
use crate::{ConnId, Endpoint, NetworkEffect, NetworkInput};

/// Whether Metadata may create the topics that it is asked for, where the broker allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopicCreation {
    Allowed,
    Never,
}

#[derive(Clone, Debug)]
pub(crate) struct NetworkConfig {
    pub(crate) bootstrap: Vec<Endpoint>,
    pub(crate) client_id: Str,
    pub(crate) request_timeout_ms: i64,
    pub(crate) topic_creation: TopicCreation,
}

/// When something may be tried again.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    attempts: u32,
    until: MonoTime,
}

/// One look-up: perhaps under way, perhaps pausing.
#[derive(Clone, Copy, Debug, Default)]
struct LookUp {
    under_way: bool,
    pause: Pause,
}

enum Place {
    Here(ConnId, i16),
    Later,
    Never(Failure),
}

#[derive(Debug)]
pub(crate) struct Network<T> {
    config: NetworkConfig,
    pub(crate) cluster: Cluster,
    connections: BTreeMap<ConnId, Connection<Sending<T>>>,
    places: BTreeMap<(Endpoint, Purpose), ConnId>,
    down: BTreeMap<(Endpoint, Purpose), Pause>,
    next_conn: u64,
    rotation: usize,
    queue: VecDeque<Sending<T>>,
    replies: VecDeque<Reply<T>>,
    effects: VecDeque<NetworkEffect>,
    /// Topics for the next Metadata request.
    wanted: BTreeSet<Str>,
    /// Topics of the one under way.
    asked: BTreeSet<Str>,
    metadata: LookUp,
    coordinators: BTreeMap<(CoordinatorKind, Str), LookUp>,
    advertised: Option<Advertised>,
    /// A connection that was open has broken.
    broke: bool,
    chance: Entropy,
    now: MonoTime,
}

impl<T: Clone> Network<T> {
    pub(crate) fn new(config: NetworkConfig, chance: Entropy) -> Self {
        Network {
            config,
            cluster: Cluster::default(),
            connections: BTreeMap::new(),
            places: BTreeMap::new(),
            down: BTreeMap::new(),
            next_conn: 0,
            rotation: 0,
            queue: VecDeque::new(),
            replies: VecDeque::new(),
            effects: VecDeque::new(),
            wanted: BTreeSet::new(),
            asked: BTreeSet::new(),
            metadata: LookUp::default(),
            coordinators: BTreeMap::new(),
            advertised: None,
            broke: false,
            chance,
            now: MonoTime::ZERO,
        }
    }

    /// The finalized level of a feature, as the newest broker said; 0 where none said anything.
    pub(crate) fn feature(&self, name: &str) -> i16 {
        self.advertised
            .as_ref()
            .map_or(0, |advertised| advertised.feature(name))
    }

    pub(crate) fn submit(&mut self, sending: Sending<T>) {
        self.queue.push_back(sending);
    }

    /// Sends a request again after a retriable code, later, until its time is over.
    pub(crate) fn again(&mut self, sending: Sending<T>, code: ErrorCode) {
        match &sending.route {
            Route::Coordinator(kind, key) if is_about_coordinator(code) => {
                self.cluster.forget_coordinator(*kind, key);
            }
            Route::Leader(topic, _) if is_about_leader(code) => self.cluster.forget_topic(topic),
            _ => {}
        }
        let attempts = sending.attempts + 1;
        let pause = backoff::pause(backoff::first_pause(code), attempts, &mut self.chance);
        let not_before = self.now.plus_millis(pause);
        self.queue.push_back(Sending {
            attempts,
            not_before,
            last: code,
            ..sending
        });
    }

    /// A pause after so many failures, in milliseconds.
    pub(crate) fn pause_ms(&mut self, code: ErrorCode, attempts: u32) -> i64 {
        backoff::pause(backoff::first_pause(code), attempts, &mut self.chance)
    }

    /// Drops the machine's requests that are not on the wire.
    pub(crate) fn cancel_queued(&mut self) -> Vec<T> {
        let mut dropped = Vec::new();
        self.queue.retain(|sending| match &sending.owner {
            Owner::Machine(tag) => {
                dropped.push(tag.clone());
                false
            }
            _ => true,
        });
        dropped
    }

    /// Closes everything. Nothing is answered any more.
    pub(crate) fn shut_down(&mut self) {
        self.queue.clear();
        self.replies.clear();
        self.wanted.clear();
        let open = mem::take(&mut self.connections);
        self.places.clear();
        self.effects
            .extend(open.into_keys().map(|conn| NetworkEffect::Close { conn }));
    }

    pub(crate) fn next_reply(&mut self) -> Option<Reply<T>> {
        self.replies.pop_front()
    }

    /// Whether a connection has broken since the last call: a broker may have begun anew, and have
    /// forgotten what it keeps in memory alone.
    pub(crate) fn take_broke(&mut self) -> bool {
        mem::take(&mut self.broke)
    }

    pub(crate) fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    pub(crate) fn next_effect(&mut self) -> Option<NetworkEffect> {
        self.effects.pop_front()
    }

    /// The clock of this input.
    pub(crate) fn tick(&mut self, now: MonoTime) {
        self.now = self.now.max(now);
    }

    /// Whether this moment lies behind the last input, so that a deadline for it makes sense.
    pub(crate) fn is_ahead(&self, at: MonoTime) -> bool {
        at > self.now
    }

    pub(crate) fn handle(&mut self, input: NetworkInput) {
        match input {
            NetworkInput::Connected { conn } => {
                let opened = self.connections.get_mut(&conn);
                if let Some(chunks) = opened.and_then(|open| open.connected(self.now)) {
                    self.effects.push_back(NetworkEffect::Send { conn, chunks });
                }
            }
            NetworkInput::ConnectFailed { conn } | NetworkInput::Closed { conn } => self.lose(conn),
            NetworkInput::Frame { conn, bytes } => self.frame(conn, bytes),
            NetworkInput::Timeout => {}
        }
    }

    fn frame(&mut self, conn: ConnId, bytes: Bytes) {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        match connection.heard(self.now, bytes) {
            Heard::Send(chunks) => self.effects.push_back(NetworkEffect::Send { conn, chunks }),
            Heard::Ready => {
                self.down
                    .remove(&(connection.endpoint.clone(), connection.purpose));
                let offered = connection.advertised();
                let known = self.advertised.as_ref();
                if let Some(offered) = offered
                    && known.is_none_or(|known| known.features_epoch <= offered.features_epoch)
                {
                    self.advertised = Some(offered.clone());
                }
            }
            Heard::Reply { request, response } => self.reply(request, response),
            Heard::Nonsense => {
                self.effects.push_back(NetworkEffect::Close { conn });
                self.lose(conn);
            }
        }
    }

    fn reply(&mut self, sending: Sending<T>, response: Response) {
        match (sending.owner.clone(), response) {
            (Owner::Machine(tag), response) => {
                self.replies.push_back(Reply {
                    tag,
                    sending,
                    outcome: Ok(response),
                });
            }
            (Owner::Metadata, Response::Metadata(response)) => self.described(response),
            (Owner::FindCoordinator(kind, key), Response::FindCoordinator(response)) => {
                self.found(kind, key, response);
            }
            _ => {}
        }
    }

    fn fail(&mut self, sending: Sending<T>, failure: Failure) {
        match sending.owner.clone() {
            Owner::Machine(tag) => {
                self.replies.push_back(Reply {
                    tag,
                    sending,
                    outcome: Err(failure),
                });
            }
            Owner::Metadata => self.metadata.under_way = false,
            Owner::FindCoordinator(kind, key) => match failure {
                // No other broker will know better.
                Failure::Unsupported(api) => {
                    self.refuse(kind, &key, ErrorCode::UNSUPPORTED_VERSION, &api.into());
                }
                _ => drop(self.coordinators.remove(&(kind, key))),
            },
        }
    }

    /// A connection is gone, or never came about.
    fn lose(&mut self, conn: ConnId) {
        let Some(connection) = self.connections.remove(&conn) else {
            return;
        };
        let place = (connection.endpoint.clone(), connection.purpose);
        self.places.remove(&place);
        self.broke |= connection.advertised().is_some();
        if connection.advertised().is_none() {
            self.rotation = self.rotation.wrapping_add(1);
            self.give_up_node(&connection.endpoint);
            self.cluster.unreachable(&connection.endpoint);
        }
        let pause = self.down.entry(place).or_default();
        pause.attempts += 1;
        let wait = backoff::pause(backoff::RECONNECT_MS, pause.attempts, &mut self.chance);
        pause.until = self.now.plus_millis(wait);
        let mut repeat = VecDeque::new();
        for sending in connection.into_requests() {
            match sending.on_loss {
                OnLoss::Repeat => repeat.push_back(sending),
                OnLoss::Report => self.fail(sending, Failure::Lost),
            }
        }
        // In front, in their old order.
        repeat.append(&mut self.queue);
        self.queue = repeat;
    }

    /// A request that is bound to a node must not wait for it when the leader may be elsewhere.
    fn give_up_node(&mut self, endpoint: &Endpoint) {
        for sending in mem::take(&mut self.queue) {
            let there = match sending.route {
                Route::Node(node) => self.cluster.nodes.get(&node) == Some(endpoint),
                _ => false,
            };
            match sending.on_loss {
                OnLoss::Report if there => self.fail(sending, Failure::Lost),
                _ => self.queue.push_back(sending),
            }
        }
    }

    /// Sends what can be sent, fails what is overdue, starts the look-ups that are needed.
    pub(crate) fn pump(&mut self) {
        self.give_up_connections();
        let mut kept = VecDeque::new();
        loop {
            while let Some(sending) = self.queue.pop_front() {
                if sending.give_up_at <= self.now {
                    let last = sending.last;
                    self.fail(sending, Failure::TimedOut(last));
                } else if sending.not_before > self.now {
                    kept.push_back(sending);
                } else {
                    match self.place(&sending) {
                        Place::Here(conn, version) => self.transmit(conn, version, sending),
                        Place::Later => kept.push_back(sending),
                        Place::Never(failure) => self.fail(sending, failure),
                    }
                }
            }
            if !self.look_up_topics() && self.queue.is_empty() {
                break;
            }
        }
        self.queue = kept;
    }

    fn give_up_connections(&mut self) {
        let overdue: Vec<ConnId> = self
            .connections
            .iter()
            .filter(|(_, open)| {
                self.connection_deadline(open)
                    .is_some_and(|at| at <= self.now)
            })
            .map(|(conn, _)| *conn)
            .collect();
        for conn in overdue {
            self.effects.push_back(NetworkEffect::Close { conn });
            self.lose(conn);
        }
    }

    fn connection_deadline(&self, open: &Connection<Sending<T>>) -> Option<MonoTime> {
        let owed = open
            .owed_since()
            .map(|at| at.plus_millis(self.config.request_timeout_ms));
        owed.into_iter()
            .chain(open.requests().map(|sending| sending.give_up_at))
            .min()
    }

    fn place(&mut self, sending: &Sending<T>) -> Place {
        let endpoint = match &sending.route {
            Route::Any => return self.place_anywhere(sending),
            Route::Node(node) => match self.cluster.nodes.get(node) {
                Some(endpoint) => endpoint.clone(),
                None => return Place::Later,
            },
            Route::Leader(topic, partition) => match self.leader_endpoint(topic, *partition) {
                Some(endpoint) => endpoint,
                None => {
                    if let Some(code) = self.cluster.take_refusal(topic) {
                        return Place::Never(Failure::Refused(code, topic.clone()));
                    }
                    self.want_topic(topic);
                    return Place::Later;
                }
            },
            Route::Coordinator(kind, key) => match self.cluster.coordinator(*kind, key) {
                Some(endpoint) => endpoint.clone(),
                None => {
                    self.look_up_coordinator(*kind, key);
                    return Place::Later;
                }
            },
        };
        self.place_at(endpoint, sending)
    }

    fn leader_endpoint(&self, topic: &str, partition: i32) -> Option<Endpoint> {
        let node = self.cluster.leader(topic, partition)?;
        self.cluster.nodes.get(&node).cloned()
    }

    fn place_at(&mut self, endpoint: Endpoint, sending: &Sending<T>) -> Place {
        let place = (endpoint, sending.route.purpose());
        match self.places.get(&place) {
            Some(conn) => self.place_on(*conn, sending),
            None => {
                self.open(place);
                Place::Later
            }
        }
    }

    fn place_on(&self, conn: ConnId, sending: &Sending<T>) -> Place {
        let Some(offered) = self
            .connections
            .get(&conn)
            .and_then(|open| open.advertised())
        else {
            return Place::Later;
        };
        let api = sending.body.key();
        match offered.pick(api.key(), &sending.versions) {
            Some(version) => Place::Here(conn, version),
            None => Place::Never(Failure::Unsupported(api.name())),
        }
    }

    /// On any connection that stands; else on one that comes about; else on a new one.
    fn place_anywhere(&mut self, sending: &Sending<T>) -> Place {
        let mut under_way = None;
        for (conn, open) in &self.connections {
            match open.advertised() {
                Some(_) if open.purpose == Purpose::Control => {
                    return self.place_on(*conn, sending);
                }
                None if open.purpose == Purpose::Control => under_way = Some(*conn),
                _ => {}
            }
        }
        if under_way.is_some() {
            return Place::Later;
        }
        let mut all: Vec<Endpoint> = self.cluster.nodes.values().cloned().collect();
        for endpoint in &self.config.bootstrap {
            if !all.contains(endpoint) {
                all.push(endpoint.clone());
            }
        }
        let start = self.rotation.checked_rem(all.len()).unwrap_or(0);
        all.rotate_left(start);
        for endpoint in all {
            if self.open((endpoint, Purpose::Control)) {
                break;
            }
        }
        Place::Later
    }

    /// Opens a connection, unless it pauses after a failure. Says whether it did.
    fn open(&mut self, place: (Endpoint, Purpose)) -> bool {
        if self
            .down
            .get(&place)
            .is_some_and(|pause| pause.until > self.now)
        {
            return false;
        }
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        let (endpoint, purpose) = place.clone();
        self.effects.push_back(NetworkEffect::Connect {
            conn,
            endpoint: endpoint.clone(),
        });
        let client_id = self.config.client_id.clone();
        self.connections.insert(
            conn,
            Connection::new(endpoint, purpose, client_id, self.now),
        );
        self.places.insert(place, conn);
        true
    }

    fn transmit(&mut self, conn: ConnId, version: i16, sending: Sending<T>) {
        let body = self.body(version, &sending);
        let Some(connection) = self.connections.get_mut(&conn) else {
            self.queue.push_back(sending);
            return;
        };
        match connection.send(self.now, version, &body, sending) {
            Ok(chunks) => self.effects.push_back(NetworkEffect::Send { conn, chunks }),
            Err((sending, _)) => self.fail(sending, Failure::Inexpressible),
        }
    }

    /// The body as this version says it, with what is known by now.
    fn body(&self, version: i16, sending: &Sending<T>) -> Request {
        match (&sending.owner, &sending.body) {
            (Owner::FindCoordinator(kind, key), _) => find_coordinator(version, *kind, key).into(),
            (_, Request::Produce(produce)) => {
                let mut produce = produce.clone();
                for topic in &mut produce.topic_data {
                    if let Some(known) = self.cluster.topic(&topic.name) {
                        topic.topic_id = known.id;
                    }
                }
                produce.into()
            }
            (_, body) => body.clone(),
        }
    }

    /// When something here is due next.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        let queued = self
            .queue
            .iter()
            .flat_map(|one| [one.not_before, one.give_up_at]);
        let open = self
            .connections
            .values()
            .filter_map(|open| self.connection_deadline(open));
        let down = self.down.values().map(|pause| pause.until);
        let down = down.filter(|_| !self.queue.is_empty());
        let topics = Some(self.metadata.pause.until).filter(|_| !self.wanted.is_empty());
        let coordinators = self
            .coordinators
            .values()
            .map(|look_up| look_up.pause.until);
        let all = queued
            .chain(open)
            .chain(down)
            .chain(topics)
            .chain(coordinators);
        // What was due already has been done; it waits for something else.
        all.filter(|at| *at > self.now).min()
    }
}

fn is_about_coordinator(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE
    )
}

/// Whether the code says that another broker may lead the partition by now.
pub(crate) fn is_about_leader(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::LEADER_NOT_AVAILABLE
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::INCONSISTENT_TOPIC_ID
            | ErrorCode::FENCED_LEADER_EPOCH
            | ErrorCode::UNKNOWN_LEADER_EPOCH
            | ErrorCode::KAFKA_STORAGE_ERROR
    )
}
