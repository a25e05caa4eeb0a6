//! The async client over real sockets, against a toy broker that knows two APIs.

use ackord_client_core::{AdminConfig, ClientError, Endpoint, NewTopic};
use ackord_io_tokio::client::Admin;
use ackord_proto::api::{ApiKey, Request, RequestHeader, Response, encode_response_frame};
use ackord_proto::frame::FrameBuffer;
use ackord_proto::messages::api_versions::ApiVersion;
use ackord_proto::messages::create_topics::CreatableTopicResult;
use ackord_proto::messages::{ApiVersionsResponse, CreateTopicsResponse};
use ackord_proto::reader::Reader;
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn listen() -> (TcpListener, AdminConfig) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let endpoint = Endpoint {
        host: "127.0.0.1".into(),
        port,
    };
    (listener, AdminConfig::new([endpoint]))
}

/// A connection of the client, seen from the broker.
struct Peer {
    stream: TcpStream,
    frames: FrameBuffer,
}

impl Peer {
    async fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().await.expect("a connection");
        Peer {
            stream,
            frames: FrameBuffer::new(1 << 20),
        }
    }

    /// The next request; `None` when the client has closed.
    async fn request(&mut self) -> Option<(RequestHeader, Request)> {
        loop {
            if let Some(frame) = self.frames.next_frame().expect("a good size") {
                let mut reader = Reader::new(frame);
                let header = RequestHeader::decode(&mut reader).expect("a header");
                let request = Request::decode(header.api_key, header.api_version, &mut reader);
                return Some((header, request.expect("a body")));
            }
            let mut buffer = vec![0; 4096];
            let count = self.stream.read(&mut buffer).await.expect("a read");
            if count == 0 {
                return None;
            }
            buffer.truncate(count);
            self.frames.push(Bytes::from(buffer));
        }
    }

    /// Answers in pieces of `piece` bytes.
    async fn answer(&mut self, header: &RequestHeader, response: Response, piece: usize) {
        let RequestHeader {
            correlation_id,
            api_key,
            api_version,
            ..
        } = *header;
        let chunks = encode_response_frame(correlation_id, api_key, api_version, &response);
        for part in chunks.expect("a response").concat().chunks(piece) {
            self.stream.write_all(part).await.expect("a write");
            self.stream.flush().await.expect("a flush");
        }
    }

    async fn shake_hands(&mut self) {
        let (header, request) = self.request().await.expect("the handshake");
        assert!(matches!(request, Request::ApiVersions(_)));
        let api = ApiKey::CreateTopics;
        let offer = ApiVersion {
            api_key: api.key(),
            min_version: *api.versions().start(),
            max_version: *api.versions().end(),
            ..Default::default()
        };
        let response = ApiVersionsResponse {
            api_keys: vec![offer],
            ..Default::default()
        };
        self.answer(&header, response.into(), 7).await;
    }

    /// Names of the topics in the next request.
    async fn topics(&mut self) -> (RequestHeader, Vec<String>) {
        match self.request().await {
            Some((header, Request::CreateTopics(request))) => (
                header,
                request
                    .topics
                    .iter()
                    .map(|topic| topic.name.to_string())
                    .collect(),
            ),
            other => panic!("{other:?}"),
        }
    }

    async fn created(&mut self, header: &RequestHeader, names: Vec<String>) {
        let names = names.into_iter();
        let topics = names
            .map(|name| CreatableTopicResult {
                name: name.into(),
                ..Default::default()
            })
            .collect();
        self.answer(
            header,
            CreateTopicsResponse {
                topics,
                ..Default::default()
            }
            .into(),
            3,
        )
        .await;
    }
}

#[tokio::test]
async fn a_call_goes_over_the_wire_and_close_ends_the_connection() {
    let (listener, config) = listen().await;
    let broker = tokio::spawn(async move {
        let mut peer = Peer::accept(&listener).await;
        peer.shake_hands().await;
        let (header, names) = peer.topics().await;
        peer.created(&header, names).await;
        peer.request().await.is_none()
    });
    let admin = Admin::new(config);
    // Long enough for several reads.
    let name = "t".repeat(200);
    let items = admin
        .create_topics([NewTopic::new(name.as_str(), 1)])
        .await
        .expect("an answer");
    assert_eq!(items[0].name, *name);
    admin.close().await.expect("a clean end");
    assert!(broker.await.expect("the broker"), "the client has closed");
}

#[tokio::test]
async fn a_connection_that_breaks_is_opened_again() {
    let (listener, config) = listen().await;
    let broker = tokio::spawn(async move {
        let mut first = Peer::accept(&listener).await;
        first.shake_hands().await;
        let lost = first.topics().await.1;
        drop(first);
        let mut second = Peer::accept(&listener).await;
        second.shake_hands().await;
        let (header, names) = second.topics().await;
        assert_eq!(lost, names);
        second.created(&header, names).await;
        second.request().await.is_none()
    });
    let admin = Admin::new(config);
    admin
        .create_topics([NewTopic::new("t", 1)])
        .await
        .expect("an answer");
    drop(admin);
    assert!(
        broker.await.expect("the broker"),
        "a dropped handle closes too"
    );
}

#[tokio::test]
async fn a_dropped_future_leaves_its_command_at_work() {
    let (listener, config) = listen().await;
    let broker = tokio::spawn(async move {
        let mut peer = Peer::accept(&listener).await;
        peer.shake_hands().await;
        for expected in ["a", "b"] {
            let (header, names) = peer.topics().await;
            assert_eq!(names, [expected]);
            peer.created(&header, names).await;
        }
    });
    let admin = Admin::new(config);
    tokio::select! {
        biased;
        _ = admin.create_topics([NewTopic::new("a", 1)]) => panic!("nobody has answered"),
        () = std::future::ready(()) => {}
    }
    let items = admin
        .create_topics([NewTopic::new("b", 1)])
        .await
        .expect("an answer");
    assert_eq!(items[0].name, "b");
    broker.await.expect("the broker");
}

#[tokio::test]
async fn a_missing_api_is_told() {
    let (listener, config) = listen().await;
    let broker = tokio::spawn(async move {
        let mut peer = Peer::accept(&listener).await;
        peer.shake_hands().await;
        peer
    });
    let admin = Admin::new(config);
    let refused = admin.delete_topics(["t"]).await;
    assert_eq!(
        refused,
        Err(ClientError::Unsupported {
            api: "DeleteTopics"
        })
    );
    drop(broker.await.expect("the broker"));
}
