//! The client on tokio: the handles of [`ackord_client_core::client`], whose page says what dropped
//! futures, ends and errors mean. Handles are made inside a tokio runtime with I/O and time.
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

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::Duration;

use ackord_client_core::client::{self, Runtime};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime;

pub use ackord_client_core::client::{ProducerRecord, RecordMetadata, ShareAcksSent};

/// Topics, configs and offsets.
pub type Admin = client::Admin<Tokio>;
/// A plain reader of assigned partitions.
pub type Fetcher = client::Fetcher<Tokio>;
/// The transactional producer.
pub type Producer = client::Producer<Tokio>;
/// A member of a share group.
pub type ShareConsumer = client::ShareConsumer<Tokio>;
/// The polls of a share consumer as a stream.
pub type PolledStream<'a> = client::PolledStream<'a, Tokio>;
/// Acknowledges records of a share group in transactions of their own.
pub type TransactionalShareAcknowledger = client::TransactionalShareAcknowledger<Tokio>;

/// The runtime that the calling thread is in.
#[derive(Clone, Copy, Debug)]
pub struct Tokio;

impl Tokio {
    /// Waits for a future on a runtime that all callers share: for programs that have none.
    ///
    /// # Errors
    ///
    /// No runtime can be started.
    pub fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
        static SHARED: LazyLock<io::Result<runtime::Runtime>> =
            LazyLock::new(runtime::Runtime::new);
        match &*SHARED {
            Ok(shared) => Ok(shared.block_on(future)),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }
}

impl Runtime for Tokio {
    type Socket = TcpStream;

    fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(task));
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep(time)
    }

    async fn connect(host: String, port: u16) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn poll_read(
        socket: &mut TcpStream,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        pin!(socket.read_buf(into)).poll(context)
    }

    fn poll_write(
        socket: &mut TcpStream,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(socket).poll_write_vectored(context, chunks)
    }
}
