//! The plain reader.

use alloc::vec::Vec;
use core::marker::PhantomData;
use std::time::Duration;

use ackord_proto::str::Str;

use super::clock::random_seed;
use super::handle::Handle;
use super::millis;
use super::runtime::Runtime;
use crate::{ClientError, FetchedRecords, FetcherCommand, FetcherConfig};

/// A plain reader of assigned partitions.
#[derive(Debug)]
pub struct Fetcher<R>(Handle<crate::Fetcher>, PhantomData<fn() -> R>);

impl<R: Runtime> Fetcher<R> {
    /// Starts its task on the current runtime.
    pub fn new(config: FetcherConfig) -> Self {
        Fetcher(
            Handle::new::<R>(crate::Fetcher::new(config, random_seed())),
            PhantomData,
        )
    }

    /// Topics, partitions and the offsets to begin with.
    pub async fn assign(&self, partitions: Vec<(Str, i32, i64)>) -> Result<(), ClientError> {
        self.0
            .call(FetcherCommand::Assign(partitions))
            .await
            .map(|_| ())
    }

    /// See [`FetcherCommand::Poll`]. Dropping the future leaves the records to the next poll.
    pub async fn poll(&self, timeout: Duration) -> Result<FetchedRecords, ClientError> {
        self.0
            .revocable(FetcherCommand::Poll {
                timeout_ms: millis(timeout),
            })
            .await
    }

    /// Closes the connections.
    pub async fn close(self) -> Result<(), ClientError> {
        self.0.close(FetcherCommand::Close).await
    }
}
