//! AlterConfigs (key 33): replaces configs; outdated, see IncrementalAlterConfigs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The configs.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 33, request, versions = 0..=2, flexible = 2)]
pub struct AlterConfigsRequest {
    /// The resources.
    pub resources: Vec<AlterConfigsResource>,
    /// Whether to check only and change nothing.
    pub validate_only: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterConfigsRequest::resources`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterConfigsResource {
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// The configs.
    pub configs: Vec<AlterableConfig>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterConfigsResource::configs`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterableConfig {
    /// The name.
    pub name: Str,
    /// The value; null where it is deleted.
    pub value: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 33, response, versions = 0..=2, flexible = 2)]
pub struct AlterConfigsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub responses: Vec<AlterConfigsResourceResponse>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterConfigsResponse::responses`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterConfigsResourceResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
