//! One member of a share group.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_proto::coordinator_records::{
    ShareGroupCurrentMemberAssignmentValue, ShareGroupMemberMetadataValue,
    ShareGroupTargetAssignmentMemberValue, share_group,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::share_group_heartbeat::{Assignment, TopicPartitions};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use crate::outbox::Ticket;

/// Partitions by topic id.
pub type Assigned = BTreeMap<Uuid, BTreeSet<i32>>;

/// Who sent a heartbeat, for describe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// From the request header.
    pub client_id: Str,
    /// Address of the peer.
    pub host: Str,
}

/// A member as ShareGroupDescribe shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberView<'a> {
    /// Chosen by the client.
    pub member_id: &'a Str,
    /// Rack, where the client named one.
    pub rack_id: Option<&'a Str>,
    /// Who sent the last heartbeat.
    pub client: &'a ClientInfo,
    /// The epoch that it was told last; 0 before the first answer.
    pub epoch: i32,
    /// In ascending order.
    pub subscribed_topic_names: &'a BTreeSet<Str>,
    /// What it is to have as of the group epoch.
    pub assignment: &'a Assigned,
}

/// A heartbeat whose answer waits for share states or an assignment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parked {
    pub(super) ticket: Ticket,
    /// The epoch in the heartbeat.
    pub(super) received: i32,
}

/// What the group knows of a member.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) client: ClientInfo,
    pub(super) rack_id: Option<Str>,
    /// The epoch that it was told last; 0 before the first answer.
    epoch: i32,
    /// The epoch before that. The member may still have it where an answer was lost.
    previous: Option<i32>,
    pub(super) subscribed: BTreeSet<Str>,
    /// What it is to have as of the group epoch.
    pub(super) target: Assigned,
    /// What it was told together with `epoch`.
    told: Assigned,
    pub(super) parked: Option<Parked>,
}

/// The previous epoch of a member that has none.
const NO_EPOCH: i32 = -1;

impl Member {
    /// The member that the log has.
    pub(super) fn restored(
        metadata: &ShareGroupMemberMetadataValue,
        current: Option<&ShareGroupCurrentMemberAssignmentValue>,
        target: Option<&ShareGroupTargetAssignmentMemberValue>,
    ) -> Self {
        let previous = current.map(|current| current.previous_member_epoch);
        Member {
            client: ClientInfo {
                client_id: metadata.client_id.clone(),
                host: metadata.client_host.clone(),
            },
            rack_id: metadata.rack_id.clone(),
            epoch: current.map_or(0, |current| current.member_epoch),
            previous: previous.filter(|epoch| *epoch > 0),
            subscribed: metadata.subscribed_topic_names.iter().cloned().collect(),
            target: target.map_or_else(Assigned::new, |own| of_stored(&own.topic_partitions)),
            told: current.map_or_else(Assigned::new, |own| of_stored(&own.assigned_partitions)),
            parked: None,
        }
    }

    /// What the member was told, as it is stored; nothing before the first answer.
    pub(super) fn current_to_store(&self) -> Option<ShareGroupCurrentMemberAssignmentValue> {
        (self.epoch > 0).then(|| ShareGroupCurrentMemberAssignmentValue {
            member_epoch: self.epoch,
            previous_member_epoch: self.previous.unwrap_or(NO_EPOCH),
            assigned_partitions: to_stored(&self.told),
            ..ShareGroupCurrentMemberAssignmentValue::default()
        })
    }

    /// Takes over who sent a heartbeat, and the rack where it names one. Says whether either is
    /// another now.
    pub(super) fn introduce(&mut self, client: ClientInfo, rack_id: Option<&Str>) -> bool {
        let rack_id = rack_id.or(self.rack_id.as_ref()).cloned();
        let changed = self.client != client || self.rack_id != rack_id;
        (self.client, self.rack_id) = (client, rack_id);
        changed
    }

    pub(super) fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Whether the member may have been told this epoch last.
    pub(super) fn holds(&self, epoch: i32) -> bool {
        epoch > 0 && (epoch == self.epoch || Some(epoch) == self.previous)
    }

    /// KIP-1289: an acknowledgement in a transaction carries the epoch of its member.
    pub(super) fn check(&self, epoch: i32) -> ErrorCode {
        if self.holds(epoch) {
            ErrorCode::NONE
        } else {
            ErrorCode::STALE_MEMBER_EPOCH
        }
    }

    /// Takes over the subscription; `None` keeps it. Says whether it is another one now.
    pub(super) fn subscribe(&mut self, names: Option<&[Str]>) -> bool {
        let Some(names) = names else { return false };
        let names: BTreeSet<Str> = names.iter().cloned().collect();
        let changed = names != self.subscribed;
        self.subscribed = names;
        changed
    }

    /// Brings the member to the group epoch and returns the assignment, where the answer has to
    /// carry it. A heartbeat with the previous epoch repeats one whose answer was lost, so it gets
    /// that answer again.
    pub(super) fn advance(&mut self, received: i32, group_epoch: i32) -> Option<Assignment> {
        if received > 0 && received != self.epoch {
            return Some(on_the_wire(&self.told));
        }
        let mut tell = received == 0;
        if self.epoch != group_epoch {
            tell |= self.told != self.target;
            self.previous = (self.epoch > 0).then_some(self.epoch);
            self.epoch = group_epoch;
            self.told.clone_from(&self.target);
        }
        tell.then(|| on_the_wire(&self.told))
    }

    pub(super) fn view<'a>(&'a self, member_id: &'a Str) -> MemberView<'a> {
        MemberView {
            member_id,
            rack_id: self.rack_id.as_ref(),
            client: &self.client,
            epoch: self.epoch,
            subscribed_topic_names: &self.subscribed,
            assignment: &self.target,
        }
    }
}

fn on_the_wire(assigned: &Assigned) -> Assignment {
    let topics = assigned.iter().map(|(topic, partitions)| TopicPartitions {
        topic_id: *topic,
        partitions: partitions.iter().copied().collect::<Vec<_>>(),
        ..TopicPartitions::default()
    });
    Assignment {
        topic_partitions: topics.collect(),
        ..Assignment::default()
    }
}

/// Partitions as records have them.
pub(super) fn to_stored(assigned: &Assigned) -> Vec<share_group::TopicPartitions> {
    let topics = assigned.iter();
    let topics = topics.map(|(topic, partitions)| share_group::TopicPartitions {
        topic_id: *topic,
        partitions: partitions.iter().copied().collect(),
        ..share_group::TopicPartitions::default()
    });
    topics.collect()
}

fn of_stored(topics: &[share_group::TopicPartitions]) -> Assigned {
    let topics = topics.iter();
    let topics = topics.map(|topic| (topic.topic_id, topic.partitions.iter().copied().collect()));
    topics.collect()
}
