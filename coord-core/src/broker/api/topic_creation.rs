//! What CreateTopics and the automatic creation of topics have in common.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use alloc::format;
use alloc::string::String;

use super::super::Broker;
use crate::metadata::{OFFSETS_TOPIC, SHARE_STATE_TOPIC, TXN_STATE_TOPIC, check_topic_name};

/// A Kafka code and a sentence for people.
pub(in crate::broker) type Refusal = (ErrorCode, String);

impl Broker {
    /// Whether a topic of this name may be created.
    pub(in crate::broker) fn check_new_topic(&self, name: &str) -> Result<(), Refusal> {
        check_topic_name(name).map_err(|why| (ErrorCode::INVALID_TOPIC_EXCEPTION, why))?;
        if self.metadata.topic(name).is_some() {
            let why = format!("Topic '{name}' already exists.");
            return Err((ErrorCode::TOPIC_ALREADY_EXISTS, why));
        }
        if name == "__cluster_metadata" {
            let why = format!("Creation of internal topic {name} is prohibited.");
            return Err((ErrorCode::INVALID_REQUEST, why));
        }
        match self.colliding_topic(name) {
            Some(other) => {
                let why = format!("Topic '{name}' collides with existing topic: {other}");
                Err((ErrorCode::INVALID_TOPIC_EXCEPTION, why))
            }
            None => Ok(()),
        }
    }

    /// A topic whose name differs only in `.` and `_`: metrics could not tell them apart.
    fn colliding_topic(&self, name: &str) -> Option<&Str> {
        if !name.contains(['.', '_']) {
            return None;
        }
        let unified = |name: &str| name.replace('.', "_");
        let own = unified(name);
        let mut others = self.metadata.topics().map(|topic| &topic.name);
        others.find(|other| other.len() == own.len() && unified(other) == own)
    }

    /// The number of partitions that a topic gets where none is asked for.
    pub(in crate::broker) fn default_partitions(&self, name: &str) -> i32 {
        match name {
            OFFSETS_TOPIC => self.offsets_partitions(),
            SHARE_STATE_TOPIC => self.share_state_partitions(),
            TXN_STATE_TOPIC => self.transaction_partitions(),
            _ => self.config.int("num.partitions"),
        }
    }

    /// Creates a topic because a client asked for it by name.
    pub(super) fn create_automatically(&mut self, name: &Str) -> Result<(), Refusal> {
        self.check_new_topic(name)?;
        let partitions = self.default_partitions(name);
        self.check_room(partitions)
            .map_err(|why| (ErrorCode::POLICY_VIOLATION, why))?;
        self.create_topic(name, partitions, &[]);
        Ok(())
    }
}
