//! The plain reader.

use std::time::Duration;

use ackord_client_core as core;
use ackord_client_core::{ClientError, FetchedRecords, FetcherCommand, FetcherConfig};
use ackord_proto::str::Str;

use super::driver::{Handle, random_seed};
use super::millis;

/// A plain reader of assigned partitions.
#[derive(Debug)]
pub struct Fetcher(Handle<core::Fetcher>);

impl Fetcher {
    /// Starts its task on the current runtime.
    pub fn new(config: FetcherConfig) -> Self {
        Fetcher(Handle::new(core::Fetcher::new(config, random_seed())))
    }

    /// Topics, partitions and the offsets to begin with.
    pub async fn assign(&self, partitions: Vec<(Str, i32, i64)>) -> Result<(), ClientError> {
        self.0
            .call(FetcherCommand::Assign(partitions))
            .await
            .map(|_| ())
    }

    /// See [`FetcherCommand::Poll`].
    pub async fn poll(&self, timeout: Duration) -> Result<FetchedRecords, ClientError> {
        self.0
            .call(FetcherCommand::Poll {
                timeout_ms: millis(timeout),
            })
            .await
    }

    /// Closes the connections.
    pub async fn close(self) -> Result<(), ClientError> {
        self.0.close(FetcherCommand::Close).await
    }
}
