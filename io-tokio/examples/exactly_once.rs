//! Copies a topic exactly once while things go wrong.
//!
//! Several workers read one topic as one share group, transform each record, and commit their output
//! and their acknowledgements together; at random they abort, or vanish in the middle of a
//! transaction and come back. The broker may be killed and restarted meanwhile. At the end the output
//! is read with read_committed and the account printed: nothing may be lost, nothing doubled.
//!
//! ```text
//! cargo run --release -p ackord-io-tokio --example exactly_once -- --against 127.0.0.1:9092
//! ```

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, AcquireMode, AdminConfig, ClientError, ConfigResource,
    Endpoint, FetcherConfig, Isolation, NewTopic, PolledRecords, ProducerConfig,
    ShareAcknowledgements, ShareConsumerConfig,
};
use ackord_io_tokio::client::{Admin, Fetcher, Producer, ProducerRecord, ShareConsumer};
use clap::Parser;

/// Copies a topic exactly once while things go wrong.
#[derive(Clone, Debug, Parser)]
struct Options {
    /// The broker.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9092")]
    against: String,
    /// Records to copy.
    #[arg(long, default_value_t = 10_000)]
    records: u64,
    /// Workers of the share group.
    #[arg(long, default_value_t = 4)]
    workers: u64,
    /// Partitions of both topics.
    #[arg(long, default_value_t = 4)]
    partitions: i32,
    /// Records of one transaction.
    #[arg(long, default_value_t = 50)]
    batch: i32,
    /// Transactions in a hundred that abort.
    #[arg(long, default_value_t = 10)]
    aborts: u64,
    /// Transactions in a hundred whose worker vanishes.
    #[arg(long, default_value_t = 2)]
    losses: u64,
    /// Prefix of topics, group and transactional ids.
    #[arg(long, default_value = "copy")]
    name: String,
    /// Seconds after which the copy counts as hung.
    #[arg(long, default_value_t = 300)]
    limit: u64,
}

impl Options {
    fn bootstrap(&self) -> Result<[Endpoint; 1], String> {
        let endpoint = self.against.parse();
        endpoint
            .map(|endpoint| [endpoint])
            .map_err(|_| format!("{} is no HOST:PORT", self.against))
    }

    fn input(&self) -> String {
        format!("{}-in", self.name)
    }

    fn output(&self) -> String {
        format!("{}-out", self.name)
    }
}

/// What the workers have done so far.
#[derive(Debug, Default)]
struct Tally {
    read: AtomicU64,
    committed: AtomicU64,
    aborted: AtomicU64,
    vanished: AtomicU64,
}

/// How a transaction is to end.
enum Fate {
    Abort,
    Commit,
    Vanish,
}

/// A small generator, so that no crate is needed for three kinds of bad luck.
struct Luck(u64);

impl Luck {
    fn new() -> Self {
        Luck(RandomState::new().build_hasher().finish() | 1)
    }

    fn fate(&mut self, options: &Options) -> Fate {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        match self.0 % 100 {
            drawn if drawn < options.aborts => Fate::Abort,
            drawn if drawn < options.aborts + options.losses => Fate::Vanish,
            _ => Fate::Commit,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    match run(options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("exactly_once: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<bool, String> {
    let bootstrap = options.bootstrap()?;
    prepare(&options, &bootstrap)
        .await
        .map_err(|error| format!("preparing: {error}"))?;
    fill(&options, &bootstrap)
        .await
        .map_err(|error| format!("filling: {error}"))?;
    println!(
        "filled {} with {} records",
        options.input(),
        options.records
    );
    let tally = Arc::new(Tally::default());
    let workers: Vec<_> = (0..options.workers)
        .map(|number| {
            let (options, bootstrap) = (options.clone(), bootstrap.clone());
            tokio::spawn(work(options, bootstrap, number, Arc::clone(&tally)))
        })
        .collect();
    let copies = watch(&options, &bootstrap, &tally).await;
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(account(&options, &tally, &copies?))
}

async fn prepare(options: &Options, bootstrap: &[Endpoint; 1]) -> Result<(), ClientError> {
    let admin = Admin::new(AdminConfig::new(bootstrap.clone()));
    let topics =
        [options.input(), options.output()].map(|name| NewTopic::new(name, options.partitions));
    admin.create_topics(topics).await?;
    let configs = [
        ("share.auto.offset.reset", "earliest"),
        // Kafka's least: records of a worker that is gone come back soon.
        ("share.record.lock.duration.ms", "15000"),
        // Aborts count as deliveries; bad luck must not archive a good record.
        ("share.delivery.count.limit", "10"),
    ];
    let configs = configs
        .map(|(name, value)| (name.into(), Some(value.into())))
        .to_vec();
    let group = ConfigResource::Group(options.name.as_str().into());
    admin.incremental_alter_configs(group, configs).await?;
    admin.close().await
}

async fn fill(options: &Options, bootstrap: &[Endpoint; 1]) -> Result<(), ClientError> {
    let id = format!("{}-filler", options.name);
    let producer = Producer::new(ProducerConfig::new(bootstrap.clone(), id));
    producer.init_transactions().await?;
    producer.begin_transaction().await?;
    for number in 0..options.records {
        // Not awaited: a failure shows in the commit.
        drop(producer.send(ProducerRecord::new(options.input(), number.to_string())));
    }
    producer.commit_transaction().await?;
    producer.close().await
}

/// One worker: it begins again from nothing after every error that ends its clients.
async fn work(options: Options, bootstrap: [Endpoint; 1], number: u64, tally: Arc<Tally>) {
    let mut luck = Luck::new();
    loop {
        if let Err(error) = copy(&options, &bootstrap, number, &tally, &mut luck).await {
            eprintln!("worker {number}: {error}; beginning again");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Copies until a client fails for good, or until the worker vanishes.
async fn copy(
    options: &Options,
    bootstrap: &[Endpoint; 1],
    number: u64,
    tally: &Tally,
    luck: &mut Luck,
) -> Result<(), ClientError> {
    let mut config = ShareConsumerConfig::new(bootstrap.clone(), options.name.as_str());
    config.acknowledgement_mode = AcknowledgementMode::Transactional;
    config.acquire_mode = AcquireMode::RecordLimit;
    config.max_poll_records = options.batch;
    let consumer = ShareConsumer::new(config);
    consumer.subscribe([options.input()]).await?;
    let id = format!("{}-{number}", options.name);
    let mut config = ProducerConfig::new(bootstrap.clone(), id);
    config.transaction_timeout_ms = 10_000;
    let producer = Producer::new(config);
    producer.init_transactions().await?;
    loop {
        let polled = consumer.poll(Duration::from_secs(1)).await?;
        if polled.records.is_empty() {
            continue;
        }
        tally
            .read
            .fetch_add(polled.records.len() as u64, Ordering::Relaxed);
        producer.begin_transaction().await?;
        let bound = bind(options, &producer, &polled).await;
        match (bound, luck.fate(options)) {
            (Ok(()), Fate::Commit) => match producer.commit_transaction().await {
                Ok(()) => {
                    tally
                        .committed
                        .fetch_add(polled.records.len() as u64, Ordering::Relaxed);
                }
                Err(error) => give_up(&producer, &consumer, &polled, tally, error).await?,
            },
            (Ok(()), Fate::Vanish) => {
                tally.vanished.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            (Ok(()), Fate::Abort) => {
                producer.abort_transaction().await?;
                tally.aborted.fetch_add(1, Ordering::Relaxed);
            }
            (Err(error), _) => give_up(&producer, &consumer, &polled, tally, error).await?,
        }
    }
}

/// Sends the output of `polled` and binds its acknowledgements to the same transaction.
async fn bind(
    options: &Options,
    producer: &Producer,
    polled: &PolledRecords,
) -> Result<(), ClientError> {
    for record in &polled.records {
        let value = record.value.clone().unwrap_or_default();
        drop(producer.send(ProducerRecord::new(options.output(), value)));
    }
    let acks = ShareAcknowledgements::from_records(polled, AcknowledgeType::Accept);
    producer
        .send_share_acks_to_transaction(acks, polled.group.clone())
        .await
}

/// Aborts where the error allows it, and gives back what was not bound, so that nobody has to wait
/// for its lock to run out.
async fn give_up(
    producer: &Producer,
    consumer: &ShareConsumer,
    polled: &PolledRecords,
    tally: &Tally,
    error: ClientError,
) -> Result<(), ClientError> {
    if !error.is_abortable() {
        return Err(error);
    }
    producer.abort_transaction().await?;
    tally.aborted.fetch_add(1, Ordering::Relaxed);
    for record in &polled.records {
        consumer
            .acknowledge(record, AcknowledgeType::Release)
            .await?;
    }
    // Records that the abort has freed already are refused here, which is fine.
    consumer.commit_sync().await.map(drop)
}

/// Reads the committed output until it is complete, and a moment longer for what must not come.
async fn watch(
    options: &Options,
    bootstrap: &[Endpoint; 1],
    tally: &Tally,
) -> Result<BTreeMap<Vec<u8>, u64>, String> {
    let mut config = FetcherConfig::new(bootstrap.clone());
    config.isolation = Isolation::ReadCommitted;
    let fetcher = Fetcher::new(config);
    let parts = (0..options.partitions).map(|index| (options.output().into(), index, 0));
    let assigned = fetcher.assign(parts.collect()).await;
    assigned.map_err(|error| format!("assigning: {error}"))?;
    let mut copies: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let (started, mut said) = (Instant::now(), Instant::now());
    let mut complete_since = None;
    loop {
        match fetcher.poll(Duration::from_millis(500)).await {
            Ok(fetched) => {
                for record in fetched.records {
                    let value = record.value.unwrap_or_default();
                    *copies.entry(value.to_vec()).or_default() += 1;
                }
            }
            Err(error) => eprintln!("reading the output: {error}"),
        }
        if copies.len() as u64 >= options.records {
            let since = *complete_since.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_secs(3) {
                return Ok(copies);
            }
        }
        if started.elapsed() > Duration::from_secs(options.limit) {
            eprintln!("not complete after {} s", options.limit);
            return Ok(copies);
        }
        if said.elapsed() > Duration::from_secs(1) {
            said = Instant::now();
            println!(
                "copied {} of {}, {} aborted",
                copies.len(),
                options.records,
                get(&tally.aborted)
            );
        }
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Prints the account; true where it is clean.
fn account(options: &Options, tally: &Tally, copies: &BTreeMap<Vec<u8>, u64>) -> bool {
    let wanted = (0..options.records).map(|number| number.to_string().into_bytes());
    let lost = wanted.filter(|value| !copies.contains_key(value)).count();
    let doubled: u64 = copies.values().map(|count| count - 1).sum();
    println!(
        "read {}, committed {}, aborted transactions {}, vanished workers {}",
        get(&tally.read),
        get(&tally.committed),
        get(&tally.aborted),
        get(&tally.vanished),
    );
    println!("output {}, lost {lost}, doubled {doubled}", copies.len());
    lost == 0 && doubled == 0
}
