//! What goes into and comes out of every client machine.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use ackord_machine::{Deadline, Now};
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::ClientError;

/// Names one connection; chosen by the machine, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// Names one command of the application; chosen by the embedder, returned with the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Where a broker listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Host name or address; an IPv6 address without brackets.
    pub host: Str,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The text is not `host:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointParseError;

impl fmt::Display for EndpointParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address of a broker is host:port")
    }
}

impl core::error::Error for EndpointParseError {}

impl FromStr for Endpoint {
    type Err = EndpointParseError;

    fn from_str(text: &str) -> Result<Self, EndpointParseError> {
        let (host, port) = text.rsplit_once(':').ok_or(EndpointParseError)?;
        let port = port.parse().map_err(|_| EndpointParseError)?;
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = inner.unwrap_or(host);
        if host.is_empty() || (inner.is_none() && host.contains(':')) {
            return Err(EndpointParseError);
        }
        Ok(Endpoint {
            host: host.into(),
            port,
        })
    }
}

/// What happens to a client machine.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientInput<C> {
    /// Sockets and the clock.
    Network(NetworkInput),
    /// The application wants something.
    Call {
        /// Returned in [`ClientEffect::Done`].
        call: CallId,
        /// What it wants.
        command: C,
    },
}

/// What happens at a socket or to the clock. Connections that the machine has closed, or that it
/// does not know, are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkInput {
    /// The connection is open.
    Connected {
        /// The connection.
        conn: ConnId,
    },
    /// The connection could not be opened.
    ConnectFailed {
        /// The connection.
        conn: ConnId,
    },
    /// The connection ended, whoever ended it.
    Closed {
        /// The connection.
        conn: ConnId,
    },
    /// A whole frame came in.
    Frame {
        /// The connection.
        conn: ConnId,
        /// The frame without the four bytes of its size.
        bytes: Bytes,
    },
    /// The clock has moved, perhaps to the deadline.
    Timeout,
}

/// What a client machine asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEffect<O> {
    /// Of the sockets.
    Network(NetworkEffect),
    /// A command ended.
    Done {
        /// The command.
        call: CallId,
        /// How it ended.
        result: Result<O, ClientError>,
    },
}

/// What a client machine asks of the sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkEffect {
    /// Open a connection; the answer is [`NetworkInput::Connected`] or
    /// [`NetworkInput::ConnectFailed`].
    Connect {
        /// Its name from now on.
        conn: ConnId,
        /// Where to.
        endpoint: Endpoint,
    },
    /// Write these bytes, in order.
    Send {
        /// The connection.
        conn: ConnId,
        /// A whole frame, its size included.
        chunks: Vec<Bytes>,
    },
    /// Close the connection; nothing about it need be reported any more.
    Close {
        /// The connection.
        conn: ConnId,
    },
}

/// What all client machines have in common; adapters are written against it.
pub trait Machine {
    /// What the application can ask for.
    type Command;
    /// What a command gives.
    type Output;

    /// Takes one input and decides everything that follows from it.
    fn handle(&mut self, now: Now, input: ClientInput<Self::Command>);

    /// The next thing to do, if there is one.
    fn poll_effect(&mut self) -> Option<ClientEffect<Self::Output>>;

    /// When to call again with [`NetworkInput::Timeout`] at the latest.
    fn next_deadline(&self) -> Option<Deadline>;

    /// Nobody waits for this call any more; where it has ended already, with `output`. What was
    /// asked for goes on, but a poll gives its records to the next one, as if it had not been.
    fn abandoned(&mut self, now: Now, call: CallId, output: Option<Self::Output>) {
        let _ = (now, call, output);
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn endpoints_read_back() {
        for text in ["localhost:9092", "10.0.0.1:1", "[::1]:65535"] {
            assert_eq!(
                text.parse::<Endpoint>().map(|end| end.to_string()),
                Ok(text.into())
            );
        }
        for wrong in [
            "",
            "localhost",
            "localhost:",
            ":9092",
            "a:70000",
            "::1:9092",
        ] {
            assert_eq!(
                wrong.parse::<Endpoint>(),
                Err(EndpointParseError),
                "{wrong}"
            );
        }
    }
}
