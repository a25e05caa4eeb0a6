//! The broker and the client on async-std.
//!
//! async-std is no longer developed; the crate shows that the cores need no particular runtime, and
//! serves programs that are built on it.
#![forbid(unsafe_code)]

pub mod client;
pub mod server;
mod socket;
