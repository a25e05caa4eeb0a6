//! The simulator: a seed is a run, and the oracle of the spread machines finds broken rules.

use ackord_conformance::sim::plan::Without;
use ackord_conformance::sim::run;
use ackord_conformance::sim::spread::{self, Sabotage};
use ackord_conformance::sim::workload::{WORKLOADS, named};

#[test]
fn a_seed_gives_the_same_run_again() {
    for workload in WORKLOADS {
        for seed in 0..3 {
            let [once, again] =
                [(), ()].map(|()| run::run(seed, workload, &Without::default(), false));
            let name = workload.name;
            assert_eq!(once.problems, Vec::<String>::new(), "seed {seed} of {name}");
            assert_eq!(once.digest, again.digest, "seed {seed} of {name}");
            assert!(
                once.deliveries > 0 && once.requests > 0,
                "seed {seed} of {name} is idle"
            );
        }
    }
}

#[test]
fn another_seed_gives_another_run() {
    for workload in WORKLOADS {
        let [one, other] = [1, 2].map(|seed| run::run(seed, workload, &Without::default(), false));
        assert_ne!(one.digest, other.digest, "{}", workload.name);
    }
}

/// Each of these breaks one rule that the protocol stands on, by changing messages on their way.
#[test]
fn broken_rules_are_found() {
    let workload = named("spread").expect("it is in the list");
    for sabotage in Sabotage::ALL {
        let problems = |seed| {
            let run = spread::run(seed, workload, &Without::default(), false, Some(sabotage));
            run.problems.into_iter().next()
        };
        let found = (0..2000).find_map(|seed| Some((seed, problems(seed)?)));
        let (seed, problem) = found.unwrap_or_else(|| panic!("{sabotage:?} is not found"));
        let line = problem.lines().next().unwrap_or_default();
        println!("{sabotage:?}: seed {seed}, {line}");
    }
}
