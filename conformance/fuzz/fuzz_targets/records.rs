//! The inside of things: records packed with any codec, records of the coordinators, structures
//! in bytes fields. The first byte says which.
#![no_main]

use ackord_fuzz::{CODEC, UNPACKED, bounded, bounded_beyond};
use ackord_proto::coordinator_records::{
    ConsumerOffsetsRecord, ShareGroupStateRecord, TransactionStateRecord,
};
use ackord_proto::embedded::{
    self, AbortedTxn, ConsumerProtocolAssignment, ConsumerProtocolSubscription,
    DefaultPrincipalData, Embedded,
};
use ackord_proto::printer::Printer;
use ackord_proto::records::{Compression, compress, decompress};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [kind, rest @ ..] = data else {
        return;
    };
    match kind {
        0..=4 => packed(Compression::from_id(i16::from(*kind)), rest),
        5..=7 => record(*kind, rest),
        8 => structure::<ConsumerProtocolSubscription>(rest),
        9 => structure::<ConsumerProtocolAssignment>(rest),
        10 => structure::<DefaultPrincipalData>(rest),
        11 => structure::<AbortedTxn>(rest),
        _ => {}
    }
});

/// Unpacks, and packs again what came out.
fn packed(codec: Compression, data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let unpacked = bounded_beyond(CODEC, data.len(), || decompress(codec, &bytes, UNPACKED));
    let Ok(unpacked) = unpacked else {
        return;
    };
    assert!(unpacked.len() <= UNPACKED);
    let again = compress(codec, &unpacked).expect("packs");
    assert_eq!(decompress(codec, &again.into(), UNPACKED), Ok(unpacked));
}

/// A key and a value; the second byte says how long the key is.
fn record(topic: u8, data: &[u8]) {
    let [length, rest @ ..] = data else {
        return;
    };
    let (key, value) = rest.split_at(usize::from(*length).min(rest.len()));
    let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
    let print = match topic {
        5 => ConsumerOffsetsRecord::print,
        6 => ShareGroupStateRecord::print,
        _ => TransactionStateRecord::print,
    };
    for value in [None, Some(&value)] {
        // The text is longer than the bytes, but not without limit.
        let _ = bounded(4 * data.len(), || {
            print(&key, value, &mut Printer::default())
        });
    }
}

fn structure<E: Embedded>(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let Ok((value, version)) = bounded(data.len(), || embedded::decode::<E>(&bytes)) else {
        return;
    };
    let version = version.min(*E::VERSIONS.end());
    if let Ok(again) = embedded::encode(&value, version) {
        assert_eq!(embedded::decode::<E>(&again), Ok((value, version)));
    }
}
