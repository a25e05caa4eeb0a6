//! An answer of a broker as a client reads it. The input begins with key and version, which a
//! client knows from its request.
#![no_main]

use ackord_fuzz::{bounded, round_trip};
use ackord_proto::Reader;
use ackord_proto::api::{ApiKey, Response, ResponseHeader};
use ackord_proto::printer::Printer;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [k0, k1, v0, v1, frame @ ..] = data else {
        return;
    };
    let version = i16::from_be_bytes([*v0, *v1]);
    let Some(key) = ApiKey::from_key(i16::from_be_bytes([*k0, *k1])) else {
        return;
    };
    let mut r = Reader::new(Bytes::copy_from_slice(frame));
    let decoded = bounded(data.len(), || {
        ResponseHeader::decode(key, version, &mut r).ok()?;
        Response::decode(key, version, &mut r).ok()
    });
    let Some(body) = decoded else {
        return;
    };
    assert_eq!(body.key(), key);
    body.print(version, &mut Printer::default());
    round_trip(&body, version, |r| Response::decode(key, version, r));
});
