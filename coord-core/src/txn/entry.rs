//! All that is stored of one transactional id.

use alloc::collections::{BTreeMap, BTreeSet};

use ackord_machine::{Now, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::state::{TxnEvent, TxnState};
use crate::metadata::SHARE_STATE_TOPIC;

/// No producer id.
pub(super) const NO_PRODUCER_ID: i64 = -1;

/// No producer epoch.
pub(super) const NO_EPOCH: i16 = -1;

/// The timeout of a producer that takes part in two-phase commit: none (KIP-939).
pub(super) const NO_TIMEOUT: i32 = i32::MAX;

/// The last epoch that a client is ever given. The one after it only goes into markers; then the
/// transactional id gets a new producer id (KIP-360, KIP-890).
pub(super) const LAST_EPOCH: i16 = i16::MAX - 1;

/// The client transaction version from which each transaction has an epoch of its own (KIP-890).
pub(super) const EPOCH_PER_TXN: i16 = 2;

/// Partitions by topic name.
pub(super) type Partitions = BTreeMap<Str, BTreeSet<i32>>;

/// One transactional id as `__transaction_state` holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Current producer id; while an outcome is prepared, the one that its markers carry.
    pub(super) producer_id: i64,
    /// Current producer epoch; while an outcome is prepared, the one that its markers carry.
    pub(super) producer_epoch: i16,
    /// Who held the epoch before and learns the current one by asking again: the producer id of
    /// that time. [`NO_PRODUCER_ID`] where the epoch before is fenced for good.
    pub(super) previous_producer_id: i64,
    /// The producer id to use once the prepared outcome is complete, where the epochs of the
    /// current one are used up, or that of the client of a kept transaction; else
    /// [`NO_PRODUCER_ID`].
    pub(super) next_producer_id: i64,
    /// The epoch of the client of a kept transaction; else [`NO_EPOCH`].
    pub(super) next_producer_epoch: i16,
    /// `transaction.timeout.ms` of the producer.
    pub(super) timeout_ms: i32,
    /// State.
    pub(super) state: TxnState,
    /// Participants of the transaction under way; empty where none is ongoing or prepared.
    pub(super) partitions: Partitions,
    /// When the transaction began, in milliseconds of the wall clock, but always later than the one
    /// before: the ordinal that tells transactions of one id apart. Kept when the transaction is
    /// over; -1 before the first.
    pub(super) start_ms: i64,
    /// When this was written, in milliseconds of the wall clock.
    pub(super) updated_ms: i64,
    /// The version that the client speaks: 2 bumps the epoch with each transaction.
    pub(super) client_version: i16,
}

/// Whom a producer id and epoch belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// The producer that may act.
    Current,
    /// The same producer before the last bump: it has not heard of the new epoch.
    Previous,
    /// An epoch that is fenced or does not exist yet.
    Fenced,
    /// Another producer id.
    Stranger,
}

impl Entry {
    /// A transactional id that is used for the first time.
    pub(super) fn new(producer_id: i64, timeout_ms: i32, now: Now) -> Entry {
        Entry {
            producer_id,
            producer_epoch: 0,
            previous_producer_id: NO_PRODUCER_ID,
            next_producer_id: NO_PRODUCER_ID,
            next_producer_epoch: NO_EPOCH,
            timeout_ms,
            state: TxnState::Empty,
            partitions: Partitions::new(),
            start_ms: -1,
            updated_ms: now.wall.as_millis(),
            client_version: 0,
        }
    }

    /// Whom the producer id and epoch belong to.
    pub(super) fn caller(&self, producer_id: i64, epoch: i16) -> Caller {
        let client = self.client();
        if (producer_id, epoch) == client {
            Caller::Current
        } else if self.previous() == Some((producer_id, epoch)) {
            Caller::Previous
        } else if [self.producer_id, client.0].contains(&producer_id) {
            Caller::Fenced
        } else {
            Caller::Stranger
        }
    }

    /// The pair that the client uses. A kept transaction goes on under the pair that it had, which
    /// is fenced; its client has one of its own (KIP-939).
    pub(super) fn client(&self) -> (i64, i16) {
        match self.is_kept() {
            true => (self.next_producer_id, self.next_producer_epoch),
            false => (self.producer_id, self.producer_epoch),
        }
    }

    /// InitProducerId kept the transaction under way although another client may end it now.
    pub(super) fn is_kept(&self) -> bool {
        self.next_producer_epoch != NO_EPOCH
    }

    /// The owner of what takes part in the transaction.
    pub(super) fn owner(&self) -> TxnOwner {
        TxnOwner {
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            ordinal: self.start_ms,
        }
    }

    /// The producer takes part in two-phase commit: its transactions have no timeout.
    pub(super) fn is_two_phase(&self) -> bool {
        self.timeout_ms == NO_TIMEOUT
    }

    /// The pair before the last bump, where its holder may learn the current one.
    fn previous(&self) -> Option<(i64, i16)> {
        let client = self.client();
        if self.previous_producer_id == NO_PRODUCER_ID {
            None
        } else if self.previous_producer_id == client.0 {
            Some((client.0, client.1.checked_sub(1)?))
        } else {
            Some((self.previous_producer_id, LAST_EPOCH))
        }
    }

    /// Each transaction has an epoch of its own.
    pub(super) fn bumps_at_end(&self) -> bool {
        self.client_version >= EPOCH_PER_TXN
    }

    /// Only another epoch tells a late acknowledgement of this transaction from one of the next
    /// (KIP-1289).
    pub(super) fn needs_new_epoch(&self) -> bool {
        self.bumps_at_end() && self.has_share_acks()
    }

    /// A bump uses up the epochs of the producer id.
    pub(super) fn is_exhausted(&self) -> bool {
        self.client().1 >= LAST_EPOCH && !ackord_machine::planted!("row-63-epoch-runs-over")
    }

    /// Every one of `partitions` takes part.
    pub(super) fn contains_all(&self, partitions: &Partitions) -> bool {
        partitions.iter().all(|(topic, wanted)| {
            self.partitions
                .get(topic)
                .is_some_and(|have| wanted.is_subset(have))
        })
    }

    /// The partition takes part.
    pub(super) fn contains(&self, topic: &str, partition: i32) -> bool {
        self.partitions
            .get(topic)
            .is_some_and(|have| have.contains(&partition))
    }

    /// After InitProducerId. `held` is the pair to hand out, `previous_producer_id` whose epoch
    /// before may ask again.
    pub(super) fn initialized(
        &self,
        held: (i64, i16),
        previous_producer_id: i64,
        timeout_ms: i32,
        now: Now,
    ) -> Result<Entry, ErrorCode> {
        Ok(Entry {
            producer_epoch: held.1,
            previous_producer_id,
            start_ms: self.start_ms,
            state: self.state.after(TxnEvent::InitProducerId)?,
            ..Entry::new(held.0, timeout_ms, now)
        })
    }

    /// After `partitions` joined the transaction, which they begin where none is ongoing.
    pub(super) fn with_partitions(
        &self,
        partitions: Partitions,
        client_version: i16,
        now: Now,
    ) -> Result<Entry, ErrorCode> {
        let mut entry = self.clone();
        entry.state = self.state.after(TxnEvent::AddPartitions)?;
        entry.updated_ms = now.wall.as_millis();
        if self.state == TxnState::Ongoing {
            entry.client_version = self.client_version.max(client_version);
        } else {
            entry.client_version = client_version;
            entry.start_ms = self.next_start(now);
            entry.previous_producer_id = NO_PRODUCER_ID;
        }
        for (topic, indexes) in partitions {
            entry.partitions.entry(topic).or_default().extend(indexes);
        }
        Ok(entry)
    }

    /// After the client decided. `next_producer_id` counts where the bump uses up the epochs.
    pub(super) fn decided(
        &self,
        event: TxnEvent,
        client_version: i16,
        next_producer_id: i64,
        now: Now,
    ) -> Result<Entry, ErrorCode> {
        let mut entry = self.clone();
        entry.state = self.state.after(event)?;
        entry.updated_ms = now.wall.as_millis();
        entry.client_version = client_version;
        if event == TxnEvent::AbortNothing {
            entry.start_ms = self.next_start(now);
        }
        if entry.bumps_at_end() {
            entry.bump(next_producer_id);
            entry.previous_producer_id = self.client().0;
        }
        Ok(entry)
    }

    /// After the coordinator aborted under a new epoch. `forgiven` lets the producer that was
    /// interrupted learn that epoch; a producer that was replaced must not.
    pub(super) fn fenced(
        &self,
        forgiven: bool,
        next_producer_id: i64,
        now: Now,
    ) -> Result<Entry, ErrorCode> {
        let mut entry = self.clone();
        entry.state = self.state.after(TxnEvent::Fence)?;
        entry.updated_ms = now.wall.as_millis();
        entry.bump(next_producer_id);
        entry.previous_producer_id = if forgiven {
            self.client().0
        } else {
            NO_PRODUCER_ID
        };
        Ok(entry)
    }

    /// After every participant learnt the outcome.
    pub(super) fn completed(&self, now: Now) -> Result<Entry, ErrorCode> {
        let mut entry = self.clone();
        entry.state = self.state.after(TxnEvent::MarkersWritten)?;
        entry.updated_ms = now.wall.as_millis();
        entry.partitions.clear();
        if entry.is_kept() {
            (entry.producer_id, entry.producer_epoch) = entry.client();
        } else if entry.next_producer_id != NO_PRODUCER_ID {
            (entry.producer_id, entry.producer_epoch) = (entry.next_producer_id, 0);
        }
        (entry.next_producer_id, entry.next_producer_epoch) = (NO_PRODUCER_ID, NO_EPOCH);
        Ok(entry)
    }

    /// Share acknowledgements take part.
    pub(super) fn has_share_acks(&self) -> bool {
        self.partitions.contains_key(SHARE_STATE_TOPIC)
    }

    /// After InitProducerId that keeps the ongoing transaction: it stays as it is under its own pair,
    /// its client gets the next one, `next_producer_id` where the epochs are used up. Nobody who had
    /// a pair before may go on (KIP-939).
    pub(super) fn kept(&self, next_producer_id: i64, now: Now) -> Entry {
        let (producer_id, epoch) = self.client();
        let next = match self.is_exhausted() {
            true => (next_producer_id, 0),
            false => (producer_id, epoch.saturating_add(1)),
        };
        Entry {
            next_producer_id: next.0,
            next_producer_epoch: next.1,
            previous_producer_id: NO_PRODUCER_ID,
            updated_ms: now.wall.as_millis(),
            ..self.clone()
        }
    }

    /// The client gets the next pair. Markers carry an epoch above every one that was in use under
    /// the transaction's producer id.
    fn bump(&mut self, next_producer_id: i64) {
        if self.is_kept() {
            let (id, epoch) = self.client();
            let highest = match id == self.producer_id {
                true => epoch,
                false => self.producer_epoch,
            };
            self.producer_epoch = highest.saturating_add(1);
            (self.next_producer_id, self.next_producer_epoch) = match epoch >= LAST_EPOCH {
                true => (next_producer_id, 0),
                false => (id, epoch.saturating_add(1)),
            };
            return;
        }
        self.next_producer_id = if self.is_exhausted() {
            next_producer_id
        } else {
            NO_PRODUCER_ID
        };
        self.producer_epoch = self.producer_epoch.saturating_add(1);
    }

    fn next_start(&self, now: Now) -> i64 {
        now.wall.as_millis().max(self.start_ms.saturating_add(1))
    }
}
