//! A real server: commits beside a bare sync of the same disk, and a start after a kill.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::peer::{Fallible, Peer, Server, take};
use crate::plain;
use crate::report::{self, micros, quantile};
use crate::speech::{self, Member, Topic};
use crate::transaction::{Kinds, Load, Producer};

const ROUNDS: usize = 300;
/// Bytes of a bare write.
const WRITE: usize = 1_024;
const PARTITIONS: i32 = 1_000;
const RECORDS: i32 = 1_000;

const LOADS: [Load; 8] = [
    Load::Nothing,
    Load::Offset,
    Load::Acks(1, Kinds::Accepts),
    Load::Text(1, Kinds::Accepts),
    Load::Acks(10, Kinds::Accepts),
    Load::Text(10, Kinds::Accepts),
    Load::Acks(100, Kinds::Accepts),
    Load::Acks(1_000, Kinds::Accepts),
];

/// A server process; killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// How long its threads have had a processor so far.
    fn worked(&self) -> Fallible<Duration> {
        let mut total = Duration::ZERO;
        for task in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let nanos = text.split(' ').next().unwrap_or_default().parse()?;
            total += Duration::from_nanos(nanos);
        }
        Ok(total)
    }
}

/// Starts the server and waits until it serves; how long that took, and its address.
fn start(program: &str, data: &Path) -> Fallible<(Process, String, Duration)> {
    let began = Instant::now();
    let child = Command::new(program)
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data)
        .args([
            "--set",
            "group.share.max.partition.max.record.locks=10000",
            "--set",
            "group.share.partition.max.record.locks=10000",
            "--set",
            "group.share.record.lock.duration.ms=60000",
            // Members fetch and send no heartbeat.
            "--set",
            "group.share.max.session.timeout.ms=3600000",
            "--set",
            "group.share.session.timeout.ms=3600000",
        ])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut process = Process(child);
    let stdout = process.0.stdout.take().ok_or("no standard output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let address = line
        .trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_string();
    match address.is_empty() {
        true => Err("the server does not start".into()),
        false => Ok((process, address, began.elapsed())),
    }
}

fn fresh(dir: &Path) -> Fallible<()> {
    if dir.exists() {
        return Err(format!("{} exists already", dir.display()).into());
    }
    Ok(fs::create_dir_all(dir)?)
}

/// A file that is as long as it will be, so that a sync has nothing but the bytes to bring out.
struct Bare(File);

impl Bare {
    fn create(path: &Path) -> Fallible<Self> {
        let file = File::create(path)?;
        file.write_all_at(&vec![0; ROUNDS * WRITE], 0)?;
        file.sync_all()?;
        Ok(Bare(file))
    }

    fn sync(&self, round: usize) -> Fallible<Duration> {
        let began = Instant::now();
        self.0
            .write_all_at(&[7; WRITE], u64::try_from(round * WRITE)?)?;
        self.0.sync_data()?;
        Ok(began.elapsed())
    }
}

fn join(peer: &mut Server, group: &str, topic: &Topic) -> Fallible<Member> {
    let conn = peer.connect()?;
    speech::configure(peer, conn, group, "share.auto.offset.reset", "earliest")?;
    Member::join(peer, conn, group, 0, topic)
}

/// How many producers commit at a time.
const AT_A_TIME: usize = 100;
const ACKS_AT_A_TIME: i32 = 10;

/// What each transaction of one load took.
#[derive(Default)]
struct Costs {
    /// A bare write and sync before it.
    syncs: Vec<Duration>,
    /// EndTxn alone.
    commits: Vec<Duration>,
    /// From the first request on.
    whole: Vec<Duration>,
    /// Of the server's processors.
    work: Vec<Duration>,
}

/// Commits on a store that does nothing else. The loads take turns, since a shared disk has its moments.
pub(crate) fn commits(program: &str, dir: &str) -> Fallible<()> {
    let dir = Path::new(dir);
    fresh(dir)?;
    let (process, address, _) = start(program, &dir.join("data"))?;
    let mut server = Server::new(&address);
    let admin = server.connect()?;
    let input = speech::create_topic(&mut server, admin, "input", 1)?;
    let output = speech::create_topic(&mut server, admin, "output", 1)?;
    let mut producer = Producer::new(&mut server, "producer")?;
    let mut member = join(&mut server, "group", &input)?;
    speech::take_texts(&mut server, admin, "group")?;
    let bare = Bare::create(&dir.join("bare"))?;
    let mut plain = plain::Worker::new(&mut server, &input)?;
    let mut plain_costs = plain::LOADS.map(|acks| (acks, Costs::default()));
    let mut costs = LOADS.map(|load| (load, Costs::default()));
    for round in 0..ROUNDS {
        for (load, costs) in &mut costs {
            if load.acks() > 0 {
                acquire(&mut server, admin, &input, &mut member, load.acks())?;
            }
            costs.syncs.push(bare.sync(round)?);
            let worked = process.worked()?;
            let began = Instant::now();
            producer.fill(&mut server, &output, *load, (&mut member, &input))?;
            let filled = Instant::now();
            producer.commit(&mut server)?;
            costs.commits.push(filled.elapsed());
            costs.whole.push(began.elapsed());
            costs.work.push(process.worked()? - worked);
        }
        for (acks, costs) in &mut plain_costs {
            plain.acquire(&mut server, &input, *acks)?;
            costs.syncs.push(bare.sync(round)?);
            let worked = process.worked()?;
            let began = Instant::now();
            plain.work(&mut server, &output)?;
            costs.whole.push(began.elapsed());
            costs.work.push(process.worked()? - worked);
        }
    }
    report::head("durability sync, us: p50, p99");
    tell(&costs);
    report::head("the same record and acknowledgements without a transaction, us: p50, p99");
    for (acks, own) in plain_costs {
        let with = costs
            .iter()
            .find(|(load, _)| matches!(load, Load::Acks(own, _) if *own == acks));
        let with = with.map(|(_, with)| (Quantiles::of(&with.whole), Quantiles::of(&with.work)));
        let (with_whole, with_work) = with.ok_or("the transaction to compare with")?;
        let [sync, whole, work] = [&own.syncs, &own.whole, &own.work].map(Quantiles::of);
        println!(
            "{acks} accepted: bare sync {sync}; all {whole}, p50 of the transaction {:.2} of that; work of the \
             server {work}, p50 of the transaction {:.2} of that",
            with_whole.half / whole.half,
            with_work.half / work.half,
        );
    }
    at_a_time(&mut server, &process, &input, &output)
}

fn tell(costs: &[(Load, Costs)]) {
    let mut alone = None;
    for (load, costs) in costs {
        let [sync, commit, whole, work] =
            [&costs.syncs, &costs.commits, &costs.whole, &costs.work].map(Quantiles::of);
        let (whole_alone, work_alone) = *alone.get_or_insert((whole.half, work.half));
        println!(
            "{load}: bare sync {sync}; commit {commit}, p99 {:.2} of the sync's; transaction {whole}, p50 {:.2} of \
             that without; work of the server {work}, p50 {:.2} of that without",
            commit.most / sync.most,
            whole.half / whole_alone,
            work.half / work_alone,
        );
    }
}

/// A hundred producers, each with a group of its own, that send everything before any answer is waited
/// for, beside one of them alone.
fn at_a_time(
    server: &mut Server,
    process: &Process,
    input: &Topic,
    output: &Topic,
) -> Fallible<()> {
    let admin = server.connect()?;
    let load = Load::Acks(ACKS_AT_A_TIME, Kinds::Accepts);
    let mut workers = Vec::new();
    for number in 0..AT_A_TIME {
        let producer = Producer::new(server, &format!("at-a-time-{number}"))?;
        let mut member = join(server, &format!("at-a-time-{number}"), input)?;
        // What there is already is not its work.
        while member.fetch(server, 10_000)? > 0 {}
        workers.push((producer, member));
    }
    let mut costs = [1, AT_A_TIME].map(|count| (count, Costs::default()));
    for _ in 0..ROUNDS / 10 {
        for (count, costs) in &mut costs {
            let batch = speech::batch(ACKS_AT_A_TIME, b"value");
            speech::produce(server, admin, input, &batch)?;
            for (_, member) in &mut workers {
                let mut found = 0;
                while found < i64::from(ACKS_AT_A_TIME) {
                    found += member.fetch(server, ACKS_AT_A_TIME)?;
                }
            }
            let workers = &mut workers[..*count];
            let worked = process.worked()?;
            let began = Instant::now();
            let mut sent = Vec::new();
            for (producer, member) in workers.iter_mut() {
                sent.push(producer.send(server, output, load, (member, input))?);
            }
            for ((producer, _), more) in workers.iter_mut().zip(sent) {
                producer.filled(server, more)?;
            }
            let filled = Instant::now();
            for (producer, _) in workers.iter_mut() {
                producer.send_commit(server)?;
            }
            for (producer, _) in workers.iter_mut() {
                producer.committed(server)?;
            }
            costs.commits.push(filled.elapsed());
            costs.whole.push(began.elapsed());
            costs.work.push(process.worked()? - worked);
        }
    }
    report::head("transactions with 10 acknowledgements, so many at a time, us for all: p50, p99");
    let mut alone = None;
    for (count, costs) in costs {
        let [commit, whole, work] = [&costs.commits, &costs.whole, &costs.work].map(Quantiles::of);
        let each = |own: f64| own / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let alone: &[f64; 3] = alone.get_or_insert([commit.half, whole.half, work.half]);
        println!(
            "{count}: commit {commit}, throughput of commits {:.2} times that of one; transaction {whole}, \
             throughput {:.2} times; work of the server {work}, for each {:.2} of that of one",
            alone[0] / each(commit.half),
            alone[1] / each(whole.half),
            each(work.half) / alone[2],
        );
    }
    Ok(())
}

fn acquire(
    server: &mut Server,
    admin: usize,
    input: &Topic,
    member: &mut Member,
    count: i32,
) -> Fallible<()> {
    speech::produce(server, admin, input, &speech::batch(count, b"value"))?;
    let mut found = 0;
    while found < i64::from(count) {
        found += member.fetch(server, count)?;
    }
    Ok(())
}

/// In microseconds.
#[derive(Clone, Copy)]
struct Quantiles {
    half: f64,
    most: f64,
}

impl Quantiles {
    fn of(costs: impl AsRef<[Duration]>) -> Self {
        let costs = costs.as_ref();
        Quantiles {
            half: micros(quantile(costs.to_vec(), 50)),
            most: micros(quantile(costs.to_vec(), 99)),
        }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}, {:.0}", self.half, self.most)
    }
}

/// A million records in flight, every second one acknowledged, so that each is an entry of its own;
/// then a kill and a start.
pub(crate) fn restart(program: &str, dir: &str) -> Fallible<()> {
    let dir = Path::new(dir);
    fresh(dir)?;
    let data = dir.join("data");
    report::head("a start with a million records in flight");
    let (process, address, empty) = start(program, &data)?;
    println!("empty: {:.0} ms", empty.as_secs_f64() * 1e3);
    let mut server = Server::new(&address);
    let admin = server.connect()?;
    let topic = speech::create_topic(&mut server, admin, "input", PARTITIONS)?;
    let batch = speech::batch(RECORDS, b"value");
    speech::produce(&mut server, admin, &topic, &batch)?;
    let mut member = join(&mut server, "group", &topic)?;
    let mut found = 0;
    let mut held = Vec::new();
    while found < i64::from(PARTITIONS * RECORDS) {
        found += member.fetch(&mut server, 100_000)?;
        held.append(&mut member.held);
    }
    member.accept_every_second(&mut server, &held)?;
    drop(process);
    let (_process, address, ready) = start(program, &data)?;
    println!("ready after {:.0} ms", ready.as_secs_f64() * 1e3);
    let began = Instant::now();
    let mut server = Server::new(&address);
    let mut member = join(&mut server, "group", &topic)?;
    println!("joined after {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    let mut firsts = Vec::new();
    let mut seen = vec![false; usize::try_from(PARTITIONS)?];
    while seen.contains(&false) {
        let one = Instant::now();
        let request = member.fetch_request(100_000, 500);
        let response = take!(server.ask(member.conn, 2, request), ShareFetch);
        firsts.push(one.elapsed());
        if member.fetched(&response)? == 0 && began.elapsed() > Duration::from_secs(60) {
            return Err("not all partitions came".into());
        }
        for held in member.held.drain(..) {
            seen[usize::try_from(held.partition)?] = true;
        }
    }
    let slowest = firsts.iter().max().copied().unwrap_or_default();
    println!(
        "records of each of {PARTITIONS} partitions after {:.0} ms, {} fetches, the slowest {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3,
        firsts.len(),
        slowest.as_secs_f64() * 1e3
    );
    Ok(())
}
