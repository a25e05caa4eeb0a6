//! A real server: commits beside a bare sync of the same disk, and a start after a kill.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::peer::{Fallible, Peer, Server, take};
use crate::report::{self, micros, quantile};
use crate::speech::{self, Member, Topic};
use crate::transaction::{Kinds, Producer, With};

const ROUNDS: usize = 300;
/// Bytes of a bare write.
const WRITE: usize = 1_024;
const PARTITIONS: i32 = 1_000;
const RECORDS: i32 = 1_000;

/// What a transaction has besides its record.
#[derive(Clone, Copy)]
enum Load {
    Nothing,
    Offset,
    Acks(i32),
}

const LOADS: [Load; 6] = [
    Load::Nothing,
    Load::Offset,
    Load::Acks(1),
    Load::Acks(10),
    Load::Acks(100),
    Load::Acks(1_000),
];

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Nothing => f.write_str("a record alone"),
            Load::Offset => f.write_str("with an offset"),
            Load::Acks(count) => write!(f, "with {count} acknowledgements"),
        }
    }
}

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

/// Commits on a store that does nothing else.
pub(crate) fn commits(program: &str, dir: &str) -> Fallible<()> {
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
    let bare = Bare::create(&dir.join("bare"))?;
    let mut alone = None;
    for load in LOADS {
        let (mut syncs, mut ends, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let with = match load {
                Load::Nothing => With::Nothing,
                Load::Offset => With::Offsets,
                Load::Acks(count) => {
                    acquire(&mut server, admin, &input, &mut member, count)?;
                    With::Acks(&mut member, &input, Kinds::Accepts)
                }
            };
            // In turn, since a shared disk has its moments.
            syncs.push(bare.sync(round)?);
            let began = Instant::now();
            producer.fill(&mut server, &output, with)?;
            let filled = Instant::now();
            producer.commit(&mut server)?;
            ends.push(filled.elapsed());
            whole.push(began.elapsed());
        }
        line(&format!("{load}: bare write and sync"), &syncs);
        line(&format!("{load}: commit"), &ends);
        line(&format!("{load}: transaction"), &whole);
        let [sync, commit] = [syncs, ends].map(|costs| micros(quantile(costs, 99)));
        let whole = micros(quantile(whole, 50));
        println!(
            "    p99 of the commit {:.2} of the sync's, p50 of the transaction {:.2} of that without",
            commit / sync,
            whole / *alone.get_or_insert(whole)
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

fn line(what: &str, costs: &[Duration]) {
    let at = |percent| micros(quantile(costs.to_vec(), percent));
    println!("{what}: {:.0}, {:.0}", at(50), at(99));
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
