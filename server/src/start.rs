//! What a core starts with, and why a broker does not start.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use ackord_log_store::OpenError;
use ackord_machine::{Limits, Now};

use crate::address::Address;
use crate::logging::Logger;

/// What a core is made from.
#[derive(Clone, Debug)]
pub struct Startup {
    /// Where clients are told to connect.
    pub advertised: Address,
    /// Broker configurations by their Kafka names; later ones win.
    pub configs: Vec<(String, String)>,
    /// Bounds of everything that could grow.
    pub limits: Limits,
    /// Where warnings go.
    pub logger: Logger,
    /// The moment of the start.
    pub now: Now,
    /// For the core's own randomness.
    pub seed: [u8; 32],
}

/// A seed from the randomness that the operating system gave to the hash maps of std.
pub(crate) fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    for (index, part) in seed.chunks_mut(8).enumerate() {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_usize(index);
        part.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    seed
}

/// Why a broker does not start. The text says what to do.
#[derive(Debug)]
pub enum StartError {
    /// A configuration has a value that is not allowed.
    Config(String),
    /// The address cannot be listened on.
    Listen {
        /// The address.
        address: Address,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// The store does not open.
    Store(OpenError),
    /// No thread can be started.
    Thread(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(text) => f.write_str(text),
            StartError::Listen { address, error } => {
                write!(f, "cannot listen on {address} ({error}); ")?;
                match error.kind() {
                    std::io::ErrorKind::AddrInUse => f.write_str(
                        "stop the program that uses this port, or choose another with --listen or --admin",
                    ),
                    _ => f.write_str("choose an address of this machine with --listen or --admin"),
                }
            }
            StartError::Store(error) => write!(f, "{error}"),
            StartError::Thread(error) => write!(f, "a thread cannot be started ({error})"),
        }
    }
}

impl std::error::Error for StartError {}
