//! DescribeClientQuotas (key 48): finds quotas.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// What the quotas have to match.
#[derive(Clone, Debug, PartialEq, Wire)]
#[wire(api = 48, request, versions = 0..=1, flexible = 1)]
pub struct DescribeClientQuotasRequest {
    /// What the quotas have to match.
    pub components: Vec<ComponentData>,
    /// Whether entities with other components are left out.
    pub strict: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeClientQuotasRequest::components`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct ComponentData {
    /// user, client-id or ip.
    pub entity_type: Str,
    /// 0 this name, 1 the default, 2 any name.
    pub match_type: i8,
    /// The name to match; null for other match types.
    pub match_name: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The quotas.
#[derive(Clone, Debug, PartialEq, Wire)]
#[wire(api = 48, response, versions = 0..=1, flexible = 1)]
pub struct DescribeClientQuotasResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The quotas.
    pub entries: Option<Vec<EntryData>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeClientQuotasResponse::entries`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct EntryData {
    /// Whom the quotas are for.
    pub entity: Vec<EntityData>,
    /// The quotas.
    pub values: Vec<ValueData>,
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

/// An element of [`EntryData::values`].
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct ValueData {
    /// The quota.
    pub key: Str,
    /// The value of the quota.
    pub value: f64,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
