//! One machine on its node: its log, and what waits for the log.

use std::collections::VecDeque;

use ackord_coord_core::group::{GroupConfig, ShareGroup};
use ackord_coord_core::leader::Leader;
use ackord_coord_core::log::{LogConfig, Marker, PartitionLog};
use ackord_coord_core::outbox::{ProducerEpoch, StateRecord, Ticket};
use ackord_coord_core::share::{EndMarker, ShareCoordinator, ShareCoordinatorConfig};
use ackord_coord_core::txn::{TxnConfig, TxnCoordinator};
use ackord_machine::{Deadline, Envelope, LogId, Now};

use super::worker::Answer;
use super::world::{STATE_PARTITIONS, group};

/// Which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Group,
    Leader(LogId),
    Sgc(i32),
    Tc,
}

#[derive(Debug)]
pub(crate) enum Machine {
    Group(Box<ShareGroup>),
    Leader(Leader),
    Sgc(ShareCoordinator),
    Tc(TxnCoordinator),
}

/// One append to the log of a coordinator.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Marker(Marker),
    Records(Vec<StateRecord>, Option<ProducerEpoch>),
}

/// What a machine wants to happen, in order: an append, or something that waits for those before.
#[derive(Debug)]
pub(crate) enum Pending {
    Append(Entry),
    Reply(Ticket, Answer),
    Send(Envelope),
}

/// A machine and what survives it.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) place: Place,
    pub(crate) node: u64,
    /// `None` while its node is down.
    pub(crate) machine: Option<Machine>,
    /// Judges what a share coordinator appends, as it would be in memory.
    pub(crate) log: PartitionLog,
    pub(crate) durable: Vec<Entry>,
    pub(crate) pending: VecDeque<Pending>,
    /// An append is under way.
    pub(crate) writing: bool,
    /// The next append to end fails; whether it has landed.
    pub(crate) fails: Option<bool>,
    /// The node on which another one takes its place, once it has answered a stage.
    pub(crate) moves_to: Option<u64>,
    pub(crate) epoch: u32,
    /// Copies for the dead letter queue are being written.
    pub(crate) copies: bool,
}

impl Host {
    pub(crate) fn new(place: Place, node: u64) -> Self {
        Host {
            place,
            node,
            machine: None,
            log: PartitionLog::new(log_of(place), LogConfig::default()),
            durable: Vec::new(),
            pending: VecDeque::new(),
            writing: false,
            fails: None,
            moves_to: None,
            epoch: 0,
            copies: false,
        }
    }

    /// The machine as what is durable makes it.
    pub(crate) fn restart(&mut self, now: Now) {
        let epoch = self.epoch;
        self.epoch += 1;
        self.log = PartitionLog::new(log_of(self.place), LogConfig::default());
        let mut machine = match self.place {
            Place::Group => {
                let config = GroupConfig {
                    session_timeout_ms: 10_000,
                    state_partitions: STATE_PARTITIONS,
                    ..GroupConfig::default()
                };
                Machine::Group(Box::new(ShareGroup::new(group(), config)))
            }
            Place::Leader(log) => Machine::Leader(Leader::with_epoch(log, epoch as i32)),
            Place::Sgc(partition) => Machine::Sgc(share_coordinator(partition, epoch)),
            Place::Tc => {
                let config = TxnConfig {
                    two_phase_commit: true,
                    ..TxnConfig::default()
                };
                Machine::Tc(TxnCoordinator::new(0, log_of(Place::Tc), config))
            }
        };
        for entry in &self.durable {
            replay(&mut machine, entry);
            match entry {
                Entry::Marker(marker) => {
                    let outcome = self.log.append_marker(now, *marker);
                    assert!(outcome.is_ok(), "what was appended can be appended again");
                }
                Entry::Records(records, producer) => {
                    drop(self.log.append_records(now, records, *producer));
                }
            }
        }
        self.machine = Some(machine);
    }

    /// Ends the process; the first `kept` appends under way become durable.
    pub(crate) fn crash(&mut self, kept: usize) -> Vec<Entry> {
        self.machine = None;
        self.writing = false;
        self.copies = false;
        self.fails = None;
        let appends = std::mem::take(&mut self.pending).into_iter();
        let appends = appends.filter_map(|pending| match pending {
            Pending::Append(entry) => Some(entry),
            Pending::Reply(..) | Pending::Send(_) => None,
        });
        let kept: Vec<Entry> = appends.take(kept).collect();
        self.durable.extend(kept.iter().cloned());
        kept
    }

    pub(crate) fn next_deadline(&self) -> Option<Deadline> {
        match self.machine.as_ref()? {
            Machine::Group(group) => group.next_deadline(),
            Machine::Leader(leader) => leader.next_deadline(),
            Machine::Sgc(sgc) => sgc.next_deadline(),
            Machine::Tc(tc) => tc.next_deadline(),
        }
    }
}

pub(crate) fn share_coordinator(partition: i32, epoch: u32) -> ShareCoordinator {
    let config = ShareCoordinatorConfig {
        updates_per_snapshot: 20,
        transaction_partitions: 1,
    };
    let log = log_of(Place::Sgc(partition));
    ShareCoordinator::new(partition, log, config).with_epoch(epoch)
}

pub(crate) fn replay(machine: &mut Machine, entry: &Entry) {
    match (machine, entry) {
        (Machine::Tc(tc), Entry::Records(records, _)) => {
            for record in records {
                tc.apply(record).expect("own records decode");
            }
        }
        (Machine::Sgc(sgc), Entry::Records(records, producer)) => {
            for record in records {
                sgc.apply(record, *producer).expect("own records decode");
            }
        }
        (Machine::Sgc(sgc), Entry::Marker(marker)) => {
            sgc.replay_end_transaction_marker(EndMarker {
                producer: ProducerEpoch {
                    id: marker.producer_id,
                    epoch: marker.producer_epoch,
                },
                commit: marker.commit,
            });
        }
        _ => {}
    }
}

fn log_of(place: Place) -> LogId {
    let (topic, partition) = match place {
        Place::Group => (1, 0),
        Place::Leader(log) => return log,
        Place::Sgc(partition) => (2, partition),
        Place::Tc => (3, 0),
    };
    LogId {
        topic: ackord_proto::uuid::Uuid([topic; 16]),
        partition,
    }
}
