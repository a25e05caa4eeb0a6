//! What readers and operators do.

use std::collections::{BTreeMap, BTreeSet};

use ackord_client_core::client::{Admin, Fetcher};
use ackord_client_core::{
    AdminConfig, ClientError, FetchedRecord, FetcherConfig, ItemResult, NewTopic,
};
use ackord_conformance::dead_letter;
use ackord_conformance::script::{Expected, Pairs, TopicPartition};
use ackord_proto::uuid::Uuid;

use super::{ClientArm, EMPTY_POLL, Entered, said};

impl<R: Entered> ClientArm<R> {
    /// What a read_committed reader gets of some partitions.
    pub(super) fn read(
        &mut self,
        partitions: &[TopicPartition],
        from: i64,
        expected: &Expected,
    ) -> Result<(), String> {
        let got = self.committed(partitions, from)?;
        let fits = match expected {
            Expected::Nothing => got.values().all(Vec::is_empty),
            Expected::Values(wanted) => wanted
                .iter()
                .all(|(partition, values)| got.get(partition) == Some(values)),
            _ => true,
        };
        match fits {
            true => Ok(()),
            false => Err(format!("read: {got:?}")),
        }
    }

    fn committed(
        &mut self,
        partitions: &[TopicPartition],
        from: i64,
    ) -> Result<BTreeMap<TopicPartition, Vec<String>>, String> {
        let mut config = FetcherConfig::new(self.bootstrap()?);
        config.max_wait_ms = 0;
        let assigned: Vec<_> = partitions
            .iter()
            .map(|own| (own.topic.as_str().into(), own.partition, from))
            .collect();
        let mut open: BTreeSet<TopicPartition> = partitions.iter().cloned().collect();
        let named = |topic: &str, partition| TopicPartition {
            topic: topic.to_string(),
            partition,
        };
        R::block_on(async {
            let fetcher = Fetcher::<R>::new(config);
            fetcher.assign(assigned).await?;
            let mut got: BTreeMap<_, Vec<String>> =
                partitions.iter().map(|own| (own.clone(), vec![])).collect();
            while !open.is_empty() {
                // A poll without records lasts its time; what it has learned is told all the same.
                let fetched = fetcher.poll(EMPTY_POLL).await?;
                for record in fetched.records {
                    let key = named(&record.topic, record.partition);
                    got.entry(key).or_default().push(text(&record));
                }
                for own in fetched.progress {
                    if own.next_offset >= own.last_stable_offset {
                        open.remove(&named(&own.topic, own.partition));
                    }
                }
            }
            fetcher.close().await?;
            Ok(got)
        })
        .map_err(said)
    }

    pub(super) fn administer<T>(
        &mut self,
        ask: impl AsyncFnOnce(&Admin<R>) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        let config = AdminConfig::new(self.bootstrap()?);
        R::block_on(async {
            let admin = Admin::<R>::new(config);
            let told = ask(&admin).await;
            admin.close().await?;
            told
        })
        .map_err(said)
    }

    pub(super) fn create(
        &mut self,
        name: &str,
        partitions: i32,
        configs: &Pairs,
    ) -> Result<Uuid, String> {
        let mut topic = NewTopic::new(name, partitions);
        let configs = configs.iter();
        topic.configs = configs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        self.administer(async |admin| {
            done(admin.create_topics([topic]).await?)?;
            admin.describe_topic(name).await
        })
        .map(|topic| topic.id)
    }
}

fn text(record: &FetchedRecord) -> String {
    let value = record.value.as_deref();
    dead_letter::text(value, &record.headers)
        .unwrap_or_else(|| String::from_utf8_lossy(value.unwrap_or_default()).into_owned())
}

/// The first item that was refused.
pub(super) fn done(items: Vec<ItemResult>) -> Result<(), ClientError> {
    for ItemResult {
        name,
        code,
        message,
    } in items
    {
        if code.is_error() {
            let message = message.unwrap_or(name);
            return Err(ClientError::Refused { code, message });
        }
    }
    Ok(())
}
