//! ListConfigResources (key 74): lists resources that have configs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Which types.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 74, request, versions = 0..=1, flexible = 0)]
pub struct ListConfigResourcesRequest {
    /// The types of interest; empty for all.
    #[wire(versions = 1..)]
    pub resource_types: Vec<i8>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The resources.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 74, response, versions = 0..=1, flexible = 0)]
pub struct ListConfigResourcesResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The resources.
    pub config_resources: Vec<ConfigResource>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ListConfigResourcesResponse::config_resources`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ConfigResource {
    /// The name of the resource.
    pub resource_name: Str,
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    #[wire(versions = 1.., default = 16, ignorable)]
    pub resource_type: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
