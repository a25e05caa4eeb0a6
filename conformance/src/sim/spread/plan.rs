//! What a seed stands for here: crashes, failed appends and new leaders, each with its moment.

use ackord_machine::LogId;

use super::host::Place;
use super::world::{LOGS, NODES, STATE_PARTITIONS, WORKERS};
use crate::sim::chance::Chance;
use crate::sim::shrink::Parts;
use crate::sim::workload::Workload;

/// Something that goes wrong at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The append that is under way or comes next fails; it may have landed all the same.
    Append { place: Place, landed: bool },
    /// The process of a node ends, and begins again so many milliseconds later.
    Crash { node: u64, away_ms: u64 },
    /// A partition gets another leader, on this node, when the old one has answered its next stage:
    /// the answer is still on its way then.
    Move { log: LogId, node: u64 },
}

/// A run before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) chance: Chance,
    /// With their moments in milliseconds, by number.
    pub(crate) faults: Vec<(u64, Fault)>,
    /// Milliseconds of the safety phase.
    pub(crate) length_ms: u64,
    /// Messages in a thousand to which the network does something.
    pub(crate) net_permille: u64,
    /// The group has a dead letter queue.
    pub(crate) has_queue: bool,
}

impl Plan {
    pub(crate) fn new(seed: u64, workload: &Workload) -> Self {
        let chance = Chance::of_seed(seed).fork(workload.name);
        let mut faults = Vec::new();
        let mut draws = chance.fork("faults");
        let mut at = draws.below(8000);
        while at < workload.length_ms {
            let fault = match draws.below(10) {
                0..=2 => Fault::Append {
                    place: draws.pick(&appending()),
                    landed: draws.percent(50),
                },
                3..=5 => Fault::Move {
                    log: draws.pick(&LOGS),
                    node: draws.below(NODES),
                },
                _ => Fault::Crash {
                    node: draws.below(NODES),
                    away_ms: draws.below(4000),
                },
            };
            faults.push((at, fault));
            at += 500 + draws.below(2 * workload.length_ms / workload.faults.max(1));
        }
        let has_queue = chance.fork("queue").percent(50);
        Plan {
            has_queue,
            chance,
            faults,
            length_ms: workload.length_ms,
            net_permille: workload.net_permille,
        }
    }

    /// What can be left out of it.
    pub(crate) fn parts(&self) -> Parts {
        Parts {
            clients: WORKERS,
            faults: self.faults.len(),
            length_ms: self.length_ms,
        }
    }
}

/// Machines that have a log of their own.
fn appending() -> Vec<Place> {
    let coordinators = (0..STATE_PARTITIONS).map(Place::Sgc);
    coordinators.chain([Place::Tc]).collect()
}

/// Each machine and its node.
pub(crate) fn places() -> impl Iterator<Item = (Place, u64)> {
    let places = [Place::Tc, Place::Sgc(0), Place::Sgc(1), Place::Group];
    let places = places.into_iter().chain(LOGS.map(Place::Leader));
    places.zip([0, 1, 2, 3, 3, 0, 1])
}
