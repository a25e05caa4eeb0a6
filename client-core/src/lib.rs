//! The Kafka client as sans-IO machines.
//!
//! Each role is one machine: [`Producer`] (transactional, with share acknowledgements in the
//! transaction, KIP-1289), [`ShareConsumer`] (KIP-932), [`Fetcher`] (plain read_committed reading)
//! and [`Admin`]. A machine opens no socket and reads no clock. Whoever embeds it
//!
//! 1. tells it what happened: `handle(now, input)` with a [`ClientInput`], either from the network
//!    or a command of the application with a [`CallId`] of the embedder's choice;
//! 2. carries out what it asks for: pops [`ClientEffect`]s until there are none. A command ends with
//!    exactly one [`ClientEffect::Done`];
//! 3. comes back when the clock reaches `next_deadline()`, with [`NetworkInput::Timeout`].
//!
//! With the feature `std` (on by default) the module `client` does this for any async runtime.
//!
//! The machines connect again by themselves, find coordinators and leaders, and repeat what may be
//! repeated until the time limit of the call. [`ClientError`] says what is left to the application.
//!
//! ```
//! use ackord_client_core::{
//!     CallId, ClientEffect, ClientInput, Machine, NetworkEffect, Producer, ProducerCommand,
//!     ProducerConfig,
//! };
//! use ackord_machine::Now;
//!
//! let config = ProducerConfig::new(["localhost:9092".parse().unwrap()], "copy-1");
//! let mut producer = Producer::new(config, [7; 32]);
//! let call = ClientInput::Call { call: CallId(1), command: ProducerCommand::InitTransactions };
//! producer.handle(Now::default(), call);
//! match producer.poll_effect() {
//!     Some(ClientEffect::Network(NetworkEffect::Connect { endpoint, .. })) => {
//!         assert_eq!(endpoint.to_string(), "localhost:9092");
//!     }
//!     other => panic!("{other:?}"),
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod aborted;
mod acknowledgements;
mod admin;
#[cfg(feature = "std")]
pub mod client;
mod connection;
mod error;
mod fetcher;
mod machine;
mod network;
mod partitioner;
mod producer;
mod ranges;
mod record_reader;
mod share_consumer;
mod versions;

pub use acknowledgements::{
    AcknowledgeType, AcknowledgedRange, PlainAcknowledgements, ShareAcknowledgements,
    ShareGroupMetadata,
};
pub use admin::{
    Admin, AdminCommand, AdminConfig, AdminOutput, ConfigResource, Isolation, ItemResult, NewTopic,
    OffsetSpec, TopicDescription,
};
pub use error::ClientError;
pub use fetcher::{
    FetchProgress, FetchedRecord, FetchedRecords, Fetcher, FetcherCommand, FetcherConfig,
};
pub use machine::{
    CallId, ClientEffect, ClientInput, ConnId, Endpoint, EndpointParseError, Machine,
    NetworkEffect, NetworkInput,
};
pub use partitioner::{murmur2, partition_for_key};
pub use producer::{
    BadPreparedTxnState, PreparedTxnState, Producer, ProducerCommand, ProducerConfig,
    ProducerOutput, RecordHeader, TxnCompletion,
};
pub use share_consumer::{
    AcknowledgementMode, AcknowledgementResult, AcquireMode, ConsumerRecord, GapRange,
    PartitionFault, PolledRecords, ShareCommand, ShareConsumer, ShareConsumerConfig, ShareOutput,
};
