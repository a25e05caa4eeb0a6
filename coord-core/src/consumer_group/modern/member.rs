//! One member of a consumer group.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::coordinator_records::ConsumerGroupMemberMetadataValue;
use ackord_proto::messages::consumer_group_heartbeat::{Assignment, TopicPartitions};
use ackord_proto::uuid::Uuid;

use super::Assigned;

/// Epoch of a static member that has left and may come back (KIP-848).
pub(super) const LEFT_FOR_NOW: i32 = -2;

/// Partitions by topic, each with the member epoch in which it was assigned (KIP-1251).
pub(super) type Held = BTreeMap<Uuid, BTreeMap<i32, i32>>;

/// How far a member is with what it is to have, by the numbers in its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::consumer_group) enum MemberState {
    /// It has what was assigned in its epoch.
    #[default]
    Stable,
    /// It is to give up partitions before its epoch can grow.
    UnrevokedPartitions,
    /// It is in its new epoch and waits for partitions that others have still to give up.
    UnreleasedPartitions,
}

impl MemberState {
    pub(super) fn number(self) -> i8 {
        match self {
            MemberState::Stable => 0,
            MemberState::UnrevokedPartitions => 1,
            MemberState::UnreleasedPartitions => 2,
        }
    }

    /// A number of a later version counts as one that everything is looked at for again.
    pub(super) fn from_number(number: i8) -> Self {
        match number {
            0 => MemberState::Stable,
            1 => MemberState::UnrevokedPartitions,
            _ => MemberState::UnreleasedPartitions,
        }
    }
}

/// Where a member is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::consumer_group) struct Current {
    pub(super) epoch: i32,
    /// The epoch before. The member may still have it where an answer was lost.
    pub(super) previous_epoch: i32,
    pub(super) state: MemberState,
    pub(super) assigned: Held,
    /// What it has still to give up.
    pub(super) revoking: Held,
}

/// A member: what it said, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConsumerMember {
    pub(super) said: ConsumerGroupMemberMetadataValue,
    pub(super) current: Current,
}

impl ConsumerMember {
    /// Whether it is through with the assignment of this epoch.
    pub(super) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.current.state == MemberState::Stable && self.current.epoch == epoch
    }

    /// A member that came by JoinGroup.
    pub(super) fn is_classic(&self) -> bool {
        self.said.classic_member_metadata.is_some()
    }
}

impl Current {
    /// Everything that belongs to the member.
    pub(super) fn held(&self) -> impl Iterator<Item = (Uuid, i32)> + '_ {
        let both = self.assigned.iter().chain(&self.revoking);
        both.flat_map(|(topic, partitions)| partitions.keys().map(|index| (*topic, *index)))
    }

    /// The epoch in which a partition was assigned, also while it is being given up.
    pub(super) fn assignment_epoch(&self, topic: Uuid, partition: i32) -> Option<i32> {
        let find = |held: &Held| held.get(&topic)?.get(&partition).copied();
        find(&self.assigned).or_else(|| find(&self.revoking))
    }
}

pub(super) fn has(held: &Held, topic: Uuid, partition: i32) -> bool {
    let partitions = held.get(&topic);
    partitions.is_some_and(|partitions| partitions.contains_key(&partition))
}

/// Whether all of `owned` is in `held`.
pub(super) fn is_within(owned: &Assigned, held: &Held) -> bool {
    owned.iter().all(|(topic, partitions)| {
        let mut partitions = partitions.iter();
        partitions.all(|partition| has(held, *topic, *partition))
    })
}

/// Whether any of `owned` is in `held`.
pub(super) fn overlaps(owned: &Assigned, held: &Held) -> bool {
    owned.iter().any(|(topic, partitions)| {
        let mut partitions = partitions.iter();
        partitions.any(|partition| has(held, *topic, *partition))
    })
}

/// Whether both are the same partitions, in whichever epochs.
pub(super) fn same_partitions(one: &Held, other: &Held) -> bool {
    let keys = |held: &Held| -> Vec<(Uuid, Vec<i32>)> {
        let topics = held.iter();
        topics
            .map(|(topic, partitions)| (*topic, partitions.keys().copied().collect()))
            .collect()
    };
    one.len() == other.len() && keys(one) == keys(other)
}

/// As a heartbeat says it.
pub(super) fn on_the_wire(held: &Held) -> Assignment {
    let topics = held.iter().map(|(topic, partitions)| TopicPartitions {
        topic_id: *topic,
        partitions: partitions.keys().copied().collect(),
        ..TopicPartitions::default()
    });
    Assignment {
        topic_partitions: topics.collect(),
        ..Assignment::default()
    }
}

/// What a heartbeat says that the member has.
pub(super) fn from_the_wire(topics: &[TopicPartitions]) -> Assigned {
    let mut owned = Assigned::new();
    for topic in topics {
        owned
            .entry(topic.topic_id)
            .or_default()
            .extend(&topic.partitions);
    }
    owned
}
