//! What a worker does.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ackord_client_core::client::{Admin, Producer, ProducerRecord, Runtime, ShareConsumer};
use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, AcquireMode, AdminConfig, ClientError, ConfigResource,
    Endpoint, NewTopic, PolledRecords, ProducerConfig, ShareAcknowledgements, ShareConsumerConfig,
};

use super::account::Tally;
use super::chaos::Leash;
use super::options::Options;

/// What all workers share.
#[derive(Debug)]
pub struct Copy<R> {
    options: Options,
    bootstrap: [Endpoint; 1],
    tally: Arc<Tally>,
    runtime: PhantomData<fn() -> R>,
}

impl<R> Clone for Copy<R> {
    fn clone(&self) -> Self {
        Copy {
            options: self.options.clone(),
            bootstrap: self.bootstrap.clone(),
            tally: Arc::clone(&self.tally),
            runtime: PhantomData,
        }
    }
}

/// How a transaction ended.
enum End {
    Aborted,
    Committed,
}

impl<R: Runtime> Copy<R> {
    /// A copy that has not begun.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(options: Options, tally: Arc<Tally>) -> Result<Self, String> {
        let bootstrap = options.bootstrap()?;
        Ok(Copy {
            options,
            bootstrap,
            tally,
            runtime: PhantomData,
        })
    }

    /// What is copied, and how.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn bootstrap(&self) -> [Endpoint; 1] {
        self.bootstrap.clone()
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Topics, and the group that reads from the beginning.
    ///
    /// # Errors
    /// What the broker refused.
    pub async fn prepare(&self) -> Result<(), ClientError> {
        let options = &self.options;
        let admin = Admin::<R>::new(AdminConfig::new(self.bootstrap()));
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
        let configs = configs.map(|(name, value)| (name.into(), Some(value.into())));
        let group = ConfigResource::Group(options.name.as_str().into());
        admin
            .incremental_alter_configs(group, configs.to_vec())
            .await?;
        admin.close().await
    }

    /// Numbers as records.
    ///
    /// # Errors
    /// The broker did not take them.
    pub async fn fill(&self) -> Result<(), ClientError> {
        let id = format!("{}-filler", self.options.name);
        let producer = Producer::<R>::new(ProducerConfig::new(self.bootstrap(), id));
        producer.init_transactions().await?;
        producer.begin_transaction().await?;
        for number in 0..self.options.records {
            let record = ProducerRecord::new(self.options.input(), number.to_string());
            // Not awaited: a failure shows in the commit.
            drop(producer.send(record));
        }
        producer.commit_transaction().await?;
        producer.close().await
    }

    fn consumer(&self) -> ShareConsumer<R> {
        let mut config = ShareConsumerConfig::new(self.bootstrap(), self.options.name.as_str());
        config.acknowledgement_mode = AcknowledgementMode::Transactional;
        config.acquire_mode = AcquireMode::RecordLimit;
        config.max_poll_records = self.options.batch;
        ShareConsumer::new(config)
    }

    fn producer(&self, number: usize) -> Producer<R> {
        let id = format!("{}-{number}", self.options.name);
        let mut config = ProducerConfig::new(self.bootstrap(), id);
        config.transaction_timeout_ms = 10_000;
        Producer::new(config)
    }

    /// Copies until a client fails for good; then it says why.
    pub(super) async fn work(&self, number: usize, leash: &Leash) -> ClientError {
        let consumer = self.consumer();
        let producer = self.producer(number);
        match self.copy_all(&consumer, &producer, leash).await {
            Ok(()) => ClientError::Closed,
            Err(error) => error,
        }
    }

    async fn copy_all(
        &self,
        consumer: &ShareConsumer<R>,
        producer: &Producer<R>,
        leash: &Leash,
    ) -> Result<(), ClientError> {
        consumer.subscribe([self.options.input()]).await?;
        producer.init_transactions().await?;
        loop {
            let polled = consumer.poll(Duration::from_secs(1)).await?;
            if polled.records.is_empty() {
                continue;
            }
            let count = polled.records.len() as u64;
            self.tally.read(count);
            match self.copy(producer, &polled, leash).await {
                Ok(End::Committed) => self.tally.committed(count),
                Ok(End::Aborted) => self.tally.aborted(),
                Err(error) if error.is_abortable() => {
                    eprintln!("a transaction has to be aborted: {error}");
                    producer.abort_transaction().await?;
                    self.tally.aborted();
                    release(consumer, &polled).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One transaction: the output of `polled`, and the acknowledgements.
    async fn copy(
        &self,
        producer: &Producer<R>,
        polled: &PolledRecords,
        leash: &Leash,
    ) -> Result<End, ClientError> {
        producer.begin_transaction().await?;
        leash.begun();
        for record in &polled.records {
            let value = transform(record.value.as_deref().unwrap_or_default());
            drop(producer.send(ProducerRecord::new(self.options.output(), value)));
        }
        let acks = ShareAcknowledgements::from_records(polled, AcknowledgeType::Accept);
        producer
            .send_share_acks_to_transaction(acks, polled.group.clone())
            .await?;
        if leash.take_abort() {
            producer.abort_transaction().await?;
            return Ok(End::Aborted);
        }
        producer.commit_transaction().await?;
        Ok(End::Committed)
    }
}

/// What becomes of an input.
pub(super) fn transform(value: &[u8]) -> Vec<u8> {
    [b"enriched-", value].concat()
}

/// Gives back what was not bound, so that nobody has to wait for its lock to run out.
async fn release<R: Runtime>(
    consumer: &ShareConsumer<R>,
    polled: &PolledRecords,
) -> Result<(), ClientError> {
    for record in &polled.records {
        consumer
            .acknowledge(record, AcknowledgeType::Release)
            .await?;
    }
    // Records that the abort has freed already are refused here, which is fine.
    consumer.commit_sync().await.map(drop)
}
