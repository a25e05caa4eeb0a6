//! DescribeConfigs (key 32): reads configs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The configs of interest.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 32, request, versions = 1..=4, flexible = 4)]
pub struct DescribeConfigsRequest {
    /// The resources.
    pub resources: Vec<DescribeConfigsResource>,
    /// Whether the answer lists the other places where a config can be set.
    pub include_synonyms: bool,
    /// Whether the answer documents the configs.
    #[wire(versions = 3..)]
    pub include_documentation: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeConfigsRequest::resources`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeConfigsResource {
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// The names of the configs; null for all.
    pub configuration_keys: Option<Vec<Str>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The configs.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 32, response, versions = 1..=4, flexible = 4)]
pub struct DescribeConfigsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each entry of the request.
    pub results: Vec<DescribeConfigsResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeConfigsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeConfigsResult {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// The configs.
    pub configs: Vec<DescribeConfigsResourceResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeConfigsResult::configs`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeConfigsResourceResult {
    /// The name.
    pub name: Str,
    /// The value; null where it is secret.
    pub value: Option<Str>,
    /// Whether the value cannot be changed.
    pub read_only: bool,
    /// Where the value comes from.
    #[wire(default = -1)]
    pub config_source: i8,
    /// Whether the value is secret and left out.
    pub is_sensitive: bool,
    /// The other places where the config can be set.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// The type of the value; 0 where unknown.
    #[wire(versions = 3.., ignorable)]
    pub config_type: i8,
    /// What the config is for.
    #[wire(versions = 3.., ignorable)]
    pub documentation: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeConfigsResourceResult::synonyms`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeConfigsSynonym {
    /// The name.
    pub name: Str,
    /// The value there.
    pub value: Option<Str>,
    /// Where the value comes from.
    pub source: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
