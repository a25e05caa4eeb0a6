//! The APIs: their keys and versions, the headers, and the enums over all messages.

mod header;
mod table;

pub use header::{
    Body, RawRequestHeader, RequestHeader, ResponseHeader, encode_request_frame,
    encode_response_frame,
};
pub use table::{ApiKey, Request, Response};
