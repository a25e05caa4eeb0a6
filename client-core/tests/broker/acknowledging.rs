//! Acknowledgement without output: implicit, explicit, and in transactions of its own.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use ackord_client_core::client::{Runtime, ShareConsumer, TransactionalShareAcknowledger};
use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, PreparedTxnState, ProducerConfig, ShareAcknowledgements,
    TxnCompletion,
};
use ackord_proto::error_code::ErrorCode;
use futures_core::Stream;

use super::bench::{Broker, POLL};

/// Nothing is left to deliver.
async fn assert_silent<R: Runtime>(consumer: &ShareConsumer<R>) {
    let left = consumer.poll(Duration::from_millis(300)).await;
    assert!(left.expect("an empty poll").records.is_empty());
}

pub(crate) async fn an_explicit_consumer_accepts_releases_and_rejects<R: Runtime>(program: &str) {
    let broker = Broker::<R>::filled(program, 3).await;
    let consumer = broker.consumer(AcknowledgementMode::Explicit).await;
    let mut answered = BTreeMap::new();
    let settled = |answered: &BTreeMap<_, AcknowledgeType>| {
        let kinds = answered.values();
        kinds
            .filter(|kind| **kind != AcknowledgeType::Release)
            .count()
    };
    while settled(&answered) < 3 {
        let polled = consumer.poll(POLL).await.expect("records");
        assert!(!polled.records.is_empty(), "silence after {answered:?}");
        for record in &polled.records {
            let value = record.value.clone().expect("a value");
            let kind = match (&value[..], record.delivery_count) {
                (b"record 1", 1) => AcknowledgeType::Release,
                (b"record 2", _) => AcknowledgeType::Reject,
                _ => AcknowledgeType::Accept,
            };
            let taken = consumer.acknowledge(record, kind).await;
            taken.expect("a held record");
            answered.insert(value, kind);
        }
        for result in consumer.commit_sync().await.expect("answers") {
            assert_eq!(result.code, ErrorCode::NONE);
        }
    }
    assert_eq!(answered.len(), 3);
    assert_silent(&consumer).await;
    consumer.close().await.expect("a clean end");
}

pub(crate) async fn the_stream_of_an_implicit_consumer<R: Runtime>(program: &str) {
    const RECORDS: usize = 30;
    let broker = Broker::<R>::filled(program, RECORDS).await;
    let consumer = broker.consumer(AcknowledgementMode::Implicit).await;
    let mut seen = BTreeMap::<Vec<u8>, usize>::new();
    let mut stream = consumer.stream();
    while seen.len() < RECORDS {
        let next = poll_fn(|context| Pin::new(&mut stream).poll_next(context)).await;
        let polled = next.expect("no end").expect("records");
        assert!(!polled.is_empty(), "empty polls are not seen");
        for record in polled.records {
            *seen
                .entry(record.value.expect("a value").to_vec())
                .or_default() += 1;
        }
    }
    drop(stream);
    assert!(seen.values().all(|count| *count == 1), "{seen:?}");
    let results = consumer.commit_sync().await.expect("answers");
    assert!(results.iter().all(|result| result.code == ErrorCode::NONE));
    assert_silent(&consumer).await;
    consumer.close().await.expect("a clean end");
}

pub(crate) async fn results_of_acknowledgements_are_told<R: Runtime>(program: &str) {
    let broker = Broker::<R>::filled(program, 1).await;
    let consumer = broker.consumer(AcknowledgementMode::Explicit).await;
    let polled = consumer.poll(POLL).await.expect("records");
    let record = polled.records.first().expect("the record");
    let taken = consumer.acknowledge(record, AcknowledgeType::Accept).await;
    taken.expect("a held record");
    let again = consumer.acknowledge(record, AcknowledgeType::Accept).await;
    assert!(again.is_err(), "it is answered already");
    let results = consumer.commit_sync().await.expect("answers");
    let codes: Vec<_> = results
        .iter()
        .map(|one| (one.partition, one.code))
        .collect();
    assert_eq!(codes, [(record.partition, ErrorCode::NONE)]);
    assert!(consumer.commit_sync().await.expect("none left").is_empty());
    consumer.close().await.expect("a clean end");
}

pub(crate) async fn an_acknowledger_without_output<R: Runtime>(program: &str) {
    let broker = Broker::<R>::filled(program, 5).await;
    let consumer = broker.consumer(AcknowledgementMode::Transactional).await;
    let config = ProducerConfig::new(broker.bootstrap(), "acknowledger");
    let acknowledger = TransactionalShareAcknowledger::<R>::new(config);
    acknowledger
        .init_transactions()
        .await
        .expect("a producer id");
    let mut acknowledged = 0;
    while acknowledged < 5 {
        let polled = consumer.poll(POLL).await.expect("records");
        acknowledged += polled.records.len();
        let acks = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Accept);
        let done = acknowledger
            .commit_acknowledgements(acks, polled.group)
            .await;
        done.expect("a commit");
    }
    assert_silent(&consumer).await;
    consumer.close().await.expect("a clean end");
    acknowledger.close().await.expect("a clean end");
}

/// Acknowledgements of so many records, and of the gaps between them.
async fn taken<R: Runtime>(consumer: &ShareConsumer<R>, records: usize) -> ShareAcknowledgements {
    let (mut acks, mut held) = (ShareAcknowledgements::default(), 0);
    while held < records {
        let polled = consumer.poll(POLL).await.expect("records");
        for record in &polled.records {
            acks.acknowledge(record, AcknowledgeType::Accept);
            held += 1;
        }
        acks.gaps(&polled.gaps);
    }
    acks
}

/// Two-phase commit (KIP-939): the state that a checkpoint holds decides, whoever comes back.
pub(crate) async fn what_an_acknowledger_prepared_is_completed_by_the_next<R: Runtime>(
    program: &str,
) {
    let broker = Broker::<R>::filled(program, 2).await;
    let consumer = broker.consumer(AcknowledgementMode::Transactional).await;
    let acknowledger = || {
        let mut config = ProducerConfig::new(broker.bootstrap(), "checkpoints");
        config.two_phase_commit = true;
        TransactionalShareAcknowledger::<R>::new(config)
    };
    let first = acknowledger();
    first.init_transactions().await.expect("a producer id");
    // What was prepared can be given back by whoever prepared it.
    let acks = taken(&consumer, 2).await;
    let group = consumer.group_metadata().await.expect("a membership");
    let prepared = first.prepare_acknowledgements(acks, group).await;
    prepared.expect("a prepared state");
    first.abort_acknowledgements().await.expect("an abort");
    // The checkpoint of the first round is lost, that of the second is not.
    let mut last = first;
    for (stored, completion) in [
        (false, TxnCompletion::Aborted),
        (true, TxnCompletion::Committed),
    ] {
        let acks = taken(&consumer, 2).await;
        let group = consumer.group_metadata().await.expect("a membership");
        let prepared = last.prepare_acknowledgements(acks, group).await;
        let text = prepared.expect("a prepared state").to_string();
        let next = acknowledger();
        next.recover().await.expect("a producer id");
        assert!(last.abort_acknowledgements().await.is_err(), "it is fenced");
        let state = match stored {
            true => text.parse().expect("a stored state"),
            false => PreparedTxnState::NONE,
        };
        let completed = next.complete_acknowledgements(state).await;
        assert_eq!(completed, Ok(completion));
        let again = next.complete_acknowledgements(state).await;
        assert_eq!(again, Ok(TxnCompletion::NothingPrepared));
        // Killed before anybody was notified: whoever comes next completes by the same state.
        let later = acknowledger();
        later.recover().await.expect("a producer id");
        let again = later.complete_acknowledgements(state).await;
        assert_eq!(again, Ok(TxnCompletion::NothingPrepared));
        last = later;
    }
    assert_silent(&consumer).await;
    consumer.close().await.expect("a clean end");
    last.close().await.expect("a clean end");
}
