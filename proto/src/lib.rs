//! Bytes to messages and back: Kafka's wire protocol without a socket.
//!
//! * [`messages`]: one plain struct for each request and response, every version of it.
//! * [`api`]: the table of APIs, the headers, and the enums over all requests and responses.
//! * [`frame`]: cutting a stream of bytes into frames.
//! * [`records`]: record batches (magic 2) and control records.
//! * [`coordinator_records`]: what the coordinators write into their internal topics.
//! * [`embedded`]: structures inside bytes fields, such as subscriptions of consumers.
//! * [`kip1289`]: the numbers of transactional share acknowledgement.
//!
//! Nothing here holds state, does I/O or needs the standard library. Feature `std` (on by
//! default) adds the CRC-32C that uses the processor's own instruction.
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

extern crate self as ackord_proto;

pub use ackord_proto_derive::Wire;

pub mod api;
pub mod coordinator_records;
pub mod embedded;
pub mod error_code;
pub mod frame;
pub mod ids;
pub mod kip1289;
pub mod message;
pub mod messages;
mod parse;
pub mod printer;
pub mod reader;
pub mod records;
pub mod str;
pub mod tags;
pub mod uuid;
pub mod wire;
pub mod writer;

pub use error_code::ErrorCode;
pub use ids::Ids;
pub use message::{DecodeError, DecodeErrorKind, EncodeError, Kind, Message};
pub use reader::Reader;
pub use records::Records;
pub use str::Str;
pub use uuid::Uuid;
pub use writer::Writer;
