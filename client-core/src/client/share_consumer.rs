//! The share consumer, by polls or as a stream.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::time::Duration;

use ackord_proto::str::Str;
use futures_core::Stream;

use super::clock::random_seed;
use super::handle::{Calling, Handle};
use super::runtime::Runtime;
use super::{ANOTHER, millis};
use crate::{
    AcknowledgeType, AcknowledgementResult, ClientError, ConsumerRecord, PlainAcknowledgements,
    PolledRecords, ShareCommand, ShareConsumerConfig, ShareGroupMetadata, ShareOutput,
};

/// How long one poll of a stream waits. Nothing is seen of it: an empty poll is repeated.
const STREAM_POLL_MS: i64 = 1_000;

/// A member of a share group.
#[derive(Debug)]
pub struct ShareConsumer<R>(Handle<crate::ShareConsumer>, PhantomData<fn() -> R>);

impl<R: Runtime> ShareConsumer<R> {
    /// Starts its task on the current runtime, with a member id of its own.
    pub fn new(config: ShareConsumerConfig) -> Self {
        ShareConsumer(
            Handle::new::<R>(crate::ShareConsumer::new(config, random_seed())),
            PhantomData,
        )
    }

    /// See [`ShareCommand::Subscribe`].
    pub async fn subscribe<T: Into<Str>>(
        &self,
        topics: impl IntoIterator<Item = T>,
    ) -> Result<(), ClientError> {
        let topics = topics.into_iter().map(Into::into).collect();
        self.0
            .call(ShareCommand::Subscribe(topics))
            .await
            .map(|_| ())
    }

    /// See [`ShareCommand::Poll`]. Dropping the future is as if it had not been called: records that
    /// it was about to give go to the next poll, and are not accepted.
    ///
    /// Acknowledgements that went out with polls and were refused are in
    /// [`PolledRecords::refused`].
    pub async fn poll(&self, timeout: Duration) -> Result<PolledRecords, ClientError> {
        let timeout_ms = millis(timeout);
        polled(self.0.revocable(ShareCommand::Poll { timeout_ms }).await)
    }

    /// One poll after the other, without the empty ones. In implicit mode taking the next item
    /// accepts the records of the one before; in explicit mode they have to be acknowledged first.
    /// An error does not end the stream; it ends where the runtime has ended.
    pub fn stream(&self) -> PolledStream<'_, R> {
        PolledStream {
            consumer: self,
            calling: None,
        }
    }

    /// See [`ShareCommand::Acknowledge`].
    pub async fn acknowledge(
        &self,
        record: &ConsumerRecord,
        kind: AcknowledgeType,
    ) -> Result<(), ClientError> {
        let ConsumerRecord {
            topic_id,
            partition,
            offset,
            ..
        } = *record;
        let command = ShareCommand::Acknowledge {
            topic_id,
            partition,
            offset,
            kind,
        };
        self.0.call(command).await.map(|_| ())
    }

    /// See [`ShareCommand::AcknowledgePlainly`].
    pub async fn acknowledge_plainly(
        &self,
        plain: PlainAcknowledgements,
    ) -> Result<Vec<AcknowledgementResult>, ClientError> {
        match self.0.call(ShareCommand::AcknowledgePlainly(plain)).await? {
            ShareOutput::Acknowledged(results) => Ok(results),
            _ => Err(ANOTHER),
        }
    }

    /// See [`ShareCommand::CommitSync`].
    pub async fn commit_sync(&self) -> Result<Vec<AcknowledgementResult>, ClientError> {
        match self.0.call(ShareCommand::CommitSync).await? {
            ShareOutput::Acknowledged(results) => Ok(results),
            _ => Err(ANOTHER),
        }
    }

    /// See [`ShareCommand::GroupMetadata`].
    pub async fn group_metadata(&self) -> Result<ShareGroupMetadata, ClientError> {
        match self.0.call(ShareCommand::GroupMetadata).await? {
            ShareOutput::Group(group) => Ok(group),
            _ => Err(ANOTHER),
        }
    }

    /// Sends what was acknowledged, gives back the rest, leaves the group.
    pub async fn close(self) -> Result<(), ClientError> {
        self.0.close(ShareCommand::Close).await
    }
}

fn polled(answer: Result<ShareOutput, ClientError>) -> Result<PolledRecords, ClientError> {
    match answer? {
        ShareOutput::Polled(polled) => Ok(polled),
        _ => Err(ANOTHER),
    }
}

/// The polls of a [`ShareConsumer`]; see [`ShareConsumer::stream`]. May be dropped at any point.
pub struct PolledStream<'a, R> {
    consumer: &'a ShareConsumer<R>,
    calling: Option<Calling<crate::ShareConsumer>>,
}

impl<R> fmt::Debug for PolledStream<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolledStream").finish_non_exhaustive()
    }
}

impl<R: Runtime> Stream for PolledStream<'_, R> {
    type Item = Result<PolledRecords, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let consumer = self.consumer;
            let calling = self.calling.get_or_insert_with(|| {
                let timeout_ms = STREAM_POLL_MS;
                consumer.0.revocable(ShareCommand::Poll { timeout_ms })
            });
            let answer = ready!(Pin::new(calling).poll(context));
            self.calling = None;
            match polled(answer) {
                Ok(polled) if polled.is_empty() => {}
                Err(ClientError::Closed) => return Poll::Ready(None),
                item => return Poll::Ready(Some(item)),
            }
        }
    }
}
