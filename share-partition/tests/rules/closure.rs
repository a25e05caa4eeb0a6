//! Every state of small worlds: the real record machine, explored to closure.
//!
//! A world is a log of a few records and a list of events. From the first state every event is
//! tried in every state that comes up, until nothing new does. Each step is checked, and at the end
//! that from every state the group can still finish. Times count from the moment, so that a world
//! is finite.

use std::collections::{BTreeMap, VecDeque};

use ackord_share_partition::Config;

use crate::common::{ACCEPT, GAP, REJECT, RELEASE, RENEW, owner};
use crate::small_world::{Event, SmallWorld};

/// What an exploration came to: the same each time, so that a change of the machine is seen.
#[derive(Debug, PartialEq, Eq)]
struct Explored {
    states: usize,
    transitions: usize,
    /// Transitions that changed something.
    changes: usize,
}

/// Explores from `first` with `events`.
fn explore(title: &str, first: SmallWorld, events: &[Event]) -> Explored {
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut reached_from: Vec<Vec<u32>> = vec![Vec::new()];
    let mut finished: Vec<usize> = Vec::new();
    let mut queue = VecDeque::from([(0, first.clone())]);
    places.insert(first.key(), 0);
    let (mut transitions, mut changes) = (0, 0);
    while let Some((place, world)) = queue.pop_front() {
        if world.is_finished() {
            finished.push(place);
        }
        for event in events {
            let mut next = world.clone();
            next.step(&world, event);
            transitions += 1;
            let key = next.key();
            let found = places.len();
            let to = *places.entry(key).or_insert(found);
            if to == found {
                reached_from.push(Vec::new());
                queue.push_back((to, next));
            }
            if to != place {
                changes += 1;
                reached_from[to].push(u32::try_from(place).unwrap());
            }
        }
    }
    let states = places.len();
    println!("{title}: {states} states, {transitions} transitions, {changes} of them changes");
    assert!(!finished.is_empty(), "nothing ever ends");
    let stuck = states - able_to_finish(&reached_from, finished);
    assert_eq!(stuck, 0, "states from which the group can never finish");
    Explored {
        states,
        transitions,
        changes,
    }
}

fn explored(states: usize, transitions: usize, changes: usize) -> Explored {
    Explored {
        states,
        transitions,
        changes,
    }
}

/// Number of states from which a finished one can be reached.
fn able_to_finish(reached_from: &[Vec<u32>], finished: Vec<usize>) -> usize {
    let mut able = vec![false; reached_from.len()];
    let mut open = finished;
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut able[place], true) {
            open.extend(reached_from[place].iter().map(|from| *from as usize));
        }
    }
    able.into_iter().filter(|able| *able).count()
}

fn config(dead_letters: bool) -> Config {
    Config {
        delivery_count_limit: 2,
        dead_letters,
        ..Config::default()
    }
}

/// All ranges of offsets 0 to `last`.
fn spans(last: i64) -> Vec<(i64, i64)> {
    (0..=last)
        .flat_map(|first| (first..=last).map(move |last| (first, last)))
        .collect()
}

/// Fetches, acknowledgements of every type, locks and sessions of two members.
fn plain_events(last: i64) -> Vec<Event> {
    let mut events = vec![Event::Tick, Event::Reload, Event::Delete];
    for member in [0, 1] {
        events.push(Event::Leave(member));
        events.push(Event::Fetch {
            member,
            max: 500,
            strict: false,
        });
        events.push(Event::Fetch {
            member,
            max: 1,
            strict: true,
        });
        for (first, last) in spans(last) {
            for kind in GAP..=RENEW {
                events.push(Event::Acknowledge {
                    member,
                    first,
                    last,
                    kind,
                });
            }
        }
    }
    events
}

/// Stages, their undoing, ends of transactions, and news of them that come late and twice.
fn transaction_events(last: i64, producers: i64, epochs: i16, events: &mut Vec<Event>) {
    for producer in 1..=producers {
        for epoch in 0..epochs {
            let owner = owner(producer, epoch);
            events.push(Event::Unstage(owner));
            for (first, last) in spans(last) {
                for member in [Some(0), Some(1)] {
                    for kind in [GAP, ACCEPT, RELEASE, REJECT] {
                        events.push(Event::Stage {
                            member,
                            owner,
                            first,
                            last,
                            kind,
                        });
                    }
                }
            }
        }
        for marker in 1..=epochs {
            for commit in [true, false] {
                events.push(Event::Marker {
                    producer,
                    marker,
                    commit,
                });
            }
        }
    }
    events.push(Event::NewsDone);
    events.extend([true, false].map(|queue_open| Event::News { queue_open }));
}

/// A plain group, with and without a dead letter queue: 2 members, 3 offsets in two log batches.
#[test]
fn two_members_and_three_offsets() {
    for (dead_letters, expected) in [
        (false, explored(1731, 143_673, 26_633)),
        (true, explored(4590, 380_970, 63_562)),
    ] {
        let mut events = plain_events(2);
        for (first, last) in spans(2) {
            events.push(Event::Hole { first, last });
            events.push(Event::Written { first, last });
        }
        events.extend([1, 2].map(Event::LogStart));
        let world = SmallWorld::new(config(dead_letters), &[(0, 1), (2, 2)], 1);
        let title = format!("2 members, 3 offsets, dead letter queue {dead_letters}");
        assert_eq!(explore(&title, world, &events), expected);
    }
}

/// Locks of two ticks: those of the two members end at different times.
#[test]
fn locks_end_one_by_one() {
    let mut events = plain_events(1);
    for (first, last) in spans(1) {
        events.push(Event::Written { first, last });
    }
    events.extend([1, 2].map(Event::LogStart));
    let world = SmallWorld::new(config(true), &[(0, 0), (1, 1)], 2);
    let title = "2 members, 2 offsets, locks of 2 ticks";
    assert_eq!(explore(title, world, &events), explored(615, 27_060, 7396));
}

/// One transaction beside plain acknowledgement.
#[test]
fn a_transaction_beside_plain_members() {
    let mut events = plain_events(1);
    transaction_events(1, 1, 1, &mut events);
    for (first, last) in spans(1) {
        events.push(Event::Written { first, last });
    }
    events.extend([1, 2].map(Event::LogStart));
    let world = SmallWorld::new(config(true), &[(0, 1)], 1);
    let title = "2 members, 2 offsets, 1 producer";
    let expected = explored(23_512, 1_739_888, 241_181);
    assert_eq!(explore(title, world, &events), expected);
}

/// A share partition that leaves memory and comes back, with a hole in the log, which only fetches find,
/// and a transaction around it.
#[test]
fn a_share_partition_that_leaves_memory() {
    let mut events = plain_events(2);
    transaction_events(2, 1, 1, &mut events);
    events.retain(|event| match event {
        Event::Acknowledge { kind, .. } | Event::Stage { kind, .. } => *kind == ACCEPT,
        Event::Fetch { member, .. } | Event::Leave(member) => *member == 0,
        // It would find the hole anew.
        Event::Reload => false,
        _ => true,
    });
    events.push(Event::Unused);
    let world = SmallWorld::new(config(false), &[(0, 0), (2, 2)], 1);
    let title = "2 members, 2 records and a hole, 1 producer";
    let expected = explored(1047, 37_692, 6826);
    assert_eq!(explore(title, world, &events), expected);
}

/// One transaction beside plain acknowledgements in a group that acknowledges in transactions only:
/// the limit gives nothing up.
#[test]
fn a_group_in_transactional_mode() {
    for (dead_letters, expected) in [
        (false, explored(20_323, 1_503_902, 222_196)),
        (true, explored(22_155, 1_639_470, 241_630)),
    ] {
        let mut events = plain_events(1);
        transaction_events(1, 1, 1, &mut events);
        for (first, last) in spans(1) {
            events.push(Event::Written { first, last });
        }
        events.extend([1, 2].map(Event::LogStart));
        let transactional = Config {
            transactional: true,
            ..config(dead_letters)
        };
        let world = SmallWorld::new(transactional, &[(0, 1)], 1);
        let title = format!("transactional mode, 2 members, dead letter queue {dead_letters}");
        assert_eq!(explore(&title, world, &events), expected);
    }
}

/// Two producers under two epochs each, markers in any order and repeated, news of them late and
/// repeated. One record at a time, all of it accepted, and no stage is undone: those are the business
/// of the other worlds.
#[test]
fn two_producers_and_two_epochs() {
    let mut events = vec![Event::Tick, Event::Reload];
    for member in [0, 1] {
        events.push(Event::Leave(member));
        events.push(Event::Fetch {
            member,
            max: 1,
            strict: true,
        });
    }
    transaction_events(2, 2, 2, &mut events);
    events.retain(|event| match event {
        Event::Stage {
            first, last, kind, ..
        } => first == last && *kind == ACCEPT,
        Event::News { queue_open } => !queue_open,
        Event::Unstage(_) => false,
        _ => true,
    });
    let limit = Config {
        delivery_count_limit: 1,
        ..config(false)
    };
    let world = SmallWorld::new(limit, &[(0, 0), (1, 1), (2, 2)], 1).without_unstage();
    let title = "2 members, 3 offsets, 2 producers, 2 epochs";
    let expected = explored(99_212, 3_968_480, 789_888);
    assert_eq!(explore(title, world, &events), expected);
}
