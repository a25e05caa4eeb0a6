//! What is judged: each record is acknowledged by exactly one committed transaction; what a client
//! was told is staged ends as its transaction does, everywhere alike; nothing that is committed is
//! delivered again.

use std::collections::{BTreeMap, BTreeSet};

use ackord_coord_core::share::{ShareCoordinator, ShareKey};
use ackord_machine::{LogId, PendingAck, TxnOwner};

use super::host::{Entry, Machine, replay, share_coordinator};

/// A record of the partitions that are shared.
pub(crate) type Record = (LogId, i64);

/// How a transaction ended for a record.
type Ends = BTreeMap<(Record, i64, i16), bool>;

#[derive(Debug)]
pub(crate) struct Oracle {
    /// Share coordinators as their durable logs make them.
    mirrors: BTreeMap<i32, Machine>,
    /// Which transaction has committed a record.
    pub(crate) committed: BTreeMap<Record, TxnOwner>,
    /// Records that were rejected in a transaction that committed.
    rejected: BTreeSet<Record>,
    /// Records with a copy in the dead letter queue.
    letters: BTreeSet<Record>,
    /// What participants of two-phase commit have stored: owner and decision.
    decided: Vec<(TxnOwner, bool)>,
    ends: Ends,
    /// Outcome of each transaction, by producer and epoch of its marker.
    outcomes: BTreeMap<(i64, i16), bool>,
    told: Vec<(Record, TxnOwner)>,
    /// Records that members were given, in all.
    pub(crate) deliveries: u64,
    pub(crate) broken: Option<String>,
}

impl Oracle {
    pub(crate) fn new(state_partitions: i32) -> Self {
        let mirror = |partition| (partition, Machine::Sgc(share_coordinator(partition, 0)));
        Oracle {
            mirrors: (0..state_partitions).map(mirror).collect(),
            committed: BTreeMap::new(),
            rejected: BTreeSet::new(),
            letters: BTreeSet::new(),
            decided: Vec::new(),
            ends: Ends::new(),
            outcomes: BTreeMap::new(),
            told: Vec::new(),
            deliveries: 0,
            broken: None,
        }
    }

    pub(crate) fn break_rule(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    pub(crate) fn mirror(&self, partition: i32) -> &ShareCoordinator {
        match &self.mirrors[&partition] {
            Machine::Sgc(sgc) => sgc,
            other => panic!("not a share coordinator: {other:?}"),
        }
    }

    /// An append of a share coordinator is durable.
    pub(crate) fn durable(&mut self, partition: i32, entry: &Entry) {
        let before = pending(self.mirror(partition));
        let mirror = self.mirrors.get_mut(&partition).expect("one for each");
        replay(mirror, entry);
        let Entry::Marker(marker) = entry else {
            return;
        };
        let after = pending(self.mirror(partition));
        let outcome = (marker.producer_id, marker.producer_epoch);
        if *self.outcomes.entry(outcome).or_insert(marker.commit) != marker.commit {
            self.break_rule(format!("two outcomes: {marker:?}"));
        }
        for (key, ack) in before {
            if after.contains(&(key.clone(), ack)) {
                continue;
            }
            for offset in ack.first_offset..=ack.last_offset {
                let record = (log_of(&key), offset);
                self.ended(record, ack.owner, marker.commit);
                if marker.commit && ack.acknowledge_type == 3 {
                    self.rejected.insert(record);
                }
            }
        }
    }

    fn ended(&mut self, record: Record, owner: TxnOwner, commit: bool) {
        self.ends
            .insert((record, owner.producer_id, owner.producer_epoch), commit);
        if commit && let Some(other) = self.committed.insert(record, owner) {
            self.break_rule(format!("{record:?} is committed by {other} and by {owner}"));
        }
    }

    /// A record is in the dead letter queue. Over several nodes it may come there again.
    pub(crate) fn letter(&mut self, record: Record) {
        self.letters.insert(record);
        if !self.rejected.contains(&record) {
            self.break_rule(format!(
                "{record:?} is in the dead letter queue, and nobody rejected it"
            ));
        }
    }

    /// A participant of two-phase commit has stored how a transaction ends.
    pub(crate) fn decided(&mut self, owner: TxnOwner, commit: bool) {
        self.decided.push((owner, commit));
    }

    /// Records that have no copy yet.
    pub(crate) fn without_copy(&self) -> Vec<Record> {
        self.rejected.difference(&self.letters).copied().collect()
    }

    /// A client hears that records are staged.
    pub(crate) fn told(&mut self, record: Record, owner: TxnOwner) {
        self.told.push((record, owner));
    }

    /// A member gets a record.
    pub(crate) fn delivered(&mut self, record: Record) {
        self.deliveries += 1;
        if let Some(owner) = self.committed.get(&record) {
            self.break_rule(format!(
                "{record:?} was committed by {owner} and is delivered again"
            ));
        }
    }

    /// At the end: what was told came true, and what was decided.
    pub(crate) fn audit(&mut self) {
        for (owner, commit) in std::mem::take(&mut self.decided) {
            let pair = (owner.producer_id, owner.producer_epoch);
            let ends = self.ends.iter();
            let mut of_owner = ends.filter(|((_, id, epoch), _)| (*id, *epoch) == pair);
            if of_owner.any(|(_, ended)| *ended != commit) {
                self.break_rule(format!("{owner} was to commit ({commit}), and did not so"));
            }
        }
        for (record, owner) in std::mem::take(&mut self.told) {
            let key = (record, owner.producer_id, owner.producer_epoch);
            if !self.ends.contains_key(&key) {
                self.break_rule(format!(
                    "{record:?} was staged by {owner}, and nothing stored"
                ));
            }
        }
    }
}

fn pending(sgc: &ShareCoordinator) -> Vec<(ShareKey, PendingAck)> {
    let states = sgc.states();
    states
        .flat_map(|(key, state)| state.pending.iter().map(move |ack| (key.clone(), *ack)))
        .collect()
}

fn log_of(key: &ShareKey) -> LogId {
    LogId {
        topic: key.topic,
        partition: key.partition,
    }
}
