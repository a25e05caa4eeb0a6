//! A consumer group as its records have it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use ackord_machine::WallTime;
use ackord_proto::coordinator_records::{
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Assigned;
use super::member::{ConsumerMember, Current};
use super::records::{ConsumerRecord, ResolvedPattern};
use crate::assignment_interval::wait_ms;

/// The epoch in which a group begins.
pub(super) const FIRST_EPOCH: i32 = 1;

/// The state of a consumer group, by Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerGroupState {
    /// No members.
    Empty,
    /// A new target assignment is due with the next heartbeat.
    Assigning,
    /// Members move to the target assignment.
    Reconciling,
    /// Every member has what it is to have.
    Stable,
}

impl fmt::Display for ConsumerGroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConsumerGroupState::Empty => "Empty",
            ConsumerGroupState::Assigning => "Assigning",
            ConsumerGroupState::Reconciling => "Reconciling",
            ConsumerGroupState::Stable => "Stable",
        })
    }
}

/// A group of the consumer protocol (KIP-848).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerGroup {
    pub(super) epoch: i32,
    /// Of the subscribed topics as they were when the epoch last grew.
    pub(super) metadata_hash: i64,
    pub(super) target_epoch: i32,
    target_timestamp: i64,
    pub(super) members: BTreeMap<Str, ConsumerMember>,
    pub(super) target: BTreeMap<Str, Assigned>,
    pub(super) patterns: BTreeMap<Str, ResolvedPattern>,
    /// Member ids of static members, by `group.instance.id`.
    pub(super) static_members: BTreeMap<Str, Str>,
    /// How many members name a topic.
    names: BTreeMap<Str, usize>,
    /// How many members have a pattern.
    pattern_users: BTreeMap<Str, usize>,
    /// Who has a partition, or has still to give it up.
    owners: BTreeMap<(Uuid, i32), Str>,
    /// How many members came by JoinGroup.
    classic_members: usize,
}

impl ConsumerGroup {
    /// The group epoch.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The group epoch for which the target assignment was made.
    pub fn assignment_epoch(&self) -> i32 {
        self.target_epoch
    }

    /// Whether it has no members; static ones that may come back count as members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Ids of its members, in order.
    pub fn members(&self) -> impl Iterator<Item = &Str> {
        self.members.keys()
    }

    /// Whether the member is in it.
    pub fn has_member(&self, id: &str) -> bool {
        self.members.contains_key(id)
    }

    /// Who has a partition or has still to give it up.
    pub fn owner(&self, topic: Uuid, partition: i32) -> Option<&Str> {
        self.owners.get(&(topic, partition))
    }

    /// Its state.
    pub fn state(&self) -> ConsumerGroupState {
        let epoch = self.target_epoch;
        if self.members.is_empty() {
            ConsumerGroupState::Empty
        } else if self.epoch > epoch {
            ConsumerGroupState::Assigning
        } else if self
            .members
            .values()
            .all(|member| member.is_reconciled_to(epoch))
        {
            ConsumerGroupState::Stable
        } else {
            ConsumerGroupState::Reconciling
        }
    }

    /// The epoch to which a member that joins now can come.
    pub(super) fn reachable_epoch(&self, interval_ms: i32, now: WallTime) -> i32 {
        match self.is_assignment_due(interval_ms, now) {
            true => self.epoch,
            false => self.target_epoch,
        }
    }

    /// Whether the target assignment is that of an older epoch and may be made anew (KIP-1263).
    pub(super) fn is_assignment_due(&self, interval_ms: i32, now: WallTime) -> bool {
        self.epoch > self.target_epoch && wait_ms(self.target_timestamp, interval_ms, now) == 0
    }

    /// Whether a member subscribes to the topic, by name or by pattern.
    pub fn subscribes(&self, topic: &str) -> bool {
        self.names.contains_key(topic)
            || self.pattern_users.keys().any(|pattern| {
                let resolved = self.patterns.get(pattern);
                resolved.is_some_and(|resolved| resolved.topics.contains(topic))
            })
    }

    /// Whether all of its members came by JoinGroup.
    pub(super) fn is_all_classic(&self) -> bool {
        self.classic_members == self.members.len()
    }

    pub(super) fn uses_pattern(&self, pattern: &str) -> bool {
        self.pattern_users.contains_key(pattern)
    }

    /// Patterns that members have.
    pub(super) fn used_patterns(&self) -> impl Iterator<Item = &Str> {
        self.pattern_users.keys()
    }

    /// All topics to which members subscribe.
    pub(super) fn subscribed_topics(&self) -> BTreeSet<&Str> {
        let patterns = self.pattern_users.keys();
        let resolved = patterns.filter_map(|pattern| self.patterns.get(pattern));
        let by_pattern = resolved.flat_map(|resolved| &resolved.topics);
        self.names.keys().chain(by_pattern).collect()
    }

    /// The topics to which one member subscribes.
    pub(super) fn topics_of<'a>(&'a self, member: &'a ConsumerMember) -> BTreeSet<&'a Str> {
        let pattern = member.said.subscribed_topic_regex.as_ref();
        let resolved = pattern.and_then(|pattern| self.patterns.get(pattern));
        let by_pattern = resolved.into_iter().flat_map(|resolved| &resolved.topics);
        let by_name = &member.said.subscribed_topic_names;
        by_name.iter().chain(by_pattern).collect()
    }

    /// Takes a record in: the only way in which a group changes, live and in replay.
    pub(in crate::consumer_group) fn apply(&mut self, record: ConsumerRecord) {
        match record {
            ConsumerRecord::Current(id, current) => self.set_current(id, current),
            ConsumerRecord::Group(value) => {
                let value = value.unwrap_or_default();
                (self.epoch, self.metadata_hash) = (value.epoch, value.metadata_hash);
            }
            ConsumerRecord::Member(id, Some(said)) => self.set_said(id, said),
            ConsumerRecord::Member(id, None) => self.remove(&id),
            ConsumerRecord::Pattern(pattern, Some(resolved)) => {
                self.patterns.insert(pattern, resolved);
            }
            ConsumerRecord::Pattern(pattern, None) => {
                self.patterns.remove(&pattern);
            }
            ConsumerRecord::Target(id, Some(target)) => {
                self.target.insert(id, target);
            }
            ConsumerRecord::Target(id, None) => {
                self.target.remove(&id);
            }
            ConsumerRecord::TargetEpoch(value) => {
                let value = value.unwrap_or_default();
                self.target_epoch = value.assignment_epoch;
                self.target_timestamp = value.assignment_timestamp;
            }
        }
    }

    fn set_said(&mut self, id: Str, said: ConsumerGroupMemberMetadataValue) {
        self.count(&id, Step::Down);
        self.forget_instance(&id);
        if let Some(instance) = &said.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        self.members.entry(id.clone()).or_default().said = said;
        self.count(&id, Step::Up);
    }

    /// A record of a member may stand before what it said, where the log was compacted.
    fn set_current(&mut self, id: Str, current: Option<Current>) {
        self.disown(&id);
        let Some(current) = current else {
            if let Some(member) = self.members.get_mut(&id) {
                member.current = Current::default();
            }
            return;
        };
        for partition in current.held() {
            self.owners.insert(partition, id.clone());
        }
        if !self.members.contains_key(&id) {
            self.members.insert(id.clone(), ConsumerMember::default());
            self.count(&id, Step::Up);
        }
        if let Some(member) = self.members.get_mut(&id) {
            member.current = current;
        }
    }

    fn disown(&mut self, id: &Str) {
        let Some(member) = self.members.get(id) else {
            return;
        };
        for partition in member.current.held() {
            if self.owners.get(&partition) == Some(id) {
                self.owners.remove(&partition);
            }
        }
    }

    fn remove(&mut self, id: &Str) {
        self.disown(id);
        self.count(id, Step::Down);
        self.forget_instance(id);
        self.members.remove(id);
    }

    fn forget_instance(&mut self, id: &Str) {
        if let Some(member) = self.members.get(id)
            && let Some(instance) = &member.said.instance_id
            && self.static_members.get(instance) == Some(id)
        {
            self.static_members.remove(instance);
        }
    }

    fn count(&mut self, id: &Str, step: Step) {
        let Some(member) = self.members.get(id) else {
            return;
        };
        let mut names: Vec<&Str> = member.said.subscribed_topic_names.iter().collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            step.on(&mut self.names, name);
        }
        if let Some(pattern) = &member.said.subscribed_topic_regex {
            step.on(&mut self.pattern_users, pattern);
        }
        if member.is_classic() {
            self.classic_members = match step {
                Step::Down => self.classic_members.saturating_sub(1),
                Step::Up => self.classic_members + 1,
            };
        }
    }

    /// Records that make an equal group, for a checkpoint.
    pub(in crate::consumer_group) fn records(&self) -> impl Iterator<Item = ConsumerRecord> + '_ {
        let group = ConsumerGroupMetadataValue {
            epoch: self.epoch,
            metadata_hash: self.metadata_hash,
            ..Default::default()
        };
        let target = ConsumerGroupTargetAssignmentMetadataValue {
            assignment_epoch: self.target_epoch,
            assignment_timestamp: self.target_timestamp,
            ..Default::default()
        };
        let members = self.members.iter();
        let said = members
            .clone()
            .map(|(id, member)| ConsumerRecord::Member(id.clone(), Some(member.said.clone())));
        let current = members
            .map(|(id, member)| ConsumerRecord::Current(id.clone(), Some(member.current.clone())));
        let targets = self.target.iter();
        let targets =
            targets.map(|(id, target)| ConsumerRecord::Target(id.clone(), Some(target.clone())));
        let patterns = self.patterns.iter();
        let patterns = patterns
            .map(|(text, topics)| ConsumerRecord::Pattern(text.clone(), Some(topics.clone())));
        core::iter::once(ConsumerRecord::Group(Some(group)))
            .chain(said)
            .chain(patterns)
            .chain([ConsumerRecord::TargetEpoch(Some(target))])
            .chain(targets)
            .chain(current)
    }

    /// Records after which there is no such group.
    pub(in crate::consumer_group) fn tombstones(&self) -> Vec<ConsumerRecord> {
        let members = self.members.keys();
        let mut all: Vec<ConsumerRecord> = members
            .clone()
            .map(|id| ConsumerRecord::Current(id.clone(), None))
            .collect();
        all.extend(
            self.target
                .keys()
                .map(|id| ConsumerRecord::Target(id.clone(), None)),
        );
        all.push(ConsumerRecord::TargetEpoch(None));
        all.extend(
            self.patterns
                .keys()
                .map(|text| ConsumerRecord::Pattern(text.clone(), None)),
        );
        all.extend(members.map(|id| ConsumerRecord::Member(id.clone(), None)));
        all.push(ConsumerRecord::Group(None));
        all
    }
}

#[derive(Clone, Copy)]
enum Step {
    Down,
    Up,
}

impl Step {
    fn on(self, counts: &mut BTreeMap<Str, usize>, key: &Str) {
        match self {
            Step::Up => *counts.entry(key.clone()).or_default() += 1,
            Step::Down => {
                if let Some(count) = counts.get_mut(key) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        counts.remove(key);
                    }
                }
            }
        }
    }
}
