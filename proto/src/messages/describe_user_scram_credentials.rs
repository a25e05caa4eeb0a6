//! DescribeUserScramCredentials (key 50): lists SCRAM credentials.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The users.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 50, request, versions = 0..=0, flexible = 0)]
pub struct DescribeUserScramCredentialsRequest {
    /// The users; null for all.
    pub users: Option<Vec<UserName>>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeUserScramCredentialsRequest::users`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct UserName {
    /// The name.
    pub name: Str,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// Their credentials, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 50, response, versions = 0..=0, flexible = 0)]
pub struct DescribeUserScramCredentialsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// One answer for each entry of the request.
    pub results: Vec<DescribeUserScramCredentialsResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeUserScramCredentialsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeUserScramCredentialsResult {
    /// The user.
    pub user: Str,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// The credentials of the user.
    pub credential_infos: Vec<CredentialInfo>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeUserScramCredentialsResult::credential_infos`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct CredentialInfo {
    /// The SASL mechanism.
    pub mechanism: i8,
    /// How often the password is hashed.
    pub iterations: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
