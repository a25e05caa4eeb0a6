//! ApiVersions (key 18): says what the broker can do.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 18, request, versions = 0..=5, flexible = 3)]
pub struct ApiVersionsRequest {
    /// The name of the client library.
    #[wire(versions = 3.., ignorable)]
    pub client_software_name: Str,
    /// The version of the client library.
    #[wire(versions = 3.., ignorable)]
    pub client_software_version: Str,
    /// The cluster that the client means; null where it does not know.
    #[wire(versions = 5.., ignorable)]
    pub cluster_id: Option<Str>,
    /// The broker that the client means; -1 where it does not know.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub node_id: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// APIs with their versions, and features.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 18, response, versions = 0..=5, flexible = 3)]
pub struct ApiVersionsResponse {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The APIs of the broker.
    pub api_keys: Vec<ApiVersion>,
    /// How long a quota held the request back, in milliseconds.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// The features that this broker could use.
    #[wire(versions = 3.., tag = 0, ignorable)]
    pub supported_features: Vec<SupportedFeatureKey>,
    /// Rises with the finalized features; -1 where unknown.
    #[wire(versions = 3.., default = -1, tag = 1, ignorable)]
    pub finalized_features_epoch: i64,
    /// The features that the whole cluster uses.
    #[wire(versions = 3.., tag = 2, ignorable)]
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// A left-over of the time with ZooKeeper.
    #[wire(versions = 3.., tag = 3, ignorable)]
    pub zk_migration_ready: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`ApiVersionsResponse::api_keys`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ApiVersion {
    /// The key of the API.
    pub api_key: i16,
    /// The lowest version.
    pub min_version: i16,
    /// The highest version.
    pub max_version: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A feature that this broker could use.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct SupportedFeatureKey {
    /// The name.
    pub name: Str,
    /// The lowest version.
    pub min_version: i16,
    /// The highest version.
    pub max_version: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// A feature that the whole cluster uses.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FinalizedFeatureKey {
    /// The name.
    pub name: Str,
    /// The highest level in use.
    pub max_version_level: i16,
    /// The lowest level in use.
    pub min_version_level: i16,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
