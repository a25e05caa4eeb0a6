//! A broker process, and what the cases need of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::{BufRead, BufReader};
use std::marker::PhantomData;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ackord_client_core::client::{
    Admin, Fetcher, Producer, ProducerRecord, Runtime, ShareConsumer,
};
use ackord_client_core::{
    AcknowledgementMode, AcquireMode, AdminConfig, ConfigResource, Endpoint, FetcherConfig,
    Isolation, NewTopic, OffsetSpec, ProducerConfig, ShareConsumerConfig,
};
use ackord_proto::error_code::ErrorCode;

use super::falling_back::OlderBroker;

pub(super) const PARTITIONS: i32 = 2;
pub(super) const POLL: Duration = Duration::from_secs(10);

/// A broker process that ends with the test.
pub(super) struct Broker<R> {
    process: Child,
    endpoint: Endpoint,
    runtime: PhantomData<fn() -> R>,
}

impl<R> Drop for Broker<R> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl<R: Runtime> Broker<R> {
    pub(super) fn start(program: &str) -> Self {
        Self::start_with(program, &[])
    }

    /// One that offers no API of KIP-1289.
    pub(super) fn older(program: &str) -> Self {
        let front = OlderBroker::new();
        let address = front.address();
        let advertised = format!("advertised.listeners=PLAINTEXT://{address}");
        let mut broker = Self::start_with(program, &["--set", &advertised]);
        front.serve(broker.endpoint.to_string());
        broker.endpoint = address.parse().expect("an address");
        broker
    }

    fn start_with(program: &str, more: &[&str]) -> Self {
        let mut process = Command::new(program)
            .args(["--listen", "127.0.0.1:0", "--durability", "memory"])
            .args(["--set", "transaction.two.phase.commit.enable=true"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the broker starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .strip_prefix("ackord ready on ")
            .expect("the ready line");
        Broker {
            process,
            endpoint: address.parse().expect("an address"),
            runtime: PhantomData,
        }
    }

    pub(super) fn bootstrap(&self) -> [Endpoint; 1] {
        [self.endpoint.clone()]
    }

    pub(super) async fn producer(&self, transactional_id: &str) -> Producer<R> {
        let producer = Producer::new(ProducerConfig::new(self.bootstrap(), transactional_id));
        producer.init_transactions().await.expect("a producer id");
        producer
    }

    /// Topics `in` and `out` and the group `g`, which reads from the start.
    pub(super) async fn prepare(&self) -> Admin<R> {
        let admin = Admin::new(AdminConfig::new(self.bootstrap()));
        let topics = ["in", "out"].map(|name| NewTopic::new(name, PARTITIONS));
        for item in admin.create_topics(topics).await.expect("an answer") {
            assert_eq!(item.code, ErrorCode::NONE, "{}", item.name);
        }
        let configs = vec![("share.auto.offset.reset".into(), Some("earliest".into()))];
        let group = ConfigResource::Group("g".into());
        admin
            .incremental_alter_configs(group, configs)
            .await
            .expect("group configs");
        admin
    }

    pub(super) async fn consumer(&self, mode: AcknowledgementMode) -> ShareConsumer<R> {
        let mut config = ShareConsumerConfig::new(self.bootstrap(), "g");
        config.acknowledgement_mode = mode;
        config.acquire_mode = AcquireMode::RecordLimit;
        config.max_poll_records = 7;
        let consumer = ShareConsumer::new(config);
        consumer.subscribe(["in"]).await.expect("a subscription");
        consumer
    }

    /// A broker with topics and records.
    pub(super) async fn filled(program: &str, records: usize) -> Self {
        let broker = Self::start(program);
        broker.prepare().await.close().await.expect("a clean end");
        broker.fill(records).await;
        broker
    }

    pub(super) async fn fill(&self, count: usize) {
        let producer = self.producer("filler").await;
        producer.begin_transaction().await.expect("a transaction");
        for index in 0..count {
            drop(producer.send(ProducerRecord::new("in", format!("record {index}"))));
        }
        producer.commit_transaction().await.expect("a commit");
        producer.close().await.expect("a clean end");
    }

    /// How often each value is in `out`, under read_committed.
    pub(super) async fn outputs(&self, admin: &Admin<R>) -> BTreeMap<String, usize> {
        let mut seen = BTreeMap::new();
        for partition in 0..PARTITIONS {
            let isolation = Isolation::ReadCommitted;
            let end = admin.list_offset("out", partition, OffsetSpec::Latest, isolation);
            let end = end.await.expect("an offset");
            let fetcher = Fetcher::<R>::new(FetcherConfig::new(self.bootstrap()));
            let assigned = fetcher.assign(vec![("out".into(), partition, 0)]).await;
            assigned.expect("an assignment");
            let mut next = 0;
            while next < end {
                let fetched = fetcher.poll(POLL).await.expect("records");
                for record in fetched.records {
                    let value = record.value.expect("a value").to_vec();
                    let value = String::from_utf8(value).expect("text");
                    *seen.entry(value).or_default() += 1;
                }
                let progress = fetched.progress.last();
                next = progress.map_or(next, |progress| progress.next_offset);
            }
            fetcher.close().await.expect("a clean end");
        }
        seen
    }
}

/// Polls a future once and drops it, as a `select` does whose other branch is ready.
pub(super) fn poll_and_drop<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
