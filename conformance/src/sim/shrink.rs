//! Makes a failing run small: leaves out clients, faults and the end of the safety phase, as long as
//! something still fails.

use super::plan::{Plan, Without};
use super::run::{self, Report};
use super::spread;
use super::workload::{Placement, Workload};

/// Lines of a transcript that are shown; what happened last tells most.
const LINES: usize = 120;
/// Runs that may be spent.
const BUDGET: usize = 400;

/// What can be left out of a run.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Clients.
    pub clients: usize,
    /// Faults that have a moment.
    pub faults: usize,
    /// Milliseconds of the safety phase.
    pub length_ms: u64,
}

fn parts(seed: u64, workload: &Workload) -> Parts {
    if workload.placement == Placement::FourNodes {
        return spread::parts(seed, workload);
    }
    let plan = Plan::new(seed, workload);
    Parts {
        clients: plan.clients.len(),
        faults: plan.faults.len(),
        length_ms: plan.length_ms,
    }
}

/// Prints a failing run, made small, and how to repeat it.
pub fn explain(seed: u64, workload: &Workload, report: Report) {
    let without = shrink(seed, workload, report);
    let smallest = run::run(seed, workload, &without, true);
    let skipped = smallest.transcript.len().saturating_sub(LINES);
    if skipped > 0 {
        println!("    .. {skipped} lines before");
    }
    for line in &smallest.transcript[skipped..] {
        println!("    {line}");
    }
    for problem in &smallest.problems {
        println!("    => {problem}");
    }
    println!(
        "    again: cargo run --release -p ackord-conformance -- sim --seeds {seed} --workload {} --without '{without}' --show",
        workload.name
    );
}

/// Leaves out what is not needed for a failure.
pub fn shrink(seed: u64, workload: &Workload, report: Report) -> Without {
    let parts = parts(seed, workload);
    let mut without = Without::default();
    let mut net = report.net_faults;
    let mut budget = BUDGET;
    let mut fails = |without: &Without, net: &mut Vec<(usize, u64)>| {
        if budget == 0 {
            return false;
        }
        budget -= 1;
        let report = run::run(seed, workload, without, false);
        let fails = !report.problems.is_empty();
        if fails {
            *net = report.net_faults;
        }
        fails
    };
    // All of the network at once, then all faults, then one by one.
    let mut attempt = without.clone();
    attempt.net.extend(net.iter().copied());
    if fails(&attempt, &mut net) {
        without = attempt;
    }
    let mut attempt = without.clone();
    attempt.faults.extend(0..parts.faults);
    if fails(&attempt, &mut net) {
        without = attempt;
    }
    for client in 0..parts.clients {
        let mut attempt = without.clone();
        attempt.clients.insert(client);
        if fails(&attempt, &mut net) {
            without = attempt;
        }
    }
    for fault in (0..parts.faults).rev() {
        let mut attempt = without.clone();
        if attempt.faults.insert(fault) && fails(&attempt, &mut net) {
            without = attempt;
        }
    }
    let mut size = net.len().div_ceil(2);
    while size > 0 {
        let mut place = 0;
        while place < net.len() {
            let mut attempt = without.clone();
            let chunk: Vec<(usize, u64)> = net.iter().skip(place).take(size).copied().collect();
            attempt.net.extend(chunk);
            let before = net.len();
            if fails(&attempt, &mut net) {
                without = attempt;
            }
            if net.len() >= before {
                place += size;
            }
        }
        size /= 2;
    }
    let mut length = parts.length_ms;
    while length > 50 {
        let mut attempt = without.clone();
        attempt.length_ms = Some(length * 3 / 4);
        if !fails(&attempt, &mut net) {
            break;
        }
        without = attempt;
        length = length * 3 / 4;
    }
    without
}
