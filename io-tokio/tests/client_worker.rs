//! The client against the broker itself: a worker that copies records exactly once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, AcquireMode, AdminConfig, ClientError, ConfigResource,
    Endpoint, FetcherConfig, Isolation, NewTopic, OffsetSpec, PolledRecords, ProducerConfig,
    ShareAcknowledgements, ShareConsumerConfig,
};
use ackord_io_tokio::client::{Admin, Fetcher, Producer, ProducerRecord, ShareConsumer};
use ackord_proto::error_code::ErrorCode;

const PARTITIONS: i32 = 2;
const POLL: Duration = Duration::from_secs(10);

/// A broker process that ends with the test.
struct Broker {
    process: Child,
    endpoint: Endpoint,
}

impl Broker {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ackord"))
            .args(["--listen", "127.0.0.1:0", "--durability", "memory"])
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
        }
    }

    fn bootstrap(&self) -> [Endpoint; 1] {
        [self.endpoint.clone()]
    }

    async fn producer(&self, transactional_id: &str) -> Producer {
        let producer = Producer::new(ProducerConfig::new(self.bootstrap(), transactional_id));
        producer.init_transactions().await.expect("a producer id");
        producer
    }

    /// Topics `in` and `out` and the group `g`, which reads from the start.
    async fn prepare(&self) -> Admin {
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

    async fn consumer(&self, mode: AcknowledgementMode) -> ShareConsumer {
        let mut config = ShareConsumerConfig::new(self.bootstrap(), "g");
        config.acknowledgement_mode = mode;
        config.acquire_mode = AcquireMode::RecordLimit;
        config.max_poll_records = 7;
        let consumer = ShareConsumer::new(config);
        consumer.subscribe(["in"]).await.expect("a subscription");
        consumer
    }

    async fn fill(&self, count: usize) {
        let producer = self.producer("filler").await;
        producer.begin_transaction().await.expect("a transaction");
        for index in 0..count {
            drop(producer.send(ProducerRecord::new("in", format!("record {index}"))));
        }
        producer.commit_transaction().await.expect("a commit");
        producer.close().await.expect("a clean end");
    }

    /// How often each value is in `out`, under read_committed.
    async fn outputs(&self, admin: &Admin) -> BTreeMap<String, usize> {
        let mut seen = BTreeMap::new();
        for partition in 0..PARTITIONS {
            let fetcher = Fetcher::new(FetcherConfig::new(self.bootstrap()));
            let end = admin
                .list_offset(
                    "out",
                    partition,
                    OffsetSpec::Latest,
                    Isolation::ReadCommitted,
                )
                .await
                .expect("an offset");
            fetcher
                .assign(vec![("out".into(), partition, 0)])
                .await
                .expect("an assignment");
            let mut next = 0;
            while next < end {
                let fetched = fetcher
                    .poll(Duration::from_millis(500))
                    .await
                    .expect("records");
                for record in fetched.records {
                    let value = record.value.expect("a value").to_vec();
                    *seen
                        .entry(String::from_utf8(value).expect("text"))
                        .or_default() += 1;
                }
                next = fetched
                    .progress
                    .last()
                    .map_or(next, |progress| progress.next_offset);
            }
            fetcher.close().await.expect("a clean end");
        }
        seen
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How a transaction of the worker is to end.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Abort,
    Commit,
}

async fn copy(producer: &Producer, polled: &PolledRecords, end: End) -> Result<(), ClientError> {
    producer.begin_transaction().await?;
    for record in &polled.records {
        let value = record.value.clone().unwrap_or_default();
        drop(producer.send(ProducerRecord::new("out", value)));
    }
    let acks = ShareAcknowledgements::from_records(polled, AcknowledgeType::Accept);
    producer
        .send_share_acks_to_transaction(acks, polled.group.clone())
        .await?;
    match end {
        End::Abort => producer.abort_transaction().await,
        End::Commit => producer.commit_transaction().await,
    }
}

#[tokio::test]
async fn a_worker_that_aborts_every_third_time_copies_each_record_once() {
    const RECORDS: usize = 60;
    let broker = Broker::start();
    let admin = broker.prepare().await;
    broker.fill(RECORDS).await;
    let consumer = broker.consumer(AcknowledgementMode::Transactional).await;
    let producer = broker.producer("copier").await;
    let (mut copied, mut redelivered) = (0, 0);
    for turn in 1.. {
        let polled = consumer.poll(POLL).await.expect("records");
        assert!(
            !polled.records.is_empty(),
            "{copied} of {RECORDS} copied, then silence"
        );
        redelivered += polled
            .records
            .iter()
            .filter(|record| record.delivery_count > 1)
            .count();
        let end = if turn % 3 == 0 {
            End::Abort
        } else {
            End::Commit
        };
        copy(&producer, &polled, end).await.expect("an end");
        if end == End::Commit {
            copied += polled.records.len();
        }
        if copied >= RECORDS {
            break;
        }
    }
    assert!(redelivered > 0, "an abort gives records back");
    let outputs = broker.outputs(&admin).await;
    assert_eq!((copied, outputs.len()), (RECORDS, RECORDS));
    assert!(outputs.values().all(|count| *count == 1), "{outputs:?}");
    consumer.close().await.expect("a clean end");
    producer.close().await.expect("a clean end");
    admin.close().await.expect("a clean end");
}

#[tokio::test]
async fn an_explicit_consumer_accepts_releases_and_rejects() {
    let broker = Broker::start();
    broker.prepare().await.close().await.expect("a clean end");
    broker.fill(3).await;
    let consumer = broker.consumer(AcknowledgementMode::Explicit).await;
    let mut answered = BTreeMap::new();
    while answered
        .values()
        .filter(|kind| **kind != AcknowledgeType::Release)
        .count()
        < 3
    {
        let polled = consumer.poll(POLL).await.expect("records");
        assert!(!polled.records.is_empty(), "silence after {answered:?}");
        for record in &polled.records {
            let value = record.value.clone().expect("a value");
            let kind = match (&value[..], record.delivery_count) {
                (b"record 1", 1) => AcknowledgeType::Release,
                (b"record 2", _) => AcknowledgeType::Reject,
                _ => AcknowledgeType::Accept,
            };
            consumer
                .acknowledge(record, kind)
                .await
                .expect("a held record");
            answered.insert(value, kind);
        }
        for result in consumer.commit_sync().await.expect("answers") {
            assert_eq!(result.code, ErrorCode::NONE);
        }
    }
    assert_eq!(answered.len(), 3);
    let left = consumer
        .poll(Duration::from_millis(300))
        .await
        .expect("an empty poll");
    assert!(left.records.is_empty());
    consumer.close().await.expect("a clean end");
}

#[tokio::test]
async fn a_second_producer_fences_the_first() {
    let broker = Broker::start();
    let admin = broker.prepare().await;
    let first = broker.producer("one").await;
    first.begin_transaction().await.expect("a transaction");
    first
        .send(ProducerRecord::new("out", "lost"))
        .await
        .expect("a stored record");
    let second = broker.producer("one").await;
    assert!(matches!(
        first.commit_transaction().await,
        Err(ClientError::Fenced { .. })
    ));
    second.begin_transaction().await.expect("a transaction");
    second
        .send(ProducerRecord::new("out", "kept"))
        .await
        .expect("a stored record");
    second.commit_transaction().await.expect("a commit");
    let outputs = broker.outputs(&admin).await;
    assert_eq!(outputs.into_keys().collect::<Vec<_>>(), ["kept"]);
}
