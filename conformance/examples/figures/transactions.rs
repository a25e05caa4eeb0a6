//! What a transaction costs the broker, by what is in it and by what else is there.

use std::time::Duration;

use crate::peer::{Cores, Fallible, Peer};
use crate::report::{self, median, micros};
use crate::speech::{self, Member, Topic};
use crate::transaction::{Kinds, Producer, With};

const ROUNDS: usize = 200;

pub(crate) fn run() -> Fallible<()> {
    report::head("cost of a transaction with one record, in us of the core's thread");
    let mut bench = Bench::new()?;
    let alone = bench.cost(None)?;
    println!("nothing else: {:.1}", micros(alone));
    let offsets = bench.with_offsets()?;
    println!("the offset of a consumer group: {:.1}", micros(offsets));
    for kinds in [Kinds::Accepts, Kinds::Mixed] {
        for acks in [1, 10, 100, 1_000] {
            let cost = bench.cost(Some((acks, kinds)))?;
            let ratio = micros(cost) / micros(offsets);
            let each = (micros(cost) - micros(alone)) / f64::from(acks);
            let what = match kinds {
                Kinds::Accepts => "accepted",
                Kinds::Mixed => "accepted and rejected in turn",
            };
            println!(
                "{acks} {what}: {:.1}, {each:.2} for each, {ratio:.2} of that with an offset",
                micros(cost)
            );
        }
    }
    let sizes = [10, 100];
    report::ratio(
        "transactions with 10 acknowledgements, all open at the same time",
        sizes.map(|size| size.to_string()),
        [concurrent(sizes[0])?, concurrent(sizes[1])?],
    );
    let ten = Some((10, Kinds::Accepts));
    report::ratio(
        "records in the log and share partitions beside it, 10 acknowledgements",
        ["none".to_string(), "1000000 and 10000".to_string()],
        [Bench::new()?.cost(ten)?, crowded()?.cost(ten)?],
    );
    Ok(())
}

/// One line of the table alone, to be profiled.
pub(crate) fn one(what: &str) -> Fallible<()> {
    let mut bench = Bench::new()?;
    let cost = match what {
        "record" => bench.cost(None)?,
        "offset" => bench.with_offsets()?,
        acks => bench.cost(Some((acks.parse()?, Kinds::Accepts)))?,
    };
    println!("{what}: {:.1}", micros(cost));
    Ok(())
}

struct Bench {
    cores: Cores,
    admin: usize,
    input: Topic,
    output: Topic,
    member: Member,
    producer: Producer,
}

impl Bench {
    fn new() -> Fallible<Self> {
        let mut cores = Cores::new(&[])?;
        let admin = cores.connect()?;
        let input = speech::create_topic(&mut cores, admin, "input", 1)?;
        let output = speech::create_topic(&mut cores, admin, "output", 1)?;
        let producer = Producer::new(&mut cores, "producer")?;
        let member = member(&mut cores, "group", &input)?;
        Ok(Bench {
            cores,
            admin,
            input,
            output,
            member,
            producer,
        })
    }

    fn with_offsets(&mut self) -> Fallible<Duration> {
        let mut costs = Vec::new();
        for _ in 0..ROUNDS {
            self.cores.worked();
            self.producer
                .fill(&mut self.cores, &self.output, With::Offsets)?;
            self.producer.commit(&mut self.cores)?;
            costs.push(self.cores.worked());
        }
        Ok(median(costs))
    }

    /// Of the requests of the transaction alone; what it acknowledges was fetched before.
    fn cost(&mut self, acks: Option<(i32, Kinds)>) -> Fallible<Duration> {
        let rounds = if acks.is_some_and(|(acks, _)| acks > 100) {
            ROUNDS / 5
        } else {
            ROUNDS
        };
        let mut costs = Vec::new();
        for _ in 0..rounds {
            if let Some((acks, _)) = acks {
                acquire(
                    &mut self.cores,
                    self.admin,
                    &self.input,
                    &mut self.member,
                    acks,
                )?;
            }
            let with = match acks {
                Some((_, kinds)) => With::Acks(&mut self.member, &self.input, kinds),
                None => With::Nothing,
            };
            self.cores.worked();
            self.producer.fill(&mut self.cores, &self.output, with)?;
            self.producer.commit(&mut self.cores)?;
            costs.push(self.cores.worked());
        }
        Ok(median(costs))
    }
}

fn member(cores: &mut Cores, group: &str, topic: &Topic) -> Fallible<Member> {
    let conn = cores.connect()?;
    speech::configure(cores, conn, group, "share.auto.offset.reset", "earliest")?;
    let mut member = Member::join(cores, conn, group, 0, topic)?;
    member.begin(cores)?;
    Ok(member)
}

fn acquire(
    cores: &mut Cores,
    admin: usize,
    input: &Topic,
    member: &mut Member,
    count: i32,
) -> Fallible<()> {
    speech::produce(cores, admin, input, &speech::batch(count, b"value"))?;
    match member.fetch(cores, count)? {
        found if found == i64::from(count) => Ok(()),
        found => Err(format!("{found} records instead of {count}").into()),
    }
}

/// So many producers, each with a group of its own, that all begin before any ends.
fn concurrent(count: usize) -> Fallible<Duration> {
    let mut cores = Cores::new(&[])?;
    let admin = cores.connect()?;
    let input = speech::create_topic(&mut cores, admin, "input", 1)?;
    let output = speech::create_topic(&mut cores, admin, "output", 1)?;
    let mut workers = Vec::new();
    for number in 0..count {
        let producer = Producer::new(&mut cores, &format!("producer-{number}"))?;
        workers.push((
            producer,
            member(&mut cores, &format!("group-{number}"), &input)?,
        ));
    }
    let mut costs = Vec::new();
    for _ in 0..10 {
        speech::produce(&mut cores, admin, &input, &speech::batch(10, b"value"))?;
        let mut begun = Vec::new();
        for (producer, member) in &mut workers {
            member.fetch(&mut cores, 10)?;
            cores.worked();
            producer.fill(
                &mut cores,
                &output,
                With::Acks(member, &input, Kinds::Accepts),
            )?;
            begun.push(cores.worked());
        }
        for ((producer, _), begun) in workers.iter_mut().zip(begun) {
            producer.commit(&mut cores)?;
            costs.push(begun + cores.worked());
        }
    }
    Ok(median(costs))
}

/// A million records in the input, and ten groups that have begun on a thousand partitions.
fn crowded() -> Fallible<Bench> {
    let mut bench = Bench::new()?;
    let Bench {
        cores,
        admin,
        input,
        member: own,
        ..
    } = &mut bench;
    let batch = speech::batch(1_000, b"value");
    for _ in 0..1_000 {
        speech::produce(cores, *admin, input, &batch)?;
        own.fetch(cores, 1_000)?;
    }
    own.fetch(cores, 1)?;
    let many = speech::create_topic(cores, *admin, "many", 1_000)?;
    let one = speech::batch(1, b"value");
    speech::produce(cores, *admin, &many, &one)?;
    for group in 0..10 {
        let mut other = member(cores, &format!("beside-{group}"), &many)?;
        let mut found = 0;
        while found < 1_000 {
            match other.fetch(cores, 1_000)? {
                0 => return Err(format!("only {found} share partitions").into()),
                more => found += more,
            }
            other.held.clear();
        }
    }
    Ok(bench)
}
