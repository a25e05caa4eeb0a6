//! `Fetcher`: plain reading of assigned partitions, without a group.
//!
//! Under read_committed the records of aborted transactions are left out, and nothing behind the
//! last stable offset is seen.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use ackord_machine::{Deadline, DeadlineReason, Entropy, MonoTime, Now};
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::fetch::{FetchPartition, FetchTopic, PartitionData};
use ackord_proto::messages::{FetchRequest, FetchResponse};
use ackord_proto::records::RecordHeaders;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::aborted::AbortedFilter;
use crate::network::{
    Failure, Network, NetworkConfig, Reply, Route, Sending, TopicCreation, is_about_leader,
};
use crate::record_reader::{Item, read};
use crate::{CallId, ClientEffect, ClientError, ClientInput, Endpoint, Isolation, Machine};

/// Settings of a [`Fetcher`]. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetcherConfig {
    /// Brokers to begin with (`bootstrap.servers`).
    pub bootstrap: Vec<Endpoint>,
    /// `client.id`.
    pub client_id: Str,
    /// `isolation.level`.
    pub isolation: Isolation,
    /// `fetch.max.wait.ms`: how long the broker may wait for records.
    pub max_wait_ms: i32,
    /// `fetch.max.bytes`.
    pub max_bytes: i32,
    /// `max.partition.fetch.bytes`.
    pub partition_max_bytes: i32,
    /// `request.timeout.ms`: how long a broker may take to answer.
    pub request_timeout_ms: i64,
}

impl FetcherConfig {
    /// Kafka's defaults, but read_committed.
    pub fn new(bootstrap: impl Into<Vec<Endpoint>>) -> Self {
        FetcherConfig {
            bootstrap: bootstrap.into(),
            client_id: "ackord-fetcher".into(),
            isolation: Isolation::ReadCommitted,
            max_wait_ms: 500,
            max_bytes: 52_428_800,
            partition_max_bytes: 1_048_576,
            request_timeout_ms: 30_000,
        }
    }
}

/// What a [`Fetcher`] can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetcherCommand {
    /// Reads these partitions from these offsets, and no others.
    Assign(Vec<(Str, i32, i64)>),
    /// Closes the connections. The last command.
    Close,
    /// Waits for records, at most so long.
    Poll {
        /// Milliseconds.
        timeout_ms: i64,
    },
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedRecord {
    /// Topic.
    pub topic: Str,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Key.
    pub key: Option<Bytes>,
    /// Value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// Headers.
    pub headers: RecordHeaders,
}

/// How far the reading of a partition is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchProgress {
    /// Topic.
    pub topic: Str,
    /// Partition.
    pub partition: i32,
    /// The next offset to read. All is read where it has reached the last stable offset (under
    /// read_uncommitted the high watermark).
    pub next_offset: i64,
    /// First offset of the earliest open transaction.
    pub last_stable_offset: i64,
    /// Behind the last record.
    pub high_watermark: i64,
}

/// What a poll of a [`Fetcher`] gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchedRecords {
    /// Records, in order for each partition.
    pub records: Vec<FetchedRecord>,
    /// The partitions that the brokers answered for since the last poll.
    pub progress: Vec<FetchProgress>,
}

#[derive(Debug)]
struct Poll {
    call: CallId,
    until: MonoTime,
}

type TopicPartition = (Str, i32);

/// What a fetch under way asked for: ids to names, partitions to offsets.
#[derive(Debug, Default)]
struct Asked {
    names: BTreeMap<Uuid, Str>,
    offsets: BTreeMap<TopicPartition, i64>,
}

/// The reader as a machine; see [`FetcherCommand`] for what it does.
#[derive(Debug)]
pub struct Fetcher {
    config: FetcherConfig,
    network: Network<i32>,
    closed: Option<ClientError>,
    positions: BTreeMap<TopicPartition, i64>,
    asked: BTreeMap<i32, Asked>,
    quiet_until: MonoTime,
    failures: u32,
    poll: Option<Poll>,
    fetched: FetchedRecords,
    failed: Option<ClientError>,
    done: VecDeque<ClientEffect<FetchedRecords>>,
}

impl Fetcher {
    /// A reader that has not contacted anybody. `seed` feeds pauses between attempts.
    pub fn new(config: FetcherConfig, seed: [u8; 32]) -> Self {
        let network = NetworkConfig {
            bootstrap: config.bootstrap.clone(),
            client_id: config.client_id.clone(),
            request_timeout_ms: config.request_timeout_ms,
            topic_creation: TopicCreation::Never,
        };
        Fetcher {
            config,
            network: Network::new(network, Entropy::from_seed(seed)),
            closed: None,
            positions: BTreeMap::new(),
            asked: BTreeMap::new(),
            quiet_until: MonoTime::ZERO,
            failures: 0,
            poll: None,
            fetched: FetchedRecords::default(),
            failed: None,
            done: VecDeque::new(),
        }
    }

    fn command(&mut self, now: MonoTime, call: CallId, command: FetcherCommand) {
        if let Some(error) = self.closed.clone() {
            return self.finish(call, Err(error));
        }
        match command {
            FetcherCommand::Assign(partitions) => {
                let partitions = partitions.into_iter();
                self.positions = partitions
                    .map(|(topic, part, offset)| ((topic, part), offset))
                    .collect();
                self.fetched = FetchedRecords::default();
                self.failed = None;
                self.finish(call, Ok(FetchedRecords::default()));
            }
            FetcherCommand::Close => {
                self.closed = Some(ClientError::Closed);
                if let Some(poll) = self.poll.take() {
                    self.finish(poll.call, Err(ClientError::Closed));
                }
                self.network.shut_down();
                self.finish(call, Ok(FetchedRecords::default()));
            }
            FetcherCommand::Poll { .. } if self.poll.is_some() => {
                self.finish(
                    call,
                    Err(ClientError::IllegalState("a poll is under way already")),
                );
            }
            FetcherCommand::Poll { .. } if self.positions.is_empty() => {
                self.finish(
                    call,
                    Err(ClientError::IllegalState("no partition is assigned")),
                );
            }
            FetcherCommand::Poll { timeout_ms } => {
                self.poll = Some(Poll {
                    call,
                    until: now.plus_millis(timeout_ms),
                });
            }
        }
    }

    fn finish(&mut self, call: CallId, result: Result<FetchedRecords, ClientError>) {
        self.done.push_back(ClientEffect::Done { call, result });
    }

    fn reply(&mut self, now: MonoTime, reply: Reply<i32>) {
        let asked = self.asked.remove(&reply.tag).unwrap_or_default();
        match reply.outcome {
            Ok(Response::Fetch(response)) => self.fetched(now, &asked, response),
            Ok(_) => self.failed = Some(ClientError::Protocol("a response of another kind")),
            // The next fetch finds the leader, or the way to it, again.
            Err(Failure::Lost | Failure::TimedOut(_)) => {
                self.pause(now, ErrorCode::NETWORK_EXCEPTION)
            }
            Err(failure) => self.failed = Some(failure.into()),
        }
    }

    fn pause(&mut self, now: MonoTime, code: ErrorCode) {
        self.failures += 1;
        let pause = self.network.pause_ms(code, self.failures);
        self.quiet_until = now.plus_millis(pause);
    }

    fn fetched(&mut self, now: MonoTime, asked: &Asked, response: FetchResponse) {
        if response.error_code.is_error() {
            return self.refused(now, response.error_code, None);
        }
        for topic in response.responses {
            let name = match asked.names.get(&topic.topic_id) {
                Some(name) if topic.topic.is_empty() => name.clone(),
                _ => topic.topic,
            };
            for data in topic.partitions {
                let key = (name.clone(), data.partition_index);
                // A partition that was assigned anew since is read from its new offset.
                let current = self.positions.get(&key).copied();
                if current.is_none() || current != asked.offsets.get(&key).copied() {
                    continue;
                }
                if data.error_code.is_error() {
                    self.refused(now, data.error_code, Some(&key));
                } else {
                    self.failures = 0;
                    self.take(key, current.unwrap_or(0), &data);
                }
            }
        }
    }

    fn refused(&mut self, now: MonoTime, code: ErrorCode, partition: Option<&TopicPartition>) {
        if !code.is_retriable() {
            let message = match partition {
                Some((topic, index)) => alloc::format!("Fetch of {topic}-{index}").into(),
                None => "Fetch".into(),
            };
            self.failed = Some(ClientError::Refused { code, message });
        } else if let Some((topic, _)) = partition.filter(|_| is_about_leader(code)) {
            self.network.cluster.forget_topic(topic);
        }
        self.pause(now, code);
    }

    fn take(&mut self, key: TopicPartition, from: i64, data: &PartitionData) {
        let mut aborted =
            AbortedFilter::new(data.aborted_transactions.as_deref().unwrap_or_default());
        let mut next = from;
        let mut current = None;
        let records = &mut self.fetched.records;
        let payload = data.records.clone().unwrap_or_default();
        let outcome = read(&payload, |item| match item {
            Item::Batch(header) => {
                next = next.max(header.next_offset());
                current = Some(header);
                aborted.keeps(&header)
            }
            Item::Marker(kind) => {
                if let Some(header) = &current {
                    aborted.marker(header, kind);
                }
                false
            }
            Item::Record(record) => {
                if record.offset >= from {
                    records.push(FetchedRecord {
                        topic: key.0.clone(),
                        partition: key.1,
                        offset: record.offset,
                        timestamp: record.timestamp,
                        key: record.key,
                        value: record.value,
                        headers: record.headers,
                    });
                }
                true
            }
        });
        if let Err(error) = outcome {
            let message = alloc::format!("{}-{}: {error}", key.0, key.1).into();
            records.retain(|record| (&record.topic, record.partition) != (&key.0, key.1));
            self.failed = Some(ClientError::Refused {
                code: error.error_code(),
                message,
            });
            return;
        }
        self.fetched.progress.push(FetchProgress {
            topic: key.0.clone(),
            partition: key.1,
            next_offset: next,
            last_stable_offset: data.last_stable_offset,
            high_watermark: data.high_watermark,
        });
        self.positions.insert(key, next);
    }

    fn advance(&mut self, now: MonoTime) {
        let Some(poll) = &self.poll else { return };
        let call = poll.call;
        let over = poll.until <= now || !self.fetched.records.is_empty();
        if !over && self.failed.is_none() && self.quiet_until <= now {
            self.fetch(now);
        }
        if let Some(error) = self.failed.take() {
            self.poll = None;
            self.finish(call, Err(error));
        } else if over {
            self.poll = None;
            let fetched = core::mem::take(&mut self.fetched);
            self.finish(call, Ok(fetched));
        }
    }

    /// One fetch for each node that leads assigned partitions and owes no answer.
    fn fetch(&mut self, now: MonoTime) {
        let mut nodes: BTreeMap<i32, (Asked, Vec<FetchTopic>)> = BTreeMap::new();
        for ((topic, partition), offset) in &self.positions {
            let Some(node) = self.network.cluster.leader(topic, *partition) else {
                if let Some(code) = self.network.cluster.take_refusal(topic) {
                    self.failed = Some(ClientError::Refused {
                        code,
                        message: topic.clone(),
                    });
                }
                self.network.want_topic(topic);
                continue;
            };
            if self.asked.contains_key(&node) {
                continue;
            }
            let id = self
                .network
                .cluster
                .topic(topic)
                .map_or(Uuid::ZERO, |topic| topic.id);
            let (asked, topics) = nodes.entry(node).or_default();
            asked.names.insert(id, topic.clone());
            asked.offsets.insert((topic.clone(), *partition), *offset);
            let partition = FetchPartition {
                partition: *partition,
                fetch_offset: *offset,
                partition_max_bytes: self.config.partition_max_bytes,
                ..Default::default()
            };
            match topics.last_mut().filter(|last| last.topic == *topic) {
                Some(last) => last.partitions.push(partition),
                None => topics.push(FetchTopic {
                    topic: topic.clone(),
                    topic_id: id,
                    partitions: [partition].into(),
                    ..Default::default()
                }),
            }
        }
        for (node, (asked, topics)) in nodes {
            // Versions from 13 on name topics by id alone.
            let versions = if asked.names.contains_key(&Uuid::ZERO) {
                4..=12
            } else {
                4..=18
            };
            let body = FetchRequest {
                max_wait_ms: self.config.max_wait_ms,
                min_bytes: 1,
                max_bytes: self.config.max_bytes,
                isolation_level: self.config.isolation.code(),
                topics,
                ..Default::default()
            };
            let wait = i64::from(self.config.max_wait_ms);
            let limit = now.plus_millis(self.config.request_timeout_ms.saturating_add(wait));
            let sending = Sending::new(node, Route::Node(node), body, limit);
            self.network
                .submit(sending.versions(versions).report_loss());
            self.asked.insert(node, asked);
        }
    }
}

impl Machine for Fetcher {
    type Command = FetcherCommand;
    type Output = FetchedRecords;

    fn handle(&mut self, now: Now, input: ClientInput<FetcherCommand>) {
        self.network.tick(now.mono);
        match input {
            ClientInput::Network(input) => self.network.handle(input),
            ClientInput::Call { call, command } => self.command(now.mono, call, command),
        }
        loop {
            while let Some(reply) = self.network.next_reply() {
                self.reply(now.mono, reply);
            }
            self.advance(now.mono);
            self.network.pump();
            if !self.network.has_replies() {
                break;
            }
        }
    }

    fn poll_effect(&mut self) -> Option<ClientEffect<FetchedRecords>> {
        let network = self.network.next_effect().map(ClientEffect::Network);
        network.or_else(|| self.done.pop_front())
    }

    fn next_deadline(&self) -> Option<Deadline> {
        let poll = self.poll.as_ref().map(|poll| poll.until);
        let poll = poll.map(|at| Deadline {
            at,
            reason: DeadlineReason::FetchWait,
        });
        let quiet = self.poll.as_ref().map(|_| self.quiet_until);
        let retry = quiet.into_iter().filter(|at| self.network.is_ahead(*at));
        let retry = retry.chain(self.network.next_deadline()).min();
        let retry = retry.map(|at| Deadline {
            at,
            reason: DeadlineReason::Retry,
        });
        [poll, retry].into_iter().flatten().min()
    }

    fn abandoned(&mut self, _now: Now, call: CallId, output: Option<FetchedRecords>) {
        if self.poll.as_ref().is_some_and(|poll| poll.call == call) {
            self.poll = None;
        }
        let Some(mut output) = output else { return };
        // What was assigned anew since is read from its new offset.
        output.progress.retain(|progress| {
            let key = (progress.topic.clone(), progress.partition);
            self.positions.get(&key) == Some(&progress.next_offset)
        });
        let progress = &output.progress;
        output.records.retain(|record| {
            let same = |own: &FetchProgress| {
                own.topic == record.topic && own.partition == record.partition
            };
            progress.iter().any(same)
        });
        output.records.append(&mut self.fetched.records);
        output.progress.append(&mut self.fetched.progress);
        self.fetched = output;
    }
}
