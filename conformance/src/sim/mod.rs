//! The simulator: a whole broker, many clients, and everything that can go wrong between them.
//!
//! A seed is a run: sizes, clients, faults, every delay. Nothing else goes in, so the same seed gives
//! the same run, byte for byte, and prints the same digest. In the safety phase ([`plan`]) the store
//! holds, fails and reorders what the contract lets it, the process crashes with only a part of its
//! last writes kept, connections break before or after a request was carried out, and bytes arrive
//! again later. Then faults stop, and everything that was begun has to end ([`run`]).
//!
//! [`ledger`], [`deliveries`] and [`stages`] are the oracle: they read the wire and know what was
//! promised.
//! [`watcher`] looks into the machines, and now and then builds them anew from what is stored, to
//! compare. [`audit`] draws up the account at the end, with [`dead_letters`].
//!
//! The broker is placed on one node ([`one_node`]), or its machines on four ([`spread`]).
//!
//! What fails is made smaller ([`shrink`]) by leaving out clients and faults, one by one.

pub mod actors;
pub mod audit;
pub mod chance;
pub mod cluster;
pub mod command;
pub mod ctx;
pub mod dead_letters;
pub mod deliveries;
pub mod hooks;
pub mod ledger;
pub mod network;
pub mod one_node;
pub mod plan;
pub mod planted;
pub mod run;
pub mod sessions;
pub mod shrink;
pub mod spread;
pub mod stages;
pub mod watcher;
pub mod wire;
pub mod workload;
pub mod world;
