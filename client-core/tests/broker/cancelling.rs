//! Futures that are dropped, and brokers that are not there.

use std::collections::BTreeMap;
use std::time::Duration;

use ackord_client_core::client::{Producer, ProducerRecord, Runtime};
use ackord_client_core::{AcknowledgementMode, ClientError, Endpoint, ProducerConfig};

use super::bench::{Broker, poll_and_drop};

pub(crate) async fn dropped_polls_lose_nothing<R: Runtime>(program: &str) {
    const RECORDS: usize = 40;
    let broker = Broker::<R>::filled(program, RECORDS).await;
    let consumer = broker.consumer(AcknowledgementMode::Implicit).await;
    let mut seen = BTreeMap::<Vec<u8>, usize>::new();
    let mut dropped = 0;
    while seen.len() < RECORDS {
        // Records come at some moment between two of these polls.
        let now = poll_and_drop(consumer.poll(Duration::from_secs(10)));
        let polled = match now {
            Some(polled) => polled.expect("records"),
            None if dropped < 200 => {
                dropped += 1;
                // In implicit mode a commit accepts what was seen, and nothing else.
                let results = consumer.commit_sync().await;
                results.expect("answers");
                continue;
            }
            None => consumer
                .poll(Duration::from_secs(10))
                .await
                .expect("records"),
        };
        assert!(!polled.records.is_empty(), "silence after {}", seen.len());
        for record in polled.records {
            *seen
                .entry(record.value.expect("a value").to_vec())
                .or_default() += 1;
        }
    }
    assert!(dropped > 0, "no poll was dropped");
    assert!(seen.values().all(|count| *count == 1), "{seen:?}");
    consumer.close().await.expect("a clean end");
}

pub(crate) async fn a_dropped_commit_still_commits<R: Runtime>(program: &str) {
    let broker = Broker::<R>::start(program);
    let admin = broker.prepare().await;
    let producer = broker.producer("one").await;
    producer.begin_transaction().await.expect("a transaction");
    drop(producer.send(ProducerRecord::new("out", "kept")));
    assert_eq!(poll_and_drop(producer.commit_transaction()), None);
    // It has ended by now, or this waits for the end.
    let again = producer.commit_transaction().await;
    let ended = Err(ClientError::IllegalState("no transaction is open"));
    assert!(again.is_ok() || again == ended, "{again:?}");
    producer.close().await.expect("a clean end");
    let outputs = broker.outputs(&admin).await;
    assert_eq!(outputs.into_keys().collect::<Vec<_>>(), ["kept"]);
}

pub(crate) async fn a_client_of_nobody_ends_in_time<R: Runtime>() {
    // A port that was free a moment ago and has no listener.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    let nobody = Endpoint {
        host: "127.0.0.1".into(),
        port,
    };
    let mut config = ProducerConfig::new([nobody], "one");
    config.api_timeout_ms = 200;
    let producer = Producer::<R>::new(config);
    let refused = producer.init_transactions().await;
    assert!(matches!(refused, Err(ClientError::TimedOut { .. })));
    producer.close().await.expect("a clean end");
}
