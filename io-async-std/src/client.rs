//! The client on async-std: the handles of [`ackord_client_core::client`], whose page says what dropped
//! futures, ends and errors mean. They can be made on any thread; async-std runs their tasks.
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
//! use ackord_io_async_std::client::{Producer, ProducerRecord, ShareConsumer};
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

use std::future::Future;
use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use std::time::Duration;

use ackord_client_core::client::{self, Runtime};
use async_std::net::TcpStream;
use async_std::task;
use bytes::BytesMut;

use crate::socket;

pub use ackord_client_core::client::{ProducerRecord, RecordMetadata, ShareAcksSent};

/// Topics, configs and offsets.
pub type Admin = client::Admin<AsyncStd>;
/// A plain reader of assigned partitions.
pub type Fetcher = client::Fetcher<AsyncStd>;
/// The transactional producer.
pub type Producer = client::Producer<AsyncStd>;
/// A member of a share group.
pub type ShareConsumer = client::ShareConsumer<AsyncStd>;
/// The polls of a share consumer as a stream.
pub type PolledStream<'a> = client::PolledStream<'a, AsyncStd>;
/// Acknowledges records of a share group in transactions of their own.
pub type TransactionalShareAcknowledger = client::TransactionalShareAcknowledger<AsyncStd>;

/// The global executor of async-std.
#[derive(Clone, Copy, Debug)]
pub struct AsyncStd;

impl AsyncStd {
    /// Waits for a future: for programs that are not async themselves.
    pub fn block_on<T>(future: impl Future<Output = T>) -> T {
        task::block_on(future)
    }
}

impl Runtime for AsyncStd {
    type Socket = TcpStream;

    fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        drop(task::spawn(task));
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send + 'static {
        task::sleep(time)
    }

    async fn connect(host: String, port: u16) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn poll_read(
        socket: &mut TcpStream,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        socket::poll_read(socket, context, into)
    }

    fn poll_write(
        socket: &mut TcpStream,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        socket::poll_write(socket, context, chunks)
    }
}
