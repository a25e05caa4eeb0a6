//! Time of ackord-proto beside crate kafka-protocol, as ratios: above 1 ackord-proto is faster.
//!
//! Each encodes the way its documentation does: into a buffer that grows. An argument picks the
//! rows whose name contains it, such as `Metadata`.
//!
//! Where a row stays below 3x, and why (shares of time from `perf record`):
//!
//! * Produce and Fetch, decode: both only slice. Encode leaves the payload where it is; the other
//!   copies it.
//! * ApiVersions, encode: 0.2 us, of which most is the four allocations of a reply made of chunks:
//!   the buffer, the count of its shares, the list of chunks.
//! * Metadata, decode: most of the time goes into moving a thousand structs of 112 bytes.
//! * Metadata, encode: a partition is 42 bytes in five pieces of changing length, 7 ns with us
//!   and 13 ns there. What is left with us are a comparison and the stores of each piece.
//! * Batch, decode into owned records: key and value of a record are two shares of the batch, so
//!   two counts go up and two go down, each an atomic step. `RecordIter::next_view` has none of
//!   it: that is the row `walk`.
//! * Batch, encode: copying 130 KB and their CRC-32C (in hardware, in both) take 10 us of our 19
//!   and of their 18. Nothing that is done for each record can bring that to 3x.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ackord_bench_codec::allocations::count;
use ackord_bench_codec::{decode, encode, samples};
use ackord_proto::Message;
use ackord_proto::records::{BatchBuilder, RecordIter};
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};
use kafka_protocol::records::{
    Compression, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions,
};

/// The best of several rounds, for one call.
fn time<T>(mut run: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    let mut calls = 0_u32;
    while start.elapsed() < Duration::from_millis(30) {
        black_box(run());
        calls += 1;
    }
    let round = |_| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(run());
        }
        start.elapsed() / calls
    };
    (0..7).map(round).min().unwrap_or_default()
}

fn line(name: &str, step: &str, ours: impl Fn(), theirs: impl Fn()) {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if !format!("{name} {step}").contains(&wanted) {
        return;
    }
    let (allocations, ()) = count(&ours);
    let (their_allocations, ()) = count(&theirs);
    // In turns, so that a busy machine hurts both.
    let rounds = (0..3).map(|_| (time(&ours), time(&theirs)));
    let (ours, theirs) = rounds
        .reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))
        .unwrap_or_default();
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!(
        "{name:<36} {step:<7} {:>10.2} us {:>10.2} us {ratio:>8.1}x {allocations:>6} {their_allocations:>6}",
        ours.as_secs_f64() * 1e6,
        theirs.as_secs_f64() * 1e6,
    );
}

/// Both codecs over the same bytes.
fn pair<O: Message, T: Decodable + Encodable>(name: &str, version: i16, message: &O) {
    let bytes = Bytes::from(encode(message, version).concat());
    let their_message = T::decode(&mut bytes.clone(), version).expect("well-formed");
    let mut again = BytesMut::new();
    their_message
        .encode(&mut again, version)
        .expect("can be said");
    assert_eq!(again, bytes, "{name}");
    line(
        name,
        "decode",
        || drop(black_box(decode::<O>(&bytes, version))),
        || drop(black_box(T::decode(&mut bytes.clone(), version))),
    );
    line(
        name,
        "encode",
        || drop(black_box(encode(message, version))),
        || {
            let mut buffer = BytesMut::new();
            their_message
                .encode(&mut buffer, version)
                .expect("can be said");
            drop(black_box(buffer.freeze()));
        },
    );
}

fn batch() {
    let name = "batch of 1,000 records";
    let bytes = samples::batch(1_000);
    let records = RecordBatchDecoder::decode(&mut bytes.clone())
        .expect("well-formed")
        .records;
    let our_records: Vec<_> = RecordIter::new(&bytes)
        .expect("well-formed")
        .map(|record| record.expect("well-formed"))
        .collect();
    assert_eq!(records.len(), our_records.len());
    line(
        name,
        "walk",
        || {
            let mut records = RecordIter::new(&bytes).expect("well-formed");
            while let Some(record) = records.next_view() {
                black_box(record.expect("well-formed"));
            }
        },
        || drop(black_box(RecordBatchDecoder::decode(&mut bytes.clone()))),
    );
    line(
        name,
        "decode",
        || {
            for record in RecordIter::new(&bytes).expect("well-formed") {
                black_box(record.expect("well-formed"));
            }
        },
        || drop(black_box(RecordBatchDecoder::decode(&mut bytes.clone()))),
    );
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    line(
        name,
        "encode",
        || {
            let mut builder = BatchBuilder::new(0);
            for record in &our_records {
                builder.push(
                    record.timestamp,
                    record.key.as_deref(),
                    record.value.as_deref(),
                );
            }
            black_box(builder.build());
        },
        || {
            let mut buffer = BytesMut::new();
            RecordBatchEncoder::encode(&mut buffer, &records, &options).expect("can be said");
            drop(black_box(buffer.freeze()));
        },
    );
}

fn main() {
    println!(
        "{:<36} {:<7} {:>13} {:>13} {:>9} {:>6} {:>6}",
        "", "", "ackord-proto", "kafka-protocol", "ratio", "allocations", ""
    );
    pair::<_, theirs::ApiVersionsResponse>("ApiVersions v3", 3, &samples::api_versions());
    pair::<_, theirs::MetadataResponse>("Metadata v12, 1,000 partitions", 12, &samples::metadata());
    pair::<_, theirs::ProduceRequest>("Produce v9, 1 MiB", 9, &samples::produce());
    pair::<_, theirs::FetchResponse>("Fetch v12, 1 MiB", 12, &samples::fetch());
    pair::<_, theirs::ShareFetchResponse>("ShareFetch v1, 500 ranges", 1, &samples::share_fetch());
    batch();
}
