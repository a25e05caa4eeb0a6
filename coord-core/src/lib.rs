//! The sans-IO broker.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod broker;
pub mod contract;
pub mod group;
pub mod leader;
pub mod log;
pub mod metadata;
pub mod outbox;
pub mod share;
pub mod txn;

pub use broker::Broker;
pub use contract::{AdminCommand, CloseReason, ConnId, Effect, Event, Input};
pub use metadata::BrokerConfig;
