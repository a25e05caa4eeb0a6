//! The rules of delivery, seen from outside.

mod closure;
mod common;
mod dead_letter;
mod delivery;
mod model;
mod operations;
mod property;
mod small_world;
mod transaction;
mod transactional_mode;
