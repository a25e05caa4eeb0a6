//! Bytes that no client should send, and clients that misbehave: the broker answers precisely or
//! closes the connection, its memory stays bounded, and others are served.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ackord_client_core::{AdminConfig, Endpoint, FetcherConfig, NewTopic, ProducerConfig};
use ackord_io_tokio::client::{Admin, Fetcher, Producer, ProducerRecord};
use ackord_machine::Entropy;
use ackord_proto::api::{ApiKey, Request, RequestHeader, encode_request_frame};
use ackord_proto::messages::create_topics::CreatableTopic;
use ackord_proto::messages::fetch::{FetchPartition, FetchTopic};
use ackord_proto::messages::{
    AddShareAcksToTxnRequest, ApiVersionsRequest, CreateTopicsRequest, EndTxnRequest, FetchRequest,
    InitProducerIdRequest, MetadataRequest, ProduceRequest, ShareFetchRequest,
    TxnShareAcknowledgeRequest,
};

/// The broker's `socket.request.max.bytes` here.
const FRAME_LIMIT: i32 = 1024 * 1024;
/// What the process may take, whatever happens to it.
const RSS_LIMIT_KIB: u64 = 400 * 1024;
const GARBAGE_FRAMES: usize = 2000;
const IDLE_CONNECTIONS: usize = 10_000;
const UNREAD_FETCHES: usize = 10_000;

/// A broker process that ends with the test.
struct Broker {
    process: Child,
    address: String,
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It may have ended already; the test says so then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Broker {
    fn start() -> Self {
        let limit = format!("socket.request.max.bytes={FRAME_LIMIT}");
        let mut process = Command::new("sh")
            .args(["-c", "ulimit -n $(ulimit -H -n); exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_ackord"))
            .args(["--listen", "127.0.0.1:0", "--durability", "memory"])
            .args(["--log-level", "error", "--set", &limit])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the broker starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("ackord ready on ");
        let address = address.expect("the ready line").to_owned();
        Broker { process, address }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("connected");
        stream.set_nodelay(true).expect("set");
        // Only so that a broken broker fails the test instead of hanging it.
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        Client(stream)
    }

    /// Another client gets its answer.
    fn serves_others(&self) {
        assert!(self.connect().is_served(), "the broker serves nobody");
    }

    fn rss_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = fs::read_to_string(path).expect("the broker runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|text| text.parse().ok()).expect("a number")
    }

    fn memory_is_bounded(&self) {
        let rss = self.rss_kib();
        assert!(rss < RSS_LIMIT_KIB, "the broker takes {rss} KiB");
    }

    fn bootstrap(&self) -> [Endpoint; 1] {
        [self.address.parse().expect("an address")]
    }

    async fn create(&self, topic: &str) {
        let admin = Admin::new(AdminConfig::new(self.bootstrap()));
        let created = admin.create_topics([NewTopic::new(topic, 1)]).await;
        let created = created.expect("an answer");
        assert!(!created[0].code.is_error(), "{:?}", created[0].code);
    }

    /// Writes `values` in one transaction and reads them back.
    async fn produce_and_fetch(&self, topic: &str, values: Vec<Vec<u8>>) {
        let producer = Producer::new(ProducerConfig::new(self.bootstrap(), topic));
        producer.init_transactions().await.expect("a producer id");
        producer.begin_transaction().await.expect("a transaction");
        let count = values.len();
        for value in values {
            drop(producer.send(ProducerRecord::new(topic, value)));
        }
        producer.commit_transaction().await.expect("a commit");
        let fetcher = Fetcher::new(FetcherConfig::new(self.bootstrap()));
        let from_start = vec![(topic.into(), 0, 0)];
        fetcher.assign(from_start).await.expect("an assignment");
        let mut seen = 0;
        while seen < count {
            let fetched = fetcher.poll(Duration::from_secs(10)).await;
            seen += fetched.expect("records").records.len();
        }
        assert_eq!(seen, count);
    }
}

/// A client that sends what it likes.
struct Client(TcpStream);

impl Client {
    /// Whether all of it went out; a connection may be closed in the middle.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    fn send_frame(&mut self, frame: &[u8]) -> bool {
        let size = i32::try_from(frame.len()).expect("short").to_be_bytes();
        self.send(&[&size, frame].concat())
    }

    /// The next reply; `None` where the broker closed the connection. Silence fails the test.
    fn reply(&mut self) -> Option<Vec<u8>> {
        let mut size = [0; 4];
        if !self.fill(&mut size) {
            return None;
        }
        let size = usize::try_from(i32::from_be_bytes(size)).expect("no negative size");
        let mut frame = vec![0; size];
        self.fill(&mut frame).then_some(frame)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> bool {
        match self.0.read_exact(bytes) {
            Ok(()) => true,
            Err(error) => {
                let gone = [
                    ErrorKind::UnexpectedEof,
                    ErrorKind::ConnectionReset,
                    ErrorKind::BrokenPipe,
                ];
                assert!(gone.contains(&error.kind()), "no reply came: {error}");
                false
            }
        }
    }

    fn is_served(&mut self) -> bool {
        let frame = request(ApiVersionsRequest::default().into(), 0, 77);
        self.send_frame(&frame)
            && self
                .reply()
                .is_some_and(|reply| reply.starts_with(&77_i32.to_be_bytes()))
    }

    fn is_closed(&mut self) -> bool {
        self.reply().is_none()
    }
}

/// A frame without its size.
fn request(request: Request, version: i16, correlation_id: i32) -> Vec<u8> {
    let header = RequestHeader {
        api_key: request.key(),
        api_version: version,
        correlation_id,
        client_id: Some("bad-input".into()),
        unknown_tags: Default::default(),
    };
    let chunks = encode_request_frame(&header, &request).expect("encoded");
    chunks.concat().split_off(4)
}

/// The head of a request header: key, version, correlation id, no client id.
fn head(key: i16, version: i16, correlation_id: i32) -> Vec<u8> {
    let mut bytes = [key.to_be_bytes(), version.to_be_bytes()].concat();
    bytes.extend(correlation_id.to_be_bytes());
    bytes.extend((-1_i16).to_be_bytes());
    bytes
}

#[test]
fn a_size_that_no_frame_may_have_closes_the_connection() {
    let broker = Broker::start();
    for size in [-1, i32::MIN, FRAME_LIMIT + 1, i32::MAX] {
        let mut client = broker.connect();
        client.send(&size.to_be_bytes());
        assert!(client.is_closed(), "size {size}");
        broker.serves_others();
    }
    broker.memory_is_bounded();
}

#[test]
fn sizes_that_promise_more_than_comes_take_no_memory() {
    let broker = Broker::start();
    let before = broker.rss_kib();
    let mut clients: Vec<Client> = (0..500).map(|_| broker.connect()).collect();
    for client in &mut clients {
        assert!(client.send(&FRAME_LIMIT.to_be_bytes()));
        assert!(client.send(&[0; 100]));
    }
    broker.serves_others();
    // 500 MiB, if the sizes were believed.
    let taken = broker.rss_kib().saturating_sub(before);
    assert!(taken < 100 * 1024, "{taken} KiB");
}

#[test]
fn a_header_that_cannot_be_read_closes_the_connection() {
    let broker = Broker::start();
    let unknown_key = head(9999, 0, 1);
    let negative_key = head(-1, 0, 1);
    for frame in [
        &b""[..],
        b"\0\0\0",
        b"\0\x12\0\0\0\0",
        &unknown_key,
        &negative_key,
    ] {
        let mut client = broker.connect();
        assert!(client.send_frame(frame));
        assert!(client.is_closed(), "{frame:?}");
        broker.serves_others();
    }
}

#[test]
fn a_version_that_does_not_exist_is_refused_as_the_api_says() {
    let broker = Broker::start();
    for version in [-1, 0, 99, i16::MAX] {
        let mut client = broker.connect();
        client.send_frame(&head(ApiKey::Fetch.key(), version, 1));
        assert!(client.is_closed(), "Fetch v{version}");
        broker.serves_others();
    }
    // Error code 35 is UNSUPPORTED_VERSION. The header is a flexible one: no tags.
    let newest = |api: ApiKey, correlation_id| {
        let mut frame = head(api.key(), 99, correlation_id);
        frame.push(0);
        frame
    };
    let mut client = broker.connect();
    client.send_frame(&newest(ApiKey::ApiVersions, 5));
    let reply = client.reply().expect("ApiVersions is always answered");
    assert_eq!(reply[..6], [0, 0, 0, 5, 0, 35]);
    assert!(client.is_served(), "the connection goes on");
    for api in [ApiKey::AddShareAcksToTxn, ApiKey::TxnShareAcknowledge] {
        client.send_frame(&newest(api, 6));
        let reply = client.reply().expect("its clients are told");
        // Correlation id, no tags, throttle time, error code.
        assert_eq!(reply[..11], [0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 35]);
    }
    assert!(client.is_served(), "the connection goes on");
}

/// Requests with something in them.
fn bodies() -> Vec<(Request, i16)> {
    let topic = CreatableTopic {
        name: "topic".into(),
        num_partitions: 1,
        replication_factor: 1,
        ..Default::default()
    };
    let create = CreateTopicsRequest {
        topics: vec![topic],
        ..Default::default()
    };
    let init = InitProducerIdRequest {
        transactional_id: Some("txn".into()),
        transaction_timeout_ms: 1000,
        ..Default::default()
    };
    vec![
        (AddShareAcksToTxnRequest::default().into(), 0),
        (create.into(), 7),
        (EndTxnRequest::default().into(), 5),
        (unread_fetch(), 12),
        (init.into(), 5),
        (MetadataRequest::default().into(), 12),
        (ProduceRequest::default().into(), 12),
        (ShareFetchRequest::default().into(), 1),
        (TxnShareAcknowledgeRequest::default().into(), 1),
    ]
}

#[test]
fn a_body_that_is_cut_short_closes_the_connection() {
    let broker = Broker::start();
    for (body, version) in bodies() {
        let name = body.key().name();
        let whole = request(body, version, 1);
        for length in 0..whole.len() {
            let mut client = broker.connect();
            assert!(client.send_frame(&whole[..length]));
            assert!(client.is_closed(), "{length} bytes of {name}");
        }
        broker.serves_others();
    }
    broker.memory_is_bounded();
}

/// Noise, or noise behind a header that is right.
fn garbage(chance: &mut Entropy) -> Vec<u8> {
    let below = |chance: &mut Entropy, bound: usize| {
        usize::try_from(chance.below(bound as u64)).expect("small")
    };
    let length = below(chance, 300);
    let mut frame = Vec::new();
    if below(chance, 4) > 0 {
        let api = ApiKey::ALL[below(chance, ApiKey::ALL.len())];
        let versions = api.versions();
        let many = usize::try_from(versions.end() - versions.start() + 1).expect("some");
        let version = versions.start() + i16::try_from(below(chance, many)).expect("small");
        frame = head(api.key(), version, 1);
        if api.is_flexible(version) {
            frame.push(0);
        }
    }
    // Small numbers get further than large ones.
    let mask = [0xff, 0x07, 0x01][below(chance, 3)];
    frame.extend((0..length).map(|_| chance.next_u64().to_be_bytes()[7] & mask));
    frame
}

#[test]
fn noise_is_answered_or_closes_the_connection() {
    let broker = Broker::start();
    let mut chance = Entropy::from_seed([7; 32]);
    let (mut answered, mut closed) = (0, 0);
    for round in 0..GARBAGE_FRAMES {
        let frame = garbage(&mut chance);
        let mut client = broker.connect();
        client.send_frame(&frame);
        // A request that is right after all may want no answer, so another one follows it.
        let follows = request(ApiVersionsRequest::default().into(), 0, 77);
        client.send_frame(&follows);
        loop {
            match client.reply() {
                None => {
                    closed += 1;
                    break;
                }
                Some(reply) if reply.starts_with(&77_i32.to_be_bytes()) => {
                    answered += 1;
                    break;
                }
                Some(reply) => assert!(
                    reply.starts_with(&1_i32.to_be_bytes()),
                    "round {round}: a reply to nothing: {reply:?} after {frame:?}"
                ),
            }
        }
        if round % 100 == 0 {
            broker.serves_others();
        }
    }
    println!("{GARBAGE_FRAMES} frames: {answered} connections went on, {closed} were closed");
    assert!(answered > 0 && closed > 0);
    broker.serves_others();
    broker.memory_is_bounded();
}

/// The test whose process holds the idle connections.
const HOLDER: &str = "ACKORD_TEST_HOLDER";

/// Not a test by itself: runs with as many file descriptors as the system allows.
#[test]
fn holder_of_idle_connections() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    let limits = fs::read_to_string("/proc/self/limits").expect("the limits");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    // `unlimited` is no number and enough.
    let files: usize = soft
        .and_then(|text| text.parse().ok())
        .unwrap_or(usize::MAX);
    let count = IDLE_CONNECTIONS.min(files.saturating_sub(200));
    if count < IDLE_CONNECTIONS {
        println!("only {count} idle connections: {files} files may be open");
    }
    let broker = Broker::start();
    let mut idle = Vec::new();
    for index in 0..count {
        let mut client = broker.connect();
        // The queue of the listener is shorter than the crowd.
        if index % 50 == 0 {
            assert!(client.is_served(), "connection {index}");
        }
        idle.push(client);
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        broker.create("busy").await;
        let values = (0..1000).map(|index| format!("value {index}").into_bytes());
        broker.produce_and_fetch("busy", values.collect()).await;
    });
    println!("{count} idle connections: {} KiB", broker.rss_kib());
    broker.memory_is_bounded();
    // None of them was dropped for it.
    for client in idle.iter_mut().step_by(500) {
        assert!(client.is_served());
    }
}

#[test]
fn idle_connections_hinder_nobody() {
    let held = Command::new("sh")
        .args(["-c", "ulimit -n $(ulimit -H -n); exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "holder_of_idle_connections", "--nocapture"])
        .env(HOLDER, "1")
        .output()
        .expect("a shell");
    let (out, err) = (
        String::from_utf8_lossy(&held.stdout),
        String::from_utf8_lossy(&held.stderr),
    );
    print!("{out}");
    assert!(held.status.success(), "{err}");
    assert!(out.contains("idle connections: "), "{out}");
}

fn unread_fetch() -> Request {
    let partition = FetchPartition {
        partition_max_bytes: i32::MAX,
        ..Default::default()
    };
    let topic = FetchTopic {
        topic: "large".into(),
        partitions: vec![partition],
        ..Default::default()
    };
    FetchRequest {
        max_wait_ms: 0,
        min_bytes: 0,
        max_bytes: i32::MAX,
        session_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    }
    .into()
}

#[tokio::test]
async fn who_asks_and_does_not_read_hinders_nobody() {
    let broker = Broker::start();
    broker.create("large").await;
    let value = vec![b'x'; 100_000];
    broker.produce_and_fetch("large", vec![value.clone()]).await;
    let before = broker.rss_kib();
    let mut greedy = broker.connect();
    let mut writer = Client(greedy.0.try_clone().expect("a second handle"));
    let asking = thread::spawn(move || {
        (0..UNREAD_FETCHES)
            .map(|index| i32::try_from(index).expect("small"))
            .all(|index| writer.send_frame(&request(unread_fetch(), 12, index)))
    });
    for round in 0..20_u8 {
        broker.serves_others();
        let topic = format!("other-{round}");
        broker.create(&topic).await;
        broker
            .produce_and_fetch(&topic, vec![vec![round; 100]])
            .await;
    }
    let taken = broker.rss_kib().saturating_sub(before);
    println!("{UNREAD_FETCHES} unread fetches: {taken} KiB");
    broker.memory_is_bounded();
    // Nothing is lost: whoever reads in the end gets every answer, in order.
    for index in 0..UNREAD_FETCHES {
        let reply = greedy.reply().expect("an answer");
        let index = i32::try_from(index).expect("small");
        assert!(reply.starts_with(&index.to_be_bytes()), "answer {index}");
        assert!(reply.len() > value.len(), "answer {index} has the record");
    }
    assert!(asking.join().expect("no panic"), "all requests went out");
    let _ = greedy.0.shutdown(Shutdown::Both);
    broker.serves_others();
    broker.memory_is_bounded();
}
