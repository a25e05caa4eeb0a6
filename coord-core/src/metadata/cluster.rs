//! The state of the cluster, changed only by records.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use ackord_machine::{LogId, Role};
use ackord_proto::coordinator_records::{decode_key, decode_value};
use ackord_proto::message::DecodeError;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::records::{
    ClusterKey, ClusterValue, ConfigKey, ConfigValue, ProducerIdsKey, ProducerIdsValue, TopicKey,
    TopicValue, record, type_of,
};
use super::{INTERNAL_TOPICS, SHARE_STATE_TOPIC, resource};
use crate::authorizer::Acls;
use crate::group::{TopicInfo, Topics};
use crate::outbox::StateRecord;
use crate::txn::Participants;

/// The log that holds these records; Kafka reserves the id for `__cluster_metadata`.
pub const CLUSTER_LOG: LogId = LogId {
    topic: Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    partition: 0,
};

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Name.
    pub name: Str,
    /// Id, never used again after deletion.
    pub id: Uuid,
    /// Number of partitions.
    pub partitions: i32,
}

impl Topic {
    /// Written by coordinators only.
    pub fn is_internal(&self) -> bool {
        INTERNAL_TOPICS.contains(&&*self.name)
    }

    /// The logs of its partitions.
    pub fn logs(&self) -> impl Iterator<Item = LogId> + use<> {
        let topic = self.id;
        (0..self.partitions).map(move |partition| LogId { topic, partition })
    }
}

/// A record of the cluster log that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorruptMetadata {
    /// Not the bytes of such a record.
    Decode(DecodeError),
    /// A type of record that does not exist.
    UnknownRecord,
}

impl fmt::Display for CorruptMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CorruptMetadata::Decode(error) => write!(f, "{error}"),
            CorruptMetadata::UnknownRecord => f.write_str("unknown record type"),
        }
    }
}

impl core::error::Error for CorruptMetadata {}

impl From<DecodeError> for CorruptMetadata {
    fn from(error: DecodeError) -> Self {
        CorruptMetadata::Decode(error)
    }
}

/// Topics by name and id, configurations of topics and groups, reserved producer ids, ACLs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    cluster_id: Str,
    topics: BTreeMap<Str, Topic>,
    names: BTreeMap<Uuid, Str>,
    configs: BTreeMap<(i8, Str), BTreeMap<Str, Str>>,
    next_producer_id: i64,
    acls: Acls,
    version: u64,
    partitions: usize,
}

impl Metadata {
    /// Who may do what.
    pub fn acls(&self) -> &Acls {
        &self.acls
    }

    /// The id of the cluster; empty before its first record.
    pub fn cluster_id(&self) -> &Str {
        &self.cluster_id
    }

    /// Topics in the order of their names.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.values()
    }

    /// A topic by its name.
    pub fn topic(&self, name: &str) -> Option<&Topic> {
        // By a whole name, which costs less than to borrow each that it is compared with.
        self.topics.get(&Str::from(name))
    }

    /// A topic by its id.
    pub fn topic_by_id(&self, id: Uuid) -> Option<&Topic> {
        self.topics.get(self.names.get(&id)?)
    }

    /// Topics, and resources with configurations.
    pub fn entries(&self) -> usize {
        self.topics.len() + self.configs.len()
    }

    /// Partitions of all topics.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// The log of a partition, by topic name.
    pub fn log(&self, name: &str, partition: i32) -> Option<LogId> {
        let topic = self.topic(name)?;
        (0..topic.partitions).contains(&partition).then_some(LogId {
            topic: topic.id,
            partition,
        })
    }

    /// What was set for a topic or group; see [`resource`].
    pub fn configs(&self, resource_type: i8, name: &str) -> &BTreeMap<Str, Str> {
        static NONE: BTreeMap<Str, Str> = BTreeMap::new();
        self.configs
            .get(&(resource_type, Str::from(name)))
            .unwrap_or(&NONE)
    }

    /// Names of one type for which something was set, in order; see [`resource`].
    pub fn configured(&self, resource_type: i8) -> impl Iterator<Item = &Str> {
        let all = self.configs.keys();
        all.filter(move |(kind, _)| *kind == resource_type)
            .map(|(_, name)| name)
    }

    /// The first producer id that is not reserved.
    pub fn next_producer_id(&self) -> i64 {
        self.next_producer_id
    }

    /// Record that names the cluster.
    pub fn name_cluster(cluster_id: &Str) -> StateRecord {
        let value = ClusterValue {
            cluster_id: cluster_id.clone(),
            ..Default::default()
        };
        record(&ClusterKey { reserved: 0 }, Some(&value))
    }

    /// Record that creates a topic, or gives it more partitions.
    pub fn create_topic(name: &Str, topic_id: Uuid, partitions: i32) -> StateRecord {
        let value = TopicValue {
            topic_id,
            partitions,
            ..Default::default()
        };
        record(&TopicKey { name: name.clone() }, Some(&value))
    }

    /// Record that deletes a topic; its configuration goes with it.
    pub fn delete_topic(name: &Str) -> StateRecord {
        record::<_, TopicValue>(&TopicKey { name: name.clone() }, None)
    }

    /// Record that sets a configuration, or removes it.
    pub fn set_config(
        resource_type: i8,
        resource_name: &Str,
        name: &Str,
        value: Option<&Str>,
    ) -> StateRecord {
        let key = ConfigKey {
            resource_type,
            resource_name: resource_name.clone(),
            name: name.clone(),
        };
        let value = value.map(|value| ConfigValue {
            value: value.clone(),
            ..Default::default()
        });
        record(&key, value.as_ref())
    }

    /// Record that reserves all producer ids below `next_producer_id`.
    pub fn reserve_producer_ids(next_producer_id: i64) -> StateRecord {
        let value = ProducerIdsValue {
            next_producer_id,
            ..Default::default()
        };
        record(&ProducerIdsKey { reserved: 0 }, Some(&value))
    }

    /// Takes a record in.
    ///
    /// # Errors
    /// The record cannot be understood; nothing changed.
    pub fn apply(&mut self, record: &StateRecord) -> Result<(), CorruptMetadata> {
        let value = record.value.as_ref();
        match type_of(&record.key) {
            Some(0) => {
                if let Some(value) = value {
                    self.cluster_id = decode_value::<ClusterValue>(value)?.0.cluster_id;
                }
            }
            Some(1) => {
                let key: TopicKey = decode_key(&record.key)?;
                let value = value.map(decode_value::<TopicValue>).transpose()?;
                self.apply_topic(key.name, value.map(|(value, _)| value));
            }
            Some(2) => {
                let key: ConfigKey = decode_key(&record.key)?;
                let value = value.map(decode_value::<ConfigValue>).transpose()?;
                self.apply_config(key, value.map(|(value, _)| value.value));
            }
            Some(3) => {
                if let Some(value) = value {
                    let reserved = decode_value::<ProducerIdsValue>(value)?.0.next_producer_id;
                    self.next_producer_id = self.next_producer_id.max(reserved);
                }
            }
            // What patterns match depends on what their members may see.
            Some(4) => super::acls::apply(&mut self.acls, record)?,
            _ => return Err(CorruptMetadata::UnknownRecord),
        }
        self.version += 1;
        Ok(())
    }

    fn apply_topic(&mut self, name: Str, value: Option<TopicValue>) {
        if let Some(old) = self.topics.remove(&name) {
            self.names.remove(&old.id);
            self.partitions -= usize::try_from(old.partitions).unwrap_or_default();
        }
        match value {
            Some(TopicValue {
                topic_id: id,
                partitions,
                ..
            }) => {
                self.partitions += usize::try_from(partitions).unwrap_or_default();
                self.names.insert(id, name.clone());
                self.topics.insert(
                    name.clone(),
                    Topic {
                        name,
                        id,
                        partitions,
                    },
                );
            }
            None => {
                self.configs.remove(&(resource::TOPIC, name));
            }
        }
    }

    fn apply_config(&mut self, key: ConfigKey, value: Option<Str>) {
        let resource = (key.resource_type, key.resource_name);
        match value {
            Some(value) => {
                self.configs
                    .entry(resource)
                    .or_default()
                    .insert(key.name, value);
            }
            None => {
                if let Some(configs) = self.configs.get_mut(&resource) {
                    configs.remove(&key.name);
                    if configs.is_empty() {
                        self.configs.remove(&resource);
                    }
                }
            }
        }
    }

    /// Records that give an equal state when applied to an empty one.
    pub fn snapshot(&self) -> Vec<StateRecord> {
        let topics = self
            .topics
            .values()
            .map(|topic| Metadata::create_topic(&topic.name, topic.id, topic.partitions));
        let configs = self
            .configs
            .iter()
            .flat_map(|((resource_type, resource_name), configs)| {
                configs.iter().map(move |(name, value)| {
                    Metadata::set_config(*resource_type, resource_name, name, Some(value))
                })
            });
        let head = [
            Metadata::name_cluster(&self.cluster_id),
            Metadata::reserve_producer_ids(self.next_producer_id),
        ];
        let acls = self.acls.iter();
        let acls = acls.map(|(acl, id)| Metadata::create_acl(id, acl));
        head.into_iter()
            .chain(topics)
            .chain(configs)
            .chain(acls)
            .collect()
    }
}

impl Topics for Metadata {
    fn topic(&self, name: &str) -> Option<TopicInfo> {
        let topic = self.topics.get(name).filter(|topic| !topic.is_internal())?;
        Some(TopicInfo {
            id: topic.id,
            partitions: topic.partitions,
        })
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// The participants of transactions, as the coordinators see them.
#[derive(Clone, Copy, Debug)]
pub struct ClusterParticipants<'a> {
    /// Where topics are.
    pub metadata: &'a Metadata,
    /// Logs that can take nothing at the moment.
    pub frozen: &'a BTreeSet<LogId>,
}

impl Participants for ClusterParticipants<'_> {
    fn role(&self, topic: &str, partition: i32) -> Option<Role> {
        let log = self.metadata.log(topic, partition)?;
        Some(if topic == SHARE_STATE_TOPIC {
            Role::Sgc(partition)
        } else {
            Role::Leader(log)
        })
    }

    fn is_ready(&self, role: Option<&Role>) -> bool {
        // Which topics there are is not known for certain while the cluster's log is read back.
        if self.frozen.contains(&CLUSTER_LOG) {
            return false;
        }
        let log = match role {
            Some(Role::Leader(log)) => Some(*log),
            Some(Role::Sgc(partition)) => self.metadata.log(SHARE_STATE_TOPIC, *partition),
            Some(Role::Group(_) | Role::Tc(_)) | None => None,
        };
        log.is_none_or(|log| !self.frozen.contains(&log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorizer::{Acl, Operation, PatternType, Permission, ResourceType};

    fn an_acl(principal: &str) -> Acl {
        Acl {
            resource_type: ResourceType::Topic,
            pattern_type: PatternType::Prefixed,
            resource_name: Str::from("ord"),
            principal: Str::from(principal),
            host: Str::from("*"),
            operation: Operation::Read,
            permission: Permission::Deny,
        }
    }

    fn filled() -> Metadata {
        let mut metadata = Metadata::default();
        let (orders, copies) = (Str::from("orders"), Str::from("copies"));
        for record in [
            Metadata::name_cluster(&Str::from("kluster")),
            Metadata::create_topic(&orders, Uuid([7; 16]), 3),
            Metadata::create_topic(&copies, Uuid([8; 16]), 1),
            Metadata::set_config(
                resource::TOPIC,
                &orders,
                &Str::from("retention.ms"),
                Some(&Str::from("1")),
            ),
            Metadata::set_config(
                resource::GROUP,
                &orders,
                &Str::from("share.auto.offset.reset"),
                Some(&Str::from("earliest")),
            ),
            Metadata::reserve_producer_ids(1000),
            Metadata::delete_topic(&copies),
            Metadata::create_acl(Uuid([5; 16]), &an_acl("User:alice")),
            Metadata::create_acl(Uuid([6; 16]), &an_acl("User:bob")),
            Metadata::remove_acl(Uuid([6; 16])),
        ] {
            metadata.apply(&record).unwrap();
        }
        metadata
    }

    #[test]
    fn a_snapshot_gives_the_same_state() {
        let metadata = filled();
        let mut copy = Metadata::default();
        for record in metadata.snapshot() {
            copy.apply(&record).unwrap();
        }
        copy.version = metadata.version;
        assert_eq!(copy, metadata);
    }

    #[test]
    fn acls_come_and_go_by_their_ids() {
        let acls = filled();
        let acls: Vec<_> = acls.acls().iter().collect();
        assert_eq!(acls, [(&an_acl("User:alice"), Uuid([5; 16]))]);
    }

    #[test]
    fn a_deleted_topic_takes_its_configuration_along() {
        let mut metadata = filled();
        assert_eq!(metadata.partitions(), 3);
        assert_eq!(metadata.topic_by_id(Uuid([8; 16])), None);
        metadata
            .apply(&Metadata::delete_topic(&Str::from("orders")))
            .unwrap();
        assert!(metadata.configs(resource::TOPIC, "orders").is_empty());
        assert_eq!(metadata.configs(resource::GROUP, "orders").len(), 1);
        assert_eq!(metadata.log("orders", 0), None);
    }

    #[test]
    fn reserved_producer_ids_never_go_back() {
        let mut metadata = filled();
        metadata.apply(&Metadata::reserve_producer_ids(5)).unwrap();
        assert_eq!(metadata.next_producer_id(), 1000);
    }
}
