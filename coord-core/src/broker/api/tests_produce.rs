//! What Produce refuses because of its version.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ProduceRequest;
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::records::{BatchBuilder, Compression};
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::broker::testing::{TestBroker, ask};

fn produce(test: &mut TestBroker, version: i16, batch: Bytes) -> ErrorCode {
    let partition = PartitionProduceData {
        records: Some(batch.into()),
        ..Default::default()
    };
    let topic = TopicProduceData {
        name: Str::from("t"),
        partition_data: [partition].into(),
        ..Default::default()
    };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 1000,
        topic_data: [topic].into(),
        ..Default::default()
    };
    let response = ask!(test, Produce, version, request);
    let partitions = response.responses.iter();
    let mut codes = partitions.flat_map(|topic| &topic.partition_responses);
    codes.next().expect("one answer").error_code
}

fn batch(codec: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    builder.push(7, None, Some(&[1; 300]));
    builder.build_compressed(codec).expect("packs")
}

#[test]
fn zstd_needs_produce_7() {
    let mut test = TestBroker::new(&[]);
    test.create_topic("t", 1);
    for version in 3..=12 {
        let expected = match version {
            ..7 => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
            _ => ErrorCode::NONE,
        };
        let code = produce(&mut test, version, batch(Compression::Zstd));
        assert_eq!(code, expected, "version {version}");
        let code = produce(&mut test, version, batch(Compression::Lz4));
        assert_eq!(code, ErrorCode::NONE, "version {version}");
    }
    // The codec is looked at before the checksum.
    let mut damaged = batch(Compression::Zstd).to_vec();
    damaged[20] ^= 1;
    let code = produce(&mut test, 6, damaged.into());
    assert_eq!(code, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
}

/// 40 batches of a megabyte of zeros are a few kilobytes: the request may unpack five of them.
#[test]
fn batches_of_a_request_share_what_they_may_take_unpacked() {
    let mut test = TestBroker::new(&[("socket.request.max.bytes", "5500000")]);
    test.create_topic("t", 41);
    let mut builder = BatchBuilder::new(0);
    builder.push(7, None, Some(&[0; 1_000_000]));
    let packed = builder.build_compressed(Compression::Zstd).expect("packs");
    let partition = |index, batch: Bytes| PartitionProduceData {
        index,
        records: Some(batch.into()),
        ..Default::default()
    };
    let packed = (0..40).map(|index| partition(index, packed.clone()));
    let plain = partition(40, batch(Compression::None));
    let topic = TopicProduceData {
        name: Str::from("t"),
        partition_data: packed.chain([plain]).collect(),
        ..Default::default()
    };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 1000,
        topic_data: [topic].into(),
        ..Default::default()
    };
    let response = ask!(test, Produce, 9, request);
    for partition in &response.responses[0].partition_responses {
        let expected = match partition.index {
            5..40 => ErrorCode::MESSAGE_TOO_LARGE,
            _ => ErrorCode::NONE,
        };
        assert_eq!(partition.error_code, expected, "{}", partition.index);
        let why = partition.error_message.as_deref().unwrap_or_default();
        let names_the_bound = why.contains("5500000 bytes unpacked (socket.request.max.bytes)");
        assert_eq!(names_the_bound, expected != ErrorCode::NONE, "{why}");
    }
}

/// What looks at the records again (keys of a compacted topic, sizes) takes nothing more.
#[test]
fn a_batch_counts_once_into_what_its_request_may_take_unpacked() {
    let mut test = TestBroker::new(&[
        ("log.cleanup.policy", "compact"),
        ("max.decompressed.message.bytes", "1100000"),
        ("socket.request.max.bytes", "1500000"),
    ]);
    test.create_topic("t", 1);
    let mut builder = BatchBuilder::new(0);
    builder.push(7, Some(b"k"), Some(&[0; 1_000_000]));
    let packed = builder.build_compressed(Compression::Zstd).expect("packs");
    assert_eq!(produce(&mut test, 9, packed), ErrorCode::NONE);
    let code = produce(&mut test, 9, batch(Compression::Zstd));
    assert_eq!(code, ErrorCode::INVALID_RECORD, "it has no key");
}

/// As Kafka counts: a record without its length.
#[test]
fn a_record_may_take_max_decompressed_message_bytes() {
    let mut test = TestBroker::new(&[("max.decompressed.message.bytes", "307")]);
    test.create_topic("t", 1);
    for codec in [Compression::Gzip, Compression::Zstd] {
        assert_eq!(produce(&mut test, 9, batch(codec)), ErrorCode::NONE);
    }
    let mut test = TestBroker::new(&[("max.decompressed.message.bytes", "306")]);
    test.create_topic("t", 1);
    let code = produce(&mut test, 9, batch(Compression::Gzip));
    assert_eq!(code, ErrorCode::INVALID_RECORD);
    let code = produce(&mut test, 9, batch(Compression::None));
    assert_eq!(code, ErrorCode::NONE);
}
