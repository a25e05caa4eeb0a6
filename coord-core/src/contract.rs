//! What goes into the broker and what comes out.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ackord_machine::{Completion, StorageOp};
use bytes::Bytes;

use crate::authorizer::Principal;

/// Names one connection; chosen by the embedder, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

impl fmt::Display for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// Everything that can happen to a broker.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Something an operator wants.
    Admin(AdminCommand),
    /// A connection is gone, whoever closed it. Answers also [`Effect::Close`].
    Closed {
        /// The connection.
        conn: ConnId,
    },
    /// A storage operation ended.
    Completed(Completion),
    /// One request frame without its four bytes of size. One frame for each [`Effect::Read`].
    Frame {
        /// The connection.
        conn: ConnId,
        /// The request.
        bytes: Bytes,
    },
    /// A connection was accepted.
    Opened {
        /// The connection.
        conn: ConnId,
        /// Address of the peer without its port.
        host: String,
        /// Who speaks; [`Input::opened`] says nobody in particular.
        principal: Principal,
    },
    /// Bytes of [`Effect::Send`] left for the peer: write credit.
    Sent {
        /// The connection.
        conn: ConnId,
        /// How many.
        bytes: usize,
    },
    /// A deadline may have passed. Harmless where none has.
    Timeout,
}

impl Input {
    /// A connection of `User:ANONYMOUS`.
    pub fn opened(conn: ConnId, host: impl Into<String>) -> Self {
        let (host, principal) = (host.into(), Principal::default());
        Input::Opened {
            conn,
            host,
            principal,
        }
    }
}

/// What an operator can ask of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// Take no new work; finish what is under way, write checkpoints, then emit [`Event::Drained`].
    Drain,
}

/// Everything a broker asks of its embedder. Exhaustive on purpose: a new effect has to break every
/// adapter at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send what is queued for the connection, then close it and answer with [`Input::Closed`].
    Close {
        /// The connection.
        conn: ConnId,
        /// Why, for the log.
        reason: CloseReason,
    },
    /// Something for logs and metrics. Dropping it changes nothing else.
    Emit(Event),
    /// Read one more frame of the connection.
    Read {
        /// The connection.
        conn: ConnId,
    },
    /// Write the chunks one after the other, in the order of these effects, and report the bytes
    /// with [`Input::Sent`].
    Send {
        /// The connection.
        conn: ConnId,
        /// A whole reply with its four bytes of size. Payload is shared with the log, never copied.
        chunks: Vec<Bytes>,
    },
    /// Start the operation and answer with one [`Input::Completed`].
    Store(StorageOp),
}

/// Why the broker closes a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The request header or body cannot be decoded.
    BadRequest(String),
    /// The broker stops.
    Draining,
    /// The broker's own state cannot be read back at the moment.
    StorageFailed,
    /// More connections than the limit.
    TooManyConnections,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::BadRequest(what) => write!(f, "bad request: {what}"),
            CloseReason::Draining => f.write_str("the broker stops"),
            CloseReason::StorageFailed => f.write_str("storage failed"),
            CloseReason::TooManyConnections => f.write_str("too many connections"),
        }
    }
}

/// What operators may want to know. Write-only: nothing depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing is under way any more after [`AdminCommand::Drain`].
    Drained,
    /// Recovery is complete; connections are read from now on.
    Ready,
    /// Recovery found stored bytes that it cannot use; the broker serves nothing.
    RecoveryFailed(String),
    /// Something went wrong that a person should know of.
    Warning(String),
}
