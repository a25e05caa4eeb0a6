//! The command `sim`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use super::plan::Without;
use super::planted;
use super::run::{self, Report};
use super::shrink;
use super::workload::{WORKLOADS, Workload, named};

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `A..B` or one number.
    pub seeds: String,
    /// Only this workload.
    pub workload: Option<String>,
    /// What is left out, as a failing run prints it.
    pub without: Option<String>,
    /// A planted fault, or `all`.
    pub planted: Option<String>,
    /// Prints the transcript of each run.
    pub show: bool,
    /// Threads; 0: as many as there are cores.
    pub threads: usize,
}

/// Passed and failed.
pub type Tally = (usize, usize);

/// Reads `A..B`, or one number.
///
/// # Errors
/// A sentence.
pub fn seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .map_err(|_| format!("`{text}` is no seed"))
    };
    match text.split_once("..") {
        Some((from, to)) => {
            let seeds = number(from)?..number(to)?;
            match seeds.is_empty() {
                true => Err(format!("there is no seed in `{text}`")),
                false => Ok(seeds),
            }
        }
        None => number(text).map(|one| one..one + 1),
    }
}

/// The workloads that an option names.
///
/// # Errors
/// A sentence.
pub fn workloads(name: Option<&str>) -> Result<Vec<&'static Workload>, String> {
    match name {
        None => Ok(WORKLOADS.iter().collect()),
        Some(name) => {
            let names: Vec<&str> = WORKLOADS.iter().map(|own| own.name).collect();
            let names = names.join(", ");
            named(name)
                .map(|own| vec![own])
                .ok_or(format!("no workload `{name}`; there are {names}"))
        }
    }
}

/// One run that is to be done: its number in the order of results, seed and workload.
pub type Job = (u64, &'static Workload);

/// Carries out runs on several threads; `take` gets them in their order.
pub fn each(
    jobs: &[Job],
    threads: usize,
    without: &Without,
    show: bool,
    mut take: impl FnMut(Job, Report) -> bool,
) {
    let next = AtomicU64::new(0);
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            let (next, send) = (&next, send.clone());
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some((seed, workload)) = usize::try_from(place)
                        .ok()
                        .and_then(|place| jobs.get(place))
                    else {
                        return;
                    };
                    let report = run::run(*seed, workload, without, show);
                    if send.send((place, report)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut early = std::collections::BTreeMap::new();
        let mut wanted = 0;
        while let Ok((place, report)) = receive.recv() {
            early.insert(place, report);
            while let Some(report) = early.remove(&wanted) {
                let job = usize::try_from(wanted).map(|place| jobs[place]);
                wanted += 1;
                if job.is_ok_and(|job| !take(job, report)) {
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    return;
                }
            }
        }
    });
}

/// Runs seeds and prints what failed, made small.
///
/// # Errors
/// A sentence about the options.
pub fn sim(options: &Options) -> Result<Tally, String> {
    let seeds = seeds(&options.seeds)?;
    let workloads = workloads(options.workload.as_deref())?;
    let without = options
        .without
        .as_deref()
        .map_or(Ok(Without::default()), Without::parse)?;
    let jobs: Vec<Job> = seeds
        .flat_map(|seed| workloads.iter().map(move |own| (seed, *own)))
        .collect();
    if let Some(name) = &options.planted {
        return planted::planted(name, &jobs, options.threads);
    }
    let (mut passed, mut failed) = (0, 0);
    let mut digest = crate::transcript::Digest::default();
    let (mut simulated_ms, mut requests, mut deliveries, mut commits) = (0, 0, 0, 0);
    let mut broken = BTreeSet::new();
    each(
        &jobs,
        options.threads,
        &without,
        options.show,
        |(seed, workload), report| {
            digest.update(&report.digest.to_le_bytes());
            simulated_ms += report.simulated_ms;
            requests += report.requests;
            deliveries += report.deliveries;
            commits += report.commits;
            if options.show {
                report.transcript.iter().for_each(|line| println!("{line}"));
            }
            if report.problems.is_empty() {
                passed += 1;
            } else {
                failed += 1;
                println!(
                    "seed {seed} of {} fails: {}",
                    workload.name, report.problems[0]
                );
                if broken.len() < 3
                    && broken.insert(workload.name)
                    && !options.show
                    && options.without.is_none()
                {
                    shrink::explain(seed, workload, report);
                }
            }
            true
        },
    );
    println!(
        "# {} runs, {} simulated minutes, {requests} requests, {deliveries} deliveries, {commits} commits, digest {:016x}",
        jobs.len(),
        simulated_ms / 60_000,
        digest.0
    );
    Ok((passed, failed))
}
