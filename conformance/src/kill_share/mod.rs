//! Kills a broker with SIGKILL at random moments while plain share consumers work, and keeps account:
//! a record whose acknowledgement was answered with success never comes again, every other one
//! does, and delivery counts go on from what was stored.

mod account;
mod broker;
mod member;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ackord_machine::Entropy;
use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::CreatableTopic;
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::{
    CreateTopicsRequest, IncrementalAlterConfigsRequest, ListOffsetsRequest, ProduceRequest,
    list_offsets,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::uuid::Uuid;

use crate::caller::Caller;
use account::Account;
use broker::BrokerProcess;
use member::Member;

const TOPIC: &str = "orders";
const GROUP: &str = "workers";
/// Resource type of a group in IncrementalAlterConfigs.
const GROUP_RESOURCE: i8 = 32;
/// Records of one batch.
const BATCH: i64 = 50;
/// How long the rest may take once the broker is left alone.
const REST: Duration = Duration::from_secs(60);

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

/// What the threads share.
struct Shared {
    address: String,
    topic: Uuid,
    partitions: i32,
    /// Counts the starts of the broker.
    run: AtomicU32,
    stop: AtomicBool,
    joined_again: AtomicU32,
    account: Mutex<Account>,
}

impl Shared {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs it and prints the account; says whether nothing was wrong.
///
/// # Errors
/// The broker does not start, or does not do what the run needs.
pub fn run(options: &Options) -> Result<bool, String> {
    println!("# seed {}", options.seed);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&options.seed.to_be_bytes());
    let chance = Entropy::from_seed(seed);
    let mut broker = BrokerProcess::start(&options.broker, &options.data, 0)?;
    let address = format!("127.0.0.1:{}", broker.port());
    let shared = Arc::new(Shared {
        topic: set_up(&address, options.partitions)?,
        address,
        partitions: options.partitions,
        run: AtomicU32::new(1),
        stop: AtomicBool::new(false),
        joined_again: AtomicU32::new(0),
        account: Mutex::default(),
    });
    let mut threads = Vec::new();
    for number in 0..options.members {
        let id = format!("member-{number}");
        let member = Member::new(id.clone(), chance.fork(&id), Arc::clone(&shared));
        threads.push(thread::spawn(move || member.work()));
    }
    let produces = Arc::new(AtomicBool::new(true));
    let (flag, with) = (Arc::clone(&produces), Arc::clone(&shared));
    let producer = thread::spawn(move || produce(&with, &flag));
    let killed = kill(options, &mut broker, &shared, &mut chance.fork("kills"));
    produces.store(false, Ordering::SeqCst);
    join(producer);
    let ends = killed.and_then(|()| rest(&shared));
    shared.stop.store(true, Ordering::SeqCst);
    threads.into_iter().for_each(join);
    Ok(tell(&shared, options, &ends?))
}

fn join(thread: thread::JoinHandle<()>) {
    if thread.join().is_err() {
        println!("a thread ended badly");
    }
}

fn kill(
    options: &Options,
    broker: &mut BrokerProcess,
    shared: &Shared,
    chance: &mut Entropy,
) -> Result<(), String> {
    for _ in 0..options.kills {
        thread::sleep(Duration::from_millis(50 + chance.below(350)));
        broker.kill();
        shared.run.fetch_add(1, Ordering::SeqCst);
        *broker = BrokerProcess::start(&options.broker, &options.data, broker.port())?;
    }
    Ok(())
}

/// Waits until everything is acknowledged; the ends of the partitions.
fn rest(shared: &Shared) -> Result<Vec<i64>, String> {
    let ends = ends(shared)?;
    let started = Instant::now();
    while started.elapsed() < REST && !shared.account().missing(&ends).is_empty() {
        thread::sleep(Duration::from_millis(50));
    }
    // What comes although it must not has a moment to come.
    thread::sleep(Duration::from_millis(500));
    Ok(ends)
}

fn tell(shared: &Shared, options: &Options, ends: &[i64]) -> bool {
    let account = shared.account();
    let missing = account.missing(ends);
    let (accepted, deliveries) = account.totals();
    println!(
        "# {} kills; {} records, {accepted} accepted with success, {deliveries} deliveries; \
         members had to join again {} times",
        options.kills,
        ends.iter().sum::<i64>(),
        shared.joined_again.load(Ordering::SeqCst),
    );
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
    account.wrong.is_empty() && missing.is_empty() && accepted > 0
}

/// Creates the topic and configures the group.
fn set_up(address: &str, partitions: i32) -> Result<Uuid, String> {
    let mut caller = Caller::connect(address, "admin")?;
    let topic = CreatableTopic {
        name: TOPIC.into(),
        num_partitions: partitions,
        replication_factor: -1,
        ..Default::default()
    };
    let request = CreateTopicsRequest {
        topics: vec![topic],
        ..Default::default()
    };
    let Response::CreateTopics(response) = caller.call(request, 7)? else {
        return Err("no answer of CreateTopics".to_string());
    };
    let topic = response.topics.first().ok_or("CreateTopics says nothing")?;
    if topic.error_code.is_error() {
        return Err(format!("the topic is not created: {}", topic.error_code));
    }
    let config = AlterableConfig {
        name: "share.auto.offset.reset".into(),
        value: Some("earliest".into()),
        ..Default::default()
    };
    let resource = AlterConfigsResource {
        resource_type: GROUP_RESOURCE,
        resource_name: GROUP.into(),
        configs: vec![config],
        ..Default::default()
    };
    let request = IncrementalAlterConfigsRequest {
        resources: vec![resource],
        ..Default::default()
    };
    let Response::IncrementalAlterConfigs(response) = caller.call(request, 1)? else {
        return Err("no answer of IncrementalAlterConfigs".to_string());
    };
    match response
        .responses
        .iter()
        .find(|own| own.error_code.is_error())
    {
        Some(own) => Err(format!("the group is not configured: {}", own.error_code)),
        None => Ok(topic.topic_id),
    }
}

/// Appends batches to the partitions in turn for as long as `produces` says so.
fn produce(shared: &Shared, produces: &AtomicBool) {
    let mut caller = None;
    for number in 0_i32.. {
        if !produces.load(Ordering::SeqCst) {
            return;
        }
        if caller.is_none() {
            caller = Caller::connect(&shared.address, "producer").ok();
        }
        let partition = number % shared.partitions;
        let sent = caller.as_mut().map(|own| own.call(batch(partition), 12));
        if !matches!(sent, Some(Ok(_))) {
            caller = None;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn batch(index: i32) -> ProduceRequest {
    let mut batch = BatchBuilder::new(0);
    for number in 0..BATCH {
        let value = format!("order {number}");
        batch.push(0, None, Some(value.as_bytes()));
    }
    let data = PartitionProduceData {
        index,
        records: Some(batch.build().into()),
        ..Default::default()
    };
    let topic = TopicProduceData {
        name: TOPIC.into(),
        partition_data: vec![data],
        ..Default::default()
    };
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![topic],
        ..Default::default()
    }
}

/// The ends of all partitions.
fn ends(shared: &Shared) -> Result<Vec<i64>, String> {
    let parts = (0..shared.partitions).map(|index| list_offsets::ListOffsetsPartition {
        partition_index: index,
        timestamp: -1,
        ..Default::default()
    });
    let topic = list_offsets::ListOffsetsTopic {
        name: TOPIC.into(),
        partitions: parts.collect(),
        ..Default::default()
    };
    let request = ListOffsetsRequest {
        replica_id: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let mut caller = Caller::connect(&shared.address, "admin")?;
    let Response::ListOffsets(response) = caller.call(request, 7)? else {
        return Err("no answer of ListOffsets".to_string());
    };
    let topic = response.topics.first().ok_or("ListOffsets says nothing")?;
    let mut ends = vec![0; topic.partitions.len()];
    for part in &topic.partitions {
        if part.error_code != ErrorCode::NONE {
            return Err(format!("ListOffsets: {}", part.error_code));
        }
        let place = usize::try_from(part.partition_index).unwrap_or_default();
        if let Some(end) = ends.get_mut(place) {
            *end = part.offset;
        }
    }
    Ok(ends)
}
