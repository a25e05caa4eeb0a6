//! Looks into the machines after every moment: what no client can see in time.

use std::collections::{BTreeMap, BTreeSet};

use ackord_coord_core::Broker;
use ackord_coord_core::share::ShareKey;
use ackord_coord_core::txn::TxnState;
use ackord_machine::{LogId, Now};
use ackord_proto::str::Str;
use ackord_share_partition::{RecordState, SharePartition};

use super::ledger::{Ledger, Partition};

/// Microseconds between two rebuilds.
const REBUILD_EVERY_US: u64 = 700_000;

type Place = (String, LogId);

#[derive(Debug, Default)]
struct Before {
    era: u64,
    start: i64,
    terminal: BTreeSet<i64>,
}

/// What was seen before.
#[derive(Debug, Default)]
pub struct Watcher {
    before: BTreeMap<Place, Before>,
    rebuild_at: u64,
    /// Rebuilds that were compared.
    pub rebuilds: u64,
    pub(super) problems: Vec<String>,
}

impl Watcher {
    /// Looks at a machine.
    pub fn look(&mut self, era: u64, broker: &Broker, ledger: &mut Ledger) {
        ledger.deliveries.era = era;
        if !broker.is_serving() {
            return;
        }
        let deadline = broker.next_deadline();
        for topic in broker
            .cluster()
            .topics()
            .filter(|topic| !topic.is_internal())
        {
            for log in topic.logs() {
                if let Some(state) = broker.log(log) {
                    let (start, stable) = (state.start_offset(), state.last_stable_offset());
                    if stable > state.high_watermark() || start > state.high_watermark() {
                        self.problems
                            .push(format!("{}: offsets {start} {stable}", topic.name));
                    }
                }
                let Some(leader) = broker.leader(log) else {
                    continue;
                };
                for group in leader.groups() {
                    let Some(partition) = leader.share_partition(group) else {
                        continue;
                    };
                    let name = topic.name.to_string();
                    let place = (group.to_string(), log);
                    let what = format!("{group} {name}-{}", log.partition);
                    if let Some(expiry) = partition.next_expiry()
                        && deadline.is_none_or(|deadline| deadline.at > expiry)
                    {
                        self.problems.push(format!(
                            "{what}: nobody wakes up for the lock of {expiry:?}"
                        ));
                    }
                    let reset = ledger.is_reset(group, &name);
                    let key = (group.to_string(), (name, log.partition));
                    note_limit(&key, partition, ledger);
                    ledger
                        .deliveries
                        .starts
                        .insert(key, partition.start_offset());
                    self.look_at(&what, place, era, partition, reset);
                }
            }
        }
    }

    fn look_at(
        &mut self,
        what: &str,
        place: Place,
        era: u64,
        partition: &SharePartition,
        reset: bool,
    ) {
        let mut held = 0;
        let mut acquired = false;
        let mut terminal = BTreeSet::new();
        let mut last = partition.start_offset() - 1;
        for range in partition.ranges() {
            if range.first <= last {
                self.problems.push(format!(
                    "{what}: range {}-{} overlaps",
                    range.first, range.last
                ));
            }
            last = range.last;
            match range.state {
                RecordState::Acquired | RecordState::TxPending => {
                    held += range.last - range.first + 1
                }
                state if state.is_terminal() => terminal.extend(range.first..=range.last),
                _ => {}
            }
            acquired |= range.state == RecordState::Acquired;
        }
        if held != partition.in_flight() {
            self.problems.push(format!(
                "{what}: {held} in flight, counted {}",
                partition.in_flight()
            ));
        }
        let limit = i64::try_from(partition.config().max_record_locks).unwrap_or(i64::MAX);
        if held > limit {
            self.problems
                .push(format!("{what}: {held} in flight, the limit is {limit}"));
        }
        if acquired != partition.next_expiry().is_some() {
            self.problems.push(format!(
                "{what}: acquired without a deadline, or a deadline of nothing"
            ));
        }
        let start = partition.start_offset();
        let before = self.before.entry(place).or_default();
        if before.era == era && !reset {
            if start < before.start {
                self.problems.push(format!(
                    "{what}: the start went from {} to {start}",
                    before.start
                ));
            }
            let back = before
                .terminal
                .iter()
                .find(|offset| **offset >= start && !terminal.contains(offset));
            if let Some(back) = back {
                self.problems.push(format!(
                    "{what}: offset {back} was done and is not any more"
                ));
            }
        }
        *before = Before {
            era,
            start,
            terminal,
        };
    }

    /// Whether it is time to build the machines anew.
    pub fn wants_rebuild(&self, now_us: u64) -> bool {
        now_us >= self.rebuild_at
    }

    /// A machine, and the same built anew from what is stored, while nothing was under way.
    pub fn compare(&mut self, now: Now, live: &Broker, again: &Broker) {
        self.rebuild_at = now.mono.as_micros() + REBUILD_EVERY_US;
        self.rebuilds += 1;
        if !again.is_serving() {
            return self
                .problems
                .push("what is stored cannot be read back".to_string());
        }
        let prepared = live
            .transaction_coordinators()
            .flat_map(|own| own.transactions())
            .any(|txn| txn.state.is_prepared());
        if prepared {
            return;
        }
        self.compare_transactions(live, again);
        self.compare_shares(live, again);
        for topic in live.cluster().topics() {
            for log in topic.logs() {
                let (Some(own), Some(other)) = (live.log(log), again.log(log)) else {
                    continue;
                };
                let figures = |own: &ackord_coord_core::log::PartitionLog| {
                    (
                        own.high_watermark(),
                        own.last_stable_offset(),
                        own.aborted(0, i64::MAX).len(),
                        if topic.is_internal() {
                            0
                        } else {
                            own.start_offset()
                        },
                    )
                };
                if figures(own) != figures(other) {
                    let (a, b) = (figures(own), figures(other));
                    let name = &topic.name;
                    self.problems.push(format!(
                        "{name}-{}: live {a:?}, read back {b:?}",
                        log.partition
                    ));
                }
            }
        }
    }

    fn compare_transactions(&mut self, live: &Broker, again: &Broker) {
        let all = |broker: &Broker| {
            let transactions = broker
                .transaction_coordinators()
                .flat_map(|own| own.transactions());
            let line = |txn: ackord_coord_core::txn::TxnDescription<'_>| {
                let partitions: Vec<_> = txn
                    .partitions()
                    .map(|(name, own)| (name.to_string(), own))
                    .collect();
                (
                    txn.transactional_id.to_string(),
                    (
                        txn.state.name(),
                        txn.producer_id,
                        txn.producer_epoch,
                        partitions,
                    ),
                )
            };
            transactions.map(line).collect::<BTreeMap<_, _>>()
        };
        let (own, other) = (all(live), all(again));
        if own != other {
            self.problems
                .push(format!("transactions: live {own:?}, read back {other:?}"));
        }
        for (own, other) in live.group_coordinators().zip(again.group_coordinators()) {
            if own.snapshot() != other.snapshot() {
                self.problems
                    .push("a group coordinator differs from what is read back".to_string());
            }
        }
        for (name, own) in own {
            let idle = own.0 != TxnState::Ongoing.name();
            if idle && !own.3.is_empty() {
                self.problems.push(format!(
                    "{name} has participants and no transaction: {own:?}"
                ));
            }
        }
    }

    fn compare_shares(&mut self, live: &Broker, again: &Broker) {
        for (own, other) in live.share_coordinators().zip(again.share_coordinators()) {
            let keys: BTreeSet<&ShareKey> = own
                .states()
                .chain(other.states())
                .map(|(key, _)| key)
                .collect();
            for key in keys {
                let figures = |state: &ackord_coord_core::share::ShareState| {
                    let deliveries: Vec<_> = state.deliveries.iter().collect();
                    let mut pending: Vec<String> =
                        state.pending.iter().map(|own| format!("{own:?}")).collect();
                    pending.sort();
                    (state.start_offset, state.state_epoch, deliveries, pending)
                };
                let (a, b) = (own.state(key).map(figures), other.state(key).map(figures));
                if a != b {
                    self.problems
                        .push(format!("{key:?}: live {a:?}, read back {b:?}"));
                }
            }
            for (key, state) in own.states() {
                for pending in &state.pending {
                    let id = pending.owner.producer_id;
                    let mut all = live.transaction_coordinators();
                    if !all.any(|own| own.is_under_way(id)) {
                        self.problems
                            .push(format!("{key:?}: {pending:?} has no transaction"));
                    }
                }
                let log = LogId {
                    topic: key.topic,
                    partition: key.partition,
                };
                let leader = live.leader(log);
                let Some(partition) = leader.and_then(|leader| leader.share_partition(&key.group))
                else {
                    continue;
                };
                let epoch = leader.and_then(|leader| leader.state_epoch(&key.group));
                if epoch.is_some_and(|epoch| epoch != state.state_epoch) {
                    let stored = state.state_epoch;
                    self.problems.push(format!(
                        "{key:?}: the leader works under state epoch {epoch:?}, stored is {stored}"
                    ));
                }
                self.compare_leader(key, state, partition);
            }
        }
    }

    fn compare_leader(
        &mut self,
        key: &ShareKey,
        state: &ackord_coord_core::share::ShareState,
        partition: &SharePartition,
    ) {
        let mut stored: BTreeMap<i64, i64> = BTreeMap::new();
        for pending in &state.pending {
            for offset in pending.first_offset..=pending.last_offset {
                stored.insert(offset, pending.owner.producer_id);
            }
        }
        let mut held: BTreeMap<i64, i64> = BTreeMap::new();
        let mut open: BTreeSet<i64> = BTreeSet::new();
        for range in partition.ranges() {
            for offset in range.first..=range.last {
                match range.owner {
                    Some(owner) => drop(held.insert(offset, owner.producer_id)),
                    None if !range.state.is_terminal() && range.state != RecordState::Archiving => {
                        open.insert(offset);
                    }
                    None => {}
                }
                let acknowledged = range.state == RecordState::Acknowledged;
                if acknowledged && offset >= state.start_offset && !is_terminal(state, offset) {
                    self.problems.push(format!(
                        "{key:?}: {offset} is acknowledged and not stored so"
                    ));
                }
            }
        }
        if held != stored {
            self.problems.push(format!(
                "{key:?}: the leader holds {held:?}, stored are {stored:?}"
            ));
        }
        if partition.start_offset() < state.start_offset {
            let (a, b) = (partition.start_offset(), state.start_offset);
            self.problems
                .push(format!("{key:?}: the leader starts at {a}, stored is {b}"));
        }
        if let Some(offset) = open.iter().find(|offset| is_terminal(state, **offset)) {
            self.problems.push(format!(
                "{key:?}: {offset} is stored as done and can be delivered"
            ));
        }
    }
}

fn is_terminal(state: &ackord_coord_core::share::ShareState, offset: i64) -> bool {
    let mut deliveries = state.deliveries.iter();
    deliveries
        .any(|(first, last, delivery)| first <= offset && offset <= last && delivery.is_terminal())
}

/// A share partition as the end of a run sees it: where it starts, and what is in flight. One that
/// nobody uses is at its share coordinator alone.
pub fn start_and_flight(broker: &Broker, group: &str, log: LogId) -> Option<(i64, i64)> {
    let leader = broker.leader(log);
    if let Some(partition) = leader.and_then(|leader| leader.share_partition(group)) {
        return Some((partition.start_offset(), partition.in_flight()));
    }
    let key = ShareKey {
        group: Str::from(group),
        topic: log.topic,
        partition: log.partition,
    };
    let mut coordinators = broker.share_coordinators();
    let state = coordinators.find_map(|coordinator| coordinator.state(&key))?;
    let pending = state.pending.iter();
    let held = pending.map(|ack| ack.last_offset - ack.first_offset + 1);
    Some((state.start_offset, held.sum()))
}

/// Remembers records that may be given up from now on.
fn note_limit(key: &(String, Partition), partition: &SharePartition, ledger: &mut Ledger) {
    let limit = partition.config().delivery_count_limit;
    for range in partition.ranges().filter(|own| own.delivery_count >= limit) {
        for offset in range.first..=range.last {
            let record = (key.0.clone(), key.1.clone(), offset);
            ledger.deliveries.at_limit.insert(record);
        }
    }
}
