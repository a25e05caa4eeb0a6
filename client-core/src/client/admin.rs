//! The admin client.

use alloc::vec::Vec;
use core::marker::PhantomData;

use ackord_proto::str::Str;

use super::ANOTHER;
use super::clock::random_seed;
use super::handle::Handle;
use super::runtime::Runtime;
use crate::{
    AdminCommand, AdminConfig, AdminOutput, ClientError, ConfigResource, Isolation, ItemResult,
    NewTopic, OffsetSpec, TopicDescription,
};

/// Topics, configs and offsets.
#[derive(Debug)]
pub struct Admin<R>(Handle<crate::Admin>, PhantomData<fn() -> R>);

impl<R: Runtime> Admin<R> {
    /// Starts its task on the current runtime.
    pub fn new(config: AdminConfig) -> Self {
        Admin(
            Handle::new::<R>(crate::Admin::new(config, random_seed())),
            PhantomData,
        )
    }

    async fn items(&self, command: AdminCommand) -> Result<Vec<ItemResult>, ClientError> {
        match self.0.call(command).await? {
            AdminOutput::Items(items) => Ok(items),
            _ => Err(ANOTHER),
        }
    }

    /// One result for each topic.
    pub async fn create_topics(
        &self,
        topics: impl IntoIterator<Item = NewTopic>,
    ) -> Result<Vec<ItemResult>, ClientError> {
        self.items(AdminCommand::CreateTopics(topics.into_iter().collect()))
            .await
    }

    /// One result for each topic.
    pub async fn delete_topics<T: Into<Str>>(
        &self,
        topics: impl IntoIterator<Item = T>,
    ) -> Result<Vec<ItemResult>, ClientError> {
        let topics = topics.into_iter().map(Into::into).collect();
        self.items(AdminCommand::DeleteTopics(topics)).await
    }

    /// See [`AdminCommand::AlterConfigs`].
    pub async fn incremental_alter_configs(
        &self,
        resource: ConfigResource,
        configs: Vec<(Str, Option<Str>)>,
    ) -> Result<(), ClientError> {
        self.0
            .call(AdminCommand::AlterConfigs { resource, configs })
            .await
            .map(|_| ())
    }

    /// Id and partitions.
    pub async fn describe_topic(
        &self,
        topic: impl Into<Str>,
    ) -> Result<TopicDescription, ClientError> {
        match self
            .0
            .call(AdminCommand::DescribeTopic(topic.into()))
            .await?
        {
            AdminOutput::Topic(topic) => Ok(topic),
            _ => Err(ANOTHER),
        }
    }

    /// An offset of a partition; -1 where no record is as late as the timestamp.
    pub async fn list_offset(
        &self,
        topic: impl Into<Str>,
        partition: i32,
        spec: OffsetSpec,
        isolation: Isolation,
    ) -> Result<i64, ClientError> {
        let topic = topic.into();
        let command = AdminCommand::ListOffset {
            topic,
            partition,
            spec,
            isolation,
        };
        match self.0.call(command).await? {
            AdminOutput::Offset { offset, .. } => Ok(offset),
            _ => Err(ANOTHER),
        }
    }

    /// Closes the connections.
    pub async fn close(self) -> Result<(), ClientError> {
        self.0.close(AdminCommand::Close).await
    }
}
