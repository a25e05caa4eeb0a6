//! Records of the cluster's own log: topics, configurations, producer ids, ACLs.

use ackord_proto::Wire;
use ackord_proto::coordinator_records::{RecordKey, RecordValue, encode_key, encode_value};
use ackord_proto::str::Str;
use ackord_proto::tags::UnknownTags;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use crate::outbox::StateRecord;

macro_rules! record {
    ($key:ident = $type:literal, $value:ident) => {
        impl RecordKey for $key {
            const RECORD_TYPE: i16 = $type;
        }
        impl RecordValue for $value {}
    };
}

/// The cluster itself.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub(super) struct ClusterKey {
    pub(super) reserved: i8,
}

#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub(super) struct ClusterValue {
    pub(super) cluster_id: Str,
    pub(super) unknown_tags: UnknownTags,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub(super) struct TopicKey {
    pub(super) name: Str,
}

#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub(super) struct TopicValue {
    pub(super) topic_id: Uuid,
    pub(super) partitions: i32,
    pub(super) unknown_tags: UnknownTags,
}

/// One configuration of a topic or group; the type is that of DescribeConfigs.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub(super) struct ConfigKey {
    pub(super) resource_type: i8,
    pub(super) resource_name: Str,
    pub(super) name: Str,
}

#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub(super) struct ConfigValue {
    pub(super) value: Str,
    pub(super) unknown_tags: UnknownTags,
}

/// The first producer id that is not reserved yet.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub(super) struct ProducerIdsKey {
    pub(super) reserved: i8,
}

#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub(super) struct ProducerIdsValue {
    pub(super) next_producer_id: i64,
    pub(super) unknown_tags: UnknownTags,
}

/// An ACL, by its id.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0)]
pub(super) struct AclKey {
    pub(super) id: Uuid,
}

/// The fields of Kafka's AccessControlEntryRecord; no value stands for its
/// RemoveAccessControlEntryRecord.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub(super) struct AccessControlEntryValue {
    pub(super) id: Uuid,
    pub(super) resource_type: i8,
    pub(super) resource_name: Str,
    pub(super) pattern_type: i8,
    pub(super) principal: Str,
    pub(super) host: Str,
    pub(super) operation: i8,
    pub(super) permission_type: i8,
    pub(super) unknown_tags: UnknownTags,
}

record!(ClusterKey = 0, ClusterValue);
record!(TopicKey = 1, TopicValue);
record!(ConfigKey = 2, ConfigValue);
record!(ProducerIdsKey = 3, ProducerIdsValue);
record!(AclKey = 4, AccessControlEntryValue);

/// Names have been checked before, so encoding cannot fail.
pub(super) fn record<K: RecordKey, V: RecordValue>(key: &K, value: Option<&V>) -> StateRecord {
    let key = encode_key(key);
    let value = value.map(|value| encode_value(value, 0));
    debug_assert!(key.is_ok() && value.as_ref().is_none_or(|value| value.is_ok()));
    StateRecord {
        key: key.unwrap_or_default(),
        value: value.map(Result::unwrap_or_default),
    }
}

/// Record type of a key.
pub(super) fn type_of(key: &Bytes) -> Option<i16> {
    ackord_proto::coordinator_records::record_type(key).ok()
}
