//! The committed offsets of one group, and those that wait for the end of a transaction.

use alloc::collections::BTreeMap;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// Offset of the next record to process.
    pub offset: i64,
    /// Leader epoch of the last record processed; -1 where unknown.
    pub leader_epoch: i32,
    /// What the consumer keeps with it.
    pub metadata: Str,
    /// When it was committed, in milliseconds since the Unix epoch.
    pub commit_ms: i64,
    /// When it expires, in milliseconds since the Unix epoch; -1 for the rule of its group.
    pub expire_ms: i64,
    /// Id of the topic; all zero where unknown.
    pub topic_id: Uuid,
}

/// An offset, and the place of its record among all of the coordinator: the later one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) place: u64,
    pub(super) offset: CommittedOffset,
}

/// Offsets by topic and partition.
pub(super) type ByPartition = BTreeMap<Str, BTreeMap<i32, Placed>>;

/// All offsets of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupOffsets {
    pub(super) committed: ByPartition,
    /// Offsets in open transactions, by producer id.
    pub(super) pending: BTreeMap<i64, ByPartition>,
}

pub(super) fn get<'a>(offsets: &'a ByPartition, topic: &str, partition: i32) -> Option<&'a Placed> {
    offsets.get(topic)?.get(&partition)
}

fn put(offsets: &mut ByPartition, topic: Str, partition: i32, placed: Placed) {
    offsets.entry(topic).or_default().insert(partition, placed);
}

fn remove(offsets: &mut ByPartition, topic: &str, partition: i32) {
    if let Some(partitions) = offsets.get_mut(topic) {
        partitions.remove(&partition);
        if partitions.is_empty() {
            offsets.remove(topic);
        }
    }
}

impl GroupOffsets {
    pub(super) fn commit(&mut self, topic: Str, partition: i32, placed: Placed) {
        put(&mut self.committed, topic, partition, placed);
    }

    pub(super) fn stage(&mut self, producer_id: i64, topic: Str, partition: i32, placed: Placed) {
        let pending = self.pending.entry(producer_id).or_default();
        put(pending, topic, partition, placed);
    }

    /// Forgets an offset, also where it waits.
    pub(super) fn delete(&mut self, topic: &str, partition: i32) {
        remove(&mut self.committed, topic, partition);
        for pending in self.pending.values_mut() {
            remove(pending, topic, partition);
        }
        self.pending.retain(|_, pending| !pending.is_empty());
    }

    /// Ends a transaction. What was committed outside of it after it was staged stays.
    pub(super) fn complete(&mut self, producer_id: i64, commit: bool) {
        let staged = self.pending.remove(&producer_id).unwrap_or_default();
        if !commit {
            return;
        }
        for (topic, partitions) in staged {
            for (partition, placed) in partitions {
                let current = get(&self.committed, &topic, partition);
                if current.is_none_or(|current| current.place < placed.place) {
                    put(&mut self.committed, topic.clone(), partition, placed);
                }
            }
        }
    }

    pub(super) fn is_pending(&self, topic: &str, partition: i32) -> bool {
        self.pending
            .values()
            .any(|pending| get(pending, topic, partition).is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.committed.is_empty() && self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(place: u64, offset: i64) -> Placed {
        let offset = CommittedOffset {
            offset,
            leader_epoch: -1,
            metadata: Str::EMPTY,
            commit_ms: 0,
            expire_ms: -1,
            topic_id: Uuid::ZERO,
        };
        Placed { place, offset }
    }

    #[test]
    fn the_later_record_counts_whatever_ends_first() {
        let topic = Str::from("t");
        let mut offsets = GroupOffsets::default();
        offsets.stage(7, topic.clone(), 0, placed(1, 10));
        offsets.stage(7, topic.clone(), 1, placed(2, 20));
        offsets.commit(topic.clone(), 0, placed(3, 30));
        assert!(offsets.is_pending("t", 1));
        offsets.complete(7, true);
        assert_eq!(get(&offsets.committed, "t", 0).unwrap().offset.offset, 30);
        assert_eq!(get(&offsets.committed, "t", 1).unwrap().offset.offset, 20);
        assert!(!offsets.is_pending("t", 1));
    }

    #[test]
    fn an_abort_leaves_what_was_there() {
        let topic = Str::from("t");
        let mut offsets = GroupOffsets::default();
        offsets.commit(topic.clone(), 0, placed(1, 10));
        offsets.stage(7, topic.clone(), 0, placed(2, 20));
        offsets.stage(8, topic.clone(), 0, placed(3, 30));
        offsets.complete(7, false);
        assert_eq!(get(&offsets.committed, "t", 0).unwrap().offset.offset, 10);
        assert!(offsets.is_pending("t", 0), "the other one's");
        offsets.delete("t", 0);
        assert!(offsets.is_empty());
    }
}
