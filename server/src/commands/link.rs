//! One connection to the broker; one request after the other.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ackord_proto::api::{
    ApiKey, Request, RequestHeader, Response, ResponseHeader, encode_request_frame,
};
use ackord_proto::frame::FrameBuffer;
use ackord_proto::messages::ApiVersionsRequest;
use ackord_proto::reader::Reader;
use ackord_proto::tags::UnknownTags;
use bytes::Bytes;
use clap::Args;

use super::Refusal;
use crate::address::Address;

/// How long the broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Larger answers are refused, in bytes.
const FRAME_LIMIT: usize = 100 << 20;
/// A version of ApiVersions that every broker of today has.
const API_VERSIONS: i16 = 3;

/// Where the broker is.
#[derive(Args, Clone, Debug)]
pub struct BrokerFlags {
    /// Address of the broker
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:9092",
        global = true
    )]
    pub bootstrap: Address,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Link {
    address: Address,
    stream: TcpStream,
    buffer: FrameBuffer,
    correlation: i32,
    /// Key and newest version of each API of the broker.
    versions: Vec<(i16, i16)>,
}

impl Link {
    /// Connects, and learns what the broker serves.
    pub(super) fn open(flags: &BrokerFlags) -> Result<Link, Refusal> {
        let address = flags.bootstrap.clone();
        let opened = TcpStream::connect((address.host.as_str(), address.port));
        let stream = opened.and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        let stream = stream.map_err(|error| {
            Refusal(format!(
                "no broker answers at {address} ({error}); start one, or name another with \
                 --bootstrap HOST:PORT"
            ))
        })?;
        let mut link = Link {
            address,
            stream,
            buffer: FrameBuffer::new(FRAME_LIMIT),
            correlation: 0,
            versions: Vec::new(),
        };
        let hello = ApiVersionsRequest {
            client_software_name: "ackord".into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
            ..Default::default()
        };
        if let Response::ApiVersions(answer) = link.exchange(hello.into(), API_VERSIONS)? {
            let newest = answer.api_keys.iter();
            link.versions = newest.map(|api| (api.api_key, api.max_version)).collect();
        }
        Ok(link)
    }

    /// Sends a request, in the newest version up to `newest` that the broker has too, and takes the
    /// answer.
    pub(super) fn ask(
        &mut self,
        request: impl Into<Request>,
        newest: i16,
    ) -> Result<Response, Refusal> {
        let request = request.into();
        let api = request.key();
        let known = self.versions.iter().find(|(key, _)| *key == api.key());
        let Some(&(_, theirs)) = known else {
            return Err(Refusal(format!(
                "the broker at {} does not serve {}; this command needs a broker of this version",
                self.address,
                api.name()
            )));
        };
        self.exchange(request, newest.min(theirs))
    }

    fn exchange(&mut self, request: Request, version: i16) -> Result<Response, Refusal> {
        self.correlation += 1;
        let api_key = request.key();
        let header = RequestHeader {
            api_key,
            api_version: version,
            correlation_id: self.correlation,
            client_id: Some("ackord".into()),
            unknown_tags: UnknownTags::default(),
        };
        let frame = encode_request_frame(&header, &request)
            .map_err(|error| Refusal(format!("{}: {error}", api_key.name())))?;
        for chunk in frame {
            let sent = self.stream.write_all(&chunk);
            sent.map_err(|error| self.lost(api_key, &error.to_string()))?;
        }
        let mut reader = Reader::new(self.receive(api_key)?);
        let decoded = ResponseHeader::decode(api_key, version, &mut reader)
            .and_then(|_| Response::decode(api_key, version, &mut reader));
        decoded.map_err(|error| {
            Refusal(format!(
                "the answer to {} cannot be read ({error}); is a Kafka broker at {}?",
                api_key.name(),
                self.address
            ))
        })
    }

    fn receive(&mut self, api: ApiKey) -> Result<Bytes, Refusal> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match self.buffer.next_frame() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(error) => return Err(self.lost(api, &error.to_string())),
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(self.lost(api, "it closed the connection")),
                Ok(count) => self
                    .buffer
                    .push_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) => return Err(self.lost(api, &error.to_string())),
            }
        }
    }

    fn lost(&self, api: ApiKey, why: &str) -> Refusal {
        Refusal(format!(
            "the broker at {} does not answer {} ({why}); look at its log",
            self.address,
            api.name()
        ))
    }
}

/// The answer is none to the question: a mistake of the broker.
pub(super) fn unexpected(api: ApiKey) -> Refusal {
    Refusal(format!(
        "the broker answered something else than {}",
        api.name()
    ))
}
