//! Faults planted on purpose: each has to be found, or the oracle does not bite.

use ackord_machine::planted::{NAMES, choose};

use super::command::{self, Job, Tally};
use super::plan::Without;

/// Runs of one fault between two looks at whether it has been found often enough.
const ROUND: usize = 20;
/// Finds after which a fault counts as found for good.
const ENOUGH: usize = 5;

/// Runs `jobs` with each fault that `name` stands for, until it was found often enough.
///
/// # Errors
/// There is no such fault.
pub fn planted(name: &str, jobs: &[Job], threads: usize) -> Result<Tally, String> {
    let chosen: Vec<(u8, &str)> = (1..)
        .zip(NAMES.iter().copied())
        .filter(|(_, own)| name == "all" || *own == name || own.starts_with(&format!("{name}-")))
        .collect();
    if chosen.is_empty() {
        return Err(format!(
            "no planted fault `{name}`; there are {}",
            NAMES.join(", ")
        ));
    }
    // A panic is one of the ways in which a fault shows.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut passed, mut failed) = (0, 0);
    for (fault, name) in chosen {
        choose(fault);
        let (mut found, mut runs) = (0, 0);
        let mut first = None;
        for round in jobs.chunks(ROUND) {
            command::each(
                round,
                threads,
                &Without::default(),
                false,
                |(seed, workload), report| {
                    runs += 1;
                    if let Some(problem) = report.problems.into_iter().next() {
                        found += 1;
                        first.get_or_insert((seed, workload.name, problem));
                    }
                    true
                },
            );
            if found >= ENOUGH {
                break;
            }
        }
        choose(0);
        match first {
            Some((seed, workload, problem)) => {
                passed += 1;
                println!(
                    "{name}: found in {found} of {runs} runs; seed {seed} of {workload}: {problem:.160}"
                );
            }
            None => {
                failed += 1;
                println!("{name}: NOT FOUND in {runs} runs");
            }
        }
    }
    std::panic::set_hook(hook);
    Ok((passed, failed))
}
