//! What share consumers and their applications do.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ackord_client_core::client::{Runtime, ShareConsumer};
use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, AcquireMode, ClientError, ConsumerRecord, PolledRecords,
    ShareConsumerConfig, ShareGroupMetadata,
};
use ackord_conformance::client_speech::{Acknowledging, Polls};
use ackord_conformance::script::{AckSpans, AcquiredSpan, Expected, TopicPartition};
use ackord_coord_core::contract::ConnId;
use ackord_proto::error_code::ErrorCode;
use futures_channel::oneshot;
use futures_core::Stream;

use super::senders::compare;
use super::{ClientArm, EMPTY_POLL, Entered, Member, PATIENCE, Taking, said};

impl<R: Entered> ClientArm<R> {
    pub(super) fn join(
        &mut self,
        client: &str,
        group: &str,
        topics: &[String],
        expected: &Expected,
    ) -> Result<(), String> {
        let reader = self.reader(client);
        let transactional = reader.acknowledging == Acknowledging::Transactional;
        if transactional && self.members.contains_key(client) {
            // After a restart of the broker: the consumer has found its way back by itself.
            return Ok(());
        }
        // An application that held records when the broker went down starts anew.
        drop(self.members.remove(client));
        let mut config = ShareConsumerConfig::new(self.bootstrap()?, group);
        config.acknowledgement_mode = match reader.acknowledging {
            Acknowledging::Explicit => AcknowledgementMode::Explicit,
            Acknowledging::Implicit => AcknowledgementMode::Implicit,
            Acknowledging::Transactional => AcknowledgementMode::Transactional,
        };
        config.max_wait_ms = 0;
        if let Some(Polls {
            max_records,
            exact,
            max_wait_ms,
        }) = reader.polls
        {
            config.max_poll_records = max_records;
            config.max_wait_ms = max_wait_ms;
            if exact {
                config.acquire_mode = AcquireMode::RecordLimit;
            }
        }
        let topics: Vec<String> = topics.to_vec();
        let joined = R::block_on(async {
            let consumer = ShareConsumer::<R>::new(config);
            let joined = join(&consumer, topics).await;
            (Arc::new(consumer), joined)
        });
        let (consumer, joined) = joined;
        let group = joined.as_ref().cloned().unwrap_or_default();
        self.members.insert(
            client.to_string(),
            Member {
                consumer,
                group,
                records: BTreeMap::new(),
                gaps: Vec::new(),
                waits: None,
            },
        );
        compare(joined.map(drop), expected)
    }

    pub(super) fn fetch(&mut self, client: &str, expected: &Expected) -> Result<(), String> {
        let taking = self.taking;
        let consumer = self.member(client)?.consumer.clone();
        match expected {
            Expected::Waiting => {
                let (told, waits) = oneshot::channel();
                let polling = async move {
                    // The application may be gone when it comes back.
                    let _ = told.send(take::<R>(&consumer, taking, PATIENCE).await);
                };
                R::block_on(async { R::spawn(polling) });
                self.member(client)?.waits = Some(waits);
                self.parked(client)
            }
            Expected::Nothing => {
                let polled = R::block_on(take::<R>(&consumer, taking, EMPTY_POLL));
                self.polled(client, polled, expected)?;
                self.settle()?;
                // What was asked for in the last moment.
                let late = R::block_on(consumer.poll(Duration::ZERO));
                self.polled(client, late, expected)
            }
            _ => {
                let polled = R::block_on(take::<R>(&consumer, taking, PATIENCE));
                self.polled(client, polled, expected)
            }
        }
    }

    /// Waits until the poll of a client has reached the broker and waits there.
    pub(super) fn parked(&mut self, client: &str) -> Result<(), String> {
        loop {
            let rest = self.rest()?;
            let own = |conn: &ConnId| self.conns.get(conn).is_none_or(|owner| owner == client);
            let mut open = rest.exchanges.iter().filter(|(conn, _)| own(conn));
            if open.any(|(_, exchange)| !exchange.gone && exchange.frames > exchange.replies) {
                return Ok(());
            }
            let waits = self.member(client)?.waits.as_mut();
            if let Some(polled) = waits.and_then(|waits| waits.try_recv().transpose()) {
                return Err(format!("the poll ended: {polled:?}"));
            }
        }
    }

    pub(super) fn answer(&mut self, client: &str, expected: &Expected) -> Result<(), String> {
        let waits = self.member(client)?.waits.take().ok_or("no poll waits")?;
        let polled = R::block_on(waits).map_err(|_| "the poll is gone")?;
        self.polled(client, polled, expected)
    }

    pub(super) fn member(&mut self, client: &str) -> Result<&mut Member<R>, String> {
        self.members
            .get_mut(client)
            .ok_or_else(|| format!("{client} is no member"))
    }

    /// What a poll brought, against what the script expects.
    pub(super) fn polled(
        &mut self,
        client: &str,
        polled: Result<PolledRecords, ClientError>,
        expected: &Expected,
    ) -> Result<(), String> {
        let polled = polled.map_err(said)?;
        if let Some(fault) = polled.faults.first() {
            return Err(format!(
                "{}-{}: {}",
                fault.topic, fault.partition, fault.code
            ));
        }
        if let Some(refused) = polled.refused.first() {
            let at = format!("{}-{}", refused.topic, refused.partition);
            return Err(format!("an acknowledgement of {at}: {}", refused.code));
        }
        let wanted: &[AcquiredSpan] = match expected {
            Expected::Acquired(spans) => spans,
            _ => &[],
        };
        let member = self.member(client)?;
        let mut got: BTreeSet<(String, i32, i64, i16)> = BTreeSet::new();
        for record in &polled.records {
            let (topic, partition) = (record.topic.to_string(), record.partition);
            got.insert((
                topic.clone(),
                partition,
                record.offset,
                record.delivery_count,
            ));
            let key = (topic, partition, record.offset);
            member.records.insert(key, record.clone());
        }
        for gap in &polled.gaps {
            let offsets = gap.first_offset..=gap.last_offset;
            let own = |offset| {
                (
                    gap.topic.to_string(),
                    gap.partition,
                    offset,
                    gap.delivery_count,
                )
            };
            got.extend(offsets.map(own));
        }
        if !polled.records.is_empty() {
            member.group = polled.group.clone();
        }
        member.gaps.extend(polled.gaps.iter().cloned());
        let all = format!("the poll gave {got:?}");
        for span in wanted {
            for offset in span.first..=span.last {
                let fits = |(topic, partition, at, count): &(String, i32, i64, i16)| {
                    *at == offset
                        && span.count.is_none_or(|own| own == *count)
                        && span.partition.as_ref().is_none_or(|own| {
                            (own.topic.as_str(), own.partition) == (topic, *partition)
                        })
                };
                let found = got.iter().find(|own| fits(own)).cloned();
                if !found.is_some_and(|own| got.remove(&own)) {
                    return Err(all);
                }
            }
        }
        match got.is_empty() {
            true => Ok(()),
            false => Err(all),
        }
    }

    pub(super) fn acknowledge(&mut self, client: &str, acks: &AckSpans) -> Result<(), String> {
        if self.reader(client).acknowledging == Acknowledging::Implicit {
            // The poll or the commit does it.
            return Ok(());
        }
        let member = self.member(client)?;
        for (partition, spans) in acks {
            for span in spans {
                let kinds = span.types.iter().cycle();
                for (offset, kind) in (span.first..=span.last).zip(kinds) {
                    let record = member.record(partition, offset)?;
                    let kind = acknowledge_type(*kind)?;
                    R::block_on(member.consumer.acknowledge(record, kind)).map_err(said)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn commit_sync(&mut self, client: &str, expected: &Expected) -> Result<(), String> {
        let consumer = self.member(client)?.consumer.clone();
        let results = R::block_on(consumer.commit_sync()).map_err(said)?;
        let told = format!("the results are {results:?}");
        let fits = |label: &str, code: ErrorCode| match expected {
            Expected::Code(own) => code == *own,
            Expected::Parts(parts) => {
                let own = parts.iter().find(|(own, _)| own.to_string() == label);
                code == own.map_or(ErrorCode::NONE, |(_, code)| *code)
            }
            _ => code == ErrorCode::NONE,
        };
        let label = |topic: &str, partition: i32| format!("{topic}-{partition}");
        let all = results
            .iter()
            .all(|own| fits(&label(&own.topic, own.partition), own.code));
        match all && !results.is_empty() {
            true => Ok(()),
            false => Err(told),
        }
    }
}

impl<R> Member<R> {
    pub(super) fn record(
        &self,
        partition: &TopicPartition,
        offset: i64,
    ) -> Result<&ConsumerRecord, String> {
        let key = (partition.topic.clone(), partition.partition, offset);
        let found = self.records.get(&key);
        found.ok_or_else(|| format!("{partition}@{offset} was never polled"))
    }
}

pub(super) fn acknowledge_type(kind: i8) -> Result<AcknowledgeType, String> {
    [
        AcknowledgeType::Accept,
        AcknowledgeType::Release,
        AcknowledgeType::Reject,
        AcknowledgeType::Renew,
    ]
    .into_iter()
    .find(|own| own.code() == kind)
    .ok_or_else(|| format!("the client has no type {kind}"))
}

/// Waits until the group has taken the member.
async fn join<R: Entered>(
    consumer: &ShareConsumer<R>,
    topics: Vec<String>,
) -> Result<ShareGroupMetadata, ClientError> {
    consumer.subscribe(topics).await?;
    loop {
        let group = consumer.group_metadata().await?;
        if group.member_epoch > 0 {
            return Ok(group);
        }
        // Nothing is fetched before the group has assigned something.
        if within::<R, _>(Duration::from_millis(1), std::future::pending::<()>())
            .await
            .is_some()
        {
            return Ok(group);
        }
    }
}

/// The next records, or none after the time.
async fn take<R: Entered>(
    consumer: &ShareConsumer<R>,
    taking: Taking,
    time: Duration,
) -> Result<PolledRecords, ClientError> {
    match taking {
        Taking::Polls => consumer.poll(time).await,
        Taking::Stream => {
            let mut stream = consumer.stream();
            let next = poll_fn(|context| Pin::new(&mut stream).poll_next(context));
            match within::<R, _>(time, next).await {
                Some(Some(polled)) => polled,
                Some(None) => Err(ClientError::Closed),
                None => Ok(PolledRecords::default()),
            }
        }
    }
}

/// What a future gives, unless the time is over first.
async fn within<R: Runtime, F: Future>(time: Duration, future: F) -> Option<F::Output> {
    let (mut future, mut over) = (pin!(future), pin!(R::sleep(time)));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => over.as_mut().poll(context).map(|()| None),
    })
    .await
}
