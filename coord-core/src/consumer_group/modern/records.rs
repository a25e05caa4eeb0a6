//! Consumer groups as records of `__consumer_offsets` (types 3, 5 to 8 and 16).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ackord_proto::coordinator_records::consumer_group::{TopicPartition, TopicPartitions};
use ackord_proto::coordinator_records::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue, ConsumerOffsetsRecord,
};
use ackord_proto::str::Str;

use super::Assigned;
use super::member::{Current, Held, MemberState};
use crate::outbox::StateRecord;

/// What one record says about its group; no value: it is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::consumer_group) enum ConsumerRecord {
    /// Where a member is.
    Current(Str, Option<Current>),
    /// The group epoch. Without a value there is no such group any more.
    Group(Option<ConsumerGroupMetadataValue>),
    /// What a member said. Without a value there is no such member any more.
    Member(Str, Option<ConsumerGroupMemberMetadataValue>),
    /// The topics that a pattern stands for.
    Pattern(Str, Option<ResolvedPattern>),
    /// What a member is to have.
    Target(Str, Option<Assigned>),
    /// The epoch of the target assignment.
    TargetEpoch(Option<ConsumerGroupTargetAssignmentMetadataValue>),
}

impl ConsumerRecord {
    /// Whether it is a tombstone.
    pub(in crate::consumer_group) fn is_deletion(&self) -> bool {
        match self {
            ConsumerRecord::Current(_, value) => value.is_none(),
            ConsumerRecord::Group(value) => value.is_none(),
            ConsumerRecord::Member(_, value) => value.is_none(),
            ConsumerRecord::Pattern(_, value) => value.is_none(),
            ConsumerRecord::Target(_, value) => value.is_none(),
            ConsumerRecord::TargetEpoch(value) => value.is_none(),
        }
    }
}

/// A pattern, and the topics that it stood for when it was resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::consumer_group) struct ResolvedPattern {
    pub(super) topics: BTreeSet<Str>,
    /// Of the cluster metadata, as the broker counted then.
    pub(super) version: i64,
    pub(super) timestamp: i64,
}

/// The record with its group, where it is one of a consumer group.
pub(in crate::consumer_group) fn decode(
    record: ConsumerOffsetsRecord,
) -> Option<(Str, ConsumerRecord)> {
    use ConsumerOffsetsRecord as R;
    Some(match record {
        R::ConsumerGroupMetadata(key, value) => (key.group_id, ConsumerRecord::Group(value)),
        R::ConsumerGroupMemberMetadata(key, value) => {
            (key.group_id, ConsumerRecord::Member(key.member_id, value))
        }
        R::ConsumerGroupTargetAssignmentMetadata(key, value) => {
            (key.group_id, ConsumerRecord::TargetEpoch(value))
        }
        R::ConsumerGroupTargetAssignmentMember(key, value) => {
            let target = value.map(|value| target_of(&value));
            (key.group_id, ConsumerRecord::Target(key.member_id, target))
        }
        R::ConsumerGroupCurrentMemberAssignment(key, value) => {
            let current = value.map(|value| current_of(&value));
            (
                key.group_id,
                ConsumerRecord::Current(key.member_id, current),
            )
        }
        R::ConsumerGroupRegularExpression(key, value) => {
            let resolved = value.map(|value| ResolvedPattern {
                topics: value.topics.into_iter().collect(),
                version: value.version,
                timestamp: value.timestamp,
            });
            let pattern = ConsumerRecord::Pattern(key.regular_expression, resolved);
            (key.group_id, pattern)
        }
        _ => return None,
    })
}

/// The record for the log; `None` where a name is too long for one.
pub(in crate::consumer_group) fn encode(group: &Str, what: &ConsumerRecord) -> Option<StateRecord> {
    let group_id = group.clone();
    match what {
        ConsumerRecord::Current(member, value) => {
            let key = ConsumerGroupCurrentMemberAssignmentKey {
                group_id,
                member_id: member.clone(),
            };
            let value = value.as_ref().map(current_value);
            StateRecord::encode(&key, value.as_ref().map(|value| (value, 0)))
        }
        ConsumerRecord::Group(value) => {
            let key = ConsumerGroupMetadataKey { group_id };
            StateRecord::encode(&key, value.as_ref().map(|value| (value, 0)))
        }
        ConsumerRecord::Member(member, value) => {
            let key = ConsumerGroupMemberMetadataKey {
                group_id,
                member_id: member.clone(),
            };
            StateRecord::encode(&key, value.as_ref().map(|value| (value, 0)))
        }
        ConsumerRecord::Pattern(pattern, value) => {
            let key = ConsumerGroupRegularExpressionKey {
                group_id,
                regular_expression: pattern.clone(),
            };
            let value = value
                .as_ref()
                .map(|value| ConsumerGroupRegularExpressionValue {
                    topics: value.topics.iter().cloned().collect(),
                    version: value.version,
                    timestamp: value.timestamp,
                    ..Default::default()
                });
            StateRecord::encode(&key, value.as_ref().map(|value| (value, 0)))
        }
        ConsumerRecord::Target(member, value) => {
            let key = ConsumerGroupTargetAssignmentMemberKey {
                group_id,
                member_id: member.clone(),
            };
            let value = value.as_ref().map(target_value);
            StateRecord::encode(&key, value.as_ref().map(|value| (value, 0)))
        }
        ConsumerRecord::TargetEpoch(value) => {
            let key = ConsumerGroupTargetAssignmentMetadataKey { group_id };
            StateRecord::encode(&key, value.as_ref().map(|value| (value, 0)))
        }
    }
}

fn target_of(value: &ConsumerGroupTargetAssignmentMemberValue) -> Assigned {
    let topics = value.topic_partitions.iter();
    topics
        .map(|topic| (topic.topic_id, topic.partitions.iter().copied().collect()))
        .collect()
}

fn target_value(target: &Assigned) -> ConsumerGroupTargetAssignmentMemberValue {
    let topics = target.iter().map(|(topic, partitions)| TopicPartition {
        topic_id: *topic,
        partitions: partitions.iter().copied().collect(),
        ..Default::default()
    });
    ConsumerGroupTargetAssignmentMemberValue {
        topic_partitions: topics.collect(),
        ..Default::default()
    }
}

fn current_of(value: &ConsumerGroupCurrentMemberAssignmentValue) -> Current {
    let held = |topics: &[TopicPartitions]| -> Held {
        let topics = topics.iter().map(|topic| {
            // Older brokers did not keep the epochs: as late as can be.
            let epochs = topic.assignment_epochs.as_deref().unwrap_or_default();
            let epochs = epochs.iter().copied().map(Some);
            let epochs = epochs.chain(core::iter::repeat(None));
            let partitions = topic.partitions.iter().zip(epochs);
            let partitions = partitions
                .map(|(partition, epoch)| (*partition, epoch.unwrap_or(value.member_epoch)));
            (topic.topic_id, partitions.collect())
        });
        topics.collect()
    };
    Current {
        epoch: value.member_epoch,
        previous_epoch: value.previous_member_epoch,
        state: MemberState::from_number(value.state),
        assigned: held(&value.assigned_partitions),
        revoking: held(&value.partitions_pending_revocation),
    }
}

fn current_value(current: &Current) -> ConsumerGroupCurrentMemberAssignmentValue {
    let topics = |held: &Held| -> Vec<TopicPartitions> {
        let topics = held.iter().map(|(topic, partitions)| TopicPartitions {
            topic_id: *topic,
            partitions: partitions.keys().copied().collect(),
            assignment_epochs: Some(partitions.values().copied().collect()),
            ..Default::default()
        });
        topics.collect()
    };
    ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: current.epoch,
        previous_member_epoch: current.previous_epoch,
        state: current.state.number(),
        assigned_partitions: topics(&current.assigned),
        partitions_pending_revocation: topics(&current.revoking),
        ..Default::default()
    }
}
