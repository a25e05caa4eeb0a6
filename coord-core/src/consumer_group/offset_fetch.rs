//! OffsetFetch (key 9).

use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::coordinator::GroupCoordinator;
use super::offsets::{ByPartition, CommittedOffset, GroupOffsets, get};

/// Which offsets are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetSelection {
    /// All that the group has.
    All,
    /// These topics and partitions.
    These(Vec<(Str, Vec<i32>)>),
}

/// The offset of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedOffset {
    /// Partition of the topic.
    pub partition: i32,
    /// What was committed, or UNSTABLE_OFFSET_COMMIT: a transaction that is not over commits another.
    pub offset: Result<Option<CommittedOffset>, ErrorCode>,
}

impl GroupCoordinator {
    /// Whether a member of a group of the consumer protocol may fetch; others always may.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
    pub fn check_fetch(
        &self,
        group: &str,
        member: Option<&Str>,
        epoch: i32,
    ) -> Result<(), ErrorCode> {
        let group = self.consumer_group(group);
        group.map_or(Ok(()), |group| group.check_fetch(member, epoch))
    }

    /// Committed offsets by topic, in the order in which they are asked for. A group that does not
    /// exist has none. With `require_stable` a partition whose offset a transaction may change is
    /// answered with UNSTABLE_OFFSET_COMMIT (KIP-447).
    pub fn fetch_offsets(
        &self,
        group: &str,
        selection: &OffsetSelection,
        require_stable: bool,
    ) -> Vec<(Str, Vec<FetchedOffset>)> {
        let none = GroupOffsets::default();
        let offsets = self.groups.get(group).map_or(&none, |group| &group.offsets);
        let fetched = |topic: &Str, partitions: Vec<i32>| {
            let fetched = partitions.into_iter().map(|partition| FetchedOffset {
                partition,
                offset: offsets.stable(topic, partition, require_stable),
            });
            (topic.clone(), fetched.collect())
        };
        match selection {
            OffsetSelection::All => all(&offsets.committed)
                .map(|(topic, partitions)| fetched(topic, partitions))
                .collect(),
            OffsetSelection::These(topics) => topics
                .iter()
                .map(|(topic, partitions)| fetched(topic, partitions.clone()))
                .collect(),
        }
    }
}

fn all(offsets: &ByPartition) -> impl Iterator<Item = (&Str, Vec<i32>)> {
    offsets
        .iter()
        .map(|(topic, partitions)| (topic, partitions.keys().copied().collect()))
}

impl GroupOffsets {
    fn stable(
        &self,
        topic: &str,
        partition: i32,
        require_stable: bool,
    ) -> Result<Option<CommittedOffset>, ErrorCode> {
        if require_stable && self.is_pending(topic, partition) {
            return Err(ErrorCode::UNSTABLE_OFFSET_COMMIT);
        }
        Ok(get(&self.committed, topic, partition).map(|placed| placed.offset.clone()))
    }
}
