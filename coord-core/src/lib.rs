//! The sans-IO broker: Kafka's protocol, transactions and share groups as one state machine, with
//! acknowledgements that share the fate of a transaction (KIP-1289).
//!
//! # Input, Broker, Effect
//!
//! A [`Broker`] opens no socket and no file, reads no clock and spawns nothing. Its embedder tells
//! it what happened, an [`Input`] and the time, and carries out each [`Effect`] that it asks for:
//!
//! | what happened | effects it leads to |
//! |---|---|
//! | [`Opened`](Input::Opened): a connection | [`Read`](Effect::Read): credit for one frame |
//! | [`Frame`](Input::Frame): a request | [`Store`](Effect::Store), [`Send`](Effect::Send), [`Close`](Effect::Close) |
//! | [`Completed`](Input::Completed): a storage operation | the replies that waited for it |
//! | [`Sent`](Input::Sent): bytes left for the peer | `Read`, where unread replies had stopped it |
//! | [`Timeout`](Input::Timeout): [`Broker::next_deadline`] has come | whatever is due |
//!
//! [`Broker::handle`] decides everything at once; [`Broker::poll_effect`] only pops. A run is a list
//! of times and inputs, and the same list gives the same effects, byte for byte. Below, a store that
//! completes every operation on the spot, one connection, and a whole transaction: a member of a
//! share group takes an order, and its output and the acknowledgement become true together.
//!
//! ```
//! # use std::collections::VecDeque;
//! # use ackord_coord_core::{Broker, BrokerConfig, ConnId, Effect, Input};
//! # use ackord_machine::{Completion, Limits, LoadedLog, LogId, MonoTime, Now, OpKind, Outcome};
//! # use ackord_machine::{StorageOp, WallTime};
//! # use ackord_proto::api::{Request, RequestHeader, Response, ResponseHeader, encode_request_frame};
//! # use ackord_proto::error_code::ErrorCode;
//! # use ackord_proto::messages::*;
//! # use ackord_proto::reader::Reader;
//! # use ackord_proto::records::{BatchBuilder, Records};
//! # use ackord_proto::uuid::Uuid;
//! # use bytes::Bytes;
//! struct Embedder {
//!     broker: Broker,
//!     now: Now,
//!     replies: VecDeque<Bytes>,
//! }
//!
//! impl Embedder {
//!     fn input(&mut self, input: Input) {
//!         self.broker.handle(self.now, input).expect("the embedder keeps the contract");
//!         while let Some(effect) = self.broker.poll_effect() {
//!             match effect {
//!                 Effect::Store(op) => self.input(Input::Completed(store(op))),
//!                 Effect::Send { conn, chunks } => {
//!                     let bytes = chunks.iter().map(Bytes::len).sum();
//!                     self.replies.push_back(chunks.concat().into());
//!                     self.input(Input::Sent { conn, bytes });
//!                 }
//!                 Effect::Close { conn, .. } => self.input(Input::Closed { conn }),
//!                 Effect::Read { .. } | Effect::Emit(_) => {}
//!             }
//!         }
//!     }
//! #   fn ask<T>(
//! #       &mut self, version: i16, request: impl Into<Request>, of: fn(Response) -> Option<T>,
//! #   ) -> T {
//! #       let request = request.into();
//! #       let api_key = request.key();
//! #       let header = RequestHeader {
//! #           api_key, api_version: version, correlation_id: 1, client_id: None,
//! #           unknown_tags: Default::default(),
//! #       };
//! #       let frame = encode_request_frame(&header, &request).expect("encoded").concat();
//! #       // The broker gets it without its size.
//! #       self.input(Input::Frame { conn: ConnId(1), bytes: Bytes::from(frame).slice(4..) });
//! #       let mut reader = Reader::new(self.replies.pop_front().expect("a reply").slice(4..));
//! #       ResponseHeader::decode(api_key, version, &mut reader).expect("a header");
//! #       of(Response::decode(api_key, version, &mut reader).expect("a reply")).expect("its reply")
//! #   }
//! }
//!
//! /// Keeps nothing: what the broker needs again before a restart it has in memory.
//! fn store(op: StorageOp) -> Completion {
//!     let outcome = match op.kind {
//!         OpKind::List => Outcome::Listed(vec![]),
//!         OpKind::Load { .. } => Outcome::Loaded(LoadedLog::default()),
//!         OpKind::Find { .. } => Outcome::Found(None),
//!         OpKind::Read { .. } => Outcome::Read(vec![]),
//!         _ => Outcome::Done,
//!     };
//!     Completion { id: op.id, outcome: Ok(outcome) }
//! }
//!
//! # macro_rules! ask {
//! #     ($embedder:expr, $api:ident v $version:literal, $request:expr) => {
//! #         $embedder.ask($version, $request, |response| match response {
//! #             Response::$api(response) => Some(response),
//! #             _ => None,
//! #         })
//! #     };
//! # }
//! # fn topics(names: [&str; 2]) -> CreateTopicsRequest {
//! #     let topic = |name: &str| create_topics::CreatableTopic {
//! #         name: name.into(), num_partitions: 1, replication_factor: 1, ..Default::default()
//! #     };
//! #     CreateTopicsRequest { topics: names.map(topic).into(), ..Default::default() }
//! # }
//! # fn from_the_start(group: &str) -> IncrementalAlterConfigsRequest {
//! #     let config = incremental_alter_configs::AlterableConfig {
//! #         name: "share.auto.offset.reset".into(), value: Some("earliest".into()), ..Default::default()
//! #     };
//! #     let resource = incremental_alter_configs::AlterConfigsResource {
//! #         resource_type: 32, resource_name: group.into(), configs: vec![config], ..Default::default()
//! #     };
//! #     IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() }
//! # }
//! # fn join(group: &str, member: &str, topic: &str) -> ShareGroupHeartbeatRequest {
//! #     ShareGroupHeartbeatRequest {
//! #         group_id: group.into(), member_id: member.into(),
//! #         subscribed_topic_names: Some(vec![topic.into()]), ..Default::default()
//! #     }
//! # }
//! # fn produce(topic: &str, transactional_id: Option<&str>, batch: Bytes) -> ProduceRequest {
//! #     let partition = produce::PartitionProduceData {
//! #         index: 0, records: Some(batch.into()), ..Default::default()
//! #     };
//! #     let topic = produce::TopicProduceData {
//! #         name: topic.into(), partition_data: [partition].into(), ..Default::default()
//! #     };
//! #     ProduceRequest {
//! #         transactional_id: transactional_id.map(Into::into), acks: -1, timeout_ms: 1000,
//! #         topic_data: [topic].into(), ..Default::default()
//! #     }
//! # }
//! # fn acquire(group: &str, member: &str, topic_id: Uuid) -> ShareFetchRequest {
//! #     let topic = share_fetch::FetchTopic {
//! #         topic_id, partitions: vec![share_fetch::FetchPartition::default()], ..Default::default()
//! #     };
//! #     ShareFetchRequest {
//! #         group_id: Some(group.into()), member_id: Some(member.into()), max_wait_ms: 500,
//! #         max_bytes: 1024, max_records: 10, topics: vec![topic], ..Default::default()
//! #     }
//! # }
//! # fn init(transactional_id: &str) -> InitProducerIdRequest {
//! #     InitProducerIdRequest {
//! #         transactional_id: Some(transactional_id.into()), transaction_timeout_ms: 60_000,
//! #         ..Default::default()
//! #     }
//! # }
//! # fn read_committed(topic: &str) -> FetchRequest {
//! #     let partition = fetch::FetchPartition { partition_max_bytes: 1024, ..Default::default() };
//! #     let topic = fetch::FetchTopic {
//! #         topic: topic.into(), partitions: vec![partition], ..Default::default()
//! #     };
//! #     FetchRequest {
//! #         max_bytes: 1024, isolation_level: 1, session_epoch: -1, topics: vec![topic],
//! #         ..Default::default()
//! #     }
//! # }
//! let now = Now { mono: MonoTime::ZERO, wall: WallTime::from_millis(1_700_000_000_000) };
//! let broker = Broker::new(BrokerConfig::default(), Limits::default(), [7; 32], now);
//! let mut embedder = Embedder { broker, now, replies: VecDeque::new() };
//! // Recovery: the broker asks what the store has, which is nothing.
//! embedder.input(Input::Timeout);
//! embedder.input(Input::opened(ConnId(1), "127.0.0.1"));
//!
//! // Two topics; a share group that reads from the start; a worker joins it; an order arrives.
//! let created = ask!(embedder, CreateTopics v 7, topics(["orders", "shipments"]));
//! let orders = created.topics[0].topic_id;
//! ask!(embedder, IncrementalAlterConfigs v 1, from_the_start("packers"));
//! let member = ask!(embedder, ShareGroupHeartbeat v 1, join("packers", "worker", "orders"));
//! let mut order = BatchBuilder::new(0);
//! order.push(0, None, Some(b"order 1"));
//! ask!(embedder, Produce v 9, produce("orders", None, order.build()));
//!
//! // The worker acquires it.
//! let fetched = ask!(embedder, ShareFetch v 1, acquire("packers", "worker", orders));
//! let acquired = &fetched.responses[0].partitions[0].acquired_records[0];
//!
//! // In one transaction: an output, and the acknowledgement of its input.
//! let producer = ask!(embedder, InitProducerId v 5, init("packer-1"));
//! let (id, epoch) = (producer.producer_id, producer.producer_epoch);
//! let mut shipment = BatchBuilder::new(0).producer(id, epoch, 0).transactional();
//! shipment.push(0, None, Some(b"shipment 1"));
//! ask!(embedder, Produce v 12, produce("shipments", Some("packer-1"), shipment.build()));
//! # let topic = add_share_acks_to_txn::AddShareAcksToTxnTopic {
//! #     name: "orders".into(), partitions: vec![0], ..Default::default()
//! # };
//! ask!(embedder, AddShareAcksToTxn v 0, AddShareAcksToTxnRequest {
//!     transactional_id: "packer-1".into(),
//!     producer_id: id,
//!     producer_epoch: epoch,
//!     group_id: "packers".into(),
//!     topics: vec![topic], // partition 0 of `orders`
//!     ..Default::default()
//! });
//! let accept = txn_share_acknowledge::AcknowledgementBatch {
//!     first_offset: acquired.first_offset,
//!     last_offset: acquired.last_offset,
//!     delivery_count: acquired.delivery_count,
//!     acknowledge_types: 1.into(),
//!     ..Default::default()
//! };
//! # let partition = txn_share_acknowledge::TxnShareAcknowledgePartition {
//! #     partition: 0, acknowledgement_batches: vec![accept], ..Default::default()
//! # };
//! # let topics = vec![txn_share_acknowledge::TxnShareAcknowledgeTopic {
//! #     topic_id: orders, partitions: vec![partition], ..Default::default()
//! # }];
//! let staged = ask!(embedder, TxnShareAcknowledge v 1, TxnShareAcknowledgeRequest {
//!     group_id: "packers".into(),
//!     transactional_id: "packer-1".into(),
//!     producer_id: id,
//!     producer_epoch: epoch,
//!     member_id: "worker".into(),
//!     member_epoch: member.member_epoch,
//!     topics, // `accept` for partition 0 of `orders`
//!     ..Default::default()
//! });
//! assert_eq!(staged.responses[0].partitions[0].error_code, ErrorCode::NONE);
//!
//! // Nothing of it counts so far; after the commit all of it does.
//! let before = ask!(embedder, Fetch v 12, read_committed("shipments"));
//! let ended = ask!(embedder, EndTxn v 5, EndTxnRequest {
//!     transactional_id: "packer-1".into(),
//!     producer_id: id,
//!     producer_epoch: epoch,
//!     committed: true,
//!     ..Default::default()
//! });
//! assert_eq!(ended.error_code, ErrorCode::NONE);
//! let after = ask!(embedder, Fetch v 12, read_committed("shipments"));
//! # let bytes = |fetched: &FetchResponse| {
//! #     fetched.responses[0].partitions[0].records.as_ref().map_or(0, Records::len)
//! # };
//! assert!(bytes(&before) == 0 && bytes(&after) > 0);
//! let leader = embedder.broker.leader(LogId { topic: orders, partition: 0 }).expect("loaded");
//! let packers = leader.share_partition("packers").expect("loaded");
//! assert_eq!(packers.start_offset(), 1, "the order is done");
//! ```
//!
//! # Where to find what
//!
//! Each part is usable alone, with inputs and outputs of its own; the [`broker`] composes them and
//! routes messages between them until none is left, all within one `handle`.
//!
//! | module | what is there |
//! |---|---|
//! | [`authorizer`] | ACLs and what they allow; what each request needs is in `broker/access` |
//! | [`contract`] | [`Input`], [`Effect`], and what they carry |
//! | [`broker`] | the composition: connections, one journal, timers, recovery; `broker/api` has one file for each API |
//! | [`txn`] | the transaction coordinator: producer ids and epochs, states, markers, timeouts |
//! | [`share`] | the share coordinator: delivery states as stored, staged acknowledgements |
//! | [`leader`] | the share partitions that a leader holds in memory, kept in step with what is stored |
//! | [`consumer_group`] | the group coordinator: members of groups of both protocols, committed offsets |
//! | [`group`] | members of a share group, their sessions and partitions |
//! | [`log`] | one partition's log: offsets, producers, transactions, last stable offset |
//! | [`metadata`] | topics, configurations |
//! | [`metrics`] | figures for operators |
//! | [`outbox`] | what a part asks of whoever embeds it: appends, envelopes, replies |
//!
//! Parts decide on what they know, change at once in memory, and append what changed; replies and
//! everything that a reader can see wait until the append is durable. Live traffic and recovery go
//! through the same function, so a replay equals the state that wrote it. The rules of one record's
//! delivery are in `ackord-share-partition`, time, storage and messages between parts in
//! `ackord-machine`, bytes in `ackord-proto`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod adapter;
mod assignment_interval;
pub mod authorizer;
pub mod broker;
pub mod consumer_group;
pub mod contract;
mod fnv;
pub mod group;
pub mod leader;
pub mod log;
pub mod metadata;
pub mod metrics;
pub mod outbox;
pub mod share;
pub mod txn;

pub use authorizer::Principal;
pub use broker::{AckRefusal, Broker};
pub use contract::{AdminCommand, CloseReason, ConnId, Effect, Event, Input};
pub use metadata::BrokerConfig;
