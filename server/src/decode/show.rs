//! Printing what bytes are known to be.

use std::fmt;

use ackord_proto::api::{
    ApiKey, RawRequestHeader, Request, RequestHeader, Response, ResponseHeader,
};
use ackord_proto::embedded::{self, Embedded};
use ackord_proto::frame::FrameBuffer;
use ackord_proto::printer::Printer;
use ackord_proto::records::{self, BatchIter, print::of_internal_topic};
use ackord_proto::tags::UnknownTags;
use ackord_proto::{DecodeError, Message, Reader, Str};
use bytes::Bytes;

use super::Bad;

/// What the bytes are, as far as flags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Record batches where they begin with one, else a request.
    Guess,
    /// A request.
    Request,
    /// The answer to this version of an API.
    Response(ApiKey, i16),
    /// Records of a topic.
    Record,
}

/// The printed text, and the sentences about what could not be read.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) faults: Vec<Bad>,
}

impl Shown {
    pub(super) fn text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    pub(super) fn fault(bad: Bad) -> Self {
        Self {
            faults: vec![bad],
            ..Self::default()
        }
    }
}

impl FromIterator<Shown> for Shown {
    fn from_iter<I: IntoIterator<Item = Shown>>(parts: I) -> Self {
        let mut all = Self::default();
        for (number, part) in parts.into_iter().enumerate() {
            if number > 0 {
                all.text.push('\n');
            }
            all.text.push_str(&part.text);
            all.faults.extend(part.faults);
        }
        all
    }
}

/// Ends what was printed, with the fault that stopped it or that was noted inside of records.
fn end(p: Printer, stopped: Result<(), Bad>) -> Shown {
    let fault = stopped
        .err()
        .or_else(|| p.fault().map(|fault| Bad(fault.to_owned())));
    let mut text = p.finish();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Shown {
        text,
        faults: fault.into_iter().collect(),
    }
}

/// What is packed well is printed all the same, but not without limit: in bytes, and in bytes for
/// each byte of input.
const UNPACKED: usize = 16 << 20;
const UNPACKED_PER_BYTE: usize = 16;

fn printer(topic: Option<&str>, input: &Bytes) -> Printer {
    let limit = input.len().saturating_mul(UNPACKED_PER_BYTE).max(UNPACKED);
    Printer::by_lines(topic.map(Str::from), limit)
}

/// Bytes of which no more is known than what flags say.
pub(super) fn bytes(bytes: &Bytes, what: &What, topic: Option<&str>) -> Shown {
    let frame = |frame: &Bytes| match what {
        What::Response(key, version) => response_about(*key, *version, frame, topic),
        What::Guess | What::Request | What::Record => request_about(frame, topic),
    };
    match what {
        What::Record => return records_of(bytes, topic),
        What::Guess if is_batch(bytes) => return batches(bytes, topic),
        _ => {}
    }
    if let Some(frames) = with_sizes(bytes) {
        return frames.iter().map(frame).collect();
    }
    let Some((size, rest)) = cut_off(bytes) else {
        return frame(bytes);
    };
    let there = rest.len();
    let response = matches!(what, What::Response(..));
    let begins = |bytes: &Bytes| RequestHeader::decode(&mut Reader::new(bytes.clone())).is_ok();
    if !response && !may_be_request(bytes) && may_be_request(&rest) && begins(&rest) {
        let mut shown = frame(&rest);
        let sentence = format!("the frame says that it has {size} bytes, but {there} follow");
        shown.faults.insert(0, Bad(sentence));
        return shown;
    }
    let mut shown = frame(bytes);
    for Bad(sentence) in shown.faults.iter_mut().filter(|_| response) {
        sentence.push_str(&format!(
            " (read as a frame without its size; as a size the first four bytes say {size}, but \
             {there} follow)"
        ));
    }
    shown
}

/// The size that the first four bytes say, and what follows, where that is less.
fn cut_off(bytes: &Bytes) -> Option<(usize, Bytes)> {
    let size = usize::try_from(i32::from_be_bytes(*bytes.first_chunk()?)).ok()?;
    let rest = bytes.slice(4..);
    (rest.len() < size).then_some((size, rest))
}

/// Whether the bytes begin with key and version of a request that exists.
fn may_be_request(bytes: &Bytes) -> bool {
    let Some([k0, k1, v0, v1]) = bytes.first_chunk() else {
        return false;
    };
    let key = ApiKey::from_key(i16::from_be_bytes([*k0, *k1]));
    key.is_some_and(|key| key.versions().contains(&i16::from_be_bytes([*v0, *v1])))
}

/// Record batches, as flags say: at least one has to be there.
fn records_of(bytes: &Bytes, topic: Option<&str>) -> Shown {
    match BatchIter::new(bytes.clone()).next() {
        Some(_) => batches(bytes, topic),
        None => Shown::fault(Bad(format!(
            "{} bytes are less than one record batch; the key and the value of a record stand in \
             hex on two lines, `null` for no value",
            bytes.len()
        ))),
    }
}

/// Whether a whole batch of magic 2 stands here. Where the bytes could begin a request as well,
/// the checksum decides.
fn is_batch(bytes: &Bytes) -> bool {
    let whole = BatchIter::new(bytes.clone()).next();
    whole.is_some_and(|batch| batch.is_ok())
        && (!may_be_request(bytes) || records::verify_crc(bytes).is_ok())
}

/// The frames, where the bytes are frames with their sizes and nothing else.
fn with_sizes(bytes: &Bytes) -> Option<Vec<Bytes>> {
    let mut stream = FrameBuffer::new(bytes.len());
    stream.push(bytes.clone());
    let mut frames = Vec::new();
    while let Some(frame) = stream.next_frame().ok()? {
        frames.push(frame);
    }
    (stream.buffered() == 0 && !frames.is_empty()).then_some(frames)
}

pub(super) fn request(frame: &Bytes) -> Shown {
    request_about(frame, None)
}

fn request_about(frame: &Bytes, topic: Option<&str>) -> Shown {
    let mut p = printer(topic, frame);
    let shown = print_request(frame, &mut p);
    end(p, shown)
}

fn print_request(frame: &Bytes, p: &mut Printer) -> Result<(), Bad> {
    let mut r = Reader::new(frame.clone());
    let header = RequestHeader::decode(&mut r).map_err(wrong)?;
    let (key, version) = (header.api_key, header.api_version);
    let raw = RawRequestHeader {
        api_key: key.key(),
        api_version: version,
        correlation_id: header.correlation_id,
        client_id: header.client_id,
        unknown_tags: header.unknown_tags,
    };
    print_request_header(&raw, key.request_header_version(version), p);
    let body = Request::decode(key, version, &mut r).map_err(wrong)?;
    p.text(format_args!("\nRequest "));
    body.print(version, p);
    print_rest(&mut r, p);
    Ok(())
}

pub(super) fn response(key: ApiKey, version: i16, frame: &Bytes) -> Shown {
    response_about(key, version, frame, None)
}

fn response_about(key: ApiKey, version: i16, frame: &Bytes, topic: Option<&str>) -> Shown {
    let mut p = printer(topic, frame);
    let shown = print_response(key, version, frame, &mut p);
    end(p, shown)
}

fn print_response(key: ApiKey, version: i16, frame: &Bytes, p: &mut Printer) -> Result<(), Bad> {
    let mut r = Reader::new(frame.clone());
    let header = ResponseHeader::decode(key, version, &mut r).map_err(wrong)?;
    print_response_header(&header, key.response_header_version(version), p);
    let body = Response::decode(key, version, &mut r).map_err(wrong)?;
    p.text(format_args!("\nResponse "));
    body.print(version, p);
    print_rest(&mut r, p);
    Ok(())
}

/// A body without its header. Where it has records they are only bytes in these tables, so what
/// they are not is no fault.
pub(super) fn body(response: bool, key: ApiKey, version: i16, bytes: Bytes) -> Shown {
    let mut p = printer(None, &bytes);
    let mut r = Reader::new(bytes);
    let shown = if response {
        p.text(format_args!("Response "));
        Response::decode(key, version, &mut r).map(|body| body.print(version, &mut p))
    } else {
        p.text(format_args!("Request "));
        Request::decode(key, version, &mut r).map(|body| body.print(version, &mut p))
    };
    match shown {
        Ok(()) => {
            print_rest(&mut r, &mut p);
            Shown {
                faults: Vec::new(),
                ..end(p, Ok(()))
            }
        }
        Err(error) => Shown::fault(wrong(error)),
    }
}

/// A header alone.
pub(super) fn header(kind: &str, version: i16, bytes: &Bytes) -> Shown {
    let mut p = printer(None, bytes);
    let mut r = Reader::new(bytes.clone());
    let shown = match kind {
        "response" => ResponseHeader::decode_version(version, &mut r)
            .map(|header| print_response_header(&header, version, &mut p)),
        _ => RawRequestHeader::decode(version, &mut r)
            .map(|header| print_request_header(&header, version, &mut p)),
    };
    if shown.is_ok() {
        print_rest(&mut r, &mut p);
    }
    end(p, shown.map_err(wrong))
}

fn print_request_header(header: &RawRequestHeader, version: i16, p: &mut Printer) {
    p.text(format_args!("RequestHeader v{version} "));
    p.open();
    let api = ApiKey::from_key(header.api_key).map_or("unknown", ApiKey::name);
    field(p, "api_key", format_args!("{} ({api})", header.api_key));
    field(p, "api_version", format_args!("{}", header.api_version));
    field(
        p,
        "correlation_id",
        format_args!("{}", header.correlation_id),
    );
    match &header.client_id {
        Some(id) => field(p, "client_id", format_args!("{id:?}")),
        None => field(p, "client_id", format_args!("null")),
    }
    print_tags(&header.unknown_tags, p);
    p.close();
}

fn print_response_header(header: &ResponseHeader, version: i16, p: &mut Printer) {
    p.text(format_args!("ResponseHeader v{version} "));
    p.open();
    field(
        p,
        "correlation_id",
        format_args!("{}", header.correlation_id),
    );
    print_tags(&header.unknown_tags, p);
    p.close();
}

fn field(p: &mut Printer, name: &str, value: fmt::Arguments<'_>) {
    p.name(name);
    p.text(value);
}

fn print_tags(tags: &UnknownTags, p: &mut Printer) {
    tags.print(p);
}

/// Kafka ignores bytes behind a body; a person wants to see them.
fn print_rest(r: &mut Reader, p: &mut Printer) {
    let rest = r.take_rest();
    if !rest.is_empty() {
        p.text(format_args!("\n{} bytes behind the body: ", rest.len()));
        p.bytes(&rest);
    }
}

/// Record batches in a row.
pub(super) fn batches(bytes: &Bytes, topic: Option<&str>) -> Shown {
    let mut p = printer(topic, bytes);
    records::print::print(bytes.clone(), topic, &mut p);
    end(p, Ok(()))
}

/// Key and value of one record.
pub(super) fn record(key: &Option<Bytes>, value: Option<&Bytes>, topic: Option<&str>) -> Shown {
    let mut p = printer(None, &Bytes::new());
    let shown = match (topic.and_then(of_internal_topic), key) {
        (Some(print), Some(key)) => print(key, value, &mut p).map_err(wrong),
        (Some(_), None) => Err(Bad("a record of an internal topic needs a key".to_owned())),
        (None, _) => {
            p.open();
            for (name, part) in [("key", key.as_ref()), ("value", value)] {
                p.name(name);
                match part {
                    Some(part) => p.text_or_bytes(part),
                    None => p.text(format_args!("null")),
                }
            }
            p.close();
            Ok(())
        }
    };
    end(p, shown)
}

/// A structure inside a bytes field, by its name.
pub(super) fn embedded(name: &str, bytes: &Bytes) -> Shown {
    let print = match name {
        "ConsumerProtocolSubscription" => structure::<embedded::ConsumerProtocolSubscription>,
        "ConsumerProtocolAssignment" => structure::<embedded::ConsumerProtocolAssignment>,
        "DefaultPrincipalData" => structure::<embedded::DefaultPrincipalData>,
        "AbortedTxn" => structure::<embedded::AbortedTxn>,
        "ControlRecordTypeSchema" => structure::<embedded::ControlRecordTypeSchema>,
        "EndTxnMarker" => structure::<embedded::EndTxnMarker>,
        _ => return Shown::fault(Bad(format!("no structure is called {name:?}"))),
    };
    let mut p = printer(None, bytes);
    let shown = print(bytes, &mut p).map_err(wrong);
    end(p, shown)
}

fn structure<E: Embedded>(bytes: &Bytes, p: &mut Printer) -> Result<(), DecodeError> {
    let (value, version) = embedded::decode::<E>(bytes)?;
    p.text(format_args!("{} v{version} ", E::NAME));
    Message::print(&value, version, p);
    Ok(())
}

fn wrong(error: DecodeError) -> Bad {
    Bad(error.to_string())
}
