//! `Admin`: the calls around topics, configs and offsets that tests and tools need.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use ackord_machine::{Deadline, DeadlineReason, Entropy, MonoTime, Now};
use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use ackord_proto::messages::metadata::{MetadataRequestTopic, MetadataResponseTopic};
use ackord_proto::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, IncrementalAlterConfigsRequest, ListOffsetsRequest,
    MetadataRequest,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use crate::network::{Network, NetworkConfig, Reply, Route, Sending, TopicCreation};
use crate::{CallId, ClientEffect, ClientError, ClientInput, Endpoint, Machine};

/// Settings of an [`Admin`]. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminConfig {
    /// Brokers to begin with (`bootstrap.servers`).
    pub bootstrap: Vec<Endpoint>,
    /// `client.id`.
    pub client_id: Str,
    /// `default.api.timeout.ms`: how long a call may take.
    pub api_timeout_ms: i64,
    /// `request.timeout.ms`: how long a broker may take to answer.
    pub request_timeout_ms: i64,
}

impl AdminConfig {
    /// Kafka's defaults.
    pub fn new(bootstrap: impl Into<Vec<Endpoint>>) -> Self {
        AdminConfig {
            bootstrap: bootstrap.into(),
            client_id: "ackord-admin".into(),
            api_timeout_ms: 60_000,
            request_timeout_ms: 30_000,
        }
    }
}

/// A topic to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Name.
    pub name: Str,
    /// Number of partitions; -1 for the default of the broker.
    pub partitions: i32,
    /// Replication factor; -1 for the default of the broker.
    pub replication_factor: i16,
    /// Topic configs by their Kafka names.
    pub configs: Vec<(Str, Str)>,
}

impl NewTopic {
    /// A topic with so many partitions and everything else by default.
    pub fn new(name: impl Into<Str>, partitions: i32) -> Self {
        NewTopic {
            name: name.into(),
            partitions,
            replication_factor: -1,
            configs: Vec::new(),
        }
    }
}

/// Whose configs are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigResource {
    /// Of a broker, by node id.
    Broker(i32),
    /// Of a group, which need not exist yet.
    Group(Str),
    /// Of a topic.
    Topic(Str),
}

impl ConfigResource {
    fn on_wire(&self) -> (i8, Str) {
        match self {
            ConfigResource::Topic(name) => (2, name.clone()),
            ConfigResource::Broker(node) => (4, alloc::format!("{node}").into()),
            ConfigResource::Group(name) => (32, name.clone()),
        }
    }
}

/// Which offset of a partition is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first that is kept.
    Earliest,
    /// Behind the last: under read_committed the last stable offset.
    Latest,
    /// The first with at least this timestamp in milliseconds.
    Timestamp(i64),
}

/// Whether records of open and aborted transactions count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// They do not.
    #[default]
    ReadCommitted,
    /// They do.
    ReadUncommitted,
}

impl Isolation {
    /// Its number on the wire.
    pub const fn code(self) -> i8 {
        match self {
            Isolation::ReadUncommitted => 0,
            Isolation::ReadCommitted => 1,
        }
    }
}

/// What an [`Admin`] can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// Sets configs (`Some`) or returns them to their defaults (`None`).
    AlterConfigs {
        /// Whose.
        resource: ConfigResource,
        /// Kafka names and values.
        configs: Vec<(Str, Option<Str>)>,
    },
    /// Closes the connections. The last command.
    Close,
    /// Creates topics.
    CreateTopics(Vec<NewTopic>),
    /// Deletes topics with all their records.
    DeleteTopics(Vec<Str>),
    /// Id and partitions of a topic.
    DescribeTopic(Str),
    /// An offset of a partition.
    ListOffset {
        /// Topic.
        topic: Str,
        /// Partition.
        partition: i32,
        /// Which.
        spec: OffsetSpec,
        /// What counts.
        isolation: Isolation,
    },
}

/// What became of one topic of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemResult {
    /// Topic name.
    pub name: Str,
    /// NONE where it went well.
    pub code: ErrorCode,
    /// The broker's words, where it had any.
    pub message: Option<Str>,
}

/// Id and partitions of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Name.
    pub name: Str,
    /// Id; zero where the broker knows no ids.
    pub id: Uuid,
    /// Partition to leading node; negative where nobody leads.
    pub leaders: BTreeMap<i32, i32>,
}

/// What a command of an [`Admin`] gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminOutput {
    /// It is done.
    Done,
    /// One result for each topic.
    Items(Vec<ItemResult>),
    /// An offset, and the timestamp of its record where one was looked for (else -1). The offset
    /// is -1 where no record is as late as the timestamp.
    Offset {
        /// The offset.
        offset: i64,
        /// Milliseconds since the Unix epoch.
        timestamp: i64,
    },
    /// A topic.
    Topic(TopicDescription),
}

/// The admin client as a machine; see [`AdminCommand`] for what it does.
#[derive(Debug)]
pub struct Admin {
    config: AdminConfig,
    network: Network<CallId>,
    closed: Option<ClientError>,
    open: Vec<CallId>,
    done: VecDeque<ClientEffect<AdminOutput>>,
}

impl Admin {
    /// A client that has not contacted anybody. `seed` feeds pauses between attempts.
    pub fn new(config: AdminConfig, seed: [u8; 32]) -> Self {
        let network = NetworkConfig {
            bootstrap: config.bootstrap.clone(),
            client_id: config.client_id.clone(),
            request_timeout_ms: config.request_timeout_ms,
            topic_creation: TopicCreation::Never,
        };
        Admin {
            config,
            network: Network::new(network, Entropy::from_seed(seed)),
            closed: None,
            open: Vec::new(),
            done: VecDeque::new(),
        }
    }

    fn command(&mut self, now: MonoTime, call: CallId, command: AdminCommand) {
        if let Some(error) = self.closed.clone() {
            return self.finish(call, Err(error));
        }
        let limit = now.plus_millis(self.config.api_timeout_ms);
        let timeout_ms = i32::try_from(self.config.request_timeout_ms).unwrap_or(i32::MAX);
        let sending = match command {
            AdminCommand::Close => return self.close(call),
            AdminCommand::AlterConfigs { resource, configs } => {
                Sending::new(call, Route::Any, alter_configs(&resource, configs), limit)
            }
            AdminCommand::CreateTopics(topics) => {
                Sending::new(call, Route::Any, create_topics(topics, timeout_ms), limit)
            }
            AdminCommand::DeleteTopics(topic_names) => {
                let body = DeleteTopicsRequest {
                    topic_names,
                    timeout_ms,
                    ..Default::default()
                };
                // From version 6 on the names stand elsewhere.
                Sending::new(call, Route::Any, body, limit).versions(1..=5)
            }
            AdminCommand::DescribeTopic(name) => {
                let topic = MetadataRequestTopic {
                    name: Some(name),
                    ..Default::default()
                };
                let body = MetadataRequest {
                    topics: Some([topic].into()),
                    allow_auto_topic_creation: false,
                    ..Default::default()
                };
                Sending::new(call, Route::Any, body, limit).versions(4..=13)
            }
            AdminCommand::ListOffset {
                topic,
                partition,
                spec,
                isolation,
            } => {
                let body = list_offset(&topic, partition, spec, isolation, timeout_ms);
                Sending::new(call, Route::Leader(topic, partition), body, limit).versions(2..=11)
            }
        };
        self.open.push(call);
        self.network.submit(sending);
    }

    fn close(&mut self, call: CallId) {
        self.closed = Some(ClientError::Closed);
        for waiting in core::mem::take(&mut self.open) {
            self.finish(waiting, Err(ClientError::Closed));
        }
        self.network.shut_down();
        self.finish(call, Ok(AdminOutput::Done));
    }

    fn finish(&mut self, call: CallId, result: Result<AdminOutput, ClientError>) {
        self.open.retain(|open| *open != call);
        self.done.push_back(ClientEffect::Done { call, result });
    }

    fn reply(&mut self, reply: Reply<CallId>) {
        let Reply {
            tag: call,
            sending,
            outcome,
        } = reply;
        let answer = match outcome {
            Ok(response) => answer(&sending.body, response),
            Err(failure) => Err(failure.into()),
        };
        match answer {
            Err(ClientError::Refused { code, .. }) if is_passing(&sending.body, code) => {
                self.network.again(sending, code);
            }
            result => self.finish(call, result),
        }
    }
}

/// Whether the same request may succeed later. A deletion or description of what does not exist
/// will not, although the code is one that consumers wait on.
fn is_passing(request: &Request, code: ErrorCode) -> bool {
    let by_name = !matches!(request, Request::ListOffsets(_));
    code.is_retriable() && !(by_name && code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
}

fn alter_configs(
    resource: &ConfigResource,
    configs: Vec<(Str, Option<Str>)>,
) -> IncrementalAlterConfigsRequest {
    let (resource_type, resource_name) = resource.on_wire();
    let configs = configs.into_iter();
    let configs = configs
        .map(|(name, value)| AlterableConfig {
            name,
            // 0 sets, 1 deletes.
            config_operation: i8::from(value.is_none()),
            value,
            ..Default::default()
        })
        .collect();
    let resource = AlterConfigsResource {
        resource_type,
        resource_name,
        configs,
        ..Default::default()
    };
    IncrementalAlterConfigsRequest {
        resources: [resource].into(),
        ..Default::default()
    }
}

fn create_topics(topics: Vec<NewTopic>, timeout_ms: i32) -> CreateTopicsRequest {
    let topics = topics.into_iter();
    let topics = topics
        .map(|topic| {
            let configs = topic.configs.into_iter();
            let configs = configs
                .map(|(name, value)| CreatableTopicConfig {
                    name,
                    value: Some(value),
                    ..Default::default()
                })
                .collect();
            CreatableTopic {
                name: topic.name,
                num_partitions: topic.partitions,
                replication_factor: topic.replication_factor,
                configs,
                ..Default::default()
            }
        })
        .collect();
    CreateTopicsRequest {
        topics,
        timeout_ms,
        ..Default::default()
    }
}

fn list_offset(
    topic: &Str,
    partition: i32,
    spec: OffsetSpec,
    isolation: Isolation,
    timeout_ms: i32,
) -> ListOffsetsRequest {
    let timestamp = match spec {
        OffsetSpec::Earliest => -2,
        OffsetSpec::Latest => -1,
        OffsetSpec::Timestamp(timestamp) => timestamp,
    };
    let partition = ListOffsetsPartition {
        partition_index: partition,
        timestamp,
        ..Default::default()
    };
    let topic = ListOffsetsTopic {
        name: topic.clone(),
        partitions: [partition].into(),
        ..Default::default()
    };
    ListOffsetsRequest {
        replica_id: -1,
        isolation_level: isolation.code(),
        topics: [topic].into(),
        timeout_ms,
        ..Default::default()
    }
}

/// The output of a response; a retriable code comes back as a refusal.
fn answer(request: &Request, response: Response) -> Result<AdminOutput, ClientError> {
    match response {
        Response::CreateTopics(response) => {
            let topics = response.topics.into_iter();
            let items = topics.map(|t| item(Some(t.name), t.error_code, t.error_message));
            items_or_retry(request, items.collect())
        }
        Response::DeleteTopics(response) => {
            let topics = response.responses.into_iter();
            let items = topics.map(|t| item(t.name, t.error_code, t.error_message));
            items_or_retry(request, items.collect())
        }
        Response::IncrementalAlterConfigs(response) => {
            let mut responses = response.responses.into_iter();
            match responses.find(|one| one.error_code.is_error()) {
                Some(one) => Err(refused(request, one.error_code, one.error_message)),
                None => Ok(AdminOutput::Done),
            }
        }
        Response::Metadata(response) => match response.topics.into_iter().next() {
            Some(topic) if topic.error_code.is_error() => {
                Err(refused(request, topic.error_code, topic.name))
            }
            Some(topic) => Ok(AdminOutput::Topic(describe(topic))),
            None => Err(ClientError::Protocol(
                "Metadata leaves out the topic asked for",
            )),
        },
        Response::ListOffsets(response) => {
            let mut partitions = response
                .topics
                .into_iter()
                .flat_map(|topic| topic.partitions);
            match partitions.next() {
                Some(one) if one.error_code.is_error() => {
                    Err(refused(request, one.error_code, None))
                }
                Some(one) => Ok(AdminOutput::Offset {
                    offset: one.offset,
                    timestamp: one.timestamp,
                }),
                None => Err(ClientError::Protocol(
                    "ListOffsets leaves out the partition",
                )),
            }
        }
        _ => Err(ClientError::Protocol(
            "a response of another kind than asked for",
        )),
    }
}

fn item(name: Option<Str>, code: ErrorCode, message: Option<Str>) -> ItemResult {
    ItemResult {
        name: name.unwrap_or_default(),
        code,
        message,
    }
}

fn items_or_retry(request: &Request, items: Vec<ItemResult>) -> Result<AdminOutput, ClientError> {
    match items.iter().find(|one| is_passing(request, one.code)) {
        Some(one) => Err(refused(request, one.code, one.message.clone())),
        None => Ok(AdminOutput::Items(items)),
    }
}

fn refused(request: &Request, code: ErrorCode, message: Option<Str>) -> ClientError {
    let message = message.unwrap_or_else(|| request.key().name().into());
    ClientError::Refused { code, message }
}

fn describe(topic: MetadataResponseTopic) -> TopicDescription {
    let partitions = topic.partitions.into_iter();
    TopicDescription {
        name: topic.name.unwrap_or_default(),
        id: topic.topic_id,
        leaders: partitions
            .map(|part| (part.partition_index, part.leader_id))
            .collect(),
    }
}

impl Machine for Admin {
    type Command = AdminCommand;
    type Output = AdminOutput;

    fn handle(&mut self, now: Now, input: ClientInput<AdminCommand>) {
        self.network.tick(now.mono);
        match input {
            ClientInput::Network(input) => self.network.handle(input),
            ClientInput::Call { call, command } => self.command(now.mono, call, command),
        }
        loop {
            while let Some(reply) = self.network.next_reply() {
                self.reply(reply);
            }
            self.network.pump();
            if !self.network.has_replies() {
                break;
            }
        }
    }

    fn poll_effect(&mut self) -> Option<ClientEffect<AdminOutput>> {
        let network = self.network.next_effect().map(ClientEffect::Network);
        network.or_else(|| self.done.pop_front())
    }

    fn next_deadline(&self) -> Option<Deadline> {
        let at = self.network.next_deadline()?;
        Some(Deadline {
            at,
            reason: DeadlineReason::Retry,
        })
    }
}
