//! The share consumer.

use std::time::Duration;

use ackord_client_core as core;
use ackord_client_core::{
    AcknowledgeType, AcknowledgementResult, ClientError, ConsumerRecord, PolledRecords,
    ShareCommand, ShareConsumerConfig, ShareGroupMetadata, ShareOutput,
};
use ackord_proto::str::Str;

use super::driver::{Handle, random_seed};
use super::{ANOTHER, millis};

/// A member of a share group.
#[derive(Debug)]
pub struct ShareConsumer(Handle<core::ShareConsumer>);

impl ShareConsumer {
    /// Starts its task on the current runtime, with a member id of its own.
    pub fn new(config: ShareConsumerConfig) -> Self {
        ShareConsumer(Handle::new(core::ShareConsumer::new(config, random_seed())))
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

    /// See [`ShareCommand::Poll`].
    pub async fn poll(&self, timeout: Duration) -> Result<PolledRecords, ClientError> {
        match self
            .0
            .call(ShareCommand::Poll {
                timeout_ms: millis(timeout),
            })
            .await?
        {
            ShareOutput::Polled(polled) => Ok(polled),
            _ => Err(ANOTHER),
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
