//! ControllerRegistration (key 70): registers a controller.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;
use crate::uuid::Uuid;

/// The controller.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 70, request, versions = 0..=0, flexible = 0)]
pub struct ControllerRegistrationRequest {
    /// The broker to which requests for the controller go; -1 where there is none.
    pub controller_id: i32,
    /// Changes with each start of the node.
    pub incarnation_id: Uuid,
    /// A left-over of the time with ZooKeeper.
    pub zk_migration_ready: bool,
    /// The addresses of the node.
    pub listeners: Vec<Listener>,
    /// The features that the node supports.
    pub features: Vec<Feature>,
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

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 70, response, versions = 0..=0, flexible = 0)]
pub struct ControllerRegistrationResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
