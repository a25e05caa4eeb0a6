//! AlterUserScramCredentials (key 51): changes SCRAM credentials.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// The changes.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 51, request, versions = 0..=0, flexible = 0)]
pub struct AlterUserScramCredentialsRequest {
    /// The credentials to delete.
    pub deletions: Vec<ScramCredentialDeletion>,
    /// The credentials to set.
    pub upsertions: Vec<ScramCredentialUpsertion>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterUserScramCredentialsRequest::deletions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ScramCredentialDeletion {
    /// The name.
    pub name: Str,
    /// The SASL mechanism.
    pub mechanism: i8,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterUserScramCredentialsRequest::upsertions`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct ScramCredentialUpsertion {
    /// The name.
    pub name: Str,
    /// The SASL mechanism.
    pub mechanism: i8,
    /// How often the password is hashed.
    pub iterations: i32,
    /// The salt.
    pub salt: Bytes,
    /// The salted password.
    pub salted_password: Bytes,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 51, response, versions = 0..=0, flexible = 0)]
pub struct AlterUserScramCredentialsResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// One answer for each entry of the request.
    pub results: Vec<AlterUserScramCredentialsResult>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`AlterUserScramCredentialsResponse::results`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct AlterUserScramCredentialsResult {
    /// The user.
    pub user: Str,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
