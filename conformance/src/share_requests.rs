//! Requests of share groups: membership, fetch, acknowledgement, stage.

use ackord_proto::messages::{
    ShareAcknowledgeRequest, ShareFetchRequest, ShareGroupHeartbeatRequest,
    TxnShareAcknowledgeDraftRequest, TxnShareAcknowledgeRequest, share_acknowledge as acknowledge,
    share_fetch, txn_share_acknowledge as stage, txn_share_acknowledge_draft as draft,
};
use ackord_proto::str::Str;

use crate::client::{Clients, Identified, apply_epoch};
use crate::requests::{MAX_BYTES, by_topic};
use crate::script::{AckSpan, AckSpans, EpochOption, StageOptions, TopicPartition};

impl Clients {
    pub(crate) fn heartbeat(&mut self, client: &str, epoch: i32) -> ShareGroupHeartbeatRequest {
        let member = self.client(client).member.clone();
        let topics = (epoch == 0).then(|| {
            member
                .topics
                .iter()
                .map(|topic| Str::from(self.wire(topic)))
                .collect()
        });
        ShareGroupHeartbeatRequest {
            group_id: self.wire(&member.group).into(),
            member_id: self.member_id(client),
            member_epoch: epoch,
            subscribed_topic_names: topics,
            ..Default::default()
        }
    }

    /// The heartbeat of a member that stays, perhaps with other topics or an epoch not its own.
    pub(crate) fn stay(
        &mut self,
        client: &str,
        epoch: Option<EpochOption>,
        topics: &[String],
    ) -> ShareGroupHeartbeatRequest {
        let own = self.client(client).member.epoch;
        let epoch = match epoch {
            None => own,
            Some(EpochOption::Absolute(epoch)) => i32::from(epoch),
            Some(EpochOption::Relative(by)) => own.saturating_add(i32::from(by)),
        };
        let mut request = self.heartbeat(client, epoch);
        if !topics.is_empty() {
            let names = topics.iter().map(|topic| Str::from(self.wire(topic)));
            request.subscribed_topic_names = Some(names.collect());
        }
        request
    }

    pub(crate) fn share_fetch(
        &mut self,
        client: &str,
        partitions: &[TopicPartition],
        acks: &AckSpans,
    ) -> ShareFetchRequest {
        let member = self.client(client).member.clone();
        let wanted: Vec<_> = partitions.iter().map(|own| self.key(own)).collect();
        let mut parts: Vec<(TopicPartition, Vec<AckSpan>)> = acks.clone();
        let riding: Vec<_> = acks.iter().map(|(own, _)| own.clone()).collect();
        parts.extend(
            partitions
                .iter()
                .filter(|own| !riding.contains(own))
                .map(|own| (own.clone(), vec![])),
        );
        let topics = by_topic(&parts, |(own, _)| own).into_iter();
        let part = |(own, spans): &(TopicPartition, Vec<AckSpan>)| share_fetch::FetchPartition {
            partition_index: own.partition,
            acknowledgement_batches: spans.iter().map(fetch_batch).collect(),
            ..Default::default()
        };
        let topics = topics.map(|(topic, parts)| share_fetch::FetchTopic {
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        let forgotten = member.in_session.iter().filter(|key| !wanted.contains(key));
        let forgotten = forgotten.map(|(topic, partition)| share_fetch::ForgottenTopic {
            topic_id: *topic,
            partitions: vec![*partition],
            ..Default::default()
        });
        ShareFetchRequest {
            group_id: Some(self.wire(&member.group).into()),
            member_id: Some(self.member_id(client)),
            share_session_epoch: member.session_epoch,
            min_bytes: 1,
            max_bytes: MAX_BYTES,
            is_renew_ack: acks.iter().flat_map(|(_, spans)| spans).any(renews),
            topics: topics.collect(),
            forgotten_topics_data: forgotten.collect(),
            ..Default::default()
        }
    }

    pub(crate) fn acknowledge(&mut self, client: &str, acks: &AckSpans) -> ShareAcknowledgeRequest {
        let member = self.client(client).member.clone();
        let part = |(own, spans): &(TopicPartition, Vec<AckSpan>)| {
            let batch = |span: &AckSpan| acknowledge::AcknowledgementBatch {
                first_offset: span.first,
                last_offset: span.last,
                acknowledge_types: span.types.clone(),
                ..Default::default()
            };
            acknowledge::AcknowledgePartition {
                partition_index: own.partition,
                acknowledgement_batches: spans.iter().map(batch).collect(),
                ..Default::default()
            }
        };
        let topics = by_topic(acks, |(own, _)| own).into_iter();
        let topics = topics.map(|(topic, parts)| acknowledge::AcknowledgeTopic {
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        ShareAcknowledgeRequest {
            group_id: Some(self.wire(&member.group).into()),
            member_id: Some(self.member_id(client)),
            share_session_epoch: member.session_epoch,
            is_renew_ack: acks.iter().flat_map(|(_, spans)| spans).any(renews),
            topics: topics.collect(),
            ..Default::default()
        }
    }

    pub(crate) fn stage(
        &mut self,
        producer: Identified,
        group: &str,
        member: &str,
        acks: &AckSpans,
        options: &StageOptions,
    ) -> TxnShareAcknowledgeRequest {
        let own = self.client(member).member.clone();
        let version = options.version.unwrap_or(1);
        let part = |(tp, spans): &(TopicPartition, Vec<AckSpan>)| {
            let counts = own.acquired.get(&self.key(tp));
            let count = |offset: i64| {
                let known = counts.and_then(|counts| counts.get(&offset)).copied();
                options.count.or(known).unwrap_or(1)
            };
            stage::TxnShareAcknowledgePartition {
                partition: tp.partition,
                acknowledgement_batches: spans
                    .iter()
                    .flat_map(|span| stage_batches(span, version, count))
                    .collect(),
                ..Default::default()
            }
        };
        let topics = by_topic(acks, |(own, _)| own).into_iter();
        let topics = topics.map(|(topic, parts)| stage::TxnShareAcknowledgeTopic {
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        let epoch = i16::try_from(own.epoch).unwrap_or(i16::MAX);
        let member_epoch = match options.member_epoch {
            Some(EpochOption::Absolute(epoch)) => i32::from(epoch),
            Some(option) => i32::from(apply_epoch(option, epoch)),
            None => own.epoch,
        };
        let mut request = TxnShareAcknowledgeRequest {
            group_id: self.wire(group).into(),
            transactional_id: producer.transactional_id.into(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            topics: topics.collect(),
            ..Default::default()
        };
        if version >= 1 {
            request.member_id = options.member.as_deref().unwrap_or(member).into();
            request.member_epoch = member_epoch;
        }
        request
    }
}

/// The same in the newest draft of the KIP, which has no delivery counts.
pub(crate) fn as_draft(request: TxnShareAcknowledgeRequest) -> TxnShareAcknowledgeDraftRequest {
    let batch = |own: stage::AcknowledgementBatch| draft::DraftBatch {
        first_offset: own.first_offset,
        last_offset: own.last_offset,
        acknowledge_types: own.acknowledge_types.to_vec(),
        ..Default::default()
    };
    let partition = |own: stage::TxnShareAcknowledgePartition| draft::DraftPartition {
        partition_index: own.partition,
        acknowledgement_batches: own.acknowledgement_batches.into_iter().map(batch).collect(),
        ..Default::default()
    };
    let topic = |own: stage::TxnShareAcknowledgeTopic| draft::DraftTopic {
        topic_id: own.topic_id,
        partitions: own.partitions.into_iter().map(partition).collect(),
        ..Default::default()
    };
    TxnShareAcknowledgeDraftRequest {
        transactional_id: Some(request.transactional_id),
        group_id: request.group_id,
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        member_id: request.member_id,
        member_epoch: request.member_epoch,
        topics: request.topics.into_iter().map(topic).collect(),
        ..Default::default()
    }
}

fn renews(span: &AckSpan) -> bool {
    span.types.contains(&4)
}

fn fetch_batch(span: &AckSpan) -> share_fetch::AcknowledgementBatch {
    share_fetch::AcknowledgementBatch {
        first_offset: span.first,
        last_offset: span.last,
        acknowledge_types: span.types.clone(),
        ..Default::default()
    }
}

/// A range as batches: one for each stretch with one delivery count (v1) or one type (v0).
fn stage_batches(
    span: &AckSpan,
    version: i16,
    count: impl Fn(i64) -> i16,
) -> Vec<stage::AcknowledgementBatch> {
    let length = span.last.saturating_sub(span.first).saturating_add(1);
    let whole = i64::try_from(span.types.len()) != Ok(length) && span.types.len() != 1;
    if whole || length <= 0 {
        let first = span.types.first().copied().unwrap_or_default();
        let types = if version == 0 {
            Vec::new()
        } else {
            span.types.clone()
        };
        return vec![batch(
            span.first,
            span.last,
            version,
            first,
            types,
            count(span.first),
        )];
    }
    let kind = |offset: i64| match span.types.as_slice() {
        [one] => *one,
        types => {
            let index = usize::try_from(offset - span.first).unwrap_or_default();
            types.get(index).copied().unwrap_or_default()
        }
    };
    let same = |a: i64, b: i64| match version {
        0 => kind(a) == kind(b),
        _ => count(a) == count(b),
    };
    let mut batches = Vec::new();
    let mut first = span.first;
    for offset in span.first..=span.last {
        if offset < span.last && same(offset, offset + 1) {
            continue;
        }
        let types = match (version, span.types.as_slice()) {
            (0, _) => Vec::new(),
            (_, [one]) => vec![*one],
            _ => (first..=offset).map(kind).collect(),
        };
        batches.push(batch(
            first,
            offset,
            version,
            kind(first),
            types,
            count(first),
        ));
        first = offset + 1;
    }
    batches
}

fn batch(
    first_offset: i64,
    last_offset: i64,
    version: i16,
    acknowledge_type: i8,
    acknowledge_types: Vec<i8>,
    delivery_count: i16,
) -> stage::AcknowledgementBatch {
    let mut batch = stage::AcknowledgementBatch {
        first_offset,
        last_offset,
        ..Default::default()
    };
    if version == 0 {
        batch.acknowledge_type = acknowledge_type;
    } else {
        batch.acknowledge_types = acknowledge_types[..].into();
        batch.delivery_count = delivery_count;
    }
    batch
}
