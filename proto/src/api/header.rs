//! The headers before requests and responses, and whole frames.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::api::ApiKey;
use crate::frame::encode_size;
use crate::message::{DecodeError, DecodeErrorKind, EncodeError, Message};
use crate::reader::{Fault, Reader};
use crate::str::Str;
use crate::tags::{UnknownTags, write_tag_count};
use crate::wire::{Layout, Nullable, Wire, read_field};
use crate::writer::{Counter, Sink, Writer};

/// What can follow a header: any [`Message`], [`Request`](crate::api::Request) or
/// [`Response`](crate::api::Response).
pub trait Body {
    /// The number of bytes, and how many of them are shared instead of copied.
    fn counted(&self, version: i16) -> Counter;

    /// Writes the body.
    ///
    /// # Errors
    /// As [`Message::encode`].
    fn encode(&self, version: i16, w: &mut Writer) -> Result<(), EncodeError>;
}

impl<M: Message> Body for M {
    fn counted(&self, version: i16) -> Counter {
        Message::counted(self, version)
    }

    fn encode(&self, version: i16, w: &mut Writer) -> Result<(), EncodeError> {
        Message::encode(self, version, w)
    }
}

/// What stands before each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The API.
    pub api_key: ApiKey,
    /// The version of the API; perhaps one that does not exist.
    pub api_version: i16,
    /// Comes back with the response.
    pub correlation_id: i32,
    /// The name that the client gives itself.
    pub client_id: Option<Str>,
    /// Tagged fields of header version 2; Kafka defines none.
    pub unknown_tags: UnknownTags,
}

impl RequestHeader {
    /// Reads a header; its own version follows from key and version of the API.
    ///
    /// # Errors
    /// `UnknownApi` for a key that is not in [`ApiKey`]; else what is wrong with the bytes.
    pub fn decode(r: &mut Reader) -> Result<Self, DecodeError> {
        Self::read(r).map_err(|fault| r.error(fault))
    }

    fn read(r: &mut Reader) -> Result<Self, Fault> {
        // The client id keeps its two bytes of length in both header versions.
        let rigid = Layout {
            version: 1,
            flexible: false,
        };
        let key = read_field(r, rigid, "api_key")?;
        let api_version = read_field(r, rigid, "api_version")?;
        let correlation_id = read_field(r, rigid, "correlation_id")?;
        let Some(api_key) = ApiKey::from_key(key) else {
            return Err(r.fail(DecodeErrorKind::UnknownApi { key }));
        };
        let client_id =
            Str::read_nullable(r, rigid).map_err(|fault| r.name_fault(fault, "client_id"))?;
        let mut unknown_tags = UnknownTags::default();
        if api_key.is_flexible(api_version) {
            read_tags(r, &mut unknown_tags)?;
        }
        Ok(Self {
            api_key,
            api_version,
            correlation_id,
            client_id,
            unknown_tags,
        })
    }

    fn write<S: Sink>(&self, s: &mut S) -> Result<(), EncodeError> {
        let rigid = Layout {
            version: 1,
            flexible: false,
        };
        self.api_key.key().write(s, rigid)?;
        self.api_version.write(s, rigid)?;
        self.correlation_id.write(s, rigid)?;
        Str::write_nullable(self.client_id.as_ref(), s, rigid)
            .map_err(|error| error.in_field("client_id"))?;
        if self.api_key.is_flexible(self.api_version) {
            write_tags(s, &self.unknown_tags);
        }
        Ok(())
    }

    /// Writes the header.
    ///
    /// # Errors
    /// `TooLong` for a client id beyond 32,767 bytes.
    pub fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        self.write(w)
    }
}

/// What stands before each response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHeader {
    /// The number of the request.
    pub correlation_id: i32,
    /// Tagged fields of header version 1; Kafka defines none.
    pub unknown_tags: UnknownTags,
}

impl ResponseHeader {
    /// Reads the header of an answer to this version of the API.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(key: ApiKey, version: i16, r: &mut Reader) -> Result<Self, DecodeError> {
        Self::read(key, version, r).map_err(|fault| r.error(fault))
    }

    fn read(key: ApiKey, version: i16, r: &mut Reader) -> Result<Self, Fault> {
        let mut header = Self::default();
        let rigid = Layout {
            version: 0,
            flexible: false,
        };
        header.correlation_id = read_field(r, rigid, "correlation_id")?;
        if key.response_header_version(version) > 0 {
            read_tags(r, &mut header.unknown_tags)?;
        }
        Ok(header)
    }

    fn write<S: Sink>(&self, key: ApiKey, version: i16, s: &mut S) {
        s.put(&self.correlation_id.to_be_bytes());
        if key.response_header_version(version) > 0 {
            write_tags(s, &self.unknown_tags);
        }
    }

    /// Writes the header of an answer to this version of the API.
    pub fn encode(&self, key: ApiKey, version: i16, w: &mut Writer) {
        self.write(key, version, w);
    }
}

fn read_tags(r: &mut Reader, tags: &mut UnknownTags) -> Result<(), Fault> {
    for _ in 0..r.tag_count()? {
        let (tag, size, _) = r.tag_start()?;
        tags.insert(tag, r.take(size)?.into());
    }
    Ok(())
}

fn write_tags<S: Sink>(s: &mut S, tags: &UnknownTags) {
    write_tag_count(s, tags.len());
    tags.write_range(s, 0..=u32::MAX);
}

/// A whole request as chunks: size, header and body.
///
/// # Errors
/// As [`Message::encode`].
pub fn encode_request_frame(
    header: &RequestHeader,
    body: &impl Body,
) -> Result<Vec<Bytes>, EncodeError> {
    let mut head = Counter::default();
    header.write(&mut head)?;
    let counted = body.counted(header.api_version);
    let mut w = frame_writer(head, counted);
    header.encode(&mut w)?;
    body.encode(header.api_version, &mut w)?;
    Ok(w.into_chunks())
}

/// A whole response as chunks: size, header and body.
///
/// # Errors
/// As [`Message::encode`].
pub fn encode_response_frame(
    correlation_id: i32,
    key: ApiKey,
    version: i16,
    body: &impl Body,
) -> Result<Vec<Bytes>, EncodeError> {
    let header = ResponseHeader {
        correlation_id,
        ..ResponseHeader::default()
    };
    let mut head = Counter::default();
    header.write(key, version, &mut head);
    let counted = body.counted(version);
    let mut w = frame_writer(head, counted);
    header.encode(key, version, &mut w);
    body.encode(version, &mut w)?;
    Ok(w.into_chunks())
}

/// A writer with exactly the room that it needs and the size already in it.
fn frame_writer(head: Counter, body: Counter) -> Writer {
    let mut w = Writer::with_capacity(4 + head.copied() + body.copied());
    w.put(&encode_size(head.total() + body.total()));
    w
}
