//! Acknowledgements that travel in a transaction (KIP-1289).

use alloc::collections::BTreeMap;

use ackord_proto::kip1289;
use ackord_proto::messages::add_share_acks_to_txn::AddShareAcksToTxnTopic;
use ackord_proto::messages::txn_share_acknowledge::{
    AcknowledgementBatch, TxnShareAcknowledgePartition, TxnShareAcknowledgeTopic,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec::Vec;

use crate::ranges::RangeMap;
use crate::{ConsumerRecord, GapRange, PolledRecords};

/// What becomes of a record (KIP-932).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcknowledgeType {
    /// Processed.
    Accept,
    /// To be delivered again, to any member. Not in a transaction: abort instead.
    Release,
    /// Never to be delivered again.
    Reject,
    /// Still being processed: the acquisition lock starts anew. Not in a transaction.
    Renew,
}

impl AcknowledgeType {
    /// Its number on the wire.
    pub const fn code(self) -> i8 {
        match self {
            AcknowledgeType::Accept => kip1289::ACKNOWLEDGE_ACCEPT,
            AcknowledgeType::Release => kip1289::ACKNOWLEDGE_RELEASE,
            AcknowledgeType::Reject => kip1289::ACKNOWLEDGE_REJECT,
            AcknowledgeType::Renew => kip1289::ACKNOWLEDGE_RENEW,
        }
    }
}

/// The membership under which records were acquired; fences a stage of records that the group has
/// given to another member since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareGroupMetadata {
    /// Group id.
    pub group_id: Str,
    /// Member id.
    pub member_id: Str,
    /// Member epoch.
    pub member_epoch: i32,
}

/// One range of [`ShareAcknowledgements`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgedRange {
    /// First offset.
    pub first_offset: i64,
    /// Last offset.
    pub last_offset: i64,
    /// 0 gap, 1 accept, 3 reject (2 and 4 are refused by the producer).
    pub acknowledge_type: i8,
    /// The count with which the range was acquired.
    pub delivery_count: i16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    topic: Str,
    // Acknowledge type and delivery count.
    ranges: RangeMap<(i8, i16)>,
}

/// What `send_share_acks_to_transaction` takes: for each partition, ranges of offsets with type and
/// delivery count, neighbours merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareAcknowledgements {
    partitions: BTreeMap<(Uuid, i32), Partition>,
}

impl ShareAcknowledgements {
    /// No acknowledgements.
    pub const fn new() -> Self {
        ShareAcknowledgements {
            partitions: BTreeMap::new(),
        }
    }

    /// All records of a poll with one type, and the offsets between them that hold no record as gaps.
    pub fn from_records(polled: &PolledRecords, kind: AcknowledgeType) -> Self {
        let mut all = ShareAcknowledgements::new();
        for record in &polled.records {
            all.acknowledge(record, kind);
        }
        all.gaps(&polled.gaps);
        all
    }

    /// Adds one record, in place of what was said about it before.
    pub fn acknowledge(&mut self, record: &ConsumerRecord, kind: AcknowledgeType) {
        let value = (kind.code(), record.delivery_count);
        self.partition(&record.topic, record.topic_id, record.partition)
            .ranges
            .insert(record.offset, record.offset, value);
    }

    /// Adds offsets that were acquired and hold no record.
    pub fn gaps(&mut self, gaps: &[GapRange]) {
        for gap in gaps {
            let value = (kip1289::ACKNOWLEDGE_GAP, gap.delivery_count);
            self.partition(&gap.topic, gap.topic_id, gap.partition)
                .ranges
                .insert(gap.first_offset, gap.last_offset, value);
        }
    }

    /// Whether there is nothing to acknowledge.
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Topic name, topic id, partition and range, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, Uuid, i32, AcknowledgedRange)> {
        self.partitions
            .iter()
            .flat_map(|((topic_id, partition), entry)| {
                entry
                    .ranges
                    .iter()
                    .map(|(first_offset, last_offset, (kind, delivery_count))| {
                        let range = AcknowledgedRange {
                            first_offset,
                            last_offset,
                            acknowledge_type: kind,
                            delivery_count,
                        };
                        (&entry.topic, *topic_id, *partition, range)
                    })
            })
    }

    /// Whether every type is one that a transaction can carry.
    pub(crate) fn fits_transaction(&self) -> bool {
        const REFUSED: [i8; 2] = [kip1289::ACKNOWLEDGE_RELEASE, kip1289::ACKNOWLEDGE_RENEW];
        self.iter()
            .all(|(_, _, _, range)| !REFUSED.contains(&range.acknowledge_type))
    }

    /// The partitions by topic name, as AddShareAcksToTxn wants them.
    pub(crate) fn registration(&self) -> Vec<AddShareAcksToTxnTopic> {
        let mut topics: BTreeMap<&Str, Vec<i32>> = BTreeMap::new();
        for ((_, partition), entry) in &self.partitions {
            topics.entry(&entry.topic).or_default().push(*partition);
        }
        let topics = topics.into_iter();
        topics
            .map(|(name, partitions)| AddShareAcksToTxnTopic {
                name: name.clone(),
                partitions,
                ..Default::default()
            })
            .collect()
    }

    /// The ranges by topic id, as TxnShareAcknowledge v1 wants them.
    pub(crate) fn stage(&self) -> Vec<TxnShareAcknowledgeTopic> {
        let mut topics: Vec<TxnShareAcknowledgeTopic> = Vec::new();
        for ((topic_id, partition), entry) in &self.partitions {
            let ranges = entry.ranges.iter();
            let acknowledgement_batches = ranges
                .map(
                    |(first_offset, last_offset, (kind, delivery_count))| AcknowledgementBatch {
                        first_offset,
                        last_offset,
                        delivery_count,
                        acknowledge_types: kind.into(),
                        ..Default::default()
                    },
                )
                .collect();
            let partition = TxnShareAcknowledgePartition {
                partition: *partition,
                acknowledgement_batches,
                ..Default::default()
            };
            match topics
                .last_mut()
                .filter(|topic| topic.topic_id == *topic_id)
            {
                Some(topic) => topic.partitions.push(partition),
                None => topics.push(TxnShareAcknowledgeTopic {
                    topic_id: *topic_id,
                    partitions: [partition].into(),
                    ..Default::default()
                }),
            }
        }
        topics
    }

    fn partition(&mut self, topic: &Str, topic_id: Uuid, partition: i32) -> &mut Partition {
        self.partitions
            .entry((topic_id, partition))
            .or_insert_with(|| Partition {
                topic: topic.clone(),
                ranges: RangeMap::new(),
            })
    }
}

/// Acknowledgements that a producer has handed back, because the broker cannot take them into a
/// transaction: see [`ProducerCommand::SendShareAcksOrFallBack`].
///
/// [`ProducerCommand::SendShareAcksOrFallBack`]: crate::ProducerCommand::SendShareAcksOrFallBack
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "these records are acknowledged by nobody yet"]
pub struct PlainAcknowledgements {
    pub(crate) acknowledgements: ShareAcknowledgements,
    pub(crate) group: ShareGroupMetadata,
    pub(crate) missing: &'static str,
}

impl PlainAcknowledgements {
    /// What is to be acknowledged.
    pub fn acknowledgements(&self) -> &ShareAcknowledgements {
        &self.acknowledgements
    }

    /// The membership under which the records were acquired.
    pub fn group(&self) -> &ShareGroupMetadata {
        &self.group
    }

    /// The API or feature that the broker does not offer.
    pub fn missing(&self) -> &'static str {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn record(partition: i32, offset: i64, delivery_count: i16) -> ConsumerRecord {
        let topic_id = Uuid::from_bytes([9; 16]);
        let topic = Str::from("in");
        ConsumerRecord {
            topic,
            topic_id,
            partition,
            offset,
            delivery_count,
            ..Default::default()
        }
    }

    fn gap(first_offset: i64, last_offset: i64) -> GapRange {
        let topic_id = Uuid::from_bytes([9; 16]);
        let topic = Str::from("in");
        GapRange {
            topic,
            topic_id,
            partition: 0,
            first_offset,
            last_offset,
            delivery_count: 1,
        }
    }

    #[test]
    fn records_become_ranges_of_equal_type_and_count() {
        let offsets = [0, 1, 2, 5, 6];
        let mut records: Vec<_> = offsets.map(|offset| record(0, offset, 1)).into();
        records.push(record(0, 7, 2));
        records.push(record(3, 0, 1));
        let polled = PolledRecords {
            records,
            gaps: [gap(3, 4)].into(),
            ..Default::default()
        };
        let acks = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Accept);
        let seen: Vec<_> = acks
            .iter()
            .map(|(_, _, partition, range)| {
                let AcknowledgedRange {
                    first_offset,
                    last_offset,
                    acknowledge_type,
                    delivery_count,
                } = range;
                (
                    partition,
                    first_offset,
                    last_offset,
                    acknowledge_type,
                    delivery_count,
                )
            })
            .collect();
        let expected = [
            (0, 0, 2, 1, 1),
            (0, 3, 4, 0, 1),
            (0, 5, 6, 1, 1),
            (0, 7, 7, 1, 2),
            (3, 0, 0, 1, 1),
        ];
        assert_eq!(seen, expected);
        assert_eq!(acks.registration()[0].partitions, [0, 3]);
        assert_eq!(
            acks.stage()[0].partitions[0].acknowledgement_batches.len(),
            4
        );
        assert!(acks.fits_transaction());
    }

    #[test]
    fn the_last_word_on_a_record_counts_and_release_does_not_fit() {
        let polled = PolledRecords {
            records: [record(0, 4, 1)].into(),
            ..Default::default()
        };
        let mut acks = ShareAcknowledgements::from_records(&polled, AcknowledgeType::Release);
        assert!(!acks.fits_transaction());
        acks.acknowledge(&record(0, 4, 1), AcknowledgeType::Reject);
        assert!(acks.fits_transaction());
        assert_eq!(
            acks.iter().next().map(|(.., range)| range.acknowledge_type),
            Some(3)
        );
    }
}
