//! Output and acknowledgements in one transaction.

use ackord_client_core::client::{Producer, ProducerRecord, Runtime};
use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, ClientError, PolledRecords, ShareAcknowledgements,
};

use super::bench::{Broker, POLL};

/// How a transaction of the worker is to end.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Abort,
    Commit,
}

async fn copy<R: Runtime>(
    producer: &Producer<R>,
    polled: &PolledRecords,
    end: End,
) -> Result<(), ClientError> {
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

pub(crate) async fn a_worker_that_aborts_every_third_time_copies_each_record_once<R: Runtime>(
    program: &str,
) {
    const RECORDS: usize = 60;
    let broker = Broker::<R>::start(program);
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
        let again = polled.records.iter();
        redelivered += again.filter(|record| record.delivery_count > 1).count();
        let end = match turn % 3 {
            0 => End::Abort,
            _ => End::Commit,
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

pub(crate) async fn a_second_producer_fences_the_first<R: Runtime>(program: &str) {
    let broker = Broker::<R>::start(program);
    let admin = broker.prepare().await;
    let first = broker.producer("one").await;
    first.begin_transaction().await.expect("a transaction");
    let lost = first.send(ProducerRecord::new("out", "lost")).await;
    lost.expect("a stored record");
    let second = broker.producer("one").await;
    assert!(matches!(
        first.commit_transaction().await,
        Err(ClientError::Fenced { .. })
    ));
    second.begin_transaction().await.expect("a transaction");
    let kept = second.send(ProducerRecord::new("out", "kept")).await;
    kept.expect("a stored record");
    second.commit_transaction().await.expect("a commit");
    let outputs = broker.outputs(&admin).await;
    assert_eq!(outputs.into_keys().collect::<Vec<_>>(), ["kept"]);
}
