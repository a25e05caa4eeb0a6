//! The store from outside.

mod common;
mod crash;
mod keeps;
