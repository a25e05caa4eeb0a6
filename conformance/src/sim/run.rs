//! One run: safety phase, liveness phase, account.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use ackord_coord_core::BrokerConfig;

use super::actors::{self, GROUPS, INPUT, OUTPUT, QUEUE, Temper};
use super::audit;
use super::ctx::Ctx;
use super::dead_letters;
use super::ledger::Ledger;
use super::one_node::OneNode;
use super::plan::{Plan, Without};
use super::spread;
use super::watcher;
use super::workload::{ClientKind, Placement, Way, Workload};
use super::world::World;

/// Longer than any transaction, lock and session.
const UNTIL_ALL_IS_OVER_MS: u64 = 90_000;

/// How a run went.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Broken promises; the first few.
    pub problems: Vec<String>,
    /// Of everything that the machines did.
    pub digest: u64,
    /// What was said, where it was kept.
    pub transcript: Vec<String>,
    /// Network faults that came about.
    pub net_faults: Vec<(usize, u64)>,
    /// Simulated milliseconds.
    pub simulated_ms: u64,
    /// Requests.
    pub requests: u64,
    /// Deliveries of records.
    pub deliveries: u64,
    /// Transactions whose commit was confirmed.
    pub commits: u64,
}

/// Carries out the run of a seed, without what is left out. A panic is a broken promise too.
pub fn run(seed: u64, workload: &Workload, without: &Without, keep_transcript: bool) -> Report {
    let whole = || match workload.placement {
        Placement::FourNodes => spread::run(seed, workload, without, keep_transcript, None),
        Placement::OneNode => carry_out(seed, workload, without, keep_transcript),
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(whole)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_string()));
        Report {
            problems: vec![format!("panic: {}", text.unwrap_or_default())],
            ..Report::default()
        }
    })
}

fn carry_out(seed: u64, workload: &Workload, without: &Without, keep_transcript: bool) -> Report {
    let plan = Plan::new(seed, workload);
    let config = BrokerConfig::from_pairs(
        plan.configs
            .iter()
            .map(|(name, value)| (*name, value.clone())),
    );
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            return Report {
                problems: vec![error],
                ..Report::default()
            };
        }
    };
    let mut cluster = OneNode::new(
        config,
        plan.limits.clone(),
        plan.slowest_disk_us,
        plan.chance.fork("cluster"),
    );
    cluster.notice_late(plan.late_us);
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    configure(&plan, &mut ledger.borrow_mut());
    let mut world = World::new(&plan, without, Box::new(cluster), ledger, keep_transcript);
    world.bounce();
    live(&plan, without, &mut world);
    let mut problems = std::mem::take(&mut world.problems);
    problems.truncate(5);
    let ledger = world.ledger.clone();
    let ledger = ledger.borrow();
    Report {
        problems,
        digest: world.digest(),
        net_faults: std::mem::take(&mut world.net_faults),
        simulated_ms: world.now_ms(),
        requests: world.arrivals,
        deliveries: ledger.deliveries.count,
        commits: ledger.commits,
        transcript: world.take_transcript(),
    }
}

fn configure(plan: &Plan, ledger: &mut Ledger) {
    let number = |name: &str| {
        let found = plan.group_configs.iter().find(|(own, _)| *own == name);
        found.and_then(|(_, value)| value.parse().ok())
    };
    ledger.deliveries.lock_ms = number("share.record.lock.duration.ms").unwrap_or(30_000);
    let limit = number("share.delivery.count.limit").unwrap_or(5);
    ledger.deliveries.limit = i16::try_from(limit).unwrap_or(i16::MAX);
    let committed = ("share.isolation.level", "read_committed".to_string());
    ledger.reads_committed = plan.group_configs.contains(&committed);
    let mode = ("share.acknowledgement.mode", "transactional".to_string());
    ledger.deliveries.transactional = plan.group_configs.contains(&mode);
    let copies = "errors.deadletterqueue.copy.record.enable";
    let mut copies = plan.group_configs.iter().filter(|own| own.0 == copies);
    ledger.queue = copies.next().map(|(_, value)| value == "true");
}

fn ctx(plan: &Plan, world: &World<'_>, name: &str) -> Ctx {
    Ctx::new(
        name.to_string(),
        plan.chance.fork(name),
        world.ledger.clone(),
    )
}

fn live(plan: &Plan, without: &Without, world: &mut World<'_>) {
    let own = ctx(plan, world, "setup");
    let story = actors::set_up(own.clone(), plan.group_configs.clone(), plan.has_queue);
    let setup = world.add(own, Box::pin(story), 0);
    world.run(60_000, |world| world.is_done(setup));
    if let Some(epoch) = plan.first_epoch {
        grow_old(plan, world, epoch);
    }
    let mut clients = Vec::new();
    for (number, kind) in plan.clients.iter().enumerate() {
        if !without.clients.contains(&number) {
            clients.push(start(plan, world, number, kind));
        }
    }
    let began = world.now_ms();
    world.begin_faults();
    let length = without.length_ms.unwrap_or(plan.length_ms);
    world.run(began + length, |_| false);
    if !world.problems.is_empty() {
        return;
    }
    // From here on nothing goes wrong, and everything has to end.
    world.end_faults();
    let until = world.now_ms() + 5000;
    world.run(until, |world| {
        clients.iter().all(|client| world.is_done(*client))
    });
    for client in &clients {
        world.vanish(*client);
    }
    come_back(plan, world);
    let until = world.now_ms() + UNTIL_ALL_IS_OVER_MS;
    world.run(until, |_| false);
    if world.problems.is_empty() {
        still_open(world);
    }
    drain(plan, world);
    if world.problems.is_empty() {
        still_open(world);
        let problems = audit::account(world);
        world.problems.extend(problems);
    }
}

/// Who took part in two-phase commit ends what it has prepared, since nobody else does; and the dead
/// letter queue can be written.
fn come_back(plan: &Plan, world: &mut World<'_>) {
    let own = ctx(plan, world, "keeper");
    let mut clients = vec![world.add(own.clone(), Box::pin(actors::open_queue(own, true)), 0)];
    for kind in &plan.clients {
        if let ClientKind::Participant { tid, .. } = kind {
            let own = ctx(plan, world, &format!("heir of {tid}"));
            let story = actors::settle(own.clone(), tid.clone());
            clients.push(world.add(own, Box::pin(story), 0));
        }
    }
    let until = world.now_ms() + 60_000;
    world.run(until, |world| {
        clients.iter().all(|client| world.is_done(*client))
    });
    if !world.ledger.borrow().prepared.is_empty() {
        let left = format!("still prepared: {:?}", world.ledger.borrow().prepared);
        world.problems.push(left);
    }
}

/// Transactional ids that have seen almost all epochs.
fn grow_old(plan: &Plan, world: &mut World<'_>, epoch: i16) {
    let tids: BTreeSet<String> = plan
        .clients
        .iter()
        .filter_map(|kind| match kind {
            ClientKind::Worker { tid, .. }
            | ClientKind::Mover { tid, .. }
            | ClientKind::Participant { tid, .. }
            | ClientKind::Resetter { tid, .. }
            | ClientKind::Feeder { tid, .. } => Some(tid.clone()),
            _ => None,
        })
        .collect();
    let own = ctx(plan, world, "elder");
    let given = Rc::new(RefCell::new(Vec::new()));
    let story = actors::elder(own.clone(), tids.into_iter().collect(), given.clone());
    let elder = world.add(own, Box::pin(story), 0);
    let until = world.now_ms() + 60_000;
    world.run(until, |world| world.is_done(elder));
    world.age(&given.borrow(), epoch);
}

fn start(plan: &Plan, world: &mut World<'_>, number: usize, kind: &ClientKind) -> usize {
    let word = match kind {
        ClientKind::Admin => "admin",
        ClientKind::Feeder { .. } => "feeder",
        ClientKind::Mover { .. } => "mover",
        ClientKind::Participant { .. } => "participant",
        ClientKind::Plain { .. } => "plain",
        ClientKind::Producer => "producer",
        ClientKind::Reader => "reader",
        ClientKind::Resetter { .. } => "resetter",
        ClientKind::Vandal => "vandal",
        ClientKind::Worker { .. } => "worker",
    };
    let own = ctx(plan, world, &format!("{word}{number}"));
    let delay = own.below(500);
    let mut temper = Temper {
        aborts: own.pick(&[0, 20, 60]),
        vanishes: own.pick(&[0, 3, 10]),
        dawdles: own.pick(&[0, 5, 15]),
        odd: own.pick(&[0, 10, 30]),
        rejects: own.pick(&[0, 10]),
        careless: 3,
        way: Way::Native,
        old: own.percent(25),
    };
    let story: super::world::Running = match kind.clone() {
        ClientKind::Admin => Box::pin(actors::admin(own.clone())),
        ClientKind::Feeder {
            tid,
            produce_version,
        } => Box::pin(actors::feeder(own.clone(), tid, produce_version)),
        ClientKind::Mover { tid, new } => Box::pin(actors::mover(own.clone(), tid, new)),
        ClientKind::Participant { group, tid } => {
            temper.old = false;
            Box::pin(actors::participant(own.clone(), group, tid, temper))
        }
        ClientKind::Plain { group } => Box::pin(actors::plain(own.clone(), group)),
        ClientKind::Producer => Box::pin(actors::producer(own.clone())),
        ClientKind::Reader => Box::pin(actors::reader(own.clone())),
        ClientKind::Resetter { group, tid } => Box::pin(actors::resetter(own.clone(), group, tid)),
        ClientKind::Vandal => Box::pin(actors::vandal(own.clone())),
        ClientKind::Worker { group, tid, way } => {
            temper.way = way;
            match way {
                Way::Native => {}
                Way::Text(version) => temper.old = version < 5,
            }
            Box::pin(actors::worker(own.clone(), group, tid, temper))
        }
    };
    world.add(own, story, delay)
}

/// Everything that was begun has to have ended by itself.
fn still_open(world: &mut World<'_>) {
    let open: Vec<String> = world
        .cluster
        .brokers()
        .into_iter()
        .flat_map(crate::core_view::open_items)
        .collect();
    let in_flight = in_flight(world);
    let letters = letters_to_come(world);
    let all = open
        .into_iter()
        .chain(in_flight)
        .chain(letters)
        .map(|what| format!("still {what}"));
    world.problems.extend(all);
}

/// Records that wait for their copies in the dead letter queue.
fn letters_to_come(world: &World<'_>) -> Vec<String> {
    let brokers = world.cluster.brokers().into_iter();
    let states = brokers
        .flat_map(|broker| broker.share_coordinators())
        .flat_map(|own| own.states());
    states
        .filter(|(_, state)| state.has_dead_letters())
        .map(|(key, _)| {
            let (group, partition) = (&key.group, key.partition);
            format!("records of {group}, partition {partition}, wait for their copies")
        })
        .collect()
}

fn in_flight(world: &World<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for broker in world.cluster.brokers() {
        for topic in broker.cluster().topics() {
            for log in topic.logs() {
                for group in GROUPS {
                    if let Some((_, held)) =
                        watcher::start_and_flight(broker, group, log).filter(|own| own.1 > 0)
                    {
                        all.push(format!(
                            "{held} records of {}-{} in flight in {group}",
                            topic.name, log.partition
                        ));
                    }
                }
            }
        }
    }
    all
}

/// Somebody consumes what is left, and looks at everything.
fn drain(plan: &Plan, world: &mut World<'_>) {
    let used: BTreeSet<&str> = plan
        .clients
        .iter()
        .filter_map(|kind| match kind {
            ClientKind::Participant { group, .. }
            | ClientKind::Plain { group }
            | ClientKind::Resetter { group, .. }
            | ClientKind::Worker { group, .. } => Some(group.as_str()),
            _ => None,
        })
        .collect();
    for group in used {
        let own = ctx(plan, world, &format!("drain-{group}"));
        let story = audit::drain(own.clone(), group.to_string());
        let client = world.add(own, Box::pin(story), 0);
        let until = world.now_ms() + 600_000;
        world.run(until, |world| world.is_done(client));
        if world.problems.is_empty() && !world.is_done(client) {
            world
                .problems
                .push(format!("the records of {group} do not come to an end"));
        }
        if world.problems.is_empty() {
            let problems = audit::reached_the_end(world, group);
            world.problems.extend(problems);
        }
    }
    let brokers = world.cluster.brokers();
    let topic = brokers.first().and_then(|own| own.cluster().topic(QUEUE));
    let letters = topic.map_or(0, |topic| topic.partitions);
    let own = ctx(plan, world, "auditor");
    let story = audit::read(own.clone(), vec![(OUTPUT, 2), (INPUT, 2)]);
    let client = world.add(own, Box::pin(story), 0);
    let own = ctx(plan, world, "reader of letters");
    let story = dead_letters::read(own.clone(), letters);
    let other = world.add(own, Box::pin(story), 0);
    let until = world.now_ms() + 60_000;
    world.run(until, |world| world.is_done(client) && world.is_done(other));
}
