//! What an append costs, beside a bare write and sync of the same disk.
//!
//! `cargo run --release -p ackord-log-store --example measure -- DIR`
//!
//! One line for each load: median and 99th percentile of the latency, throughput, and CPU time of
//! the whole process for one append. `idle` has one append under way, `busy` has 64. `read` reads one
//! of four logs that were written in turn, 1 MiB at a time; its figures are those of a batch.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use ackord_log_store::{Durability, LogStore, StoreEvent};
use ackord_machine::{LogAppend, LogId, OpId, OpKind, Outcome, StorageOp};
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

const HEADER: usize = 61;
const LOGS: u64 = 4;

struct Load {
    name: &'static str,
    size: usize,
    appends: u64,
    under_way: usize,
}

const LOADS: [Load; 4] = [
    Load {
        name: "idle",
        size: 65_536,
        appends: 500,
        under_way: 1,
    },
    Load {
        name: "busy",
        size: 65_536,
        appends: 16_000,
        under_way: 64,
    },
    Load {
        name: "idle",
        size: 200,
        appends: 500,
        under_way: 1,
    },
    Load {
        name: "busy",
        size: 200,
        appends: 200_000,
        under_way: 64,
    },
];

fn main() -> io::Result<()> {
    let dir = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "measure-data".into());
    let dir = Path::new(&dir);
    fs::create_dir_all(dir)?;
    for load in &LOADS[..] {
        bare(dir, load, false)?;
        bare(dir, load, true)?;
        for durability in [Durability::Os, Durability::Sync] {
            store(dir, load, durability)?;
        }
    }
    Ok(())
}

fn report(load: &Load, what: &str, mut micros: Vec<u64>, seconds: f64, cpu: f64) {
    micros.sort_unstable();
    let at = |share: usize| micros[(micros.len() - 1) * share / 1000];
    let appends = micros.len() as f64;
    println!(
        "{:5} {:6} B {what:12} p50 {:7} us  p99 {:7} us  max {:7} us  {:8.0}/s {:7.1} MiB/s  CPU {:6.1} us each  {:5} MiB peak",
        load.name,
        load.size,
        at(500),
        at(990),
        at(1000),
        appends / seconds,
        appends * load.size as f64 / seconds / 1048576.0,
        cpu * 1e6 / appends,
        peak_mib(),
    );
}

/// A write (and a sync) of the same bytes at the end of a file.
fn bare(dir: &Path, load: &Load, sync: bool) -> io::Result<()> {
    let path = dir.join("bare");
    let mut file = File::create(&path)?;
    let bytes = vec![7; load.size];
    let appends = if sync {
        load.appends.min(500)
    } else {
        load.appends
    };
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    let mut micros = Vec::new();
    for _ in 0..appends {
        let start = Instant::now();
        file.write_all(&bytes)?;
        if sync {
            file.sync_data()?;
        }
        micros.push(start.elapsed().as_micros() as u64);
    }
    let what = if sync { "write+sync" } else { "write" };
    report(
        load,
        what,
        micros,
        begun.elapsed().as_secs_f64(),
        cpu_seconds() - cpu,
    );
    fs::remove_file(path)
}

fn store(dir: &Path, load: &Load, durability: Durability) -> io::Result<()> {
    let path = dir.join("store");
    let (sender, events) = mpsc::channel();
    let store = LogStore::open(&path, durability, move |event| {
        if !matches!(event, StoreEvent::Settled { .. }) {
            let _ = sender.send((event, Instant::now()));
        }
    })
    .map_err(io::Error::other)?;
    let bytes = Bytes::from(vec![7; load.size]);
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    let mut started = VecDeque::new();
    let mut micros = Vec::new();
    for number in 0..load.appends {
        if started.len() >= load.under_way {
            take(&events, &mut started, &mut micros);
        }
        started.push_back(Instant::now());
        store.submit(append(number, &bytes));
    }
    while !started.is_empty() {
        take(&events, &mut started, &mut micros);
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let what = format!("store {durability:?}");
    report(load, &what, micros, seconds, cpu);
    if load.under_way > 1 && durability == Durability::Os {
        read(&store, &events, load);
    }
    store.close();
    fs::remove_dir_all(path)
}

/// Reads one of the logs from front to back.
fn read(store: &LogStore, events: &Receiver<(StoreEvent, Instant)>, load: &Load) {
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    let mut from = 0;
    let mut micros = Vec::new();
    loop {
        let start = Instant::now();
        let kind = OpKind::Read {
            log: log(0),
            from,
            max_bytes: 1024 * 1024,
        };
        store.submit(StorageOp {
            id: OpId(load.appends + from as u64),
            after: None,
            kind,
        });
        let Ok((StoreEvent::Completed(completion), _)) = events.recv() else {
            panic!("the store is gone")
        };
        let Ok(Outcome::Read(batches)) = completion.outcome else {
            panic!("{completion:?}")
        };
        let Some(last) = batches.last() else { break };
        from = last.last + 1;
        let each = start.elapsed().as_micros() as u64 / batches.len() as u64;
        micros.extend(batches.iter().map(|_| each));
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    report(load, "read", micros, seconds, cpu);
}

fn log(partition: i32) -> LogId {
    LogId {
        topic: Uuid::from_bytes([1; 16]),
        partition,
    }
}

fn take(
    events: &Receiver<(StoreEvent, Instant)>,
    started: &mut VecDeque<Instant>,
    micros: &mut Vec<u64>,
) {
    match events.recv() {
        Ok((StoreEvent::Completed(completion), at)) => {
            assert!(completion.outcome.is_ok(), "{completion:?}");
            if let Some(start) = started.pop_front() {
                micros.push(at.duration_since(start).as_micros() as u64);
            }
        }
        other => panic!("{other:?}"),
    }
}

fn append(number: u64, bytes: &Bytes) -> StorageOp {
    let base = (number / LOGS) as i64;
    let part = LogAppend {
        log: log((number % LOGS) as i32),
        base,
        last: base,
        head: bytes.slice(..HEADER),
        body: bytes.slice(HEADER..),
    };
    StorageOp {
        id: OpId(number),
        after: None,
        kind: OpKind::Append { parts: vec![part] },
    }
}

/// CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// The largest memory so far.
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
