//! How many allocations a decode takes. The counter is one for all threads, so there is one test.

use ackord_bench_codec::allocations::{bytes, count};
use ackord_bench_codec::{decode, encode, samples};
use ackord_proto::Message;
use ackord_proto::records::{RecordIter, validate_for_append};
use bytes::Bytes;

/// Allocations of a decode and of an encode.
fn both<M: Message>(message: &M, version: i16) -> (usize, usize) {
    let bytes = Bytes::from(encode(message, version).concat());
    // The first share of a buffer makes room for the count of its shares.
    let _first = bytes.clone();
    let (decoding, decoded) = count(|| decode::<M>(&bytes, version));
    assert_eq!(&decoded, message);
    let (encoding, _) = count(|| encode(message, version));
    (decoding, encoding)
}

/// Bytes that a decode allocates.
fn decoded_bytes<M: Message>(message: &M, version: i16) -> usize {
    let frame = Bytes::from(encode(message, version).concat());
    let _first = frame.clone();
    bytes(|| decode::<M>(&frame, version))
}

#[test]
fn a_decode_allocates_for_lists_and_for_nothing_else() {
    // One list of APIs.
    assert_eq!(both(&samples::api_versions(), 3).0, 1);
    // Brokers, topics, and the partitions of ten topics; names and replicas live inside.
    assert_eq!(both(&samples::metadata(), 12).0, 12);
    // Topics and partitions; the payload is a share of the frame in both directions.
    assert_eq!(both(&samples::produce(), 9).0, 2);
    assert_eq!(both(&samples::fetch(), 12).0, 2);
    // Topics, partitions, ranges.
    assert_eq!(both(&samples::share_fetch(), 1).0, 3);
    // The buffer, its share count, the chunks, the list of payloads.
    assert!(both(&samples::produce(), 9).1 <= 4);

    // Of the payload of 1 MiB not a byte is copied; lists cost what is in them.
    assert!(decoded_bytes(&samples::produce(), 9) <= 1024);
    assert!(decoded_bytes(&samples::fetch(), 12) <= 1024);
    let ranges = encode(&samples::share_fetch(), 1).concat().len();
    assert!(decoded_bytes(&samples::share_fetch(), 1) <= 4 * ranges);

    let batch = samples::batch(1_000);
    let _first = batch.clone();
    let (walking, records) = count(|| RecordIter::new(&batch).expect("well-formed").count());
    assert_eq!((walking, records), (0, 1_000));
    let (checking, header) = count(|| validate_for_append(&batch));
    assert_eq!(checking, 0);
    assert_eq!(header.map(|header| header.record_count), Ok(1_000));
}
