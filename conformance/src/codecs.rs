//! Batches of every codec, made by our builder, sent to a broker: others have to read them.

use ackord_proto::api::{self, ApiKey, RequestHeader, Response, ResponseHeader};
use ackord_proto::messages::ProduceRequest;
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::reader::Reader;
use ackord_proto::records::{BatchBuilder, Compression};
use bytes::Bytes;

use crate::arm::Received;
use crate::frame_stream::FrameStream;

/// The codecs in the order in which the batches are sent.
pub const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];

/// The newest version of Produce that names topics.
const BY_NAME: i16 = 12;
/// Some time in 2023, in milliseconds.
const TIMESTAMP: i64 = 1_700_000_000_000;

/// Appends one batch for each codec to partition 0 of a topic. The values of the records are
/// `MAKER CODEC NUMBER`, numbers from 1, with a tail that makes packing worth it.
///
/// # Errors
/// A sentence.
pub fn produce(broker: &str, topic: &str, records: i64) -> Result<(), String> {
    let mut stream = FrameStream::connect(broker)?;
    for (id, codec) in (1..).zip(CODECS) {
        let batch = batch(codec, records).map_err(|error| error.to_string())?;
        send(&mut stream, id, topic, batch)?;
    }
    Ok(())
}

fn batch(codec: Compression, records: i64) -> Result<Bytes, ackord_proto::records::RecordsError> {
    let mut builder = BatchBuilder::new(0);
    for number in 1..=records {
        let value = format!("ackord {} {number} {}", codec.name(), "-".repeat(100));
        let headers: [(&[u8], Option<&[u8]>); 1] = [(b"codec", Some(codec.name().as_bytes()))];
        let key = format!("k{number}");
        let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
        builder.push_with_headers(TIMESTAMP + number, key, value, &headers);
    }
    builder.build_compressed(codec)
}

fn send(stream: &mut FrameStream, id: i32, topic: &str, batch: Bytes) -> Result<(), String> {
    let partition = PartitionProduceData {
        records: Some(batch.into()),
        ..Default::default()
    };
    let topic = TopicProduceData {
        name: topic.into(),
        partition_data: vec![partition],
        ..Default::default()
    };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![topic],
        ..Default::default()
    };
    let header = RequestHeader {
        api_key: ApiKey::Produce,
        api_version: BY_NAME,
        correlation_id: id,
        client_id: Some("ackord-conformance".into()),
        unknown_tags: Default::default(),
    };
    let show = |error: &dyn std::error::Error| error.to_string();
    let chunks = api::encode_request_frame(&header, &request).map_err(|error| show(&error))?;
    stream.send(&chunks.concat())?;
    let Received::Frame(frame) = stream.receive()? else {
        return Err("the broker closed the connection".to_owned());
    };
    let mut r = Reader::new(frame);
    ResponseHeader::decode(ApiKey::Produce, BY_NAME, &mut r).map_err(|error| show(&error))?;
    let answer = Response::decode(ApiKey::Produce, BY_NAME, &mut r);
    let Response::Produce(answer) = answer.map_err(|error| show(&error))? else {
        return Err("another answer".to_owned());
    };
    let topics = answer.responses.iter();
    let failed = topics
        .flat_map(|topic| &topic.partition_responses)
        .find(|partition| partition.error_code.is_error());
    match failed {
        None => Ok(()),
        Some(partition) => Err(format!("the batch was refused: {partition:?}")),
    }
}
