//! What a seed stands for: sizes, clients and faults. Each client and each fault can be taken away
//! without changing the draws of the others; so a failing run can be made small.

use std::collections::BTreeSet;

use ackord_machine::{Limits, StorageFault};

use super::actors::QUEUE;
use super::chance::Chance;
use super::cluster::NodeFault;
use super::workload::{ClientKind, Workload};
use crate::script::{AppendFault, Keep};

/// Something that goes wrong at a moment.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// To a machine of the cluster.
    Node(NodeFault),
    /// The wall clock jumps by so many milliseconds.
    ClockStep(i64),
}

/// A whole run, before it begins.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where all chance comes from.
    pub chance: Chance,
    /// Configuration of the broker.
    pub configs: Vec<(&'static str, String)>,
    /// Its limits.
    pub limits: Limits,
    /// Microseconds that an operation of the store takes at most.
    pub slowest_disk_us: u64,
    /// Microseconds by which deadlines are noticed late.
    pub late_us: u64,
    /// Epoch with which transactional ids begin, where not with 0.
    pub first_epoch: Option<i16>,
    /// Configurations of each share group.
    pub group_configs: Vec<(&'static str, String)>,
    /// The dead letter queue is there from the start.
    pub has_queue: bool,
    /// Partitions of the input and output topics.
    pub partitions: i32,
    /// Clients, by number.
    pub clients: Vec<ClientKind>,
    /// Faults with their moments in milliseconds, by number.
    pub faults: Vec<(u64, Fault)>,
    /// Requests in a thousand to which the network does something.
    pub net_permille: u64,
    /// Milliseconds of the safety phase.
    pub length_ms: u64,
}

/// What is left out of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// Clients by number.
    pub clients: BTreeSet<usize>,
    /// Faults by number.
    pub faults: BTreeSet<usize>,
    /// Faults of the network: client and number of its request.
    pub net: BTreeSet<(usize, u64)>,
    /// The safety phase ends early, in milliseconds.
    pub length_ms: Option<u64>,
}

impl Plan {
    /// Of a seed.
    pub fn new(seed: u64, workload: &Workload) -> Plan {
        let chance = Chance::of_seed(seed).fork(workload.name);
        let mut sizes = chance.fork("sizes");
        let snapshot_every = sizes.pick(&[0, 1, 2, 3, 8, 50]);
        let partitions = sizes.pick(&["1", "1", "2", "3"]);
        let configs = vec![
            ("offsets.topic.num.partitions", "1".to_string()),
            (
                "transaction.state.log.num.partitions",
                sizes.pick(&["1", "2"]).to_string(),
            ),
            (
                "share.coordinator.state.topic.num.partitions",
                partitions.to_string(),
            ),
            (
                "share.coordinator.snapshot.update.records.per.snapshot",
                snapshot_every.to_string(),
            ),
            (
                "group.share.min.record.lock.duration.ms",
                "1000".to_string(),
            ),
            ("group.share.max.share.sessions", "50".to_string()),
            ("transaction.two.phase.commit.enable", "true".to_string()),
            ("unstable.api.versions.enable", "true".to_string()),
            (
                "errors.deadletterqueue.auto.create.topics.enable",
                "true".to_string(),
            ),
        ];
        let limits = Limits {
            checkpoint_appends: sizes.pick(&[3, 7, 20, 100]),
            request_bytes: sizes.pick(&[700, 3000, 512 << 20]),
            tail_bytes: sizes.pick(&[300, 2000, 1 << 20]),
            tail_bytes_per_log: sizes.pick(&[150, 1000, 1 << 20]),
            ..Limits::default()
        };
        let isolation = sizes.pick(&["read_committed", "read_uncommitted"]);
        let mut group_configs = vec![
            ("share.auto.offset.reset", "earliest".to_string()),
            (
                "share.record.lock.duration.ms",
                sizes.pick(&["1000", "2000", "5000", "15000"]).to_string(),
            ),
            ("share.partition.max.record.locks", "100".to_string()),
            (
                "share.delivery.count.limit",
                sizes.pick(&["2", "3", "5", "10"]).to_string(),
            ),
            ("share.isolation.level", isolation.to_string()),
            ("share.session.timeout.ms", "45000".to_string()),
        ];
        let mut draws = chance.fork("groups");
        if draws.percent(workload.transactional_mode) {
            let mode = "transactional".to_string();
            group_configs.push(("share.acknowledgement.mode", mode));
        }
        if draws.percent(50) {
            let copies = draws.percent(70).to_string();
            group_configs.push(("errors.deadletterqueue.topic.name", QUEUE.to_string()));
            group_configs.push(("errors.deadletterqueue.copy.record.enable", copies));
        }
        let has_queue = draws.percent(70);
        let length_ms = workload.length_ms;
        let calm = sizes.percent(10);
        Plan {
            clients: workload.clients(&mut chance.fork("clients")),
            faults: if calm {
                Vec::new()
            } else {
                faults(&mut chance.fork("faults"), workload)
            },
            net_permille: if calm { 0 } else { workload.net_permille },
            slowest_disk_us: sizes.pick(&[0, 300, 3000, 20_000]),
            partitions: 1 + i32::try_from(sizes.below(2)).unwrap_or_default(),
            late_us: sizes.pick(&[0, 900, 30_000]),
            first_epoch: sizes.percent(20).then_some(32_763),
            chance,
            configs,
            limits,
            group_configs,
            has_queue,
            length_ms,
        }
    }
}

fn faults(chance: &mut Chance, workload: &Workload) -> Vec<(u64, Fault)> {
    let mut faults = Vec::new();
    for _ in 0..chance.below(workload.faults + 1) {
        let at = chance.between(200, workload.length_ms);
        match chance.below(10) {
            0..=2 => {
                let keep = match chance.below(4) {
                    0 => Keep::AllIssued,
                    1 => Keep::Completed,
                    _ => Keep::Operations(usize::try_from(chance.between(1, 3)).unwrap_or(1)),
                };
                if chance.percent(60) {
                    // So that something is under way when it ends.
                    let before = chance.between(1, 40);
                    faults.push((
                        at.saturating_sub(before),
                        Fault::Node(NodeFault::Hold(true)),
                    ));
                }
                faults.push((at, Fault::Node(NodeFault::Crash(keep))));
                let down = chance.pick(&[1, 20, 300, 4000]);
                faults.push((at + down, Fault::Node(NodeFault::Restart)));
            }
            3..=6 => {
                let fault = match chance.below(4) {
                    0 => StorageFault::Full,
                    1 => StorageFault::Retriable,
                    _ => StorageFault::Indeterminate,
                };
                let landed = fault == StorageFault::Indeterminate && chance.percent(50);
                let ahead = usize::try_from(chance.below(4)).unwrap_or_default();
                if chance.percent(50) {
                    let until = chance.pick(&[5, 50, 1500]);
                    faults.push((at, Fault::Node(NodeFault::Hold(true))));
                    faults.push((at + until, Fault::Node(NodeFault::Hold(false))));
                }
                let fault = AppendFault { fault, landed };
                let fault = match chance.percent(30) {
                    true => NodeFault::FailCluster(fault),
                    false => NodeFault::FailAppend(ahead, fault),
                };
                faults.push((at, Fault::Node(fault)));
                if chance.percent(60) {
                    let count = usize::try_from(chance.between(1, 3)).unwrap_or(1);
                    faults.push((at, Fault::Node(NodeFault::FailLoads(count))));
                }
            }
            7 | 8 => {
                let until = chance.pick(&[5, 100, 1500, 6000]);
                faults.push((at, Fault::Node(NodeFault::Hold(true))));
                faults.push((at + until, Fault::Node(NodeFault::Hold(false))));
            }
            _ => {
                let by = i64::try_from(chance.between(1, 200_000)).unwrap_or_default();
                let step = if chance.percent(50) { by } else { -by };
                faults.push((at, Fault::ClockStep(step)));
            }
        }
    }
    faults
}

impl std::fmt::Display for Without {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words: Vec<String> = self.clients.iter().map(|own| format!("c{own}")).collect();
        words.extend(self.faults.iter().map(|own| format!("f{own}")));
        words.extend(
            self.net
                .iter()
                .map(|(client, request)| format!("n{client}:{request}")),
        );
        words.extend(self.length_ms.map(|millis| format!("l{millis}")));
        f.write_str(&words.join(","))
    }
}

impl Without {
    /// Reads what [`Display`](std::fmt::Display) writes.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut without = Without::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let wrong = || format!("`{word}` names nothing that can be left out");
            let (kind, rest) = word.split_at_checked(1).ok_or_else(wrong)?;
            let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
            let place = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            match kind {
                "c" => drop(without.clients.insert(place(rest)?)),
                "f" => drop(without.faults.insert(place(rest)?)),
                "l" => without.length_ms = Some(number(rest)?),
                "n" => {
                    let (client, request) = rest.split_once(':').ok_or_else(wrong)?;
                    without.net.insert((place(client)?, number(request)?));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(without)
    }
}
