//! Which topic is a group's dead letter queue, and whether it can be written (KIP-1191).

use alloc::format;
use alloc::string::String;

use ackord_machine::LogId;
use ackord_proto::str::Str;

use super::Broker;
use crate::metadata::{CLUSTER_LOG, resource};

const TOPIC_NAME: &str = "errors.deadletterqueue.topic.name";
const NAME_PREFIX: &str = "errors.deadletterqueue.topic.name.prefix";
const AUTO_CREATE: &str = "errors.deadletterqueue.auto.create.topics.enable";
const GROUP_ENABLE: &str = "errors.deadletterqueue.group.enable";

/// The topic of a dead letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueueTopic {
    pub(super) name: Str,
    /// `max.message.bytes`.
    pub(super) max_message_bytes: usize,
}

/// Why a dead letter queue takes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unwritable {
    /// Not at the moment; it passes by itself.
    Now,
    /// Not before somebody changes a configuration or a topic; records wait for that.
    Until(String),
    /// The group has none any more: nobody wants copies.
    Unset,
}

impl Broker {
    /// Whether what a group gives up can be copied to its dead letter queue, now or soon.
    pub(super) fn is_queue_open(&self, group: &str) -> bool {
        matches!(self.queue_topic(group, 0), Ok(_) | Err(Unwritable::Now))
    }

    /// The dead letter queue of a group, by Kafka's checks, for records of a partition.
    pub(super) fn queue_topic(
        &self,
        group: &str,
        partition: i32,
    ) -> Result<QueueTopic, Unwritable> {
        if self.frozen.contains(&CLUSTER_LOG) {
            return Err(Unwritable::Now);
        }
        let configs = self.metadata.configs(resource::GROUP, group);
        let name = configs.get(TOPIC_NAME).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(Unwritable::Unset);
        };
        if name.starts_with("__") {
            return Err(Unwritable::Until(format!("topic {name} is internal")));
        }
        let prefix = self.config.text(NAME_PREFIX);
        if !name.starts_with(prefix) {
            let why = format!("the name of topic {name} does not begin with {prefix}");
            return Err(Unwritable::Until(why));
        }
        match self.metadata.topic(name) {
            Some(_) if self.topic_config(name, GROUP_ENABLE) != "true" => {
                let why = format!("topic {name} does not have {GROUP_ENABLE}=true");
                Err(Unwritable::Until(why))
            }
            None if self.config.text(AUTO_CREATE) != "true" => {
                let why = format!("topic {name} does not exist and {AUTO_CREATE} is not true");
                Err(Unwritable::Until(why))
            }
            Some(topic) => {
                let log = queue_log(topic, partition);
                if self.frozen.contains(&log) || !self.logs.contains_key(&log) {
                    return Err(Unwritable::Now);
                }
                Ok(self.queue_of(name))
            }
            None => Ok(self.queue_of(name)),
        }
    }

    fn queue_of(&self, name: &Str) -> QueueTopic {
        let max = self
            .topic_config(name, "max.message.bytes")
            .parse::<usize>();
        QueueTopic {
            name: name.clone(),
            max_message_bytes: max.unwrap_or_default(),
        }
    }

    fn create_queue(&mut self, name: &Str) -> Result<(), String> {
        self.check_new_topic(name).map_err(|(_, why)| why)?;
        let partitions = self.default_partitions(name);
        self.check_room(partitions)?;
        // The time of a copy is that of its writing, whatever the broker's default says.
        let configs = [
            (Str::from(GROUP_ENABLE), Str::from("true")),
            (Str::from("message.timestamp.type"), Str::from("CreateTime")),
        ];
        self.create_topic(name, partitions, &configs);
        Ok(())
    }

    /// The log that takes the copies of a partition's records; creates the topic on first use.
    pub(super) fn open_queue(
        &mut self,
        topic: &QueueTopic,
        partition: i32,
    ) -> Result<LogId, String> {
        if self.metadata.topic(&topic.name).is_none() {
            self.create_queue(&topic.name)?;
        }
        let found = self.metadata.topic(&topic.name);
        found
            .map(|found| queue_log(found, partition))
            .ok_or_else(|| format!("topic {} is gone", topic.name))
    }
}

/// Copies go to the partition with the number of their origin, counted round.
fn queue_log(topic: &crate::metadata::Topic, partition: i32) -> LogId {
    LogId {
        topic: topic.id,
        partition: partition.checked_rem(topic.partitions).unwrap_or_default(),
    }
}
