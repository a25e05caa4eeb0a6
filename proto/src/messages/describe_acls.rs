//! DescribeAcls (key 29): finds ACLs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// What the ACLs have to match.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 29, request, versions = 1..=3, flexible = 2)]
pub struct DescribeAclsRequest {
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

/// The ACLs, by resource.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 29, response, versions = 1..=3, flexible = 2)]
pub struct DescribeAclsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The resources.
    pub resources: Vec<DescribeAclsResource>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeAclsResponse::resources`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeAclsResource {
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// 3 literal, 4 prefixed.
    #[wire(default = 3)]
    pub pattern_type: i8,
    /// The ACLs of the resource.
    pub acls: Vec<AclDescription>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeAclsResource::acls`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AclDescription {
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
