//! The assignor `uniform`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::{Assigned, Subscriber};

/// Members keep what they had; what nobody has goes to whoever has least; then partitions move from
/// members with more to subscribers with at least two fewer, until there is none such: first from
/// those above their share, so that no more move than have to.
pub(super) fn assign(
    subscribers: &BTreeMap<Str, Subscriber<'_>>,
    topics: &BTreeMap<Uuid, i32>,
) -> BTreeMap<Str, Assigned> {
    let mut plan = Plan::new(subscribers, topics);
    plan.keep(subscribers);
    plan.cover();
    let shares = plan.shares();
    plan.even_out(&shares);
    let none = vec![0; shares.len()];
    while plan.even_out(&none) {}
    let ids = subscribers.keys().cloned();
    let mut assigned: Vec<Assigned> = vec![Assigned::new(); subscribers.len()];
    for ((topic, partition), owner) in plan.owners {
        if let Some(own) = owner.and_then(|owner| assigned.get_mut(owner)) {
            own.entry(topic).or_default().insert(partition);
        }
    }
    ids.zip(assigned).collect()
}

/// An assignment in the making. Members are numbered in the order of their ids.
struct Plan {
    owners: BTreeMap<(Uuid, i32), Option<usize>>,
    loads: Vec<usize>,
    /// Topics with the same subscribers are of one kind; the subscribers of each by their load.
    kinds: Vec<BTreeSet<(usize, usize)>>,
    kind_of: BTreeMap<Uuid, usize>,
    kinds_of_member: Vec<Vec<usize>>,
}

impl Plan {
    fn new(subscribers: &BTreeMap<Str, Subscriber<'_>>, topics: &BTreeMap<Uuid, i32>) -> Self {
        let mut by_topic: BTreeMap<Uuid, Vec<usize>> = BTreeMap::new();
        for (member, subscriber) in subscribers.values().enumerate() {
            for topic in &subscriber.topics {
                by_topic.entry(*topic).or_default().push(member);
            }
        }
        let mut plan = Plan {
            owners: BTreeMap::new(),
            loads: vec![0; subscribers.len()],
            kinds: Vec::new(),
            kind_of: BTreeMap::new(),
            kinds_of_member: vec![Vec::new(); subscribers.len()],
        };
        let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for (topic, members) in by_topic {
            let Some(partitions) = topics.get(&topic) else {
                continue;
            };
            let indexes = (0..*partitions).map(|index| ((topic, index), None));
            plan.owners.extend(indexes);
            let next = plan.kinds.len();
            let kind = *known.entry(members.clone()).or_insert(next);
            if kind == next {
                for member in &members {
                    if let Some(kinds) = plan.kinds_of_member.get_mut(*member) {
                        kinds.push(kind);
                    }
                }
                plan.kinds
                    .push(members.into_iter().map(|member| (0, member)).collect());
            }
            plan.kind_of.insert(topic, kind);
        }
        plan
    }

    fn load(&self, member: usize) -> usize {
        self.loads.get(member).copied().unwrap_or_default()
    }

    fn set_load(&mut self, member: usize, load: usize) {
        let before = self.load(member);
        for kind in self.kinds_of_member.get(member).into_iter().flatten() {
            if let Some(kind) = self.kinds.get_mut(*kind) {
                kind.remove(&(before, member));
                kind.insert((load, member));
            }
        }
        if let Some(own) = self.loads.get_mut(member) {
            *own = load;
        }
    }

    /// Gives a partition to a member, and takes it from whoever has it.
    fn give(&mut self, partition: (Uuid, i32), member: usize) {
        let Some(owner) = self.owners.get_mut(&partition) else {
            return;
        };
        if let Some(before) = owner.replace(member) {
            self.set_load(before, self.load(before).saturating_sub(1));
        }
        self.set_load(member, self.load(member) + 1);
    }

    fn keep(&mut self, subscribers: &BTreeMap<Str, Subscriber<'_>>) {
        for (member, subscriber) in subscribers.values().enumerate() {
            for (topic, partitions) in subscriber.before.into_iter().flatten() {
                if !subscriber.topics.contains(topic) {
                    continue;
                }
                for index in partitions {
                    if self.owners.get(&(*topic, *index)) == Some(&None) {
                        self.give((*topic, *index), member);
                    }
                }
            }
        }
    }

    /// The subscriber of the topic that has least.
    fn least(&self, topic: &Uuid) -> Option<(usize, usize)> {
        let kind = self.kind_of.get(topic)?;
        self.kinds.get(*kind)?.first().copied()
    }

    fn cover(&mut self) {
        let bare = self.owners.iter().filter(|(_, owner)| owner.is_none());
        let bare: Vec<(Uuid, i32)> = bare.map(|(partition, _)| *partition).collect();
        for partition in bare {
            if let Some((_, member)) = self.least(&partition.0) {
                self.give(partition, member);
            }
        }
    }

    /// For each kind of topics what each of its subscribers has if all have the same, rounded up.
    fn shares(&self) -> Vec<usize> {
        let kinds = self.kinds.iter();
        kinds
            .map(|kind| {
                let all: usize = kind.iter().map(|(load, _)| *load).sum();
                all.div_ceil(kind.len().max(1))
            })
            .collect()
    }

    /// One pass over all partitions, which moves them from members with more than `above`. Each move
    /// makes the loads more equal, so passes end.
    fn even_out(&mut self, above: &[usize]) -> bool {
        let partitions: Vec<(Uuid, i32)> = self.owners.keys().rev().copied().collect();
        let mut moved = false;
        for partition in partitions {
            let owner = self.owners.get(&partition).copied().flatten();
            let (Some(owner), Some((load, least))) = (owner, self.least(&partition.0)) else {
                continue;
            };
            let kind = self.kind_of.get(&partition.0);
            let above = kind.and_then(|kind| above.get(*kind)).copied();
            if self.load(owner) > (load + 1).max(above.unwrap_or_default()) {
                self.give(partition, least);
                moved = true;
            }
        }
        moved
    }
}
