//! Clients: each an endless story told as one function, ended by the run.

mod admin;
mod member;
mod mover;
mod participant;
mod plain;
mod producer;
mod resetter;
mod staging;
mod transactional;
mod worker;

pub use admin::{admin, elder, open_queue, reader, set_up, vandal};
pub use member::{Acks, Got, Member};
pub use mover::mover;
pub use participant::{participant, settle};
pub use plain::plain;
pub use producer::{feeder, producer};
pub use resetter::resetter;
pub use transactional::Transactional;
pub use worker::{Temper, copy_nothing, worker};

/// The topic that is copied.
pub const INPUT: &str = "in";
/// The topic with the copies.
pub const OUTPUT: &str = "out";
/// The dead letter queue of all share groups.
pub const QUEUE: &str = "dlq.in";
/// The share groups.
pub const GROUPS: &[&str] = &["g", "h", "k"];
/// The consumer group whose offsets movers commit.
pub const MOVERS: &str = "movers";
