//! BrokerRegistration (key 62): registers a broker with the controller.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The broker.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 62, request, versions = 0..=4, flexible = 0)]
pub struct BrokerRegistrationRequest {
    /// The id of the broker.
    pub broker_id: i32,
    /// The id of the cluster.
    pub cluster_id: Str,
    /// Changes with each start of the node.
    pub incarnation_id: Uuid,
    /// The addresses of the node.
    pub listeners: Vec<Listener>,
    /// The features that the node supports.
    pub features: Vec<Feature>,
    /// Where the broker stands.
    pub rack: Option<Str>,
    /// A left-over of the time with ZooKeeper.
    #[wire(versions = 1..)]
    pub is_migrating_zk_broker: bool,
    /// The log directories of the broker.
    #[wire(versions = 2.., ignorable)]
    pub log_dirs: Vec<Uuid>,
    /// The epoch of the broker before a clean stop; -1 where unknown.
    #[wire(versions = 3.., default = -1, ignorable)]
    pub previous_broker_epoch: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Listener {
    /// The name.
    pub name: Str,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: u16,
    /// The security protocol, as a number.
    pub security_protocol: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A feature that the node supports.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct Feature {
    /// The name.
    pub name: Str,
    /// The lowest version.
    pub min_supported_version: i16,
    /// The highest version.
    pub max_supported_version: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Its epoch.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 62, response, versions = 0..=4, flexible = 0)]
pub struct BrokerRegistrationResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The epoch of the broker; -1 where it has none.
    #[wire(default = -1)]
    pub broker_epoch: i64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
