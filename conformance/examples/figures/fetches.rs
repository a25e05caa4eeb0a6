//! What a share fetch costs the broker when much else is there: members, groups, records in flight.

use std::time::Duration;

use crate::peer::{Cores, Fallible, Peer};
use crate::report::{self, median};
use crate::speech::{self, Member, Topic};

/// Records of one fetch.
const RECORDS: i32 = 10;
const ROUNDS: usize = 30;

/// Runs each load at a size and at ten times the size.
pub(crate) fn run() -> Fallible<()> {
    report::head("cost of a share fetch, in us of the core's thread");
    let sizes = [(20, 10), (200, 100)];
    report::ratio(
        "members x partitions of one group",
        sizes.map(|(members, partitions)| format!("{members} x {partitions}")),
        [
            members(sizes[0].0, sizes[0].1)?,
            members(sizes[1].0, sizes[1].1)?,
        ],
    );
    let sizes = [100, 1_000];
    report::ratio(
        "groups of one member, all fetching",
        sizes.map(|size| size.to_string()),
        [groups(sizes[0])?, groups(sizes[1])?],
    );
    report::ratio(
        "groups of one member, all but one waiting",
        sizes.map(|size| size.to_string()),
        [waiting(sizes[0])?, waiting(sizes[1])?],
    );
    let sizes = [900, 9_000];
    report::ratio(
        "records in flight with a member that never acknowledges",
        sizes.map(|size| size.to_string()),
        [stuck(sizes[0])?, stuck(sizes[1])?],
    );
    Ok(())
}

/// A broker with one topic, and a connection to administer it.
fn start(partitions: i32) -> Fallible<(Cores, usize, Topic)> {
    let configs = [
        // Time stands still here, and members join at once.
        ("group.share.assignment.interval.ms", "0"),
        ("group.share.max.partition.max.record.locks", "10000"),
        ("group.share.partition.max.record.locks", "10000"),
    ];
    let mut cores = Cores::new(&configs)?;
    let admin = cores.connect()?;
    let topic = speech::create_topic(&mut cores, admin, "load", partitions)?;
    Ok((cores, admin, topic))
}

fn join(cores: &mut Cores, group: &str, number: u64, topic: &Topic) -> Fallible<Member> {
    let conn = cores.connect()?;
    speech::configure(cores, conn, group, "share.auto.offset.reset", "earliest")?;
    Member::join(cores, conn, group, number, topic)
}

/// The fetch, if it brought all that it asked for.
fn full_fetch(cores: &mut Cores, member: &mut Member) -> Fallible<Duration> {
    cores.worked();
    let brought = member.fetch(cores, RECORDS)?;
    let cost = cores.worked();
    match brought == i64::from(RECORDS) {
        true => Ok(cost),
        false => Err(format!("a fetch brought {brought} records; {member}").into()),
    }
}

fn members(count: u64, partitions: i32) -> Fallible<Duration> {
    let (mut cores, admin, topic) = start(partitions)?;
    let mut members = Vec::new();
    for number in 0..count {
        members.push(join(&mut cores, "group", number, &topic)?);
    }
    // Until each has the assignment that belongs to all of them.
    for _ in 0..3 {
        for member in &mut members {
            member.heartbeat(&mut cores)?;
        }
    }
    for member in &mut members {
        member.begin(&mut cores)?;
    }
    // As many as the partition with the most members needs.
    let shares = |partition| members.iter().filter(|m| m.has(partition)).count();
    let each = (0..partitions).map(shares).max().unwrap_or_default();
    let batch = speech::batch(RECORDS, b"value");
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        for _ in 0..each {
            speech::produce(&mut cores, admin, &topic, &batch)?;
        }
        for member in &mut members {
            costs.push(full_fetch(&mut cores, member)?);
        }
    }
    Ok(median(costs))
}

fn groups(count: u64) -> Fallible<Duration> {
    let (mut cores, admin, topic) = start(1)?;
    let mut members = Vec::new();
    for number in 0..count {
        members.push(join(
            &mut cores,
            &format!("group-{number}"),
            number,
            &topic,
        )?);
    }
    for member in &mut members {
        member.begin(&mut cores)?;
    }
    let batch = speech::batch(RECORDS, b"value");
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        speech::produce(&mut cores, admin, &topic, &batch)?;
        for member in &mut members {
            costs.push(full_fetch(&mut cores, member)?);
        }
    }
    Ok(median(costs))
}

fn waiting(count: u64) -> Fallible<Duration> {
    let (mut cores, admin, topic) = start(1)?;
    let idle = speech::create_topic(&mut cores, admin, "idle", 1)?;
    for number in 0..count {
        let mut member = join(&mut cores, &format!("idle-{number}"), number, &idle)?;
        let request = member.fetch_request(RECORDS, 60_000);
        cores.send(member.conn, 2, request.into())?;
    }
    let mut member = join(&mut cores, "group", count, &topic)?;
    member.begin(&mut cores)?;
    let batch = speech::batch(RECORDS, b"value");
    let mut costs = Vec::new();
    for _ in 0..ROUNDS * 10 {
        speech::produce(&mut cores, admin, &topic, &batch)?;
        costs.push(full_fetch(&mut cores, &mut member)?);
    }
    Ok(median(costs))
}

fn stuck(in_flight: i32) -> Fallible<Duration> {
    let (mut cores, admin, topic) = start(1)?;
    let mut stuck = join(&mut cores, "group", 0, &topic)?;
    let mut busy = join(&mut cores, "group", 1, &topic)?;
    stuck.heartbeat(&mut cores)?;
    stuck.begin(&mut cores)?;
    busy.begin(&mut cores)?;
    // One record a batch: the state of each is an entry of its own.
    let one = speech::batch(1, b"value");
    for _ in 0..in_flight {
        speech::produce(&mut cores, admin, &topic, &one)?;
    }
    let mut brought = 0;
    while brought < i64::from(in_flight) {
        match stuck.fetch(&mut cores, in_flight)? {
            0 => return Err(format!("only {brought} records in flight").into()),
            more => brought += more,
        }
        // Held for good.
        stuck.held.clear();
    }
    let batch = speech::batch(RECORDS, b"value");
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        speech::produce(&mut cores, admin, &topic, &batch)?;
        costs.push(full_fetch(&mut cores, &mut busy)?);
    }
    Ok(median(costs))
}
