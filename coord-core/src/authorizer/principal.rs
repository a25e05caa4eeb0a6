//! Who speaks on a connection.

use alloc::format;
use core::fmt;
use core::str::FromStr;

use ackord_proto::str::Str;

/// Who speaks on a connection, as Kafka writes it: `User:alice`. By default `User:ANONYMOUS`, whom
/// nobody has authenticated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Principal(Str);

impl Principal {
    /// The user of this name.
    pub fn user(name: &str) -> Self {
        Principal(Str::from(format!("User:{name}")))
    }

    /// `Type:name`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Default for Principal {
    fn default() -> Self {
        Principal::user("ANONYMOUS")
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPrincipal;

impl fmt::Display for InvalidPrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a string in format principalType:principalName")
    }
}

impl core::error::Error for InvalidPrincipal {}

impl FromStr for Principal {
    type Err = InvalidPrincipal;

    fn from_str(text: &str) -> Result<Self, InvalidPrincipal> {
        match text.split_once(':') {
            Some(_) => Ok(Principal(Str::from(text))),
            None => Err(InvalidPrincipal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_a_type_and_a_name() {
        assert_eq!(Principal::default().as_str(), "User:ANONYMOUS");
        assert_eq!("User:alice".parse(), Ok(Principal::user("alice")));
        assert_eq!("alice".parse::<Principal>(), Err(InvalidPrincipal));
    }
}
