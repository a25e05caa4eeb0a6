//! Requests taken apart and put together.

use ackord_coord_core::share::acks_text;
use ackord_proto::api::{Request, Response};
use ackord_proto::coordinator_records::{
    TransactionLogKey, TransactionLogValue, encode_key, encode_value,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    FetchRequest, ProduceRequest, TxnOffsetCommitRequest, fetch,
    produce::{PartitionProduceData, TopicProduceData},
    share_acknowledge, share_fetch, txn_share_acknowledge, txn_share_acknowledge_draft as draft,
};
use ackord_proto::records::{BatchBuilder, BatchIter, RecordIter};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use bytes::Bytes;

use super::deliveries::Member;
use crate::core_arm::WALL_START_MS;

/// One acknowledged offset: group, member, topic, partition, offset, type.
pub type Ack = (String, String, Uuid, i32, i64, i8);

/// The member of a share request, and whether the request closes its session.
pub fn share_member(request: &Request) -> Option<(Member, bool)> {
    let (group, member, epoch) = match request {
        Request::ShareFetch(own) => (&own.group_id, &own.member_id, own.share_session_epoch),
        Request::ShareAcknowledge(own) => (&own.group_id, &own.member_id, own.share_session_epoch),
        _ => return None,
    };
    let group = group.as_ref()?.to_string();
    Some(((group, member.as_ref()?.to_string()), epoch == -1))
}

fn spread(first: i64, last: i64, types: &[i8]) -> Vec<(i64, i8)> {
    let mut spread = Vec::new();
    for (place, offset) in (first..=last.min(first + 1000)).enumerate() {
        let kind = types.get(place).or(types.first()).copied();
        spread.extend(
            kind.filter(|_| types.len() == 1 || place < types.len())
                .map(|kind| (offset, kind)),
        );
    }
    spread
}

/// Adds the acknowledgements of the topics of a request to `all`. Topics and partitions are types of
/// their own in each message, of one shape.
macro_rules! add_acks {
    ($all:ident, $who:expr, $topics:expr, $index:ident, $types:expr) => {
        for topic in $topics {
            for part in &topic.partitions {
                for batch in &part.acknowledgement_batches {
                    let (first, last) = (batch.first_offset, batch.last_offset);
                    for (offset, kind) in spread(first, last, &$types(batch)) {
                        let (group, member): (String, String) = $who;
                        $all.push((group, member, topic.topic_id, part.$index, offset, kind));
                    }
                }
            }
        }
    };
}

/// All acknowledgements of a request, offset by offset.
pub fn acks(request: &Request) -> Vec<Ack> {
    let mut all = Vec::new();
    let text = |text: &Option<Str>| text.as_ref().map_or(String::new(), Str::to_string);
    match request {
        Request::ShareFetch(own) => {
            let types = |batch: &share_fetch::AcknowledgementBatch| batch.acknowledge_types.clone();
            let who = || (text(&own.group_id), text(&own.member_id));
            add_acks!(all, who(), &own.topics, partition_index, types);
        }
        Request::ShareAcknowledge(own) => {
            let types =
                |batch: &share_acknowledge::AcknowledgementBatch| batch.acknowledge_types.clone();
            let who = || (text(&own.group_id), text(&own.member_id));
            add_acks!(all, who(), &own.topics, partition_index, types);
        }
        Request::TxnShareAcknowledge(own) => {
            let types = |batch: &txn_share_acknowledge::AcknowledgementBatch| match &batch
                .acknowledge_types[..]
            {
                [] => vec![batch.acknowledge_type],
                types => types.to_vec(),
            };
            let who = || (own.group_id.to_string(), own.member_id.to_string());
            add_acks!(all, who(), &own.topics, partition, types);
        }
        Request::TxnShareAcknowledgeDraft(own) => {
            let types = |batch: &draft::DraftBatch| batch.acknowledge_types.clone();
            let who = || (own.group_id.to_string(), own.member_id.to_string());
            add_acks!(all, who(), &own.topics, partition_index, types);
        }
        Request::TxnOffsetCommit(own) => {
            for topic in &own.topics {
                for part in &topic.partitions {
                    let text = part.committed_metadata.as_deref().unwrap_or_default();
                    for range in acks_text::parse(text).unwrap_or_default() {
                        let kind = range.acknowledge_type;
                        for offset in range.first_offset..=range.last_offset {
                            let who = (own.group_id.to_string(), own.member_id.to_string());
                            let place = (topic.topic_id, part.partition_index);
                            all.push((who.0, who.1, place.0, place.1, offset, kind));
                        }
                    }
                }
            }
        }
        _ => {}
    }
    all
}

/// A TxnOffsetCommit acknowledges by text.
pub fn has_text(request: &TxnOffsetCommitRequest) -> bool {
    let mut parts = request.topics.iter().flat_map(|topic| &topic.partitions);
    parts.any(|part| {
        let text = part.committed_metadata.as_deref().unwrap_or_default();
        text.starts_with(acks_text::PREFIX)
    })
}

/// Acknowledgements of a partition as text: offset, delivery count and type of each.
pub fn text(acks: &[(i64, i16, i8)]) -> String {
    /// First and last offset, and the delivery count.
    type Ranges = Vec<(i64, i64, i16)>;
    let mut kinds: Vec<(i8, Ranges)> = Vec::new();
    for (offset, count, kind) in acks {
        if !kinds.iter().any(|own| own.0 == *kind) {
            kinds.push((*kind, Vec::new()));
        }
        let ranges = kinds.iter_mut().find(|own| own.0 == *kind);
        let Some((_, ranges)) = ranges else { continue };
        match ranges.last_mut() {
            Some(last) if last.1 + 1 == *offset && last.2 == *count => last.1 = *offset,
            _ => ranges.push((*offset, *offset, *count)),
        }
    }
    let words = kinds.iter().map(|(kind, ranges)| {
        let name = match kind {
            0 => "gap",
            1 => "accept",
            _ => "reject",
        };
        let range = |(first, last, count): &(i64, i64, i16)| match first == last {
            true => format!("{first}@{count}"),
            false => format!("{first}-{last}@{count}"),
        };
        let ranges: Vec<String> = ranges.iter().map(range).collect();
        format!("{name}={}", ranges.join(","))
    });
    let words: Vec<String> = words.collect();
    format!("{}{}", acks_text::PREFIX, words.join(";"))
}

/// What became of the acknowledgements of one partition.
pub fn ack_code(response: &Response, topic: Uuid, partition: i32) -> Option<ErrorCode> {
    match response {
        Response::ShareFetch(own) if own.error_code != ErrorCode::NONE => Some(own.error_code),
        Response::ShareAcknowledge(own) if own.error_code != ErrorCode::NONE => {
            Some(own.error_code)
        }
        Response::ShareFetch(own) => {
            let topics = own.responses.iter().filter(|own| own.topic_id == topic);
            let mut parts = topics.flat_map(|own| &own.partitions);
            let part = parts.find(|part| part.partition_index == partition)?;
            Some(part.acknowledge_error_code)
        }
        Response::ShareAcknowledge(own) => {
            let topics = own.responses.iter().filter(|own| own.topic_id == topic);
            let mut parts = topics.flat_map(|own| &own.partitions);
            let part = parts.find(|part| part.partition_index == partition)?;
            Some(part.error_code)
        }
        _ => None,
    }
}

/// Values of data records with their offsets.
pub fn values(bytes: &Bytes) -> Vec<(i64, String)> {
    let mut values = Vec::new();
    for batch in BatchIter::new(bytes.clone()).flatten() {
        if batch.header.is_control() {
            continue;
        }
        let Ok(records) = RecordIter::new(&batch.bytes) else {
            continue;
        };
        for record in records.flatten() {
            let value = record.value.unwrap_or_default();
            values.push((record.offset, String::from_utf8_lossy(&value).into_owned()));
        }
    }
    values
}

/// A producer as a batch names it.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Producer id.
    pub id: i64,
    /// Producer epoch.
    pub epoch: i16,
    /// Sequence of the first record.
    pub sequence: i32,
    /// The batch belongs to a transaction.
    pub transactional: bool,
}

/// A Produce of one batch.
pub fn produce(
    tid: Option<&str>,
    stamp: Stamp,
    topic: &str,
    partition: i32,
    values: &[String],
) -> ProduceRequest {
    let mut batch = BatchBuilder::new(0).producer(stamp.id, stamp.epoch, stamp.sequence);
    if stamp.transactional {
        batch = batch.transactional();
    }
    for value in values {
        batch.push(WALL_START_MS, None, Some(value.as_bytes()));
    }
    let data = PartitionProduceData {
        index: partition,
        records: Some(batch.build().into()),
        ..Default::default()
    };
    let topic = TopicProduceData {
        name: topic.into(),
        partition_data: vec![data],
        ..Default::default()
    };
    ProduceRequest {
        transactional_id: tid.map(Into::into),
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![topic],
        ..Default::default()
    }
}

/// A record of `__transaction_state`: the id is at rest, under an epoch.
pub fn aged(tid: &str, producer_id: i64, epoch: i16) -> Option<(Bytes, Bytes)> {
    let key = TransactionLogKey {
        transactional_id: tid.into(),
    };
    let value = TransactionLogValue {
        producer_id,
        previous_producer_id: -1,
        next_producer_id: -1,
        producer_epoch: epoch,
        transaction_timeout_ms: 5000,
        transaction_last_update_timestamp_ms: WALL_START_MS,
        transaction_start_timestamp_ms: -1,
        ..Default::default()
    };
    Some((encode_key(&key).ok()?, encode_value(&value, 1).ok()?))
}

/// A Fetch of all committed data of partitions, from their start.
pub fn read_all(topics: &[(&str, i32)]) -> FetchRequest {
    let part = |partition| fetch::FetchPartition {
        partition,
        partition_max_bytes: 16 << 20,
        ..Default::default()
    };
    let topics = topics.iter().map(|(topic, partitions)| fetch::FetchTopic {
        topic: (*topic).into(),
        partitions: (0..*partitions).map(part).collect(),
        ..Default::default()
    });
    FetchRequest {
        max_wait_ms: 100,
        min_bytes: 1,
        max_bytes: 64 << 20,
        isolation_level: 1,
        session_epoch: -1,
        topics: topics.collect(),
        ..Default::default()
    }
}

/// A Fetch of committed data of one partition.
pub fn read_from(topic: &str, partition: i32, offset: i64) -> FetchRequest {
    let mut request = read_all(&[(topic, partition + 1)]);
    for own in &mut request.topics {
        own.partitions.retain(|part| part.partition == partition);
        for part in &mut own.partitions {
            part.fetch_offset = offset;
        }
    }
    request
}
