//! Workloads: which clients there are, and how much goes wrong.

use super::chance::Chance;

/// A client of a workload.
#[derive(Clone, Debug)]
pub enum ClientKind {
    /// Changes topics, groups and offsets, and writes markers that are not its business.
    Admin,
    /// Writes records into the input topic inside transactions, or aborts them.
    Feeder {
        /// Transactional id.
        tid: String,
        /// Below 12 it is transaction version 1.
        produce_version: i16,
    },
    /// Commits offsets of a consumer group together with outputs.
    Mover {
        /// Transactional id.
        tid: String,
        /// Whether it speaks transaction version 2.
        new: bool,
    },
    /// Accepts, releases, rejects and renews outside of transactions.
    Plain {
        /// Share group.
        group: String,
    },
    /// Writes records into the input topic.
    Producer,
    /// Takes part in two-phase commit (KIP-939): it crashes, comes back, and ends what it had prepared
    /// by what it has stored.
    Participant {
        /// Share group.
        group: String,
        /// Transactional id.
        tid: String,
    },
    /// Reads everything, committed only.
    Reader,
    /// Changes the offsets of a group of its own.
    Resetter {
        /// Share group.
        group: String,
        /// Transactional id.
        tid: String,
    },
    /// Sends bytes that are no requests.
    Vandal,
    /// Copies records of a share group, outputs and acknowledgements in one transaction.
    Worker {
        /// Share group.
        group: String,
        /// Transactional id.
        tid: String,
        /// How it says what it acknowledges.
        way: Way,
    },
}

/// How a worker acknowledges in its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By AddShareAcksToTxn and TxnShareAcknowledge, or by the draft of the latter.
    Native,
    /// By the text of a TxnOffsetCommit of this version, which only groups in transactional mode take;
    /// below 5 in transactions of version 1.
    Text(i16),
}

/// Where the machines of a broker are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each on one of four nodes, with a network between them.
    FourNodes,
    /// Together in a broker.
    OneNode,
}

/// A named mixture.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Where the machines are.
    pub placement: Placement,
    /// Milliseconds of its safety phase.
    pub length_ms: u64,
    /// Requests in a thousand to which the network does something.
    pub net_permille: u64,
    /// Faults of machines at most, roughly.
    pub faults: u64,
    /// Of a hundred seeds, those whose groups acknowledge in transactions only.
    pub transactional_mode: u64,
    mixture: fn(&mut Chance) -> Vec<ClientKind>,
}

impl Workload {
    /// The clients of a seed.
    pub fn clients(&self, chance: &mut Chance) -> Vec<ClientKind> {
        (self.mixture)(chance)
    }
}

/// All workloads.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "copy",
        about: "transactional workers copy a topic",
        placement: Placement::OneNode,
        length_ms: 12_000,
        net_permille: 60,
        faults: 6,
        transactional_mode: 0,
        mixture: |chance| {
            let mut all = vec![ClientKind::Producer, ClientKind::Reader];
            for number in 0..chance.between(1, 3) {
                all.push(worker("g", number));
            }
            all
        },
    },
    Workload {
        name: "plain",
        about: "share consumers outside of transactions",
        placement: Placement::OneNode,
        length_ms: 12_000,
        net_permille: 60,
        faults: 6,
        transactional_mode: 0,
        mixture: |chance| {
            let mut all = vec![ClientKind::Producer, ClientKind::Vandal];
            for _ in 0..chance.between(1, 4) {
                all.push(plain("g"));
            }
            all
        },
    },
    Workload {
        name: "mixed",
        about: "workers and plain consumers of two groups, transactional input, consumer offsets",
        placement: Placement::OneNode,
        length_ms: 12_000,
        net_permille: 50,
        faults: 6,
        transactional_mode: 0,
        mixture: |chance| {
            let mut all = vec![
                ClientKind::Producer,
                ClientKind::Reader,
                feeder(0, chance),
                worker("g", 0),
                worker("h", 1),
                plain("h"),
                mover(0, chance),
            ];
            if chance.percent(50) {
                all.push(plain("g"));
            }
            all
        },
    },
    Workload {
        name: "admin",
        about: "the same while somebody trims, grows, resets and writes markers",
        placement: Placement::OneNode,
        length_ms: 10_000,
        net_permille: 30,
        faults: 4,
        transactional_mode: 0,
        mixture: |chance| {
            vec![
                ClientKind::Admin,
                ClientKind::Producer,
                ClientKind::Reader,
                feeder(0, chance),
                worker("g", 0),
                worker("g", 1),
                worker("h", 2),
                plain("h"),
                ClientKind::Resetter {
                    group: "k".to_string(),
                    tid: "resetter".to_string(),
                },
            ]
        },
    },
    Workload {
        name: "fencing",
        about: "several workers with the same transactional id, and a network that repeats",
        placement: Placement::OneNode,
        length_ms: 12_000,
        net_permille: 150,
        faults: 4,
        transactional_mode: 0,
        mixture: |chance| {
            vec![
                ClientKind::Producer,
                ClientKind::Reader,
                worker("g", 0),
                worker("g", 0),
                worker("g", 1),
                mover(0, chance),
                mover(0, chance),
            ]
        },
    },
    Workload {
        name: "bridge",
        about: "groups in transactional mode, and producers of all ages that acknowledge by text",
        placement: Placement::OneNode,
        length_ms: 12_000,
        net_permille: 100,
        faults: 5,
        transactional_mode: 100,
        mixture: |chance| {
            let mut all = vec![
                ClientKind::Producer,
                ClientKind::Reader,
                speaker("g", 0, Way::Text(chance.pick(&[2, 3, 4]))),
                speaker("g", 1, Way::Text(chance.pick(&[5, 6]))),
                speaker("h", 2, Way::Text(chance.pick(&[2, 3, 4]))),
                plain("g"),
            ];
            if chance.percent(50) {
                all.push(worker("g", 3));
                all.push(plain("h"));
            }
            all
        },
    },
    Workload {
        name: "prepared",
        about: "participants of two-phase commit crash at any moment and come back",
        placement: Placement::OneNode,
        length_ms: 12_000,
        net_permille: 80,
        faults: 6,
        transactional_mode: 40,
        mixture: |chance| {
            let mut all = vec![
                ClientKind::Producer,
                ClientKind::Reader,
                participant("g", 0),
                participant("g", 1),
                worker("g", 0),
            ];
            if chance.percent(50) {
                all.push(participant("h", 2));
                all.push(plain("h"));
            }
            all
        },
    },
    Workload {
        name: "spread",
        about: "workers of their own copy records; coordinators and leaders are on four nodes",
        placement: Placement::FourNodes,
        length_ms: 60_000,
        net_permille: 210,
        faults: 26,
        transactional_mode: 0,
        mixture: |_| Vec::new(),
    },
];

fn worker(group: &str, number: u64) -> ClientKind {
    speaker(group, number, Way::Native)
}

fn speaker(group: &str, number: u64, way: Way) -> ClientKind {
    ClientKind::Worker {
        group: group.to_string(),
        tid: format!("worker-{number}"),
        way,
    }
}

fn participant(group: &str, number: u64) -> ClientKind {
    ClientKind::Participant {
        group: group.to_string(),
        tid: format!("participant-{number}"),
    }
}

fn plain(group: &str) -> ClientKind {
    ClientKind::Plain {
        group: group.to_string(),
    }
}

fn feeder(number: u64, chance: &mut Chance) -> ClientKind {
    ClientKind::Feeder {
        tid: format!("feeder-{number}"),
        produce_version: if chance.percent(50) { 12 } else { 11 },
    }
}

fn mover(number: u64, chance: &mut Chance) -> ClientKind {
    ClientKind::Mover {
        tid: format!("mover-{number}"),
        new: chance.percent(60),
    }
}

/// A workload by its name.
pub fn named(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|workload| workload.name == name)
}
