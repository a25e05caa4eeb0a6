//! Acknowledgements as text in a TxnOffsetCommit, in scripts.

use ackord_proto::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackord_proto::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};

use crate::answers::Codes;
use crate::client::{Clients, apply_epoch};
use crate::grammar::Words;
use crate::requests::{Versioned, by_topic};
use crate::script::{AckSpan, AckSpans, EpochOption, Identity, TopicPartition};
use crate::verbs::{Options, ack_spans};

/// The newest version, and the older ones that a step may ask for.
const NEWEST: i16 = 6;
const OLDER: [(&str, i16); 6] = [
    ("v0", 0),
    ("v1", 1),
    ("v2", 2),
    ("v3", 3),
    ("v4", 4),
    ("v5", 5),
];

/// `p1 txn-acks g m1 orders-0 0-9 accept`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetAcks {
    /// Share group.
    pub group: String,
    /// The client whose fetches know the delivery counts.
    pub member: String,
    /// Ranges with their types.
    pub acks: AckSpans,
    /// Version of the request.
    pub version: i16,
    /// `member`: the request names the member and its epoch.
    pub names_member: bool,
    /// `as=`: another member id; `''` for none.
    pub member_id: Option<String>,
    /// `member-epoch=`: another epoch.
    pub member_epoch: Option<EpochOption>,
    /// `count=`: another delivery count.
    pub count: Option<i16>,
    /// `text=`: these bytes instead.
    pub text: Option<String>,
    /// `offset=`: this offset instead of the one behind the last.
    pub offset: Option<i64>,
    /// Whose transaction.
    pub identity: Identity,
}

/// Reads the words behind `txn-acks`.
pub(crate) fn offset_acks(
    words: &mut Words<'_>,
    options: &mut Options<'_>,
) -> Result<OffsetAcks, String> {
    let older = OLDER
        .into_iter()
        .find(|(name, _)| options.take(name).is_some());
    Ok(OffsetAcks {
        group: words.name("a group")?,
        member: words.name("a member")?,
        version: older.map_or(NEWEST, |(_, version)| version),
        names_member: options.take("member").is_some(),
        member_id: options.take("as").map(|id| match id {
            "''" => String::new(),
            id => id.to_string(),
        }),
        member_epoch: options.epoch("member-epoch")?,
        count: options.number("count")?,
        text: options.take("text").map(ToString::to_string),
        offset: options.number("offset")?,
        identity: options.identity()?,
        acks: ack_spans(words)?,
    })
}

impl Clients {
    pub(crate) fn offset_acks(&mut self, client: &str, verb: &OffsetAcks) -> Versioned {
        let suffix = self.suffix.clone();
        let producer = self.client(client).producer.clone();
        let producer = producer.identified(&verb.identity, &suffix);
        let member = self.client(&verb.member).member.clone();
        let part = |(tp, spans): &(TopicPartition, Vec<AckSpan>)| {
            let counts = member.acquired.get(&self.key(tp));
            let count = |offset: i64| {
                let known = counts.and_then(|counts| counts.get(&offset)).copied();
                verb.count.or(known).unwrap_or(1)
            };
            let behind = spans.iter().map(|span| span.last + 1).max().unwrap_or(0);
            let text = verb.text.clone().unwrap_or_else(|| text(spans, count));
            TxnOffsetCommitRequestPartition {
                partition_index: tp.partition,
                committed_offset: verb.offset.unwrap_or(behind),
                committed_metadata: Some(text.into()),
                ..Default::default()
            }
        };
        let topics = by_topic(&verb.acks, |(own, _)| own).into_iter();
        let topics = topics.map(|(topic, parts)| TxnOffsetCommitRequestTopic {
            name: self.wire(topic).into(),
            topic_id: self.topic_id(topic),
            partitions: parts.into_iter().map(part).collect(),
            ..Default::default()
        });
        let mut request = TxnOffsetCommitRequest {
            transactional_id: producer.transactional_id.into(),
            group_id: self.wire(&verb.group).into(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            topics: topics.collect(),
            ..Default::default()
        };
        if verb.names_member {
            request.member_id = verb.member.as_str().into();
            request.generation_id_or_member_epoch = member.epoch;
        }
        if let Some(id) = &verb.member_id {
            request.member_id = id.into();
        }
        if let Some(option) = verb.member_epoch {
            let epoch = i16::try_from(member.epoch).unwrap_or(i16::MAX);
            request.generation_id_or_member_epoch = i32::from(apply_epoch(option, epoch));
        }
        (request.into(), verb.version)
    }

    /// The codes of an answer; from version 6 on it has ids instead of names.
    pub(crate) fn offset_codes(&self, response: &TxnOffsetCommitResponse) -> Codes {
        let topics = &response.topics;
        if topics.iter().any(|topic| topic.name.is_empty()) {
            return self.by_id(None, topics, |topic| {
                let parts = topic.partitions.iter();
                let codes = parts.map(|p| (p.partition_index, p.error_code));
                (topic.topic_id, codes.collect())
            });
        }
        self.named(None, topics, |topic| {
            let parts = topic.partitions.iter();
            let codes = parts.map(|p| (p.partition_index, p.error_code));
            (&topic.name, codes.collect())
        })
    }
}

/// `acks:accept=0-9@1;gap=10@1`, one range for each stretch with one type and one count.
fn text(spans: &[AckSpan], count: impl Fn(i64) -> i16) -> String {
    let mut kinds = Vec::new();
    for (kind, name) in [(1, "accept"), (3, "reject"), (0, "gap")] {
        let mut ranges: Vec<(i64, i64, i16)> = Vec::new();
        for span in spans {
            for (at, offset) in (span.first..=span.last).enumerate() {
                let one = span.types.len() == 1;
                if span.types.get(if one { 0 } else { at }) != Some(&kind) {
                    continue;
                }
                match ranges.last_mut() {
                    Some((_, last, own)) if *last + 1 == offset && *own == count(offset) => {
                        *last = offset;
                    }
                    _ => ranges.push((offset, offset, count(offset))),
                }
            }
        }
        let shown = ranges.iter().map(|(first, last, count)| {
            if first == last {
                format!("{first}@{count}")
            } else {
                format!("{first}-{last}@{count}")
            }
        });
        if !ranges.is_empty() {
            kinds.push(format!("{name}={}", shown.collect::<Vec<_>>().join(",")));
        }
    }
    format!("acks:{}", kinds.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_become_the_text_of_a_partition() {
        let span = |first, last, types: &[i8]| AckSpan {
            first,
            last,
            types: types.to_vec(),
        };
        let spans = [span(0, 3, &[1]), span(4, 6, &[1, 3, 0]), span(12, 12, &[1])];
        let count = |offset| if offset == 12 { 3 } else { 1 };
        let expected = "acks:accept=0-4@1,12@3;reject=5@1;gap=6@1";
        assert_eq!(text(&spans, count), expected);
    }
}
