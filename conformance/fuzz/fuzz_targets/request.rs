//! A frame as it comes from a client, without its size: header and body.
#![no_main]

use ackord_fuzz::{bounded, round_trip};
use ackord_proto::Reader;
use ackord_proto::api::{Request, RequestHeader};
use ackord_proto::printer::Printer;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut r = Reader::new(Bytes::copy_from_slice(data));
    let decoded = bounded(data.len(), || {
        let header = RequestHeader::decode(&mut r).ok()?;
        let body = Request::decode(header.api_key, header.api_version, &mut r).ok()?;
        Some((header.api_key, header.api_version, body))
    });
    let Some((key, version, body)) = decoded else {
        return;
    };
    assert_eq!(body.key(), key);
    body.print(version, &mut Printer::default());
    round_trip(&body, version, |r| Request::decode(key, version, r));
});
