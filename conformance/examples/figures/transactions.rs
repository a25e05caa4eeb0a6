//! What a transaction costs the broker, by what is in it and by what else is there.

use std::time::Duration;

use crate::peer::{Cores, Fallible, Peer};
use crate::report::{self, median, micros};
use crate::speech::{self, Member, Topic};
use crate::transaction::{Kinds, Load, Producer};

const ROUNDS: usize = 200;

pub(crate) fn run() -> Fallible<()> {
    report::head(
        "cost of a transaction with one record, in us of the core's thread, by what is besides it",
    );
    let mut bench = Bench::new()?;
    speech::take_texts(&mut bench.cores, bench.admin, "group")?;
    let alone = micros(bench.cost(Load::Nothing)?);
    println!("nothing: {alone:.1}");
    let offset = micros(bench.cost(Load::Offset)?);
    println!("an offset: {offset:.1}");
    for kinds in [Kinds::Accepts, Kinds::Mixed] {
        for acks in [1, 10, 100, 1_000] {
            for load in [Load::Acks(acks, kinds), Load::Text(acks, kinds)] {
                let cost = micros(bench.cost(load)?);
                let each = (cost - alone) / f64::from(acks);
                let ratio = cost / offset;
                println!(
                    "{load}: {cost:.1}, {each:.2} for each, {ratio:.2} of that with an offset"
                );
            }
        }
    }
    let sizes = [10, 100];
    report::ratio(
        "transactions with 10 acknowledgements, all open at the same time",
        sizes.map(|size| size.to_string()),
        [concurrent(sizes[0])?, concurrent(sizes[1])?],
    );
    let ten = Load::Acks(10, Kinds::Accepts);
    report::ratio(
        "records in the log and share partitions beside it, 10 acknowledgements",
        ["none".to_string(), "1000000 and 10000".to_string()],
        [Bench::new()?.cost(ten)?, crowded()?.cost(ten)?],
    );
    Ok(())
}

/// One line of the table alone, to be profiled.
pub(crate) fn one(what: &str) -> Fallible<()> {
    let load = match what {
        "record" => Load::Nothing,
        "offset" => Load::Offset,
        acks => Load::Acks(acks.parse()?, Kinds::Accepts),
    };
    println!("{load}: {:.1}", micros(Bench::new()?.cost(load)?));
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

    /// Of the requests of the transaction alone; what it acknowledges was fetched before.
    fn cost(&mut self, load: Load) -> Fallible<Duration> {
        let acks = load.acks();
        let rounds = if acks > 100 { ROUNDS / 5 } else { ROUNDS };
        let mut costs = Vec::new();
        for _ in 0..rounds {
            if acks > 0 {
                acquire(
                    &mut self.cores,
                    self.admin,
                    &self.input,
                    &mut self.member,
                    acks,
                )?;
            }
            self.cores.worked();
            self.producer.fill(
                &mut self.cores,
                &self.output,
                load,
                (&mut self.member, &self.input),
            )?;
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
                Load::Acks(10, Kinds::Accepts),
                (member, &input),
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
