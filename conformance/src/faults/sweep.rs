//! All faults at all operations of a script, one after the other.
//!
//! A run without faults tells which operations there are. Each is then failed in every way in which a
//! store can fail it, and the broker ends before it, with it, and right after it was told of it. What
//! follows from that is disturbed again: each operation of the start after a crash, and each load that
//! reads back what a failed change left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ackord_machine::StorageFault;

use super::{FaultRun, with_faults, without_fault};
use crate::memory_store::{Crash, Kind, Plan, Traced};
use crate::run::{load, script_files};
use crate::script::Script;

/// So many operations after a failed change may be loads because of it.
const RELOADS: usize = 12;

/// Which of all faults are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Of everything one in so many, the same ones each time.
    OneIn(usize),
    /// All of them.
    Whole,
}

/// What all runs came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Runs with one fault.
    pub single: usize,
    /// Runs with one more in what followed the first.
    pub double: usize,
    /// Transactions whose outputs were visible at the end.
    pub visible: usize,
    /// Records that they had acknowledged.
    pub acknowledged: usize,
    /// Records with a dead letter.
    pub dead_letters: usize,
    /// Records that ended at the delivery limit.
    pub limited: usize,
    /// Outputs and records that were removed.
    pub removed: usize,
    /// Runs with broken promises.
    pub failed: usize,
    /// Broken promises, with script and faults.
    pub problems: Vec<String>,
}

impl Sweep {
    fn add(&mut self, other: Sweep) {
        self.single += other.single;
        self.double += other.double;
        self.visible += other.visible;
        self.acknowledged += other.acknowledged;
        self.dead_letters += other.dead_letters;
        self.limited += other.limited;
        self.removed += other.removed;
        self.failed += other.failed;
        self.problems.extend(other.problems);
    }
}

/// Sweeps scripts, on so many threads.
pub fn sweep(paths: &[PathBuf], extent: Extent, threads: usize) -> Sweep {
    let next = AtomicUsize::new(0);
    let sum = Mutex::new(Sweep::default());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy();
                    let own = match load(path) {
                        Ok(script) => OneScript::new(&name, &script, extent).sweep(),
                        Err(error) => Sweep {
                            problems: vec![format!("{name}: {error}")],
                            ..Default::default()
                        },
                    };
                    if let Ok(mut sum) = sum.lock() {
                        sum.add(own);
                    }
                }
            });
        }
    });
    let mut sum = sum.into_inner().unwrap_or_default();
    sum.problems.sort();
    sum
}

/// Sweeps files and folders of scripts, prints what went wrong and the figures; returns how many runs
/// passed and failed.
///
/// # Errors
/// A sentence.
pub fn run_paths(
    paths: &[PathBuf],
    extent: Extent,
    threads: usize,
) -> Result<(usize, usize), String> {
    if extent == Extent::OneIn(0) {
        return Err("one in 0 is none".to_string());
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads };
    let files: Vec<PathBuf> = paths.iter().flat_map(|path| script_files(path)).collect();
    let sum = sweep(&files, extent, threads);
    sum.problems.iter().for_each(|what| println!("{what}"));
    println!(
        "{} scripts, {} runs with one fault, {} with two: {} visible transactions, {} records \
         acknowledged by them, {} dead letters, {} ended at the limit, {} removed",
        files.len(),
        sum.single,
        sum.double,
        sum.visible,
        sum.acknowledged,
        sum.dead_letters,
        sum.limited,
        sum.removed
    );
    let runs = files.len() + sum.single + sum.double;
    Ok((runs.saturating_sub(sum.failed), sum.failed))
}

struct OneScript<'a> {
    name: &'a str,
    script: &'a Script,
    extent: Extent,
    /// Faults that were looked at; which are tried goes by this number.
    count: usize,
    sweep: Sweep,
}

impl<'a> OneScript<'a> {
    fn new(name: &'a str, script: &'a Script, extent: Extent) -> Self {
        OneScript {
            name,
            script,
            extent,
            // Not the same ones of each script.
            count: name.bytes().map(usize::from).sum(),
            sweep: Sweep::default(),
        }
    }

    fn is_tried(&mut self) -> bool {
        self.count += 1;
        match self.extent {
            Extent::OneIn(stride) => self.count.is_multiple_of(stride),
            Extent::Whole => true,
        }
    }

    fn sweep(mut self) -> Sweep {
        let whole = without_fault(self.script);
        self.enter(&whole, &[]);
        let operations = whole.trace.iter().take(whole.operations).copied();
        for (number, traced) in operations.enumerate() {
            for plan in plans(traced) {
                if !self.is_tried() {
                    continue;
                }
                let plans = [(number, plan)];
                let Some(run) = self.run(&plans) else {
                    continue;
                };
                self.sweep.single += 1;
                self.follow(&run, (number, plan));
            }
        }
        self.sweep
    }

    /// Tries faults in what a first one led to.
    fn follow(&mut self, run: &FaultRun, first: (usize, Plan)) {
        let mut seconds = Vec::new();
        for (number, traced) in followers(run, first) {
            let plans = plans(traced).into_iter();
            let plans = plans.filter(|plan| *plan != Plan::Crash(Crash::Before));
            seconds.extend(plans.map(|plan| (number, plan)));
        }
        if let Extent::OneIn(_) = self.extent {
            // One for each first.
            let chosen = self.count.checked_rem(seconds.len());
            seconds = chosen.map(|chosen| seconds[chosen]).into_iter().collect();
        }
        for second in seconds {
            if self.run(&[first, second]).is_some() {
                self.sweep.double += 1;
            }
        }
    }

    fn run(&mut self, plans: &[(usize, Plan)]) -> Option<FaultRun> {
        let script = self.script;
        match catch_unwind(AssertUnwindSafe(|| with_faults(script, plans))) {
            Ok(run) => {
                self.enter(&run, plans);
                Some(run)
            }
            Err(_) => {
                self.sweep.failed += 1;
                self.problem(plans, "the broker panicked");
                None
            }
        }
    }

    fn enter(&mut self, run: &FaultRun, plans: &[(usize, Plan)]) {
        self.sweep.visible += run.visible;
        self.sweep.acknowledged += run.acknowledged;
        self.sweep.dead_letters += run.dead_letters;
        self.sweep.limited += run.limited;
        self.sweep.removed += run.removed;
        self.sweep.failed += usize::from(!run.problems.is_empty() || !run.reached);
        for what in &run.problems {
            self.problem(plans, what);
        }
        if !run.reached {
            self.problem(plans, "there is no such operation");
        }
    }

    fn problem(&mut self, plans: &[(usize, Plan)], what: &str) {
        let plans: Vec<String> = plans
            .iter()
            .map(|(number, plan)| format!("operation {number} {plan}"))
            .collect();
        let text = format!("{}, {}: {what}", self.name, plans.join(", "));
        self.sweep.problems.push(text);
    }
}

/// What can happen at an operation.
fn plans(traced: Traced) -> Vec<Plan> {
    let mut crashes = vec![Crash::Before, Crash::Told, Crash::Untold { kept: 0 }];
    if traced.behind > 0 {
        crashes.push(Crash::Untold { kept: 1 });
    }
    if traced.behind > 1 {
        crashes.push(Crash::Untold {
            kept: traced.behind,
        });
    }
    let crashes = crashes.into_iter().map(Plan::Crash);
    let faults = traced.kind.faults().iter().copied().map(Plan::Fail);
    crashes.chain(faults).collect()
}

/// The operations in which a second fault is of interest: those of the start after a crash, and the
/// loads after a failed change. One way of crashing stands for the others, and one fault.
fn followers(run: &FaultRun, (number, plan): (usize, Plan)) -> Vec<(usize, Traced)> {
    let range = match plan {
        Plan::Crash(Crash::Untold { kept: 0 }) => {
            let mut boots = run.boots.iter();
            boots.find(|boot| boot.start > number).cloned()
        }
        Plan::Fail(own) if own.fault == StorageFault::Indeterminate => {
            Some(number + 1..number + 1 + RELOADS)
        }
        Plan::Crash(_) | Plan::Fail(_) => None,
    };
    let all = range.unwrap_or_default().filter_map(|number| {
        let traced = *run.trace.get(number)?;
        Some((number, traced))
    });
    let crashed = matches!(plan, Plan::Crash(_));
    all.filter(|(_, traced)| crashed || traced.kind == Kind::Load)
        .collect()
}
