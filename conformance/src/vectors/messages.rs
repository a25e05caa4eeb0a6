//! Message bodies: whole, damaged, and around the limits.

use ackord_proto::api::{ApiKey, Request, Response};
use ackord_proto::printer::Printer;
use ackord_proto::reader::Reader;
use bytes::Bytes;

use super::stricter::is_stricter;
use super::{Row, Verdict, all_read, same_bytes, show};

/// A body that was decoded from a row.
enum AnyBody {
    Request(Request),
    Response(Response),
}

impl AnyBody {
    fn decode(row: &Row<'_>, key: ApiKey, version: i16, r: &mut Reader) -> Result<Self, String> {
        match row.cell("kind") {
            "request" => Request::decode(key, version, r)
                .map(Self::Request)
                .map_err(show),
            "response" => Response::decode(key, version, r)
                .map(Self::Response)
                .map_err(show),
            other => Err(format!("unknown kind {other}")),
        }
    }

    /// Each field that the version has starts with the value with which it starts in Kafka.
    /// Null and empty count as the same: where both are allowed, ours start as null.
    fn check_default(&self, key: ApiKey, version: i16) -> Result<(), String> {
        let ours = match self {
            Self::Request(_) => Self::Request(Request::default_of(key)),
            Self::Response(_) => Self::Response(Response::default_of(key)),
        };
        let plain = |text: String| {
            let empty = ["null", "\"\"", "[]", "0x"];
            empty
                .iter()
                .fold(text, |text, empty| text.replace(empty, "-"))
        };
        let (kafka, ours) = (plain(self.print(version)), plain(ours.print(version)));
        if kafka == ours {
            Ok(())
        } else {
            Err(format!("other defaults: {ours}"))
        }
    }

    fn print(&self, version: i16) -> String {
        let mut printer = Printer::default();
        match self {
            Self::Request(body) => body.print(version, &mut printer),
            Self::Response(body) => body.print(version, &mut printer),
        }
        printer.finish()
    }

    fn check(&self, version: i16, expected: &Bytes) -> Result<(), String> {
        if self.print(version).is_empty() {
            return Err("prints as nothing".to_owned());
        }
        match self {
            Self::Request(body) => same_bytes(body, version, expected),
            Self::Response(body) => same_bytes(body, version, expected),
        }
    }
}

/// Decode, encode, the same bytes.
pub(super) fn message(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let bytes = row.bytes("hex")?;
    let mut r = Reader::new(bytes.clone());
    let body = AnyBody::decode(row, key, version, &mut r)?;
    all_read(&r)?;
    body.check(version, &bytes)?;
    if row.cell("variant") == "default" {
        body.check_default(key, version)?;
    }
    Ok(Some(()))
}

/// What Kafka refuses we refuse; what it accepts we accept and write back alike.
pub(super) fn malformed(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let bytes = row.bytes("hex")?;
    let mut r = Reader::new(bytes);
    let ours = AnyBody::decode(row, key, version, &mut r);
    match (row.cell("reader"), ours) {
        ("ok", Ok(body)) => {
            let unread: usize = row.number("unread")?;
            if r.remaining() != unread {
                return Err(format!("{} bytes unread", r.remaining()));
            }
            if !row.cell("reencoded").starts_with('!') {
                body.check(version, &row.bytes("reencoded")?)?;
            }
            Ok(Some(()))
        }
        ("ok", Err(reason)) => {
            let fault = format!("{} {}", row.cell("path"), row.cell("fault"));
            if is_stricter("malformed", &fault) {
                Ok(Some(()))
            } else {
                Err(reason)
            }
        }
        (_, Err(_)) => Ok(Some(())),
        (refusal, Ok(_)) => Err(format!("accepted, but Kafka says {refusal}")),
    }
}

/// Bodies around Kafka's limits, too long to be written out.
pub(super) fn limit(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let fill = row.bytes("fill_hex")?.repeat(row.number("fill_count")?);
    let bytes = [
        row.bytes("prefix_hex")?,
        fill.into(),
        row.bytes("suffix_hex")?,
    ]
    .concat();
    let mut r = Reader::new(bytes.into());
    let accepted = AnyBody::decode(row, key, version, &mut r).map(|_| ());
    match (row.cell("reader"), accepted) {
        ("ok", accepted) => accepted.map(Some),
        (_, Err(_)) => Ok(Some(())),
        (refusal, Ok(())) => Err(format!("accepted, but Kafka says {refusal}")),
    }
}
