//! UpdateFeatures (key 57): changes the levels of features.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The features.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 57, request, versions = 0..=2, flexible = 0)]
pub struct UpdateFeaturesRequest {
    /// How long the broker may take, in milliseconds.
    #[wire(default = 60000)]
    pub timeout_ms: i32,
    /// The features to change.
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// Whether to check only and change nothing.
    #[wire(versions = 1..)]
    pub validate_only: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`UpdateFeaturesRequest::feature_updates`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct FeatureUpdateKey {
    /// The name of the feature.
    pub feature: Str,
    /// The highest level in use.
    pub max_version_level: i16,
    /// Whether the level may go down.
    #[wire(versions = ..=0)]
    pub allow_downgrade: bool,
    /// 1 upgrade, 2 safe downgrade, 3 unsafe downgrade.
    #[wire(versions = 1.., default = 1)]
    pub upgrade_type: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 57, response, versions = 0..=2, flexible = 0)]
pub struct UpdateFeaturesResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// One answer for each entry of the request.
    #[wire(versions = ..=1, ignorable)]
    pub results: Vec<UpdatableFeatureResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`UpdateFeaturesResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct UpdatableFeatureResult {
    /// The name of the feature.
    pub feature: Str,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
