//! What was done, and what came out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ackord_client_core::client::{Fetcher, Runtime};
use ackord_client_core::{FetcherConfig, Isolation};

use super::copy::{Copy, transform};
use super::options::Options;
use super::progress::Progress;

/// How long a complete output is watched for what must not come.
const AFTERMATH: Duration = Duration::from_secs(3);

/// How often each value is in the output.
pub type Copies = BTreeMap<Vec<u8>, u64>;

/// What the workers have done so far.
#[derive(Debug, Default)]
pub struct Tally {
    read: AtomicU64,
    committed: AtomicU64,
    aborted: AtomicU64,
    dropped: AtomicU64,
    doubled: AtomicU64,
}

impl Tally {
    pub(super) fn read(&self, records: u64) {
        self.read.fetch_add(records, Ordering::Relaxed);
    }

    pub(super) fn committed(&self, records: u64) {
        self.committed.fetch_add(records, Ordering::Relaxed);
    }

    pub(super) fn aborted(&self) {
        self.aborted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn doubled(&self) {
        self.doubled.fetch_add(1, Ordering::Relaxed);
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Reads the committed output until it is complete, and a moment longer, or until `enough` says why
/// to wait no longer; it is told how many values have come.
///
/// # Errors
/// The reader cannot be made.
pub async fn watch<R: Runtime>(
    copy: &Copy<R>,
    mut enough: impl FnMut(usize) -> Option<String>,
) -> Result<Copies, String> {
    let options = copy.options();
    let mut config = FetcherConfig::new(copy.bootstrap());
    config.isolation = Isolation::ReadCommitted;
    let fetcher = Fetcher::<R>::new(config);
    let parts = (0..options.partitions).map(|index| (options.output().into(), index, 0));
    let assigned = fetcher.assign(parts.collect()).await;
    assigned.map_err(|error| format!("assigning: {error}"))?;
    let mut copies = Copies::new();
    let mut progress = Progress::new(options.records);
    let mut complete_since = None;
    loop {
        match fetcher.poll(Duration::from_millis(500)).await {
            Ok(fetched) => {
                for record in fetched.records {
                    let value = record.value.unwrap_or_default();
                    *copies.entry(value.to_vec()).or_default() += 1;
                }
            }
            Err(error) => progress.note(&format!("reading the output: {error}")),
        }
        progress.show(copies.len() as u64, get(&copy.tally().aborted));
        if copies.len() as u64 >= options.records {
            let since = *complete_since.get_or_insert_with(Instant::now);
            if since.elapsed() > AFTERMATH {
                break;
            }
        }
        if let Some(reason) = enough(copies.len()) {
            progress.note(&reason);
            break;
        }
    }
    progress.end();
    Ok(copies)
}

/// What the output says.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Values that are there.
    pub output: u64,
    /// Values that are not there.
    pub lost: u64,
    /// Copies beyond the first of a value.
    pub doubled: u64,
    /// Values that nobody asked for.
    pub strange: u64,
}

impl Account {
    /// Compares the output with what it has to be.
    pub fn of(options: &Options, copies: &Copies) -> Self {
        let wanted = (0..options.records).map(|number| transform(number.to_string().as_bytes()));
        let found = wanted.filter(|value| copies.contains_key(value)).count() as u64;
        Account {
            output: copies.len() as u64,
            lost: options.records - found,
            doubled: copies.values().map(|count| count - 1).sum(),
            strange: copies.len() as u64 - found,
        }
    }

    /// True where nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.strange == 0
    }

    /// Prints it, with what was done.
    pub fn print(&self, tally: &Tally) {
        println!(
            "read {}, committed {}, aborted transactions {}, dropped workers {}, zombies {}",
            get(&tally.read),
            get(&tally.committed),
            get(&tally.aborted),
            get(&tally.dropped),
            get(&tally.doubled),
        );
        println!(
            "output {}, lost {}, doubled {}",
            self.output, self.lost, self.doubled
        );
        if self.strange > 0 {
            println!("{} values are of nobody's making", self.strange);
        }
    }
}
