//! Work on a broker that somebody else kills and restarts as he likes, and the account of it.
//!
//! * [`Mode::Transactional`]: workers copy one topic to another, output and acknowledgements in one
//!   transaction, while some abort, some vanish and some go on beside their successors.
//! * [`Mode::Plain`]: share consumers accept and release, as Apache Kafka can do too.
//!
//! `presence` watches whether the broker is there at all, `pending` asks what is left over when
//! everything is done, `checks` says what held.

mod checks;
pub(crate) mod pending;
mod plain;
mod presence;
mod transactional;

use std::time::Duration;

use clap::ValueEnum;

use checks::Checks;
use presence::Presence;

/// How long nothing may come although the broker is there: longer than the timeouts of sessions,
/// transactions and acquisition locks, which wake what a lost worker held.
const STALL: Duration = Duration::from_secs(120);

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A copy between topics, exactly once. Needs transactional acknowledgements.
    Transactional,
    /// Plain share consumers.
    Plain,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The broker, `HOST:PORT`.
    pub against: String,
    /// Records to copy or to consume.
    pub records: u32,
    /// Members of the share group.
    pub workers: u32,
    /// Partitions of each topic.
    pub partitions: i32,
    /// What is done.
    pub mode: Mode,
    /// Names the run, its topics and its group.
    pub seed: u64,
}

impl Options {
    /// A name that no other run on this broker has.
    fn name(&self, attempt: u32) -> String {
        format!("live-{:x}-{attempt}", self.seed)
    }
}

/// Runs it and prints each check; how many passed, and how many failed.
///
/// # Errors
/// A sentence: why nothing can be said about the broker.
pub fn run(options: &Options) -> Result<(usize, usize), String> {
    let presence = Presence::watch(&options.against);
    presence.first_answer()?;
    let mut checks = Checks::default();
    match options.mode {
        Mode::Transactional => transactional::run(options, &presence, &mut checks)?,
        Mode::Plain => plain::run(options, &presence, &mut checks)?,
    }
    Ok(checks.totals())
}
