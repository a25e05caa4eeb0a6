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
