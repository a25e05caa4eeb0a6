//! CreateAcls (key 30): creates ACLs.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The ACLs.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 30, request, versions = 1..=3, flexible = 2)]
pub struct CreateAclsRequest {
    /// The ACLs to create.
    pub creations: Vec<AclCreation>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreateAclsRequest::creations`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AclCreation {
    /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The name of the resource.
    pub resource_name: Str,
    /// 3 literal, 4 prefixed.
    #[wire(default = 3)]
    pub resource_pattern_type: i8,
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

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 30, response, versions = 1..=3, flexible = 2)]
pub struct CreateAclsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each entry of the request.
    pub results: Vec<AclCreationResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`CreateAclsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AclCreationResult {
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
