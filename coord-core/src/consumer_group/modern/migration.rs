//! Groups that change their protocol while members are in them (KIP-848): a classic group becomes a
//! consumer group when the first such member comes, and a classic one again when the last one goes.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::coordinator_records::consumer_group::{ClassicMemberMetadata, ClassicProtocol};
use ackord_proto::coordinator_records::{
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::member::{ConsumerMember, Current, Held, MemberState};
use super::records::ConsumerRecord;
use super::{Assigned, ClusterView, ConsumerGroup, ConsumerGroupConfig};
use crate::consumer_group::classic_group::{ClassicGroup, GroupState};
use crate::consumer_group::coordinator::{ClassicReply, GroupCoordinator, Timer};
use crate::consumer_group::member::{Awaits, Member, Protocol};
use crate::consumer_group::records::group_tombstone;
use crate::consumer_group::subscription::{
    self, CONSUMER, NamedPartitions, read_assignment, write_assignment,
};
use crate::outbox::Outbox;

/// `group.consumer.migration.policy`: which way a group with members may change its protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationPolicy {
    /// Both ways.
    #[default]
    Bidirectional,
    /// Neither.
    Disabled,
    /// To the classic protocol.
    Downgrade,
    /// To the consumer protocol.
    Upgrade,
}

impl MigrationPolicy {
    /// By its name, in letters of either case.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "bidirectional" => Some(MigrationPolicy::Bidirectional),
            "disabled" => Some(MigrationPolicy::Disabled),
            "downgrade" => Some(MigrationPolicy::Downgrade),
            "upgrade" => Some(MigrationPolicy::Upgrade),
            _ => None,
        }
    }

    fn upgrades(self) -> bool {
        matches!(
            self,
            MigrationPolicy::Bidirectional | MigrationPolicy::Upgrade
        )
    }

    fn downgrades(self) -> bool {
        matches!(
            self,
            MigrationPolicy::Bidirectional | MigrationPolicy::Downgrade
        )
    }
}

/// Names by id.
pub(super) type NameOf<'a> = &'a dyn Fn(Uuid) -> Option<Str>;

impl ClassicGroup {
    /// Whether it can become a consumer group as it is: all of its members are consumers whose
    /// subscriptions can be read.
    pub(super) fn can_upgrade(&self, config: &ConsumerGroupConfig) -> bool {
        config.migration_policy.upgrades()
            && self.protocol_type() == CONSUMER
            && self.members.len() <= config.max_size
            && self.members.values().all(|member| {
                let said = member.protocols.first();
                said.is_some_and(|said| subscription::read(&said.metadata).is_some())
            })
    }
}

impl GroupCoordinator {
    /// Makes a classic group with members a consumer group. They stay as they are, with what their
    /// leader gave them, and are told by their next Heartbeat to join again.
    pub(super) fn upgrade(
        &mut self,
        now: Now,
        id: &Str,
        cluster: &dyn ClusterView,
        out: &mut Outbox<ClassicReply>,
    ) {
        let Some(classic) = self.group(id).cloned() else {
            return;
        };
        // Whoever waits for this rebalance is to join the next.
        self.turn(now, id, out, |turn| {
            let members = turn.group.members.iter_mut();
            let waiting = members.map(|(id, member)| {
                let awaits = core::mem::replace(&mut member.awaits, Awaits::Nothing);
                (id.clone(), awaits)
            });
            for (member, awaits) in waiting.collect::<Vec<_>>() {
                turn.end_wait(awaits, &member, ErrorCode::REBALANCE_IN_PROGRESS);
            }
        });
        self.timers.cancel(&Timer::Join(id.clone()));
        self.timers.cancel(&Timer::Sync(id.clone()));
        let group = self.group_mut(id);
        group.classic = ClassicGroup::new(now.wall.as_millis());
        group.consumer = Some(ConsumerGroup::default());
        group.seen_metadata = None;
        if group.stored.is_some() {
            self.append(group_tombstone(id).into_iter().collect(), None, out);
        }
        self.change(now, id, out, |change| {
            for record in upgraded(&classic, cluster) {
                change.put(record);
            }
        });
        for (member_id, member) in &classic.members {
            self.arm_session(now, id, member_id, member.session_timeout_ms);
        }
    }

    /// Makes a consumer group in which only classic members are left a classic group, and has them
    /// join again.
    pub(super) fn downgrade_if_classic(
        &mut self,
        now: Now,
        id: &Str,
        cluster: &dyn ClusterView,
        out: &mut Outbox<ClassicReply>,
    ) {
        let Some(group) = self.consumer_group(id) else {
            return;
        };
        let config = cluster.consumer_group(id);
        if group.is_empty()
            || !group.is_all_classic()
            || !config.migration_policy.downgrades()
            || group.members.len() > self.config.max_size
        {
            return;
        }
        let classic = downgraded(group, now, &|topic| cluster.topic_name(topic));
        for member in group.members.keys().cloned().collect::<Vec<_>>() {
            self.cancel_member_timers(id, &member);
        }
        self.become_classic_group(now, id, out);
        self.group_mut(id).classic = classic;
        self.turn(now, id, out, |turn| {
            let members: Vec<Str> = turn.group.members.keys().cloned().collect();
            for member in &members {
                turn.extend_session(member);
            }
            turn.store = true;
            turn.prepare_rebalance();
        });
    }
}

/// The records of the consumer group that a classic group becomes.
fn upgraded(classic: &ClassicGroup, cluster: &dyn ClusterView) -> Vec<ConsumerRecord> {
    let epoch = classic.generation;
    let group = ConsumerGroupMetadataValue {
        epoch,
        ..Default::default()
    };
    let target = ConsumerGroupTargetAssignmentMetadataValue {
        assignment_epoch: epoch,
        ..Default::default()
    };
    let mut records = Vec::from([
        ConsumerRecord::Group(Some(group)),
        ConsumerRecord::TargetEpoch(Some(target)),
    ]);
    // A leader may have given a partition twice; here it has one member.
    let mut given = BTreeSet::new();
    for (id, member) in &classic.members {
        let named = read_assignment(&member.assignment).unwrap_or_default();
        let mut assigned = with_ids(&named, cluster);
        for (topic, partitions) in &mut assigned {
            partitions.retain(|index| given.insert((*topic, *index)));
        }
        let held = assigned.iter().map(|(topic, partitions)| {
            let partitions = partitions.iter().map(|index| (*index, epoch));
            (*topic, partitions.collect())
        });
        let current = Current {
            epoch,
            previous_epoch: epoch,
            state: MemberState::Stable,
            assigned: held.collect(),
            revoking: Held::new(),
        };
        let said = said_by(member);
        records.push(ConsumerRecord::Member(id.clone(), Some(said)));
        records.push(ConsumerRecord::Target(id.clone(), Some(assigned)));
        records.push(ConsumerRecord::Current(id.clone(), Some(current)));
    }
    records
}

/// What a consumer group knows of a classic member.
fn said_by(member: &Member) -> ConsumerGroupMemberMetadataValue {
    let protocols = member.protocols.iter().map(|own| ClassicProtocol {
        name: own.name.clone(),
        metadata: own.metadata.clone(),
        ..Default::default()
    });
    let first = member.protocols.first();
    let said = first.and_then(|first| subscription::read(&first.metadata));
    let said = said.unwrap_or_default();
    ConsumerGroupMemberMetadataValue {
        instance_id: member.instance_id.clone(),
        rack_id: said.rack,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        subscribed_topic_names: said.topics.into_iter().collect(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        classic_member_metadata: Some(ClassicMemberMetadata {
            session_timeout_ms: member.session_timeout_ms,
            supported_protocols: protocols.collect(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Partitions of topics that exist.
pub(super) fn with_ids(named: &NamedPartitions, cluster: &dyn ClusterView) -> Assigned {
    let known = named.iter().filter_map(|(name, partitions)| {
        let info = cluster.topic(name)?;
        let partitions = partitions.iter().copied();
        let existing = partitions.filter(|index| (0..info.partitions).contains(index));
        Some((info.id, existing.collect()))
    });
    known.collect()
}

/// What the member has, as classic members are told it.
pub(super) fn classic_assignment(member: &ConsumerMember, name_of: NameOf<'_>) -> bytes::Bytes {
    let mut named = NamedPartitions::new();
    for (topic, partitions) in &member.current.assigned {
        if let Some(name) = name_of(*topic) {
            named.entry(name).or_default().extend(partitions.keys());
        }
    }
    let classic = member.said.classic_member_metadata.as_ref();
    let first = classic.and_then(|own| own.supported_protocols.first());
    let said = first.and_then(|first| subscription::read(&first.metadata));
    write_assignment(said.map_or(0, |said| said.version), &named)
}

/// The classic group that a consumer group becomes, in the generation of its epoch.
fn downgraded(group: &ConsumerGroup, now: Now, name_of: NameOf<'_>) -> ClassicGroup {
    let now_ms = now.wall.as_millis();
    let mut classic = ClassicGroup::new(now_ms);
    classic.generation = group.epoch;
    let kind = Str::from(CONSUMER);
    for (id, member) in &group.members {
        let own = member.said.classic_member_metadata.clone();
        let own = own.unwrap_or_default();
        let protocols = own.supported_protocols.into_iter();
        let joined = Member {
            instance_id: member.said.instance_id.clone(),
            client_id: member.said.client_id.clone(),
            client_host: member.said.client_host.clone(),
            rebalance_timeout_ms: member.said.rebalance_timeout_ms,
            session_timeout_ms: own.session_timeout_ms,
            protocols: protocols
                .map(|own| Protocol {
                    name: own.name,
                    metadata: own.metadata,
                })
                .collect(),
            assignment: classic_assignment(member, name_of),
            awaits: Awaits::Nothing,
            is_new: false,
        };
        classic.add(id.clone(), &kind, joined);
    }
    classic.protocol = classic.select_protocol();
    classic.enter(GroupState::Stable, now_ms);
    classic
}
