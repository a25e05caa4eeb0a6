//! Clients: each an endless story told as one function, ended by the run.

mod admin;
mod member;
mod mover;
mod plain;
mod producer;
mod resetter;
mod worker;

pub use admin::{admin, elder, reader, set_up, vandal};
pub use member::{Acks, Got, Member};
pub use mover::mover;
pub use plain::plain;
pub use producer::{feeder, producer};
pub use resetter::resetter;
pub use worker::{Temper, worker};

/// The topic that is copied.
pub const INPUT: &str = "in";
/// The topic with the copies.
pub const OUTPUT: &str = "out";
/// The share groups.
pub const GROUPS: &[&str] = &["g", "h", "k"];
/// The consumer group whose offsets movers commit.
pub const MOVERS: &str = "movers";
