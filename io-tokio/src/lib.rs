//! The broker and the client on tokio.
#![forbid(unsafe_code)]

pub mod client;
pub mod server;
