//! Kills a broker with SIGKILL at random moments while plain share consumers work, and keeps account:
//! a record whose acknowledgement was answered with success never comes again, every other one
//! does, but where nobody heard what became of its acknowledgement: then it comes again and has to be
//! accepted anew, or the group is done with it, as its lag says. Delivery counts go on from what was
//! stored.

pub(crate) mod account;
mod broker;
pub(crate) mod crew;
mod member;
pub(crate) mod topic;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ackord_machine::Entropy;

use broker::BrokerProcess;
use crew::Crew;
use topic::Topic;

use crate::live::pending;

/// How long the rest may take once the broker is left alone.
const REST: Duration = Duration::from_secs(60);
/// What comes although it must not has a moment to come.
pub(crate) const AFTERMATH: Duration = Duration::from_millis(500);

/// A run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program of the broker and its first arguments.
    pub broker: Vec<String>,
    /// How often it is killed.
    pub kills: u32,
    /// Share consumers.
    pub members: u32,
    /// Partitions of their topic.
    pub partitions: i32,
    /// Where chance begins.
    pub seed: u64,
    /// A folder of its own for the broker's data.
    pub data: PathBuf,
}

/// Chance that begins at a number.
pub(crate) fn chance(seed: u64) -> Entropy {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    Entropy::from_seed(bytes)
}

/// Runs it and prints the account; says whether nothing was wrong.
///
/// # Errors
/// The broker does not start, or does not do what the run needs.
pub fn run(options: &Options) -> Result<bool, String> {
    println!("# seed {}", options.seed);
    let chance = chance(options.seed);
    let mut broker = BrokerProcess::start(&options.broker, &options.data, 0)?;
    let topic = Topic {
        address: format!("127.0.0.1:{}", broker.port()),
        name: "orders".to_string(),
        group: "workers".to_string(),
        partitions: options.partitions,
    };
    let id = topic.set_up()?;
    let crew = Crew::start(topic.clone(), id, options.members, i64::MAX, &chance);
    let killed = kill(options, &mut broker, &mut chance.fork("kills"));
    crew.fill_no_more();
    let rest = killed.and_then(|()| rest(&topic, &crew));
    let told = rest.map(|(ends, left)| tell(&crew, options, &ends, &left));
    crew.end();
    told
}

fn kill(options: &Options, broker: &mut BrokerProcess, chance: &mut Entropy) -> Result<(), String> {
    for _ in 0..options.kills {
        thread::sleep(Duration::from_millis(50 + chance.below(350)));
        broker.kill();
        *broker = BrokerProcess::start(&options.broker, &options.data, broker.port())?;
    }
    Ok(())
}

/// Waits until everything is acknowledged; the ends of the partitions, and with what the group is not
/// done.
fn rest(topic: &Topic, crew: &Crew) -> Result<(Vec<i64>, Vec<String>), String> {
    let started = Instant::now();
    while started.elapsed() < REST && !crew.is_filled() {
        thread::sleep(Duration::from_millis(50));
    }
    let ends = topic.ends()?;
    let left = || pending::lag(&topic.address, &topic.group, &topic.name, topic.partitions);
    while started.elapsed() < REST
        && !(crew.shared().account().missing(&ends).is_empty() && left()?.is_empty())
    {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(AFTERMATH);
    Ok((ends, left()?))
}

fn tell(crew: &Crew, options: &Options, ends: &[i64], left: &[String]) -> bool {
    let account = crew.shared().account();
    let missing = account.missing(ends);
    let (accepted, deliveries) = account.totals();
    println!(
        "# {} kills; {} records, {accepted} accepted with success, {deliveries} deliveries; \
         members had to join again {} times",
        options.kills,
        ends.iter().sum::<i64>(),
        crew.joined_again(),
    );
    let (again, done) = account.unheard_of();
    println!(
        "# acknowledgements whose outcome nobody heard: {again} did not count, their records came \
         again; {done} did, as the lag says"
    );
    for left in left {
        println!("WRONG the group is not done: {left}");
    }
    for wrong in account.wrong.iter().take(20) {
        println!("WRONG {wrong}");
    }
    if !missing.is_empty() {
        let some: Vec<_> = missing.iter().take(10).collect();
        println!("WRONG {} records never came: {some:?}", missing.len());
    }
    if accepted == 0 {
        println!("WRONG nothing was accepted");
    }
    account.wrong.is_empty() && missing.is_empty() && left.is_empty() && accepted > 0
}
