//! Every state of a small world of transactional acknowledgement (KIP-1289): the real share
//! coordinator and the real leader of a partition, which hears late how transactions end.

mod world;

use std::collections::{BTreeMap, VecDeque};

use world::{Event, World};

/// 2 members, 2 producers, 2 epochs; stages and markers in any order, lock expiry, fencing, reload of
/// the leader and of the coordinator.
#[test]
fn no_order_of_stages_and_markers_parts_record_and_transaction() {
    explore(World::new(1), &Event::all(&[0, 1], &[0]));
    explore(World::new(2), &Event::all(&[0, 1], &[0, 1]));
}

fn explore(first: World, events: &[Event]) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut reached_from: Vec<Vec<usize>> = vec![Vec::new()];
    let mut settled = Vec::new();
    places.insert(first.key(), 0);
    let mut queue = VecDeque::from([(0, first)]);
    let mut transitions = 0;
    while let Some((place, world)) = queue.pop_front() {
        if world.is_settled() {
            settled.push(place);
        }
        for event in events {
            let mut next = world.clone();
            if !next.step(*event) {
                continue;
            }
            next.check(*event);
            transitions += 1;
            let found = places.len();
            let to = *places.entry(next.key()).or_insert(found);
            if to == found {
                reached_from.push(Vec::new());
                queue.push_back((to, next));
            }
            reached_from[to].push(place);
        }
    }
    let states = places.len();
    println!(
        "staging with {} events: {states} states, {transitions} transitions",
        events.len()
    );
    assert!(states > 50, "only {states} states");
    let mut able = vec![false; states];
    while let Some(place) = settled.pop() {
        if !std::mem::replace(&mut able[place], true) {
            settled.extend(&reached_from[place]);
        }
    }
    assert!(
        able.iter().all(|able| *able),
        "a transaction never lets go of a record"
    );
}
