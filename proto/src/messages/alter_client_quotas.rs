//! AlterClientQuotas (key 49): changes quotas.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The changes.
#[derive(Clone, Debug, PartialEq, Wire)]
#[wire(api = 49, request, versions = 0..=1, flexible = 1)]
pub struct AlterClientQuotasRequest {
    /// The quotas.
    pub entries: Vec<EntryData>,
    /// Whether to check only and change nothing.
    pub validate_only: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterClientQuotasRequest::entries`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct EntryData {
    /// Whom the quotas are for.
    pub entity: Vec<EntityData>,
    /// The changes.
    pub ops: Vec<OpData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`EntryData::entity`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct EntityData {
    /// user, client-id or ip.
    pub entity_type: Str,
    /// The name; null for the default.
    pub entity_name: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`EntryData::ops`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct OpData {
    /// The quota.
    pub key: Str,
    /// The value of the quota.
    pub value: f64,
    /// Whether to remove the quota.
    pub remove: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Wire)]
#[wire(api = 49, response, versions = 0..=1, flexible = 1)]
pub struct AlterClientQuotasResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// The quotas.
    pub entries: Vec<EntryResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterClientQuotasResponse::entries`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct EntryResult {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Whom the quotas are for.
    pub entity: Vec<EntityData>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
