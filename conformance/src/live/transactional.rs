//! The copy between two topics, with all the bad luck that clients can have.

use std::sync::Arc;
use std::time::Instant;

use ackord_examples::exactly_once::{self, Account, Copies, Copy, Leashes, Tally};
use ackord_io_tokio::client::Tokio;
use ackord_proto::kip1289::ADD_SHARE_ACKS_TO_TXN_KEY as ADD_SHARE_ACKS_TO_TXN;

use super::checks::{Checks, none_in, none_of};
use super::presence::Presence;
use super::{Options, STALL, pending};

/// Records of one transaction: few, so that there are many transactions.
const BATCH: i32 = 10;
/// In a hundred transactions.
const ABORTS: u64 = 10;
const LOSSES: u64 = 2;
const ZOMBIES: u64 = 2;

/// Copies everything, then notes what held.
pub(super) fn run(
    options: &Options,
    presence: &Presence,
    checks: &mut Checks,
) -> Result<(), String> {
    let able = presence.until(|| pending::advertises(&options.against, ADD_SHARE_ACKS_TO_TXN))?;
    if !able {
        return Err(format!(
            "{} has no transactional acknowledgements: AddShareAcksToTxn (key \
             {ADD_SHARE_ACKS_TO_TXN}) is not among its ApiVersions; --mode plain checks what it has",
            options.against
        ));
    }
    let setting = exactly_once::Options {
        against: Some(options.against.clone()),
        records: options.records.into(),
        workers: options.workers as usize,
        partitions: options.partitions,
        batch: BATCH,
        aborts: ABORTS,
        losses: LOSSES,
        zombies: ZOMBIES,
        name: options.name(1),
        limit: 0,
    };
    println!("# {} workers copy {}", options.workers, setting.input());
    let tally = Arc::new(Tally::default());
    let copy = Copy::<Tokio>::new(setting.clone(), Arc::clone(&tally))?;
    let copies = Tokio::block_on(work(copy, presence));
    let copies = copies.map_err(|error| format!("no runtime: {error}"))??;
    if let Some(gone) = presence.is_gone() {
        return Err(gone);
    }
    let account = Account::of(&setting, &copies);
    account.print(&tally);
    checks.note(
        "every input has its output",
        none_of(account.lost, "have not"),
    );
    checks.note("no output is there twice", none_of(account.doubled, "are"));
    checks.note(
        "no output is of nobody's making",
        none_of(account.strange, "are"),
    );
    let left = presence.until(|| left(&setting));
    checks.note("nothing is pending afterwards", left.err());
    Ok(())
}

async fn work(copy: Copy<Tokio>, presence: &Presence) -> Result<Copies, String> {
    let failed = |what: &str, error| presence.is_gone().unwrap_or(format!("{what}: {error}"));
    let prepared = copy.prepare().await;
    prepared.map_err(|error| failed("topics and group are not there", error))?;
    let filled = copy.fill().await;
    filled.map_err(|error| failed("the input is not there", error))?;
    println!("# the input is there");
    let leashes = Leashes::new(copy.options().workers);
    leashes.let_loose(&copy);
    let (mut before, mut since) = (0, Instant::now());
    let enough = |copied| {
        if copied != before {
            (before, since) = (copied, Instant::now());
        }
        let stalled = || format!("nothing was copied for {} s", STALL.as_secs());
        let is_stalled = since.elapsed() > STALL;
        presence.is_gone().or_else(|| is_stalled.then(stalled))
    };
    let copies = exactly_once::watch(&copy, enough).await;
    leashes.stop();
    copies
}

/// An error where something waits, is open, or is not acknowledged.
fn left(setting: &exactly_once::Options) -> Result<(), String> {
    let address = setting.against.as_deref().unwrap_or_default();
    let waiting = pending::acknowledgements(address, &setting.name)?;
    let open = pending::transactions(address, &setting.name)?;
    let lag = pending::lag(address, &setting.name, &setting.input(), setting.partitions)?;
    let against = none_in(&waiting, "acknowledgements wait")
        .or_else(|| none_in(&open, "transactions are open"))
        .or_else(|| none_in(&lag, "partitions are not done"));
    against.map_or(Ok(()), Err)
}
