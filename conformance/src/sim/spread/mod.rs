//! The machines of a broker on four nodes, with a network between them that loses, repeats, delays
//! and reorders, logs that are slow and fail, crashes, and leaders that move: a transaction
//! coordinator, two share coordinators, the leaders of three partitions and a group coordinator, all
//! the real ones (KIP-1289).
//!
//! Workers copy records, each in transactions over several partitions, until every record is
//! acknowledged; some stop in the middle and come back with requests of long ago. Then faults stop
//! and everything has to end. What is judged, is judged on what is durable ([`oracle`]).

mod host;
mod machines;
mod network;
mod oracle;
mod plan;
mod worker;
mod world;

pub use network::Sabotage;

use super::plan::Without;
use super::run::Report;
use super::shrink::Parts;
use super::workload::Workload;
use plan::Plan;
use world::World;

/// Carries out the run of a seed, without what is left out, perhaps with a rule broken.
pub fn run(
    seed: u64,
    workload: &Workload,
    without: &Without,
    keep_transcript: bool,
    sabotage: Option<Sabotage>,
) -> Report {
    let plan = Plan::new(seed, workload);
    World::new(&plan, without, keep_transcript, sabotage).run()
}

/// What can be left out of the run of a seed.
pub fn parts(seed: u64, workload: &Workload) -> Parts {
    Plan::new(seed, workload).parts()
}
