//! Share consumers that accept and release, and what they were given.

use std::thread;
use std::time::{Duration, Instant};

use super::checks::{Checks, none_in};
use super::presence::Presence;
use super::{Options, STALL, pending};
use crate::kill_share::account::Wrong;
use crate::kill_share::crew::Crew;
use crate::kill_share::topic::Topic;
use crate::kill_share::{AFTERMATH, chance};

const LOOK: Duration = Duration::from_millis(200);
/// Looks between two lines about how far it is.
const SAY_EVERY: u32 = 5;

/// Works until everything is accepted, then notes what held.
pub(super) fn run(
    options: &Options,
    presence: &Presence,
    checks: &mut Checks,
) -> Result<(), String> {
    let mut attempt = 0;
    let (topic, id) = presence.until(|| {
        attempt += 1;
        let name = options.name(attempt);
        let topic = Topic {
            address: options.against.clone(),
            group: format!("{name}-group"),
            name,
            partitions: options.partitions,
        };
        topic.set_up().map(|id| (topic, id))
    })?;
    println!("# {} share consumers on {}", options.workers, topic.name);
    let chance = chance(options.seed);
    let crew = Crew::start(
        topic.clone(),
        id,
        options.workers,
        options.records.into(),
        &chance,
    );
    let ends = fill(&topic, &crew, presence)?;
    finish(&crew, &ends, presence)?;
    account(&crew, &ends, checks);
    let left = presence.until(|| left(&topic));
    checks.note("nothing is left to the group", left.err());
    crew.end();
    Ok(())
}

/// Waits until everything is appended; the ends of the partitions.
fn fill(topic: &Topic, crew: &Crew, presence: &Presence) -> Result<Vec<i64>, String> {
    for look in 1_u32.. {
        if crew.is_filled() {
            break;
        }
        if let Some(gone) = presence.is_gone() {
            return Err(gone);
        }
        if look.is_multiple_of(SAY_EVERY) {
            println!(
                "# appending, accepted {}",
                crew.shared().account().totals().0
            );
        }
        thread::sleep(LOOK);
    }
    presence.until(|| topic.ends())
}

/// Waits until everything is accepted, or nothing more happens.
fn finish(crew: &Crew, ends: &[i64], presence: &Presence) -> Result<(), String> {
    let (mut before, mut since) = (0, Instant::now());
    for look in 1_u32.. {
        let missing = crew.shared().account().missing(ends).len();
        if missing == 0 {
            break;
        }
        if let Some(gone) = presence.is_gone() {
            return Err(gone);
        }
        let deliveries = crew.shared().account().totals().1;
        if deliveries != before {
            (before, since) = (deliveries, Instant::now());
        }
        if since.elapsed() > STALL {
            let trouble = crew.shared().trouble().clone();
            println!(
                "# nothing was delivered for {} s; the last connection ended with: {trouble}",
                STALL.as_secs()
            );
            return Ok(());
        }
        if look.is_multiple_of(SAY_EVERY) {
            println!("# {missing} records are not accepted yet");
        }
        thread::sleep(LOOK);
    }
    thread::sleep(AFTERMATH);
    Ok(())
}

fn account(crew: &Crew, ends: &[i64], checks: &mut Checks) {
    let account = crew.shared().account();
    let (accepted, deliveries) = account.totals();
    println!(
        "# {} records, {accepted} accepted with success, {deliveries} deliveries; members had to \
         join again {} times",
        ends.iter().sum::<i64>(),
        crew.joined_again(),
    );
    let (again, back): (Vec<_>, Vec<_>) = account
        .wrong
        .iter()
        .partition(|wrong| matches!(wrong, Wrong::CameAgain(_)));
    let missing = account.missing(ends);
    let missing: Vec<_> = missing
        .iter()
        .map(|(part, at)| format!("{part}@{at}"))
        .collect();
    let nothing = (accepted == 0).then(|| "none was".to_string());
    checks.note("records are accepted", nothing);
    checks.note(
        "what is accepted never comes again",
        none_in(&again, "came"),
    );
    checks.note("everything else comes", none_in(&missing, "did not"));
    checks.note("delivery counts never go back", none_in(&back, "did"));
}

/// An error where the group is not done.
fn left(topic: &Topic) -> Result<(), String> {
    let lag = pending::lag(&topic.address, &topic.group, &topic.name, topic.partitions)?;
    none_in(&lag, "partitions").map_or(Ok(()), Err)
}
