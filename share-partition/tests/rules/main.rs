//! The rules of delivery, seen from outside.

mod common;
mod delivery;
mod model;
mod operations;
mod property;
mod transaction;
mod transactional_mode;
