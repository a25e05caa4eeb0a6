//! A broker without acknowledgements in transactions: fail fast, or fall back where asked to.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;

use ackord_client_core::client::{ProducerRecord, Runtime, ShareAcksSent};
use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, ClientError, ShareAcknowledgements,
};
use ackord_proto::api::{RequestHeader, Response, ResponseHeader, encode_response_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::{ADD_SHARE_ACKS_TO_TXN_KEY, TXN_SHARE_ACKNOWLEDGE_KEY};
use ackord_proto::reader::Reader;
use bytes::Bytes;
use log::{LevelFilter, Log, Metadata, Record};

use super::bench::{Broker, POLL};

/// What the client has warned of.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if record.target().starts_with("ackord_client_core") {
            WARNINGS
                .lock()
                .expect("a lock")
                .push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Sits before a broker and tells its clients of no key of KIP-1289.
pub(super) struct OlderBroker(TcpListener);

impl OlderBroker {
    pub(super) fn new() -> Self {
        OlderBroker(TcpListener::bind("127.0.0.1:0").expect("a port"))
    }

    pub(super) fn address(&self) -> String {
        self.0.local_addr().expect("an address").to_string()
    }

    /// Passes everything on until the process ends.
    pub(super) fn serve(self, broker: String) {
        thread::spawn(move || {
            for client in self.0.incoming() {
                let broker = broker.clone();
                // A connection that breaks is for the client to see.
                thread::spawn(move || client.and_then(|client| pass_on(client, &broker)));
            }
        });
    }
}

fn pass_on(mut client: TcpStream, broker: &str) -> io::Result<()> {
    let mut broker = TcpStream::connect(broker)?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let handshake = frame(&mut client)?;
    broker.write_all(&framed(&handshake))?;
    let answer = frame(&mut broker)?;
    client.write_all(&stripped(handshake, answer))?;
    let (mut from, mut to) = (client.try_clone()?, broker.try_clone()?);
    thread::spawn(move || {
        let copied = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        copied
    });
    io::copy(&mut broker, &mut client)?;
    client.shutdown(Shutdown::Both)
}

/// The answer to ApiVersions without the two keys.
fn stripped(request: Bytes, answer: Bytes) -> Vec<u8> {
    let header = RequestHeader::decode(&mut Reader::new(request)).expect("a header");
    let (key, version) = (header.api_key, header.api_version);
    let mut reader = Reader::new(answer);
    let _ = ResponseHeader::decode(key, version, &mut reader).expect("a header");
    let Ok(Response::ApiVersions(mut response)) = Response::decode(key, version, &mut reader)
    else {
        panic!("the first request asks for the versions");
    };
    let unknown = [ADD_SHARE_ACKS_TO_TXN_KEY, TXN_SHARE_ACKNOWLEDGE_KEY];
    response
        .api_keys
        .retain(|api| !unknown.contains(&api.api_key));
    let response = Response::ApiVersions(response);
    let frame = encode_response_frame(header.correlation_id, key, version, &response);
    frame.expect("an answer").concat()
}

fn frame(stream: &mut TcpStream) -> io::Result<Bytes> {
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut body = vec![0; u32::from_be_bytes(size) as usize];
    stream.read_exact(&mut body)?;
    Ok(body.into())
}

fn framed(body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len()).expect("a small frame");
    [&size.to_be_bytes(), body].concat()
}

pub(crate) async fn an_older_broker_is_told_apart_or_fallen_back_from<R: Runtime>(program: &str) {
    const RECORDS: usize = 10;
    // Whoever was first has it; the cases run in one process.
    let _ = log::set_logger(&Warnings).map(|()| log::set_max_level(LevelFilter::Warn));
    let broker = Broker::<R>::older(program);
    let admin = broker.prepare().await;
    broker.fill(RECORDS).await;
    let consumer = broker.consumer(AcknowledgementMode::Transactional).await;
    let producer = broker.producer("copier").await;
    let (mut copied, mut turns) = (0, 0);
    while copied < RECORDS {
        let polled = consumer.poll(POLL).await.expect("records");
        assert!(
            !polled.is_empty(),
            "{copied} of {RECORDS} copied, then silence"
        );
        let acks = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Accept);
        producer.begin_transaction().await.expect("a transaction");
        for record in &polled.records {
            let value = record.value.clone().unwrap_or_default();
            drop(producer.send(ProducerRecord::new("out", value)));
        }
        let sent = producer.send_share_acks_to_transaction(acks.clone(), polled.group.clone());
        let api = "AddShareAcksToTxn";
        assert_eq!(sent.await, Err(ClientError::Unsupported { api }));
        assert_eq!(
            WARNINGS.lock().expect("a lock").len(),
            turns,
            "nobody asked for it"
        );
        let sent = producer.send_share_acks_or_fall_back(acks, polled.group.clone());
        let ShareAcksSent::FallenBack(plain) = sent.await.expect("an answer") else {
            panic!("the broker has no such API");
        };
        turns += 1;
        producer.commit_transaction().await.expect("a commit");
        let results = consumer.acknowledge_plainly(plain).await.expect("answers");
        assert!(
            results.iter().all(|result| result.code == ErrorCode::NONE),
            "{results:?}"
        );
        copied += polled.records.len();
    }
    let outputs = broker.outputs(&admin).await;
    assert_eq!((outputs.len(), outputs.values().max()), (RECORDS, Some(&1)));
    let warnings = WARNINGS.lock().expect("a lock").clone();
    assert_eq!(warnings.len(), turns, "a warning each time: {warnings:?}");
    assert!(
        warnings
            .iter()
            .all(|text| text.contains("AddShareAcksToTxn")),
        "{warnings:?}"
    );
    consumer.close().await.expect("a clean end");
    // What was acknowledged plainly is done: a new member gets nothing.
    let next = broker.consumer(AcknowledgementMode::Transactional).await;
    let left = next.poll(std::time::Duration::from_millis(300)).await;
    assert!(left.expect("an empty poll").records.is_empty());
    next.close().await.expect("a clean end");
    producer.close().await.expect("a clean end");
    admin.close().await.expect("a clean end");
}
