//! The headers before requests and responses, and whole frames.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::api::ApiKey;
use crate::message::{DecodeError, DecodeErrorKind, EncodeError, Message};
use crate::reader::{Fault, Reader};
use crate::str::Str;
use crate::tags::{UnknownTags, write_tag_count};
use crate::wire::{Layout, Nullable, read_field};
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

/// What stands before each request, as it travels: also for keys that nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequestHeader {
    /// The key of the API; perhaps one that does not exist.
    pub api_key: i16,
    /// The version of the API; perhaps one that does not exist.
    pub api_version: i16,
    /// Comes back with the response.
    pub correlation_id: i32,
    /// The name that the client gives itself.
    pub client_id: Option<Str>,
    /// Tagged fields of header version 2; Kafka defines none.
    pub unknown_tags: UnknownTags,
}

/// The client id keeps its two bytes of length in both header versions.
const RIGID: Layout = Layout {
    version: 1,
    flexible: false,
};

impl RawRequestHeader {
    /// Reads a header of version 1 or 2; only 2 has tagged fields.
    ///
    /// # Errors
    /// `UnknownVersion` for other versions; else what is wrong with the bytes.
    pub fn decode(header_version: i16, r: &mut Reader) -> Result<Self, DecodeError> {
        Self::read(r, |_, _, _| Ok(header_version))
            .map_err(|fault| r.error(fault).in_message("RequestHeader"))
    }

    /// Reads a header whose own version follows from key and version of the API.
    fn read(
        r: &mut Reader,
        header_version: impl FnOnce(&mut Reader, i16, i16) -> Result<i16, Fault>,
    ) -> Result<Self, Fault> {
        let api_key = read_field(r, RIGID, "api_key")?;
        let api_version = read_field(r, RIGID, "api_version")?;
        let correlation_id = read_field(r, RIGID, "correlation_id")?;
        let header_version = header_version(r, api_key, api_version)?;
        let client_id =
            Str::read_nullable(r, RIGID).map_err(|fault| r.name_fault(fault, "client_id"))?;
        let mut unknown_tags = UnknownTags::default();
        match header_version {
            1 => {}
            2 => read_tags(r, &mut unknown_tags)?,
            version => return Err(r.fail(DecodeErrorKind::UnknownVersion { version })),
        }
        Ok(Self {
            api_key,
            api_version,
            correlation_id,
            client_id,
            unknown_tags,
        })
    }

    /// Writes a header of version 1 or 2.
    ///
    /// # Errors
    /// `TooLong` for a client id beyond 32,767 bytes, `UnsupportedVersion` for other versions.
    pub fn encode(&self, header_version: i16, w: &mut Writer) -> Result<(), EncodeError> {
        let start = (self.api_key, self.api_version, self.correlation_id);
        let tags = match header_version {
            1 => None,
            2 => Some(&self.unknown_tags),
            version => return Err(EncodeError::UnsupportedVersion { version }),
        };
        write_request_header(w, start, self.client_id.as_ref(), tags)
    }
}

fn write_request_header<S: Sink>(
    s: &mut S,
    (api_key, api_version, correlation_id): (i16, i16, i32),
    client_id: Option<&Str>,
    tags: Option<&UnknownTags>,
) -> Result<(), EncodeError> {
    s.put(&api_key.to_be_bytes());
    s.put(&api_version.to_be_bytes());
    s.put(&correlation_id.to_be_bytes());
    Str::write_nullable(client_id, s, RIGID).map_err(|error| error.in_field("client_id"))?;
    if let Some(tags) = tags {
        write_tags(s, tags);
    }
    Ok(())
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
        Self::read(r).map_err(|fault| r.error(fault).in_message("RequestHeader"))
    }

    fn read(r: &mut Reader) -> Result<Self, Fault> {
        let mut known = None;
        let raw = RawRequestHeader::read(r, |r, key, version| {
            let api_key =
                ApiKey::from_key(key).ok_or_else(|| r.fail(DecodeErrorKind::UnknownApi { key }))?;
            known = Some(api_key);
            Ok(api_key.request_header_version(version))
        })?;
        let Some(api_key) = known else {
            return Err(r.fail(DecodeErrorKind::UnknownApi { key: raw.api_key }));
        };
        Ok(Self {
            api_key,
            api_version: raw.api_version,
            correlation_id: raw.correlation_id,
            client_id: raw.client_id,
            unknown_tags: raw.unknown_tags,
        })
    }

    fn write<S: Sink>(&self, s: &mut S) -> Result<(), EncodeError> {
        let start = (self.api_key.key(), self.api_version, self.correlation_id);
        let flexible = self.api_key.is_flexible(self.api_version);
        let tags = flexible.then_some(&self.unknown_tags);
        write_request_header(s, start, self.client_id.as_ref(), tags)
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
        Self::decode_version(key.response_header_version(version), r)
    }

    /// Reads a header of version 0 or 1; only 1 has tagged fields.
    ///
    /// # Errors
    /// `UnknownVersion` for other versions; else what is wrong with the bytes.
    pub fn decode_version(header_version: i16, r: &mut Reader) -> Result<Self, DecodeError> {
        Self::read(header_version, r).map_err(|fault| r.error(fault).in_message("ResponseHeader"))
    }

    fn read(header_version: i16, r: &mut Reader) -> Result<Self, Fault> {
        let mut header = Self {
            correlation_id: read_field(r, RIGID, "correlation_id")?,
            ..Self::default()
        };
        match header_version {
            0 => Ok(header),
            1 => {
                read_tags(r, &mut header.unknown_tags)?;
                Ok(header)
            }
            version => Err(r.fail(DecodeErrorKind::UnknownVersion { version })),
        }
    }

    fn write<S: Sink>(&self, header_version: i16, s: &mut S) {
        s.put(&self.correlation_id.to_be_bytes());
        if header_version > 0 {
            write_tags(s, &self.unknown_tags);
        }
    }

    /// Writes the header of an answer to this version of the API.
    pub fn encode(&self, key: ApiKey, version: i16, w: &mut Writer) {
        self.write(key.response_header_version(version), w);
    }

    /// Writes a header of version 0, or of version 1 with tagged fields.
    pub fn encode_version(&self, header_version: i16, w: &mut Writer) {
        self.write(header_version, w);
    }
}

fn read_tags(r: &mut Reader, tags: &mut UnknownTags) -> Result<(), Fault> {
    let flexible = Layout {
        flexible: true,
        ..RIGID
    };
    *tags = r.unknown_tags(flexible)?;
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
    let mut w = Writer::frame();
    header.encode(&mut w)?;
    body.encode(header.api_version, &mut w)?;
    w.into_frame()
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
    let mut w = Writer::frame();
    header.encode(key, version, &mut w);
    body.encode(version, &mut w)?;
    w.into_frame()
}
