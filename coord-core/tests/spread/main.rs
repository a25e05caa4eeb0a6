//! The machines of a broker on four nodes, with a network between them that loses, repeats, delays
//! and reorders, logs that are slow, and crashes: a transaction coordinator, two share coordinators,
//! the leaders of three partitions and a group coordinator, all the real ones (KIP-1289).
//!
//! A seed is a run. Workers copy records, each in transactions over several partitions, until every
//! record is acknowledged; some stop in the middle and come back with requests of long ago. Then
//! faults stop and everything has to end. What is judged, is judged on what is durable ([`oracle`]).
//!
//! `ACKORD_SPREAD_SEEDS=1..2000 cargo test --release -p ackord-coord-core --test spread -- --nocapture` runs more.

mod host;
mod machines;
mod network;
mod oracle;
mod worker;
mod world;

use network::Sabotage;
use world::{Figures, World};

fn seeds() -> std::ops::Range<u64> {
    let asked = option_env!("ACKORD_SPREAD_SEEDS").and_then(|text| text.split_once(".."));
    let parsed = asked.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parsed.unwrap_or(0..500)
}

#[test]
fn four_nodes_settle_every_record_once() {
    let mut sum = Figures::default();
    let seeds = seeds();
    let runs = seeds.end - seeds.start;
    for seed in seeds {
        let figures =
            World::run(seed, None).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        sum.add(figures);
    }
    println!("{runs} runs: {sum:?}");
    let faults = [
        sum.lost,
        sum.repeated,
        sum.crashes,
        sum.aborted,
        sum.committed,
        sum.late,
    ];
    assert!(faults.iter().all(|count| *count > runs), "{sum:?}");
}

/// A seed gives the same run again.
#[test]
fn a_seed_is_a_run() {
    assert_eq!(World::run(7, None), World::run(7, None));
}

/// The oracle bites: each of these breaks one rule that the protocol stands on, and is found.
#[test]
fn every_broken_rule_is_found() {
    for sabotage in Sabotage::ALL {
        let found =
            (0..2000).find_map(|seed| Some((seed, World::run(seed, Some(sabotage)).err()?)));
        let (seed, broken) = found.unwrap_or_else(|| panic!("{sabotage:?} is not found"));
        let first = broken.lines().next().unwrap_or_default();
        println!("{sabotage:?}: seed {seed}: {first}");
    }
}
