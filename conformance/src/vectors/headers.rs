//! Headers and whole frames.

use ackord_proto::Writer;
use ackord_proto::api::{
    ApiKey, RawRequestHeader, Request, RequestHeader, Response, ResponseHeader,
    encode_request_frame, encode_response_frame,
};
use ackord_proto::reader::Reader;

use super::stricter::is_stricter;
use super::{Row, Verdict, all_read, show};

/// Size, header and body of a whole frame.
pub(super) fn frame(row: &Row<'_>) -> Verdict {
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    let bytes = row.bytes("hex")?;
    let mut r = Reader::new(bytes.slice(4..));
    let correlation_id = row.number("correlation_id")?;
    let chunks = match row.cell("kind") {
        "request" => {
            let header = RequestHeader::decode(&mut r).map_err(show)?;
            let client_id = header
                .client_id
                .as_ref()
                .map(|id| format!("{:?}", id.as_str()));
            let expected = (
                key,
                version,
                correlation_id,
                row.cell("client_id").to_owned(),
            );
            let client_id = client_id.unwrap_or("null".to_owned());
            let found = (
                header.api_key,
                header.api_version,
                header.correlation_id,
                client_id,
            );
            if found != expected {
                return Err(format!("header {found:?}"));
            }
            let body = Request::decode(key, version, &mut r).map_err(show)?;
            encode_request_frame(&header, &body)
        }
        _ => {
            ResponseHeader::decode(key, version, &mut r).map_err(show)?;
            let body = Response::decode(key, version, &mut r).map_err(show)?;
            encode_response_frame(correlation_id, key, version, &body)
        }
    };
    all_read(&r)?;
    let encoded = chunks.map_err(show)?.concat();
    if encoded == bytes {
        Ok(Some(()))
    } else {
        Err(format!("other bytes: {encoded:02x?}"))
    }
}

/// Header versions and announced ranges.
pub(super) fn versions(row: &Row<'_>) -> Verdict {
    if row.cell("version") == "none" {
        return match ApiKey::from_key(row.number("api_key")?) {
            None => Ok(Some(())),
            Some(key) => Err(format!("removed, but known here as {}", key.name())),
        };
    }
    let Some((key, version)) = row.api()? else {
        return Ok(None);
    };
    if key.name() != row.cell("api_name") {
        return Err(format!("called {} here", key.name()));
    }
    let found = [
        key.request_header_version(version),
        key.response_header_version(version),
        *key.announced_versions().start(),
        *key.announced_versions().end(),
    ];
    let columns = [
        "request_header",
        "response_header",
        "advertised_min",
        "advertised_max",
    ];
    for (column, found) in columns.into_iter().zip(found) {
        if row.number::<i16>(column)? != found {
            return Err(format!("{column} is {found} with us"));
        }
    }
    if key.versions().contains(&version) {
        Ok(Some(()))
    } else {
        Err("unknown version".into())
    }
}

/// The versions of each API, in one line.
pub(super) fn counts(row: &Row<'_>) -> Verdict {
    let Some(key) = ApiKey::from_key(row.number("api_key")?) else {
        return Ok(None);
    };
    let versions = key.versions();
    let ours = format!("{}-{}", versions.start(), versions.end());
    let unstable = row.cell("unstable");
    if key.name() != row.cell("api_name") || ours != row.cell("versions") {
        return Err(format!("{} {ours} here", key.name()));
    }
    let announced = key.announced_versions().end() == versions.end();
    if announced == unstable.is_empty() {
        Ok(Some(()))
    } else {
        Err("unstable versions are announced otherwise".to_owned())
    }
}

/// A header alone, in a version that the table names.
pub(super) fn bytes(row: &Row<'_>) -> Verdict {
    let (version, bytes) = (row.number("header_version")?, row.bytes("hex")?);
    let mut r = Reader::new(bytes.clone());
    let mut w = Writer::new();
    match row.cell("header") {
        "request" => {
            let header = RawRequestHeader::decode(version, &mut r).map_err(show)?;
            header.encode(version, &mut w).map_err(show)?;
        }
        _ => {
            let header = ResponseHeader::decode_version(version, &mut r).map_err(show)?;
            header.encode_version(version, &mut w);
        }
    }
    all_read(&r)?;
    match w.into_bytes() {
        encoded if encoded == bytes => Ok(Some(())),
        encoded => Err(format!("other bytes: {encoded:02x?}")),
    }
}

/// Frames with a header that a broker must question, and what the parser of requests says.
pub(super) fn odd_frame(row: &Row<'_>) -> Verdict {
    let mut r = Reader::new(row.bytes("hex")?);
    let header = match (row.cell("header_outcome"), RequestHeader::decode(&mut r)) {
        ("ok", Ok(header)) => header,
        ("ok", Err(_)) if is_stricter("odd-frames", row.cell("name")) => return Ok(Some(())),
        ("ok", Err(error)) => return Err(show(error)),
        (_, Err(_)) => return Ok(Some(())),
        (refusal, Ok(_)) => return Err(format!("accepted, but Kafka says {refusal}")),
    };
    let (key, version) = (header.api_key, header.api_version);
    let expected: i16 = row.number("header_version")?;
    if key.request_header_version(version) != expected {
        return Err(format!("not header version {expected}"));
    }
    // An ApiVersions of an unknown version is answered without a look at its body.
    if key == ApiKey::ApiVersions && !key.versions().contains(&version) {
        return Ok(Some(()));
    }
    match (
        row.cell("request_outcome"),
        Request::decode(key, version, &mut r),
    ) {
        ("ok", Ok(_)) => Ok(Some(())),
        ("ok", Err(error)) => Err(show(error)),
        (_, Err(_)) => Ok(Some(())),
        (refusal, Ok(_)) => Err(format!("accepted, but Kafka says {refusal}")),
    }
}
