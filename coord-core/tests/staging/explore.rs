//! Breadth first over all states, by digest.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};

use crate::network::Fault;
use crate::world::{Event, World};

/// What an exploration came to.
pub(crate) struct Explored {
    pub(crate) states: usize,
    pub(crate) transitions: u64,
    /// States in which nothing is on its way or under way.
    pub(crate) settled: usize,
    /// States whose steps were not all tried.
    pub(crate) open: usize,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explored {
            states,
            transitions,
            settled,
            open,
        } = self;
        write!(
            f,
            "{states} states, {settled} of them settled, {open} open, {transitions} transitions"
        )
    }
}

/// How a state was first reached.
struct Reached {
    from: u32,
    step: Option<(Event, Option<(usize, Fault)>)>,
}

/// Explores until nothing new comes up, or `limit` transitions were made; or tells how a rule was
/// broken, from the first state on.
pub(crate) fn explore(first: World, limit: u64) -> Result<Explored, String> {
    let mut places: BTreeMap<u128, u32> = BTreeMap::from([(first.digest(), 0)]);
    let mut reached = vec![Reached {
        from: 0,
        step: None,
    }];
    // Edges of steps without a fault, to and from.
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut settled: Vec<u32> = Vec::new();
    let mut queue = VecDeque::from([(0_u32, first)]);
    let mut transitions = 0;
    while let Some((place, world)) = queue.pop_front() {
        if world.is_settled() {
            settled.push(place);
        }
        for event in world.events() {
            let mut faults = vec![None];
            let mut next_fault = 0;
            while let Some(fault) = faults.get(next_fault).copied() {
                next_fault += 1;
                let mut next = world.clone();
                let Some(messages) = next.step(event, fault) else {
                    continue;
                };
                if fault.is_none() && world.can_fail() {
                    faults.extend(Fault::each(messages, &world).map(Some));
                }
                transitions += 1;
                if transitions % 500_000 == 0 {
                    let (known, open) = (places.len(), queue.len());
                    println!("{transitions} transitions, {known} states, {open} of them open");
                }
                if let Some(broken) = next.broken() {
                    return Err(tell(&reached, place, (event, fault), &broken));
                }
                let found = places.len() as u32;
                let to = *places.entry(next.digest()).or_insert(found);
                if to == found {
                    reached.push(Reached {
                        from: place,
                        step: Some((event, fault)),
                    });
                    queue.push_back((to, next));
                }
                if fault.is_none() && to != place {
                    edges.push((to, place));
                }
                if transitions >= limit {
                    return Ok(Explored {
                        states: places.len(),
                        transitions,
                        settled: settled.len(),
                        open: queue.len() + 1,
                    });
                }
            }
        }
    }
    let states = places.len();
    if let Some(stuck) = first_stuck(states, edges, &settled) {
        let step = reached[stuck as usize]
            .step
            .expect("the first state is settled");
        let from = reached[stuck as usize].from;
        return Err(tell(&reached, from, step, "it can never settle from here"));
    }
    Ok(Explored {
        states,
        transitions,
        settled: settled.len(),
        open: 0,
    })
}

/// A state from which no settled one can be reached without faults.
fn first_stuck(states: usize, mut edges: Vec<(u32, u32)>, settled: &[u32]) -> Option<u32> {
    edges.sort_unstable();
    edges.dedup();
    let mut able = vec![false; states];
    let mut open = settled.to_vec();
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut able[place as usize], true) {
            let begin = edges.partition_point(|(to, _)| *to < place);
            let end = edges.partition_point(|(to, _)| *to <= place);
            open.extend(edges[begin..end].iter().map(|(_, from)| *from));
        }
    }
    able.iter().position(|able| !able).map(|place| place as u32)
}

fn tell(
    reached: &[Reached],
    mut place: u32,
    last: (Event, Option<(usize, Fault)>),
    broken: &str,
) -> String {
    let mut steps = vec![last];
    while let Some(step) = reached[place as usize].step {
        steps.push(step);
        place = reached[place as usize].from;
    }
    let mut text = String::from(broken);
    for (event, fault) in steps.into_iter().rev() {
        let _ = write!(text, "\n  {event:?}");
        if let Some((message, fault)) = fault {
            let _ = write!(text, ", message {message}: {fault:?}");
        }
    }
    text
}
