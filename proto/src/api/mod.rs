//! The APIs: their keys and versions, the headers, and the enums over all messages.
//!
//! Known are all APIs of Apache Kafka 4.4, those between brokers and controllers too, in every
//! version that it accepts, and the two of KIP-1289. What a server announces and serves is its
//! own choice.
//!
#![doc = include_str!("versions.md")]

mod header;
mod table;

pub use header::{
    Body, RawRequestHeader, RequestHeader, ResponseHeader, encode_request_frame,
    encode_response_frame,
};
pub use table::{ApiKey, Request, Response};
