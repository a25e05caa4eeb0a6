//! The assignor `simple` of share groups (KIP-932).
//!
//! Every partition has a member, every member has a partition, and both are spread evenly: loads
//! of members with the same subscription differ by at most one, and so do the numbers of members
//! that share a partition where there are more members than partitions. What a member has it keeps
//! unless that would break the balance. Equal inputs give equal assignments.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::member::Assigned;

/// What one member brings along.
pub(super) struct Claim<'a> {
    /// Topics that it subscribes to and that exist.
    pub(super) topics: BTreeSet<Uuid>,
    /// What it has now.
    pub(super) current: &'a Assigned,
}

/// Assigns `partitions` to the members of `claims`.
pub(super) fn assign(
    claims: &BTreeMap<Str, Claim<'_>>,
    partitions: &Assigned,
) -> BTreeMap<Str, Assigned> {
    let mut plan = Plan::new(claims, partitions);
    plan.keep(claims);
    plan.cover();
    plan.drop_spare_shares();
    plan.even_loads();
    plan.employ_idle();
    plan.even_shares();
    let held = plan.held.iter().map(|held| {
        let mut assigned = Assigned::new();
        for (topic, partition) in held {
            assigned.entry(*topic).or_default().insert(*partition);
        }
        assigned
    });
    claims.keys().cloned().zip(held).collect()
}

type Partition = (Uuid, i32);

/// An assignment in the making. Members are numbered in the order of their ids.
struct Plan<'a> {
    subscriptions: Vec<&'a BTreeSet<Uuid>>,
    held: Vec<BTreeSet<Partition>>,
    holders: BTreeMap<Partition, BTreeSet<usize>>,
    by_load: BTreeSet<(usize, usize)>,
}

impl<'a> Plan<'a> {
    fn new(claims: &'a BTreeMap<Str, Claim<'_>>, partitions: &Assigned) -> Self {
        let subscriptions: Vec<_> = claims.values().map(|claim| &claim.topics).collect();
        let subscribed = |topic: &Uuid| subscriptions.iter().any(|topics| topics.contains(topic));
        let mut holders = BTreeMap::new();
        for (topic, partitions) in partitions.iter().filter(|(topic, _)| subscribed(topic)) {
            holders.extend(
                partitions
                    .iter()
                    .map(|index| ((*topic, *index), BTreeSet::new())),
            );
        }
        Plan {
            held: subscriptions.iter().map(|_| BTreeSet::new()).collect(),
            by_load: (0..subscriptions.len()).map(|member| (0, member)).collect(),
            holders,
            subscriptions,
        }
    }

    fn subscribes(&self, member: usize, partition: Partition) -> bool {
        self.subscriptions[member].contains(&partition.0)
    }

    fn load(&self, member: usize) -> usize {
        self.held[member].len()
    }

    /// A partition that is not to be assigned is ignored.
    fn give(&mut self, member: usize, partition: Partition) {
        let Some(holders) = self.holders.get_mut(&partition) else {
            return;
        };
        holders.insert(member);
        self.by_load.remove(&(self.load(member), member));
        self.held[member].insert(partition);
        self.by_load.insert((self.load(member), member));
    }

    fn take(&mut self, member: usize, partition: Partition) {
        let Some(holders) = self.holders.get_mut(&partition) else {
            return;
        };
        holders.remove(&member);
        self.by_load.remove(&(self.load(member), member));
        self.held[member].remove(&partition);
        self.by_load.insert((self.load(member), member));
    }

    /// Starts from what members have, as far as they still subscribe to it.
    fn keep(&mut self, claims: &BTreeMap<Str, Claim<'_>>) {
        for (member, claim) in claims.values().enumerate() {
            for (topic, partitions) in claim.current {
                for partition in partitions {
                    if self.subscribes(member, (*topic, *partition)) {
                        self.give(member, (*topic, *partition));
                    }
                }
            }
        }
    }

    /// Every partition gets a member: the one with the least.
    fn cover(&mut self) {
        let bare = |(partition, holders): (&Partition, &BTreeSet<usize>)| {
            holders.is_empty().then_some(*partition)
        };
        let uncovered: Vec<Partition> = self.holders.iter().filter_map(bare).collect();
        for partition in uncovered {
            let least = self
                .by_load
                .iter()
                .find(|(_, member)| self.subscribes(*member, partition));
            if let Some((_, member)) = least.copied() {
                self.give(member, partition);
            }
        }
    }

    /// Nobody shares a partition who has another one.
    fn drop_spare_shares(&mut self) {
        for partition in self.shared() {
            while let Some(member) = self.spare_holder(partition) {
                self.take(member, partition);
            }
        }
    }

    /// The holder of a shared partition that has most, if that is more than this one.
    fn spare_holder(&self, partition: Partition) -> Option<usize> {
        let holders = self
            .holders
            .get(&partition)
            .filter(|holders| holders.len() > 1)?;
        let member = *holders
            .iter()
            .max_by_key(|member| (self.load(**member), **member))?;
        (self.load(member) > 1).then_some(member)
    }

    fn shared(&self) -> Vec<Partition> {
        let shared = self.holders.iter().filter(|(_, holders)| holders.len() > 1);
        shared.map(|(partition, _)| *partition).collect()
    }

    /// Moves partitions from members with more to members with less, those with the least first.
    /// Each move makes the loads more equal, so this ends.
    fn even_loads(&mut self) {
        let mut moved = true;
        while core::mem::take(&mut moved) {
            let ascending: Vec<usize> = self.by_load.iter().map(|(_, member)| *member).collect();
            for to in ascending {
                while let Some((from, partition)) = self.load_for(to) {
                    self.take(from, partition);
                    self.give(to, partition);
                    moved = true;
                }
            }
        }
    }

    /// A partition for this member from the one with the most, where that leaves it no less.
    fn load_for(&self, to: usize) -> Option<(usize, Partition)> {
        let load = self.load(to);
        let more = self
            .by_load
            .iter()
            .rev()
            .take_while(|(other, _)| *other > load + 1);
        more.map(|(_, from)| *from)
            .find_map(|from| Some((from, self.movable(from, to)?)))
    }

    fn movable(&self, from: usize, to: usize) -> Option<Partition> {
        self.subscriptions[to].iter().find_map(|topic| {
            let mut of_topic = self.held[from].range((*topic, i32::MIN)..=(*topic, i32::MAX));
            of_topic
                .rfind(|partition| !self.held[to].contains(*partition))
                .copied()
        })
    }

    /// A member that is left with nothing shares the partition that the fewest share.
    fn employ_idle(&mut self) {
        let idle: Vec<usize> = self
            .by_load
            .iter()
            .take_while(|(load, _)| *load == 0)
            .map(|(_, member)| *member)
            .collect();
        for member in idle {
            let open = self
                .holders
                .iter()
                .filter(|(partition, _)| self.subscribes(member, **partition));
            if let Some((partition, _)) =
                open.min_by_key(|(partition, holders)| (holders.len(), **partition))
            {
                self.give(member, *partition);
            }
        }
    }

    /// Moves members from partitions that more share to partitions that fewer share.
    fn even_shares(&mut self) {
        while let Some((member, from, to)) = self.share_move() {
            self.take(member, from);
            self.give(member, to);
        }
    }

    fn share_move(&self) -> Option<(usize, Partition, Partition)> {
        for from in self.shared() {
            let holders = self.holders.get(&from)?;
            let fewer = self
                .holders
                .iter()
                .filter(|(_, few)| few.len() + 1 < holders.len());
            for (to, few) in fewer {
                let fits =
                    |member: &&usize| self.subscribes(**member, *to) && !few.contains(*member);
                if let Some(member) = holders.iter().rfind(fits) {
                    return Some((*member, from, *to));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    use super::*;

    fn topic(number: u8) -> Uuid {
        Uuid::from_bytes([number; 16])
    }

    fn partitions(of: &[(u8, i32)]) -> Assigned {
        of.iter()
            .map(|(number, count)| (topic(*number), (0..*count).collect()))
            .collect()
    }

    /// Members `m00`, `m01`, .. and the topics that each subscribes to.
    struct World {
        subscriptions: BTreeMap<Str, Vec<u8>>,
        assigned: BTreeMap<Str, Assigned>,
    }

    impl World {
        fn new(subscriptions: &[&[u8]]) -> Self {
            let mut world = World {
                subscriptions: BTreeMap::new(),
                assigned: BTreeMap::new(),
            };
            for topics in subscriptions {
                world.join(topics);
            }
            world
        }

        fn join(&mut self, topics: &[u8]) {
            let name = format!("m{:02}", self.subscriptions.len());
            self.subscriptions.insert(name.into(), topics.to_vec());
        }

        fn assign(&mut self, partitions: &Assigned) {
            let nothing = Assigned::new();
            let claims = self.subscriptions.iter().map(|(member, topics)| {
                let current = self.assigned.get(member).unwrap_or(&nothing);
                let topics = topics.iter().map(|number| topic(*number)).collect();
                (member.clone(), Claim { topics, current })
            });
            self.assigned = assign(&claims.collect(), partitions);
        }

        /// `m00=1:0,2 m01=1:1`: topics by their first byte.
        fn text(&self) -> String {
            let mut text = String::new();
            for (member, assigned) in &self.assigned {
                text.push_str(&format!(
                    "{}{member}=",
                    if text.is_empty() { "" } else { " " }
                ));
                for (topic, partitions) in assigned {
                    let list: Vec<String> = partitions.iter().map(|p| format!("{p}")).collect();
                    let gap = if text.ends_with('=') { "" } else { ";" };
                    text.push_str(&format!("{gap}{}:{}", topic.to_bytes()[0], list.join(",")));
                }
            }
            text
        }

        fn loads(&self) -> Vec<usize> {
            let load = |assigned: &Assigned| assigned.values().map(BTreeSet::len).sum();
            self.assigned.values().map(load).collect()
        }

        fn shares(&self, partitions: &Assigned) -> Vec<usize> {
            let mut shares = vec![];
            for (topic, partitions) in partitions {
                for partition in partitions {
                    let holds =
                        |a: &&Assigned| a.get(topic).is_some_and(|of| of.contains(partition));
                    shares.push(self.assigned.values().filter(holds).count());
                }
            }
            shares
        }
    }

    fn assigned(subscriptions: &[&[u8]], of: &[(u8, i32)]) -> String {
        let mut world = World::new(subscriptions);
        world.assign(&partitions(of));
        world.text()
    }

    fn spread(numbers: &[usize]) -> usize {
        numbers.iter().max().unwrap_or(&0) - numbers.iter().min().unwrap_or(&0)
    }

    #[test]
    fn exact_assignments() {
        assert_eq!(assigned(&[], &[(1, 3)]), "");
        assert_eq!(assigned(&[&[1]], &[]), "m00=");
        assert_eq!(assigned(&[&[1]], &[(1, 3)]), "m00=1:0,1,2");
        assert_eq!(assigned(&[&[1], &[1]], &[(1, 3)]), "m00=1:0,2 m01=1:1");
        assert_eq!(assigned(&[&[1], &[1]], &[(1, 1)]), "m00=1:0 m01=1:0");
        assert_eq!(
            assigned(&[&[1], &[1], &[1]], &[(1, 2)]),
            "m00=1:0 m01=1:1 m02=1:0"
        );
        assert_eq!(
            assigned(&[&[1, 2], &[1, 2]], &[(1, 2), (2, 3)]),
            "m00=1:0;2:0,2 m01=1:1;2:1"
        );
    }

    #[test]
    fn members_get_only_what_they_subscribe_to() {
        assert_eq!(
            assigned(&[&[1], &[2]], &[(1, 2), (2, 1), (3, 5)]),
            "m00=1:0,1 m01=2:0"
        );
        // m01 could take all of both topics; m00 has to have its part of topic 1.
        assert_eq!(
            assigned(&[&[1], &[1, 2]], &[(1, 2), (2, 2)]),
            "m00=1:0,1 m01=2:0,1"
        );
        assert_eq!(assigned(&[&[9], &[1]], &[(1, 2)]), "m00= m01=1:0,1");
    }

    #[test]
    fn every_size_is_balanced_complete_and_stable() {
        for members in 1..9_usize {
            for count in 1..12 {
                let partitions = partitions(&[(1, count), (2, count / 2)]);
                let mut world = World::new(&vec![&[1, 2][..]; members]);
                world.assign(&partitions);
                let shares = world.shares(&partitions);
                let total = shares.iter().sum::<usize>();
                assert!(shares.iter().all(|share| *share > 0), "{members} {count}");
                assert!(
                    spread(&shares) <= 1 && spread(&world.loads()) <= 1,
                    "{members} {count}"
                );
                assert_eq!(total, members.max(shares.len()));
                let before = world.text();
                world.assign(&partitions);
                assert_eq!(world.text(), before);
            }
        }
    }

    #[test]
    fn a_new_member_takes_no_more_than_its_part() {
        let partitions = partitions(&[(1, 6)]);
        let mut world = World::new(&[&[1], &[1]]);
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0,2,4 m01=1:1,3,5");
        world.join(&[1]);
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0,2 m01=1:1,3 m02=1:4,5");
    }

    #[test]
    fn those_who_stay_keep_theirs_when_one_leaves() {
        let partitions = partitions(&[(1, 6)]);
        let mut world = World::new(&[&[1], &[1], &[1]]);
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0,3 m01=1:1,4 m02=1:2,5");
        world.subscriptions.remove("m01");
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0,1,3 m02=1:2,4,5");
    }

    #[test]
    fn sharing_ends_with_the_need_for_it() {
        let partitions = partitions(&[(1, 2)]);
        let mut world = World::new(&[&[1], &[1], &[1], &[1], &[1], &[1]]);
        world.assign(&partitions);
        assert_eq!(world.shares(&partitions), [3, 3]);
        // All of partition 1 leave but one: the others spread over both again.
        world.subscriptions.remove("m01");
        world.subscriptions.remove("m03");
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0 m02=1:0 m04=1:1 m05=1:1");
        world.subscriptions.remove("m02");
        world.subscriptions.remove("m04");
        world.subscriptions.remove("m05");
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0,1");
    }

    #[test]
    fn nobody_shares_who_has_another_partition() {
        let partitions = partitions(&[(1, 2)]);
        let mut world = World::new(&[&[1], &[1], &[1], &[1]]);
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:0 m01=1:1 m02=1:0 m03=1:1");
        world.subscriptions.remove("m01");
        world.subscriptions.remove("m03");
        world.assign(&partitions);
        assert_eq!(world.text(), "m00=1:1 m02=1:0");
    }

    #[test]
    fn partitions_that_are_gone_are_taken_and_new_ones_given() {
        let mut world = World::new(&[&[1], &[1]]);
        world.assign(&partitions(&[(1, 2)]));
        world.assign(&partitions(&[(1, 4)]));
        assert_eq!(world.text(), "m00=1:0,2 m01=1:1,3");
        world.assign(&partitions(&[(2, 4)]));
        assert_eq!(world.text(), "m00= m01=");
    }
}
