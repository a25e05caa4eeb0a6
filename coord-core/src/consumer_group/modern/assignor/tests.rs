//! Whatever is assigned: every partition once, to a subscriber.

use alloc::format;
use alloc::vec::Vec;

use ackord_machine::Entropy;

use super::*;

fn topic(number: u8) -> Uuid {
    Uuid([number; 16])
}

fn member(number: u64) -> Str {
    Str::from(format!("m{number:02}"))
}

/// Subscriptions by member number, as numbers of topics.
fn assign(
    assignor: Assignor,
    members: &BTreeMap<Str, BTreeSet<Uuid>>,
    topics: &BTreeMap<Uuid, i32>,
    before: &BTreeMap<Str, Assigned>,
) -> BTreeMap<Str, Assigned> {
    let subscribers = members.iter().map(|(id, subscribed)| {
        let subscriber = Subscriber {
            instance: None,
            topics: subscribed.clone(),
            before: before.get(id),
        };
        (id.clone(), subscriber)
    });
    assignor.assign(&subscribers.collect(), topics)
}

fn all(partitions: &Assigned) -> usize {
    partitions.values().map(BTreeSet::len).sum()
}

fn check(
    members: &BTreeMap<Str, BTreeSet<Uuid>>,
    topics: &BTreeMap<Uuid, i32>,
    assigned: &BTreeMap<Str, Assigned>,
) {
    assert!(assigned.keys().eq(members.keys()));
    let mut seen = BTreeSet::new();
    for (id, own) in assigned {
        for (topic, partitions) in own {
            assert!(members[id].contains(topic), "{id} does not subscribe");
            for partition in partitions {
                assert!(seen.insert((*topic, *partition)), "given twice");
            }
        }
    }
    let wanted = topics
        .iter()
        .filter(|(topic, _)| members.values().any(|own| own.contains(topic)));
    let wanted: usize = wanted.map(|(_, count)| *count as usize).sum();
    assert_eq!(seen.len(), wanted, "partitions without a member");
}

#[test]
fn any_group_gets_every_partition_once() {
    let mut chance = Entropy::from_seed([9; 32]);
    for _ in 0..300 {
        let topics: BTreeMap<Uuid, i32> = (1..=4)
            .map(|number| (topic(number), (chance.next_u64() % 9) as i32))
            .collect();
        let mut before: BTreeMap<Str, Assigned> = BTreeMap::new();
        for _ in 0..6 {
            let members: BTreeMap<Str, BTreeSet<Uuid>> = (0..chance.next_u64() % 7)
                .map(|_| {
                    let bits = chance.next_u64();
                    let subscribed = (1..=4).filter(|number| bits >> number & 1 == 1);
                    (member(bits >> 32 & 7), subscribed.map(topic).collect())
                })
                .collect();
            for assignor in [Assignor::Range, Assignor::Uniform] {
                let assigned = assign(assignor, &members, &topics, &before);
                check(&members, &topics, &assigned);
                if assignor == Assignor::Uniform {
                    let again = assign(assignor, &members, &topics, &assigned);
                    assert_eq!(again, assigned, "what is even stays as it is");
                    before = assigned;
                }
            }
        }
    }
}

#[test]
fn uniform_moves_no_more_than_it_has_to() {
    let topics: BTreeMap<Uuid, i32> = [(topic(1), 12)].into();
    let group = |count: u64| -> BTreeMap<Str, BTreeSet<Uuid>> {
        (0..count)
            .map(|number| (member(number), [topic(1)].into()))
            .collect()
    };
    let mut before = assign(Assignor::Uniform, &group(1), &topics, &BTreeMap::new());
    for count in [2, 3, 4, 6, 5, 12, 7, 1] {
        let after = assign(Assignor::Uniform, &group(count), &topics, &before);
        check(&group(count), &topics, &after);
        let loads: Vec<usize> = after.values().map(all).collect();
        let (least, most) = (loads.iter().min(), loads.iter().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "{loads:?}");
        let kept: usize = after
            .iter()
            .map(|(id, own)| {
                let earlier = before.get(id).and_then(|own| own.get(&topic(1)));
                let earlier = earlier.cloned().unwrap_or_default();
                own.values()
                    .map(|own| own.intersection(&earlier).count())
                    .sum::<usize>()
            })
            .sum();
        let could_keep: usize = after
            .iter()
            .map(|(id, own)| all(own).min(before.get(id).map_or(0, all)))
            .sum();
        assert_eq!(kept, could_keep, "with {count} members");
        before = after;
    }
}

#[test]
fn range_gives_the_same_numbers_of_each_topic_to_one_member() {
    let topics: BTreeMap<Uuid, i32> = [(topic(1), 5), (topic(2), 5)].into();
    let both: BTreeSet<Uuid> = [topic(1), topic(2)].into();
    let members = (0..2)
        .map(|number| (member(number), both.clone()))
        .collect();
    let assigned = assign(Assignor::Range, &members, &topics, &BTreeMap::new());
    let first: BTreeSet<i32> = [0, 1, 2].into();
    let second: BTreeSet<i32> = [3, 4].into();
    assert_eq!(
        assigned[&member(0)],
        [(topic(1), first.clone()), (topic(2), first)].into()
    );
    assert_eq!(
        assigned[&member(1)],
        [(topic(1), second.clone()), (topic(2), second)].into()
    );
}
