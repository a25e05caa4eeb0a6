//! A change of a consumer group in the making: what is decided applies at once, so that the next
//! decision sees it, and all of it is one append.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::coordinator_records::{
    ConsumerGroupMetadataValue, ConsumerGroupTargetAssignmentMetadataValue,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::assignor::{Assignor, Subscriber};
use super::group::{ConsumerGroup, FIRST_EPOCH};
use super::member::Current;
use super::records::{ConsumerRecord, ResolvedPattern, encode};
use super::regex::TopicPattern;
use super::{Assigned, ClusterView, ConsumerGroupConfig};
use crate::consumer_group::coordinator::{ClassicReply, GroupCoordinator};
use crate::fnv::fnv1a;
use crate::outbox::{Outbox, StateRecord};

/// Whether what members subscribe to is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subscriptions {
    Changed,
    Same,
}

/// A group, and the records of what changes.
pub(super) struct Change<'a> {
    pub(super) now: Now,
    pub(super) id: &'a Str,
    pub(super) group: &'a mut ConsumerGroup,
    /// The cluster metadata for which the group was last looked at.
    seen: &'a mut Option<u64>,
    records: Vec<StateRecord>,
}

impl GroupCoordinator {
    /// Changes a consumer group. `None`: there is no such group.
    pub(super) fn change<T>(
        &mut self,
        now: Now,
        id: &Str,
        out: &mut Outbox<ClassicReply>,
        run: impl FnOnce(&mut Change<'_>) -> T,
    ) -> Option<T> {
        let group = self.groups.get_mut(id)?;
        let mut change = Change {
            now,
            id,
            group: group.consumer.as_mut()?,
            seen: &mut group.seen_metadata,
            records: Vec::new(),
        };
        let done = run(&mut change);
        let records = change.records;
        self.append_applied(records, out);
        Some(done)
    }
}

impl Change<'_> {
    pub(super) fn put(&mut self, record: ConsumerRecord) {
        let encoded = encode(self.id, &record);
        debug_assert!(encoded.is_some(), "names were checked");
        if let Some(encoded) = encoded {
            self.records.push(encoded);
            self.group.apply(record);
        }
    }

    /// The group epoch grows: whatever it was made of is another.
    pub(super) fn bump(&mut self) {
        let epoch = self.group.epoch.max(FIRST_EPOCH).saturating_add(1);
        self.set_group(epoch, self.group.metadata_hash);
    }

    fn set_group(&mut self, epoch: i32, metadata_hash: i64) {
        self.put(ConsumerRecord::Group(Some(ConsumerGroupMetadataValue {
            epoch,
            metadata_hash,
            ..Default::default()
        })));
    }

    /// Has the group follow what its members subscribe to and what there is of it.
    pub(super) fn refresh(&mut self, cluster: &dyn ClusterView, subscriptions: Subscriptions) {
        let version = cluster.version();
        let looked = *self.seen == Some(version);
        if looked && subscriptions == Subscriptions::Same {
            return;
        }
        self.resolve_patterns(cluster, !looked);
        *self.seen = Some(version);
        let hash = self.metadata_hash(cluster);
        let changed = subscriptions == Subscriptions::Changed || hash != self.group.metadata_hash;
        if changed {
            let epoch = self.group.epoch.max(FIRST_EPOCH).saturating_add(1);
            self.set_group(epoch, hash);
        }
    }

    /// A group that begins without any topic has its first epoch.
    pub(super) fn begin(&mut self) {
        if self.group.epoch < FIRST_EPOCH {
            self.set_group(FIRST_EPOCH, self.group.metadata_hash);
        }
    }

    /// Patterns that nobody has are forgotten; those in use are resolved, all of them or new ones.
    fn resolve_patterns(&mut self, cluster: &dyn ClusterView, all: bool) {
        let patterns = self.group.patterns.keys();
        let unused = patterns.filter(|pattern| !self.group.uses_pattern(pattern));
        for pattern in unused.cloned().collect::<Vec<_>>() {
            self.put(ConsumerRecord::Pattern(pattern, None));
        }
        let patterns = self.group.used_patterns();
        let due = patterns.filter(|text| all || !self.group.patterns.contains_key(*text));
        let due: Vec<Str> = due.cloned().collect();
        if due.is_empty() {
            return;
        }
        let names = cluster.topic_names();
        for text in due {
            // One that cannot be read was never taken; it stands for nothing.
            let pattern = TopicPattern::new(&text).ok();
            let matched = names.iter().filter(|name| {
                let pattern = pattern.as_ref();
                pattern.is_some_and(|pattern| pattern.matches(name))
            });
            let topics: BTreeSet<Str> = matched.cloned().collect();
            let known = self.group.patterns.get(&text);
            if known.is_none_or(|known| known.topics != topics) {
                let resolved = ResolvedPattern {
                    topics,
                    version: i64::try_from(cluster.version()).unwrap_or(i64::MAX),
                    timestamp: self.now.wall.as_millis(),
                };
                self.put(ConsumerRecord::Pattern(text, Some(resolved)));
            }
        }
    }

    /// Names, ids and sizes of the subscribed topics that exist, as one number (FNV-1a); 0 for none.
    fn metadata_hash(&self, cluster: &dyn ClusterView) -> i64 {
        let topics = self.group.subscribed_topics();
        let existing = topics
            .into_iter()
            .filter_map(|name| Some((name, cluster.topic(name)?)));
        let mut bytes = existing
            .flat_map(|(name, info)| {
                let length = u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes();
                let name = length.into_iter().chain(name.bytes());
                let id = info.id.to_bytes();
                name.chain(id).chain(info.partitions.to_be_bytes())
            })
            .peekable();
        match bytes.peek() {
            Some(_) => fnv1a(bytes).cast_signed(),
            None => 0,
        }
    }

    /// Makes the target assignment for the group epoch where it is that of an older one and the
    /// interval since then is over; else members move to the older one.
    pub(super) fn assign(&mut self, cluster: &dyn ClusterView, config: &ConsumerGroupConfig) {
        let interval_ms = config.assignment_interval_ms;
        if !self.group.is_assignment_due(interval_ms, self.now.wall) {
            return;
        }
        let default = config.assignors.first().copied();
        let targets = self.targets(cluster, default.unwrap_or(Assignor::Uniform));
        for (id, target) in targets {
            if self.group.target.get(&id) != Some(&target) {
                self.put(ConsumerRecord::Target(id, Some(target)));
            }
        }
        self.target_is_made(self.now.wall.as_millis());
    }

    /// Says that the target assignment is that of the group epoch, and when it was computed. Without
    /// members it always is, and was never computed.
    pub(super) fn target_is_made(&mut self, assignment_timestamp: i64) {
        let value = ConsumerGroupTargetAssignmentMetadataValue {
            assignment_epoch: self.group.epoch,
            assignment_timestamp,
            ..Default::default()
        };
        self.put(ConsumerRecord::TargetEpoch(Some(value)));
    }

    fn targets(&self, cluster: &dyn ClusterView, default: Assignor) -> BTreeMap<Str, Assigned> {
        let group = &*self.group;
        let topics = group.subscribed_topics();
        let existing: BTreeMap<&Str, (Uuid, i32)> = topics
            .into_iter()
            .filter_map(|name| {
                let info = cluster.topic(name)?;
                Some((name, (info.id, info.partitions)))
            })
            .collect();
        let subscribers = group.members.iter().map(|(id, member)| {
            let topics = group.topics_of(member).into_iter();
            let topics = topics.filter_map(|name| Some(existing.get(name)?.0));
            let subscriber = Subscriber {
                instance: member.said.instance_id.as_ref(),
                topics: topics.collect(),
                before: group.target.get(id),
            };
            (id.clone(), subscriber)
        });
        let topics: BTreeMap<Uuid, i32> = existing.values().copied().collect();
        let assignor = group.preferred_assignor(default);
        assignor.assign(&subscribers.collect(), &topics)
    }

    /// Moves a member on. Says where it is then, where that is another place.
    pub(super) fn reconcile(
        &mut self,
        id: &Str,
        owned: Option<&Assigned>,
        cluster: &dyn ClusterView,
    ) -> Option<&Current> {
        let member = self.group.members.get(id)?;
        let topics = self.group.topics_of(member).into_iter();
        let topics = topics.filter_map(|name| Some(cluster.topic(name)?.id));
        let next = self.group.next_current(id, owned, &topics.collect())?;
        self.put(ConsumerRecord::Current(id.clone(), Some(next)));
        self.group.members.get(id).map(|member| &member.current)
    }

    /// Takes a member out; a new assignment is made with the next heartbeat.
    pub(super) fn remove(&mut self, id: &Str) {
        self.put(ConsumerRecord::Current(id.clone(), None));
        self.put(ConsumerRecord::Target(id.clone(), None));
        self.put(ConsumerRecord::Member(id.clone(), None));
        let patterns = self.group.patterns.keys();
        let unused = patterns.filter(|pattern| !self.group.uses_pattern(pattern));
        for pattern in unused.cloned().collect::<Vec<_>>() {
            self.put(ConsumerRecord::Pattern(pattern, None));
        }
    }

    /// A static member comes back under another id: it takes over place and partitions (KIP-848).
    pub(super) fn replace(&mut self, old: &Str, new: &Str) {
        let Some(member) = self.group.members.get(old).cloned() else {
            return;
        };
        let target = self.group.target.get(old).cloned();
        if old != new {
            self.put(ConsumerRecord::Current(old.clone(), None));
            self.put(ConsumerRecord::Target(old.clone(), None));
            self.put(ConsumerRecord::Member(old.clone(), None));
        }
        self.put(ConsumerRecord::Member(new.clone(), Some(member.said)));
        self.put(ConsumerRecord::Target(
            new.clone(),
            Some(target.unwrap_or_default()),
        ));
        let current = Current {
            epoch: 0,
            previous_epoch: 0,
            ..member.current
        };
        self.put(ConsumerRecord::Current(new.clone(), Some(current)));
    }
}

impl ConsumerGroup {
    /// The assignor that most members ask for, of equals the first by name; `default` where nobody
    /// asks.
    pub(super) fn preferred_assignor(&self, default: Assignor) -> Assignor {
        let mut votes: BTreeMap<Assignor, usize> = BTreeMap::new();
        for member in self.members.values() {
            let asked = member.said.server_assignor.as_deref();
            if let Some(assignor) = asked.and_then(Assignor::from_name) {
                *votes.entry(assignor).or_default() += 1;
            }
        }
        let most = votes.values().copied().max();
        let found = votes.into_iter().find(|(_, count)| Some(*count) == most);
        found.map_or(default, |(assignor, _)| assignor)
    }
}
