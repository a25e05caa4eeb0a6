//! The principal inside an Envelope request.

use crate::Wire;
use crate::str::Str;
use crate::tags::UnknownTags;

/// Who the client is.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(data, versions = 0..=0, flexible = 0)]
pub struct DefaultPrincipalData {
    /// The type of the principal, such as User.
    pub principal_type: Str,
    /// The name of the principal.
    pub name: Str,
    /// Whether it came with a delegation token.
    pub token_authenticated: bool,
    /// Tagged fields that Kafka does not define.
    pub unknown_tags: UnknownTags,
}
