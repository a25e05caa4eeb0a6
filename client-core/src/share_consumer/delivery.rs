//! From an acquired range and the bytes beside it to records and gaps.

use alloc::vec::Vec;

use ackord_proto::messages::share_fetch::{AcquiredRecords, PartitionData};
use ackord_proto::records::RecordsError;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::{ConsumerRecord, GapRange};
use crate::record_reader::{Item, read};

/// What one partition of a ShareFetch response holds for us.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) records: Vec<ConsumerRecord>,
    pub(super) gaps: Vec<GapRange>,
}

/// Acquired ranges, ascending and without overlap, whatever the broker sent.
pub(super) fn acquired(data: &PartitionData) -> Vec<AcquiredRecords> {
    let mut ranges = data.acquired_records.clone();
    ranges.sort_by_key(|range| range.first_offset);
    let mut next = i64::MIN;
    ranges.retain(|range| {
        let good = range.first_offset >= next && range.last_offset >= range.first_offset;
        if good {
            next = range.last_offset.saturating_add(1);
        }
        good
    });
    ranges
}

/// Only acquired offsets count, whatever else the bytes hold; those without a record are gaps.
///
/// # Errors
/// A batch cannot be read.
pub(super) fn deliver(
    topic: &Str,
    topic_id: Uuid,
    data: &PartitionData,
    ranges: &[AcquiredRecords],
) -> Result<Delivery, RecordsError> {
    let partition = data.partition_index;
    let mut delivery = Delivery::default();
    let mut walk = Walk {
        ranges,
        next: ranges.first().map_or(0, |range| range.first_offset),
    };
    let Delivery { records, gaps } = &mut delivery;
    let mut gap = |first_offset: i64, last_offset: i64, delivery_count: i16| {
        let topic = topic.clone();
        gaps.push(GapRange {
            topic,
            topic_id,
            partition,
            first_offset,
            last_offset,
            delivery_count,
        });
    };
    let payload = data.records.clone().unwrap_or_default();
    read(&payload, |item| {
        let Item::Record(record) = item else {
            return true;
        };
        if let Some(delivery_count) = walk.reach(record.offset, &mut gap) {
            records.push(ConsumerRecord {
                topic: topic.clone(),
                topic_id,
                partition,
                offset: record.offset,
                delivery_count,
                timestamp: record.timestamp,
                key: record.key,
                value: record.value,
                headers: record.headers,
            });
        }
        true
    })?;
    walk.finish(&mut gap);
    Ok(delivery)
}

/// A walk over the acquired offsets along with the records.
struct Walk<'a> {
    ranges: &'a [AcquiredRecords],
    /// The first offset of the current range that no record has covered.
    next: i64,
}

impl Walk<'_> {
    /// The delivery count of this offset, where it is acquired and was not seen before. What was
    /// passed over is a gap.
    fn reach(&mut self, offset: i64, gap: &mut impl FnMut(i64, i64, i16)) -> Option<i16> {
        while let Some(range) = self
            .ranges
            .first()
            .filter(|range| range.last_offset < offset)
        {
            self.end_range(range, gap);
        }
        let range = self.ranges.first().filter(|_| offset >= self.next)?;
        if offset > self.next {
            gap(self.next, offset - 1, range.delivery_count);
        }
        self.next = offset.saturating_add(1);
        Some(range.delivery_count)
    }

    fn finish(mut self, gap: &mut impl FnMut(i64, i64, i16)) {
        while let Some(range) = self.ranges.first() {
            self.end_range(range, gap);
        }
    }

    fn end_range(&mut self, range: &AcquiredRecords, gap: &mut impl FnMut(i64, i64, i16)) {
        if self.next <= range.last_offset {
            gap(self.next, range.last_offset, range.delivery_count);
        }
        self.ranges = self.ranges.get(1..).unwrap_or_default();
        self.next = self.ranges.first().map_or(0, |range| range.first_offset);
    }
}

#[cfg(test)]
mod tests {
    use ackord_proto::records::{BatchBuilder, ControlType, Records, control_batch};
    use std::vec::Vec;

    use super::*;

    fn batch(base_offset: i64, count: usize) -> bytes::Bytes {
        let mut batch = BatchBuilder::new(base_offset);
        for _ in 0..count {
            batch.push(5, None, Some(b"v"));
        }
        batch.build()
    }

    fn range(first_offset: i64, last_offset: i64, delivery_count: i16) -> AcquiredRecords {
        AcquiredRecords {
            first_offset,
            last_offset,
            delivery_count,
            ..Default::default()
        }
    }

    /// Offsets with delivery counts, and gaps.
    type Seen = (Vec<(i64, i16)>, Vec<(i64, i64)>);

    fn run(chunks: Vec<bytes::Bytes>, acquired_records: Vec<AcquiredRecords>) -> Seen {
        let records = Some(Records::from(chunks));
        let data = PartitionData {
            records,
            acquired_records,
            ..Default::default()
        };
        let ranges = acquired(&data);
        let delivery = deliver(&"in".into(), Uuid::ZERO, &data, &ranges).expect("good batches");
        let records = delivery
            .records
            .iter()
            .map(|r| (r.offset, r.delivery_count))
            .collect();
        (
            records,
            delivery
                .gaps
                .iter()
                .map(|g| (g.first_offset, g.last_offset))
                .collect(),
        )
    }

    #[test]
    fn markers_and_holes_are_gaps() {
        let marker = control_batch(3, 0, 1, 0, ControlType::Commit, 0);
        let (records, gaps) = run(
            [batch(0, 3), marker, batch(6, 2)].into(),
            [range(0, 9, 1)].into(),
        );
        assert_eq!(records, [(0, 1), (1, 1), (2, 1), (6, 1), (7, 1)]);
        assert_eq!(gaps, [(3, 5), (8, 9)]);
    }

    #[test]
    fn only_acquired_offsets_are_delivered() {
        let acquired = [
            range(7, 8, 2),
            range(2, 3, 1),
            range(3, 5, 9),
            range(9, 8, 1),
        ];
        let (records, gaps) = run([batch(0, 8)].into(), acquired.into());
        assert_eq!(records, [(2, 1), (3, 1), (7, 2)]);
        assert_eq!(gaps, [(8, 8)]);
    }

    #[test]
    fn a_range_without_any_record_is_one_gap() {
        let (records, gaps) = run(Vec::new(), [range(0, i64::MAX, 1)].into());
        assert!(records.is_empty());
        assert_eq!(gaps, [(0, i64::MAX)]);
    }
}
