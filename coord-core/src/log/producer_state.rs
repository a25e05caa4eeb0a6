//! Producers: epochs, and the sequence numbers that make produce idempotent.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::ErrorCode;

use super::append::{AppendError, Marker, refuse};
use super::batch::BatchFacts;

/// How many batches of a producer are remembered; Kafka's number, and the most that a client may
/// have in flight.
pub(super) const REMEMBERED_BATCHES: usize = 5;

/// What DescribeProducers tells of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerInfo {
    /// Producer id.
    pub producer_id: i64,
    /// Its newest epoch here.
    pub producer_epoch: i16,
    /// Sequence number of its last record; -1: none under this epoch.
    pub last_sequence: i32,
    /// Largest timestamp of its newest batch or marker, milliseconds since the Unix epoch.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that wrote its last marker; -1: no marker.
    pub coordinator_epoch: i32,
    /// First offset of its open transaction.
    pub transaction_start: Option<i64>,
}

/// One remembered batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecentBatch {
    pub(super) base_sequence: i32,
    pub(super) last_sequence: i32,
    pub(super) base: i64,
    pub(super) last: i64,
}

/// What is known of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProducerEntry {
    pub(super) epoch: i16,
    pub(super) coordinator_epoch: i32,
    pub(super) last_timestamp: i64,
    /// Batches of this epoch, oldest first.
    pub(super) recent: Vec<RecentBatch>,
}

impl ProducerEntry {
    pub(super) fn new(epoch: i16) -> Self {
        ProducerEntry {
            epoch,
            coordinator_epoch: -1,
            last_timestamp: -1,
            recent: Vec::new(),
        }
    }

    fn last_sequence(&self) -> Option<i32> {
        self.recent.last().map(|batch| batch.last_sequence)
    }

    /// A newer epoch begins with no batches. An older one never comes back.
    fn raise_epoch(&mut self, epoch: i16) {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.recent.clear();
        }
    }

    pub(super) fn info(&self, producer_id: i64, transaction_start: Option<i64>) -> ProducerInfo {
        ProducerInfo {
            producer_id,
            producer_epoch: self.epoch,
            last_sequence: self.last_sequence().unwrap_or(-1),
            last_timestamp: self.last_timestamp,
            coordinator_epoch: self.coordinator_epoch,
            transaction_start,
        }
    }
}

/// What the sequence numbers of a batch say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequenced {
    /// It is in the log already, at these offsets.
    Duplicate { base: i64, last: i64 },
    /// It continues its producer.
    Next,
}

/// All producers of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProducerTable {
    by_id: BTreeMap<i64, ProducerEntry>,
}

impl ProducerTable {
    /// Judges a client's batch by its epoch and sequence numbers. `from_zero`: a producer that is
    /// not known here has to start at 0, as one of transaction version 2 always does.
    pub(super) fn judge(
        &self,
        facts: &BatchFacts,
        from_zero: bool,
    ) -> Result<Sequenced, AppendError> {
        let Some(entry) = self.by_id.get(&facts.producer_id) else {
            if from_zero && facts.base_sequence != 0 {
                return Err(out_of_order(
                    "an unknown transactional producer has to start at 0",
                ));
            }
            return Ok(Sequenced::Next);
        };
        if facts.producer_epoch < entry.epoch {
            let reason = "the producer has a newer epoch";
            return Err(refuse(ErrorCode::INVALID_PRODUCER_EPOCH, reason));
        }
        if facts.producer_epoch > entry.epoch {
            if facts.base_sequence != 0 {
                return Err(out_of_order(
                    "a new epoch has to start at sequence number 0",
                ));
            }
            return Ok(Sequenced::Next);
        }
        let same = |batch: &&RecentBatch| {
            batch.base_sequence == facts.base_sequence && batch.last_sequence == facts.last_sequence
        };
        if let Some(batch) = entry.recent.iter().find(same) {
            return Ok(Sequenced::Duplicate {
                base: batch.base,
                last: batch.last,
            });
        }
        if facts.base_sequence != entry.last_sequence().map_or(0, following) {
            return Err(out_of_order(
                "the sequence number does not follow the last one",
            ));
        }
        Ok(Sequenced::Next)
    }

    /// Judges a marker by its epoch and that of its coordinator; `open`: it has something to end.
    pub(super) fn judge_marker(&self, marker: &Marker, open: bool) -> Result<MarkerFit, ErrorCode> {
        let Some(entry) = self.by_id.get(&marker.producer_id) else {
            return Ok(MarkerFit::Next);
        };
        let repeated = marker.transaction_version >= 2 && marker.producer_epoch == entry.epoch;
        if marker.producer_epoch < entry.epoch || (repeated && open) {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        if marker.coordinator_epoch < entry.coordinator_epoch {
            return Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED);
        }
        Ok(if repeated {
            MarkerFit::Repeated
        } else {
            MarkerFit::Next
        })
    }

    /// The newest epoch of the producer here.
    pub(super) fn epoch(&self, producer_id: i64) -> Option<i16> {
        self.by_id.get(&producer_id).map(|entry| entry.epoch)
    }

    /// The sequence number with which the producer goes on under that epoch.
    pub(super) fn next_sequence(&self, producer_id: i64, epoch: i16) -> i32 {
        match self.by_id.get(&producer_id) {
            Some(entry) if entry.epoch == epoch => entry.last_sequence().map_or(0, following),
            _ => 0,
        }
    }

    /// Takes note of a data batch.
    pub(super) fn record(&mut self, facts: &BatchFacts) {
        if facts.producer_id < 0 {
            return;
        }
        let entry = self.entry(facts);
        if facts.producer_epoch < entry.epoch {
            return;
        }
        entry.raise_epoch(facts.producer_epoch);
        entry.last_timestamp = facts.max_timestamp;
        if facts.base_sequence < 0 {
            return;
        }
        if entry.recent.len() == REMEMBERED_BATCHES {
            entry.recent.remove(0);
        }
        entry.recent.push(RecentBatch {
            base_sequence: facts.base_sequence,
            last_sequence: facts.last_sequence,
            base: facts.base,
            last: facts.last,
        });
    }

    /// Takes note of a marker. A bumped epoch in it holds for the next transaction.
    pub(super) fn end_transaction(&mut self, facts: &BatchFacts, coordinator_epoch: i32) {
        if facts.producer_id < 0 {
            return;
        }
        let entry = self.entry(facts);
        entry.raise_epoch(facts.producer_epoch);
        entry.coordinator_epoch = entry.coordinator_epoch.max(coordinator_epoch);
        entry.last_timestamp = facts.max_timestamp;
    }

    /// Forgets whoever was silent since `oldest`, unless `keep` says otherwise.
    pub(super) fn expire(&mut self, oldest: i64, keep: impl Fn(i64) -> bool) {
        self.by_id
            .retain(|id, entry| entry.last_timestamp >= oldest || keep(*id));
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &ProducerEntry)> {
        self.by_id.iter().map(|(id, entry)| (*id, entry))
    }

    /// For recovery: puts back what a checkpoint says.
    pub(super) fn restore(&mut self, producer_id: i64, entry: ProducerEntry) {
        self.by_id.insert(producer_id, entry);
    }

    fn entry(&mut self, facts: &BatchFacts) -> &mut ProducerEntry {
        self.by_id
            .entry(facts.producer_id)
            .or_insert_with(|| ProducerEntry::new(facts.producer_epoch))
    }
}

/// How a marker fits its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerFit {
    /// It is to be written.
    Next,
    /// It has been written before.
    Repeated,
}

/// The sequence number `steps` after `sequence`; 0 follows 2,147,483,647.
pub(super) fn advance(sequence: i32, steps: i32) -> i32 {
    let sum = i64::from(sequence) + i64::from(steps);
    // Both are at most i32::MAX, so one wrap is enough.
    (if sum > i64::from(i32::MAX) {
        sum - i64::from(i32::MAX) - 1
    } else {
        sum
    }) as i32
}

fn following(sequence: i32) -> i32 {
    advance(sequence, 1)
}

fn out_of_order(reason: &'static str) -> AppendError {
    refuse(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
}
