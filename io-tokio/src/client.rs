//! The client on tokio: async handles over the machines of `ackord-client-core`.
//!
//! Each handle owns a task that drives its machine; nothing is contacted before the first call.
//! Futures can be dropped at any point: what was handed over goes on. `close` waits for a clean end;
//! a handle that is only dropped leaves its transaction to `transaction.timeout.ms` and its group
//! membership to the session timeout.
//!
//! A worker that copies records exactly once:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ackord_client_core::{
//!     AcknowledgeType, AcknowledgementMode, ClientError, ProducerConfig, ShareAcknowledgements,
//!     ShareConsumerConfig,
//! };
//! use ackord_io_tokio::client::{Producer, ProducerRecord, ShareConsumer};
//!
//! async fn work() -> Result<(), ClientError> {
//!     let brokers = ["localhost:9092".parse().expect("host:port")];
//!     let mut config = ShareConsumerConfig::new(brokers.clone(), "copiers");
//!     config.acknowledgement_mode = AcknowledgementMode::Transactional;
//!     let consumer = ShareConsumer::new(config);
//!     consumer.subscribe(["in"]).await?;
//!     let producer = Producer::new(ProducerConfig::new(brokers, "copier-1"));
//!     producer.init_transactions().await?;
//!     loop {
//!         let polled = consumer.poll(Duration::from_secs(1)).await?;
//!         if polled.records.is_empty() {
//!             continue;
//!         }
//!         producer.begin_transaction().await?;
//!         for record in &polled.records {
//!             let value = record.value.clone().unwrap_or_default();
//!             // Not awaited: a failure shows in the commit.
//!             drop(producer.send(ProducerRecord::new("out", value)));
//!         }
//!         let acks = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Accept);
//!         let bound = producer.send_share_acks_to_transaction(acks, polled.group.clone()).await;
//!         let ended = match bound {
//!             Ok(()) => producer.commit_transaction().await,
//!             refused => refused,
//!         };
//!         match ended {
//!             Err(error) if error.is_abortable() => producer.abort_transaction().await?,
//!             other => other?,
//!         }
//!     }
//! }
//! ```

mod admin;
mod driver;
mod fetcher;
mod link;
mod producer;
mod share_consumer;

use std::time::Duration;

use ackord_client_core::ClientError;

pub use admin::Admin;
pub use fetcher::Fetcher;
pub use producer::{Producer, ProducerRecord, RecordMetadata, TransactionalShareAcknowledger};
pub use share_consumer::ShareConsumer;

/// A machine answered with an output of another command.
const ANOTHER: ClientError = ClientError::Protocol("an output of another command");

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
