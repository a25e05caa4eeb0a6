//! Why a command failed, by what the application can do about it.

use core::fmt;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientError {
    /// The transaction cannot commit any more; nothing of it became visible. Call
    /// `abort_transaction`, then go on with the next transaction.
    Abortable {
        /// The broker's code; NONE where the client itself decided.
        code: ErrorCode,
        /// What went wrong.
        message: Str,
    },
    /// The machine was closed, or is being closed.
    Closed,
    /// This producer cannot go on, whatever is called. Close it and begin again with a new one.
    Fatal {
        /// The broker's code; NONE where the client itself decided.
        code: ErrorCode,
        /// What went wrong.
        message: Str,
    },
    /// Another producer has taken over the transactional id, and the transaction was aborted. Close
    /// this one and do not retry: the other does the work now.
    Fenced {
        /// The broker's code.
        code: ErrorCode,
    },
    /// The call does not fit the state of the machine (for instance `send` outside of a
    /// transaction). A bug of the application; nothing changed.
    IllegalState(&'static str),
    /// The arguments cannot be right. A bug of the application; nothing changed.
    InvalidArgument(&'static str),
    /// What the broker sent does not make sense. The connection was given up.
    Protocol(&'static str),
    /// The broker said no and will say no again.
    Refused {
        /// Its code.
        code: ErrorCode,
        /// Its message, or what was asked for where it sent none.
        message: Str,
    },
    /// The time limit of the call passed; what was asked for may have happened or not. A call that
    /// ends a transaction may be repeated: the broker answers the repetition with the outcome.
    TimedOut {
        /// The last retriable code of the broker; NONE where no broker answered.
        last: ErrorCode,
    },
    /// The broker does not offer this API in a version that we speak. For share acknowledgements in
    /// a transaction this means a broker without KIP-1289: acknowledge plainly, or change the broker.
    Unsupported {
        /// Name of the API or feature.
        api: &'static str,
    },
}

impl ClientError {
    /// The broker's code, where there is one.
    pub fn code(&self) -> ErrorCode {
        match self {
            ClientError::Abortable { code, .. }
            | ClientError::Fatal { code, .. }
            | ClientError::Fenced { code }
            | ClientError::Refused { code, .. }
            | ClientError::TimedOut { last: code } => *code,
            _ => ErrorCode::NONE,
        }
    }

    /// Whether `abort_transaction` is the way on.
    pub fn is_abortable(&self) -> bool {
        matches!(self, ClientError::Abortable { .. })
    }

    /// The same failure, seen from a transaction that has to be aborted because of it.
    pub(crate) fn into_abortable(self) -> Self {
        match self {
            fatal @ (ClientError::Fatal { .. }
            | ClientError::Fenced { .. }
            | ClientError::Closed
            | ClientError::Abortable { .. }) => fatal,
            ClientError::Refused { code, message } => ClientError::Abortable { code, message },
            other => {
                let message = alloc::format!("{other}");
                ClientError::Abortable {
                    code: other.code(),
                    message: message.into(),
                }
            }
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Abortable { code, message } => {
                write!(f, "{message} ({code}); abort the transaction")
            }
            ClientError::Closed => f.write_str("the client is closed"),
            ClientError::Fatal { code, message } => write!(
                f,
                "{message} ({code}); close this producer and begin again with a new one"
            ),
            ClientError::Fenced { code } => write!(
                f,
                "another producer has taken over this transactional id ({code}); close this one, \
                 the other does the work"
            ),
            ClientError::IllegalState(what)
            | ClientError::InvalidArgument(what)
            | ClientError::Protocol(what) => f.write_str(what),
            ClientError::Refused { code, message } => write!(f, "{message} ({code})"),
            ClientError::TimedOut {
                last: ErrorCode::NONE,
            } => f.write_str(
                "no broker answered in time; look whether one runs at the bootstrap addresses",
            ),
            ClientError::TimedOut { last } => {
                write!(
                    f,
                    "not done in time, last answer {last}; whether it happened is open"
                )
            }
            ClientError::Unsupported { api } => {
                write!(
                    f,
                    "the broker does not offer {api}; this needs a newer broker"
                )
            }
        }
    }
}

impl core::error::Error for ClientError {}
