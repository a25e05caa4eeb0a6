//! DeleteAcls (key 31): deletes ACLs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// What the ACLs have to match.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 31, request, versions = 1..=3, flexible = 2)]
pub struct DeleteAclsRequest {
    /// What the ACLs have to match.
    pub filters: Vec<DeleteAclsFilter>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteAclsRequest::filters`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteAclsFilter {
    /// The type of the resource; 1 for any.
    pub resource_type_filter: i8,
    /// The name of the resource; null for any.
    pub resource_name_filter: Option<Str>,
    /// 1 any, 2 match, 3 literal, 4 prefixed.
    #[wire(default = 3)]
    pub pattern_type_filter: i8,
    /// The principal; null for any.
    pub principal_filter: Option<Str>,
    /// The host; null for any.
    pub host_filter: Option<Str>,
    /// The operation, as a number.
    pub operation: i8,
    /// 2 deny, 3 allow; 1 any in filters.
    pub permission_type: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The deleted ACLs.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 31, response, versions = 1..=3, flexible = 2)]
pub struct DeleteAclsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each filter.
    pub filter_results: Vec<DeleteAclsFilterResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteAclsResponse::filter_results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteAclsFilterResult {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The ACLs that matched.
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DeleteAclsFilterResult::matching_acls`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DeleteAclsMatchingAcl {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// 3 literal, 4 prefixed.
    #[wire(default = 3)]
    pub pattern_type: i8,
    /// The principal.
    pub principal: Str,
    /// The host name.
    pub host: Str,
    /// The operation, as a number.
    pub operation: i8,
    /// 2 deny, 3 allow; 1 any in filters.
    pub permission_type: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
