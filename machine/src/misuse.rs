//! Mistakes of the embedder.

use core::fmt;

use crate::OpId;

/// A call that breaks the contract. The machine is unchanged after it; the caller has a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// A connection id was opened twice.
    ConnectionExists(u64),
    /// The monotonic clock went backwards between two inputs.
    TimeWentBackwards,
    /// A frame, write credit or close for a connection that is not open.
    UnknownConnection(u64),
    /// A completion for an operation that was never asked for or has ended already.
    UnknownOperation(OpId),
    /// A completion whose outcome does not belong to the kind of its operation.
    WrongOutcome(OpId),
}

impl fmt::Display for ApiMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiMisuse::ConnectionExists(conn) => write!(f, "connection c{conn} was opened twice"),
            ApiMisuse::TimeWentBackwards => f.write_str("the monotonic clock went backwards"),
            ApiMisuse::UnknownConnection(conn) => write!(f, "connection c{conn} is not open"),
            ApiMisuse::UnknownOperation(op) => write!(f, "{op} is not under way"),
            ApiMisuse::WrongOutcome(op) => write!(f, "{op} cannot end with this outcome"),
        }
    }
}

impl core::error::Error for ApiMisuse {}
