//! A real server: commits beside a bare sync of the same disk, and a start after a kill.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::peer::{Fallible, Peer, Server, take};
use crate::report::{self, micros, quantile};
use crate::speech::{self, Member, Topic};
use crate::transaction::{Producer, With};

const ROUNDS: usize = 300;
/// Bytes of a bare write.
const WRITE: usize = 1_024;
const PARTITIONS: i32 = 1_000;
const RECORDS: i32 = 1_000;

/// A server process; killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
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
            "group.share.partition.max.record.locks=10000",
            "--set",
            "group.share.record.lock.duration.ms=60000",
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

/// Appends a little and syncs, so often.
fn bare_syncs(path: &Path) -> Fallible<Vec<Duration>> {
    let mut file = File::create(path)?;
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        file.write_all(&[7; WRITE])?;
        file.sync_data()?;
        costs.push(began.elapsed());
    }
    Ok(costs)
}

fn join(peer: &mut Server, group: &str, topic: &Topic) -> Fallible<Member> {
    let conn = peer.connect()?;
    speech::configure(peer, conn, group, "share.auto.offset.reset", "earliest")?;
    Member::join(peer, conn, group, 0, topic)
}

/// Commits on a store that does nothing else.
pub fn commits(program: &str, dir: &str) -> Fallible<()> {
    let dir = Path::new(dir);
    fresh(dir)?;
    let (_process, address, _) = start(program, &dir.join("data"))?;
    let mut server = Server::new(&address);
    let admin = server.connect()?;
    let input = speech::create_topic(&mut server, admin, "input", 1)?;
    let output = speech::create_topic(&mut server, admin, "output", 1)?;
    let mut producer = Producer::new(&mut server, "producer")?;
    let mut member = join(&mut server, "group", &input)?;
    report::head("latency in us, durability sync: p50, p99");
    let mut before = bare_syncs(&dir.join("bare"))?;
    let mut loads = Vec::new();
    for acks in [0, 0, 1, 10, 100, 1_000] {
        let offsets = acks == 0 && loads.len() == 1;
        let (mut whole, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            if acks > 0 {
                let batch = speech::batch(acks, b"value");
                speech::produce(&mut server, admin, &input, &batch)?;
                let mut found = 0;
                while found < i64::from(acks) {
                    found += member.fetch(&mut server, acks)?;
                }
            }
            let with = match (acks, offsets) {
                (0, true) => With::Offsets,
                (0, false) => With::Nothing,
                _ => With::Acks(&mut member, &input),
            };
            let began = Instant::now();
            producer.fill(&mut server, &output, with)?;
            let filled = Instant::now();
            producer.commit(&mut server)?;
            ends.push(filled.elapsed());
            whole.push(began.elapsed());
        }
        let name = match (acks, offsets) {
            (0, true) => "with an offset".to_string(),
            (0, false) => "records alone".to_string(),
            _ => format!("{acks} acknowledgements"),
        };
        loads.push((name, whole, ends));
    }
    // Before and after, since a shared disk has its moments.
    before.extend(bare_syncs(&dir.join("bare-again"))?);
    line("write and sync of the disk", &before);
    let alone = quantile(loads[0].1.clone(), 50);
    for (name, whole, ends) in &loads {
        line(&format!("{name}: commit"), ends);
        line(&format!("{name}: transaction"), whole);
        let ratio = micros(quantile(whole.clone(), 50)) / micros(alone);
        let syncs = micros(quantile(ends.clone(), 99)) / micros(quantile(before.clone(), 99));
        println!(
            "    transaction {ratio:.2} of records alone (p50), commit {syncs:.2} of a sync (p99)"
        );
    }
    Ok(())
}

fn line(what: &str, costs: &[Duration]) {
    let at = |percent| micros(quantile(costs.to_vec(), percent));
    println!("{what}: {:.0}, {:.0}", at(50), at(99));
}

/// A million records in flight, every second one acknowledged, so that each is an entry of its own;
/// then a kill and a start.
pub fn restart(program: &str, dir: &str) -> Fallible<()> {
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
