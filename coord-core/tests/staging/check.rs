//! What must hold in every state, and what "settled" means.

use ackord_coord_core::share::ShareState;
use ackord_coord_core::txn::TxnState;
use ackord_machine::TxnOwner;
use ackord_share_partition::{RecordState, SharePartition};

use crate::world::{Told, World, key};

impl World {
    /// A client was told that a record is staged.
    pub(crate) fn told_staged(&mut self, offset: usize, producer: i64) {
        let told = self.told[offset];
        match told {
            Told::Nothing | Told::Staged(_)
                if told != Told::Nothing && told != Told::Staged(producer) =>
            {
                self.break_rule(format!(
                    "offset {offset} is {told:?}, and staged by {producer}"
                ));
            }
            Told::Nothing | Told::Staged(_) => self.told[offset] = Told::Staged(producer),
            Told::Committed => {
                self.break_rule(format!(
                    "offset {offset} was committed, and staged by {producer}"
                ));
            }
        }
    }

    /// The share coordinator takes the marker of a producer's transaction.
    pub(crate) fn transaction_ends(&mut self, producer: i64, commit: bool) {
        for offset in 0..self.told.len() {
            let stored = self.state().pending.iter().any(|ack| {
                ack.owner.producer_id == producer
                    && (ack.first_offset..=ack.last_offset).contains(&(offset as i64))
            });
            let told = self.told[offset] == Told::Staged(producer);
            if told && !stored {
                self.break_rule(format!(
                    "offset {offset}: {producer} was told, and nothing stored"
                ));
            }
            if stored && self.told[offset] == Told::Committed {
                self.break_rule(format!("offset {offset} is ended twice"));
            }
            // What was stored and not told ends with the transaction too.
            if stored || told {
                self.told[offset] = match commit {
                    true => Told::Committed,
                    false => Told::Nothing,
                };
            }
        }
    }

    pub(crate) fn state(&self) -> &ShareState {
        self.sgc.state(&key()).expect("it was initialised")
    }

    /// What is broken, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        let state = self.state();
        for ack in &state.pending {
            if !self.is_under_way(ack.owner) {
                return Err(format!("pending for a transaction that has ended: {ack:?}"));
            }
        }
        for (offset, told) in self.told.iter().enumerate() {
            let offset = offset as i64;
            let done = is_done(state, offset);
            let held = state
                .pending
                .iter()
                .filter(|ack| (ack.first_offset..=ack.last_offset).contains(&offset))
                .count();
            let fits = match told {
                Told::Committed => done && held == 0,
                Told::Nothing => !done && held <= 1,
                Told::Staged(_) => !done && held == 1,
            };
            if !fits {
                return Err(format!(
                    "offset {offset} is {told:?}, but done: {done}, held: {held}"
                ));
            }
        }
        if let Some(partition) = self.leader.share_partition("g") {
            // The leader may be behind with an end, never with a hold.
            let stored = state.pending.iter().map(|ack| ack.first_offset);
            for offset in stored {
                let seen = seen(partition, offset);
                if seen != Seen::Pending {
                    return Err(format!(
                        "offset {offset} is stored as pending, but is {seen:?}"
                    ));
                }
            }
        }
        if self.is_settled() {
            self.check_settled()?;
        }
        Ok(())
    }

    fn is_under_way(&self, owner: TxnOwner) -> bool {
        self.tc.transactions().any(|entry| {
            let under_way = entry.state == TxnState::Ongoing || entry.state.is_prepared();
            let same = owner.ordinal == 0 || entry.start_ms == owner.ordinal;
            under_way && entry.producer_id == owner.producer_id && same
        })
    }

    /// Nothing is on its way or waited for, and no transaction is open.
    pub(crate) fn is_settled(&self) -> bool {
        self.held.is_empty()
            && self.sgc.unanswered().next().is_none()
            && self.leader.unanswered_writes().next().is_none()
            && self.leader.reading("g").is_none()
            && self
                .tc
                .transactions()
                .all(|entry| entry.state != TxnState::Ongoing && !entry.state.is_prepared())
    }

    /// Leader and share coordinator agree, and nothing is lost.
    fn check_settled(&self) -> Result<(), String> {
        let state = self.state();
        if !state.pending.is_empty() {
            return Err(format!("settled, but {:?} is pending", state.pending));
        }
        let Some(partition) = self.leader.share_partition("g") else {
            return Ok(());
        };
        for offset in 0..self.scale.records {
            let (done, seen) = (is_done(state, offset), seen(partition, offset));
            let agrees = match seen {
                Seen::Done => done,
                Seen::Pending => false,
                Seen::Deliverable => !done,
            };
            if !agrees {
                return Err(format!(
                    "settled, but offset {offset} is {seen:?}, done: {done}"
                ));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Deliverable,
    Done,
    Pending,
}

fn seen(partition: &SharePartition, offset: i64) -> Seen {
    if offset < partition.start_offset() {
        return Seen::Done;
    }
    let range = partition
        .ranges()
        .find(|range| (range.first..=range.last).contains(&offset));
    match range.map(|range| range.state) {
        Some(RecordState::TxPending) => Seen::Pending,
        Some(state) if state.is_terminal() => Seen::Done,
        _ => Seen::Deliverable,
    }
}

fn is_done(state: &ShareState, offset: i64) -> bool {
    let delivery = state.deliveries.at(offset);
    offset < state.start_offset || delivery.is_some_and(|delivery| delivery.is_terminal())
}
