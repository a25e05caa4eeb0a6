//! One connection to a broker: handshake, correlation ids, replies in order.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::api::{
    ApiKey, Request, RequestHeader, Response, ResponseHeader, encode_request_frame,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::message::{EncodeError, Message};
use ackord_proto::messages::{ApiVersionsRequest, ApiVersionsResponse};
use ackord_proto::reader::Reader;
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::Endpoint;
use crate::versions::Advertised;

/// ApiVersions up to this version; v5 would bind us to a cluster id that we do not have.
const API_VERSIONS_MAX: i16 = 4;

/// What keeps long polls away from requests that must not wait behind them: each endpoint can have
/// one connection for each purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// Metadata and coordinators.
    Control,
    /// Records and share sessions.
    Data,
}

#[derive(Debug)]
enum State {
    Connecting,
    Handshaking,
    Ready(Advertised),
}

/// A request that waits for its reply.
#[derive(Debug)]
struct Waiting<R> {
    correlation_id: i32,
    api: ApiKey,
    version: i16,
    sent: MonoTime,
    // None for our own handshake.
    request: Option<R>,
}

/// What a frame meant.
#[derive(Debug)]
pub(crate) enum Heard<R> {
    /// The handshake goes on with this frame.
    Send(Vec<Bytes>),
    /// The handshake is complete.
    Ready,
    /// The reply to a request.
    Reply {
        /// The request.
        request: R,
        /// Its answer.
        response: Response,
    },
    /// It makes no sense; the connection has to be given up.
    Nonsense,
}

#[derive(Debug)]
pub(crate) struct Connection<R> {
    pub(crate) endpoint: Endpoint,
    pub(crate) purpose: Purpose,
    client_id: Str,
    state: State,
    since: MonoTime,
    next_correlation: i32,
    waiting: VecDeque<Waiting<R>>,
}

impl<R> Connection<R> {
    pub(crate) fn new(endpoint: Endpoint, purpose: Purpose, client_id: Str, now: MonoTime) -> Self {
        Connection {
            endpoint,
            purpose,
            client_id,
            state: State::Connecting,
            since: now,
            next_correlation: 0,
            waiting: VecDeque::new(),
        }
    }

    /// What the broker offers, once the handshake is complete.
    pub(crate) fn advertised(&self) -> Option<&Advertised> {
        match &self.state {
            State::Ready(advertised) => Some(advertised),
            _ => None,
        }
    }

    /// The socket is open: the first frame of the handshake.
    pub(crate) fn connected(&mut self, now: MonoTime) -> Option<Vec<Bytes>> {
        match self.state {
            State::Connecting => {
                self.state = State::Handshaking;
                self.hello(now, API_VERSIONS_MAX)
            }
            _ => None,
        }
    }

    fn hello(&mut self, now: MonoTime, version: i16) -> Option<Vec<Bytes>> {
        let hello = ApiVersionsRequest {
            client_software_name: "ackord".into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
            ..Default::default()
        };
        let (correlation_id, chunks) = self.frame(version, &hello.into()).ok()?;
        let api = ApiKey::ApiVersions;
        self.waiting.push_back(Waiting {
            correlation_id,
            api,
            version,
            sent: now,
            request: None,
        });
        Some(chunks)
    }

    fn frame(&mut self, version: i16, body: &Request) -> Result<(i32, Vec<Bytes>), EncodeError> {
        let correlation_id = self.next_correlation;
        self.next_correlation = self.next_correlation.wrapping_add(1) & i32::MAX;
        let header = RequestHeader {
            api_key: body.key(),
            api_version: version,
            correlation_id,
            client_id: Some(self.client_id.clone()),
            unknown_tags: Default::default(),
        };
        Ok((correlation_id, encode_request_frame(&header, body)?))
    }

    /// The frame of a request, which waits for its reply from now on.
    ///
    /// # Errors
    /// Gives the request back where it cannot be said in this version.
    pub(crate) fn send(
        &mut self,
        now: MonoTime,
        version: i16,
        body: &Request,
        request: R,
    ) -> Result<Vec<Bytes>, (R, EncodeError)> {
        match self.frame(version, body) {
            Ok((correlation_id, chunks)) => {
                let (api, request) = (body.key(), Some(request));
                self.waiting.push_back(Waiting {
                    correlation_id,
                    api,
                    version,
                    sent: now,
                    request,
                });
                Ok(chunks)
            }
            Err(error) => Err((request, error)),
        }
    }

    pub(crate) fn heard(&mut self, now: MonoTime, bytes: Bytes) -> Heard<R> {
        let Some(waiting) = self.waiting.pop_front() else {
            return Heard::Nonsense;
        };
        let mut reader = Reader::new(bytes.clone());
        match ResponseHeader::decode(waiting.api, waiting.version, &mut reader) {
            Ok(header) if header.correlation_id == waiting.correlation_id => {}
            _ => {
                self.waiting.push_front(waiting);
                return Heard::Nonsense;
            }
        }
        let Some(request) = waiting.request else {
            return self.greeted(now, waiting.version, &bytes);
        };
        match Response::decode(waiting.api, waiting.version, &mut reader) {
            Ok(response) => Heard::Reply { request, response },
            Err(_) => {
                let request = Some(request);
                self.waiting.push_front(Waiting { request, ..waiting });
                Heard::Nonsense
            }
        }
    }

    /// The answer to ApiVersions. A broker that lacks the version answers in the layout of version 0
    /// with UNSUPPORTED_VERSION and, newer ones, with the versions that it has.
    fn greeted(&mut self, now: MonoTime, version: i16, frame: &Bytes) -> Heard<R> {
        // The response header of ApiVersions is always the correlation id alone.
        let body = frame.slice(4.min(frame.len())..);
        let refused = body.get(..2) == Some(&ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes());
        let layout = if refused { 0 } else { version };
        let Ok(response) = ApiVersionsResponse::decode(layout, &mut Reader::new(body)) else {
            return Heard::Nonsense;
        };
        if refused {
            let offered = Advertised::from_response(&response);
            let retry = offered
                .pick(ApiKey::ApiVersions.key(), &(0..=version - 1))
                .unwrap_or(0);
            return match self.hello(now, retry).filter(|_| version > 0) {
                Some(chunks) => Heard::Send(chunks),
                None => Heard::Nonsense,
            };
        }
        if response.error_code.is_error() {
            return Heard::Nonsense;
        }
        self.state = State::Ready(Advertised::from_response(&response));
        Heard::Ready
    }

    /// The requests that wait for a reply, oldest first.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &R> {
        self.waiting
            .iter()
            .filter_map(|waiting| waiting.request.as_ref())
    }

    /// The requests whose reply will not come, oldest first.
    pub(crate) fn into_requests(self) -> impl Iterator<Item = R> {
        self.waiting
            .into_iter()
            .filter_map(|waiting| waiting.request)
    }

    /// Since when the broker has owed us something; `None` where it owes nothing.
    pub(crate) fn owed_since(&self) -> Option<MonoTime> {
        match self.state {
            State::Connecting => Some(self.since),
            _ => self.waiting.front().map(|waiting| waiting.sent),
        }
    }
}
