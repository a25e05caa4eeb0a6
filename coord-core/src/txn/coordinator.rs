//! The machine, what it asks of its embedder, and what can be read from it.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{
    Body, Deadline, DeadlineReason, Envelope, LogId, Now, Role, Timers, TxnOwner,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::entry::{Caller, Entry, Partitions};
use super::log_record::{self, CorruptRecord, Stored};
use super::markers::Ending;
use super::offset_groups::OffsetGroups;
use super::state::TxnState;
use crate::outbox::{Outbox, StateRecord};

/// What an operator can set (Kafka's broker configuration).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnConfig {
    /// `transaction.max.timeout.ms`: the longest timeout that a producer may ask for.
    pub max_timeout_ms: i32,
    /// `transaction.two.phase.commit.enable`: producers may take part in two-phase commit (KIP-939).
    pub two_phase_commit: bool,
    /// Milliseconds until an unanswered marker is sent again; doubles up to
    /// [`TxnConfig::marker_retry_max_ms`].
    pub marker_retry_ms: i64,
    /// The longest wait between two copies of a marker, in milliseconds.
    pub marker_retry_max_ms: i64,
}

impl Default for TxnConfig {
    fn default() -> Self {
        TxnConfig {
            max_timeout_ms: 900_000,
            two_phase_commit: false,
            marker_retry_ms: 100,
            marker_retry_max_ms: 1000,
        }
    }
}

/// Where new producer ids come from.
pub trait ProducerIds {
    /// An id that nobody has had.
    ///
    /// # Errors
    /// The code to answer where there is none just now; a retriable one.
    fn next(&mut self) -> Result<i64, ErrorCode>;
}

/// Who answers for a partition.
pub trait Participants {
    /// The receiver of markers for the partition; `None` where the topic was deleted, which counts
    /// as told.
    fn role(&self, topic: &str, partition: i32) -> Option<Role>;

    /// Whether the participant could take a marker now; without a role, whether it is certain that
    /// there is none. While one is not ready, none is told: where all live on one node, a transaction
    /// becomes visible in one step.
    fn is_ready(&self, role: Option<&Role>) -> bool {
        let _ = role;
        true
    }
}

/// What a call may need from outside.
pub struct TxnCtx<'a> {
    /// The moment of the call.
    pub now: Now,
    /// Source of producer ids.
    pub ids: &'a mut dyn ProducerIds,
    /// Receivers of markers.
    pub participants: &'a dyn Participants,
}

/// Answers to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnReply {
    /// To InitProducerId.
    InitProducerId {
        /// NONE or why not.
        error: ErrorCode,
        /// The producer id to use; -1 with an error.
        producer_id: i64,
        /// The epoch to use; -1 with an error.
        producer_epoch: i16,
        /// Producer id and epoch of the prepared transaction that was kept (KIP-939).
        kept: Option<TxnOwner>,
    },
    /// To AddPartitionsToTxn, AddOffsetsToTxn and AddShareAcksToTxn: all partitions or none.
    AddPartitions {
        /// NONE or why not. Where the response has no top level, it stands at each partition.
        error: ErrorCode,
    },
    /// To EndTxn.
    EndTxn {
        /// NONE or why not.
        error: ErrorCode,
        /// The producer id for the next transaction (v5); -1 with an error.
        producer_id: i64,
        /// The epoch for the next transaction (v5); -1 with an error.
        producer_epoch: i16,
    },
}

/// One transactional id, for DescribeTransactions and ListTransactions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TxnDescription<'a> {
    /// Transactional id.
    pub transactional_id: &'a str,
    /// State.
    pub state: TxnState,
    /// Producer id of the transaction, or the current one where none is under way.
    pub producer_id: i64,
    /// Producer epoch that belongs to it.
    pub producer_epoch: i16,
    /// `transaction.timeout.ms` of the producer; the largest number where it takes part in
    /// two-phase commit, which has no timeout.
    pub timeout_ms: i32,
    /// When the transaction under way, or else the last one, began, in milliseconds since the Unix
    /// epoch; -1 in state Empty.
    pub start_ms: i64,
    /// When the state last changed, in milliseconds since the Unix epoch.
    pub updated_ms: i64,
    partitions: &'a Partitions,
}

impl<'a> TxnDescription<'a> {
    /// Participants of the transaction under way by topic, in order.
    pub fn partitions(&self) -> impl Iterator<Item = (&'a Str, Vec<i32>)> + use<'a> {
        self.partitions
            .iter()
            .map(|(topic, indexes)| (topic, indexes.iter().copied().collect()))
    }
}

/// The transaction coordinator of one `__transaction_state` partition.
///
/// Each call changes the coordinator at once and appends what changed; replies and messages are in
/// the [`Outbox`] behind the append, and the embedder holds them until that is durable.
#[derive(Clone, Debug)]
pub struct TxnCoordinator {
    pub(super) partition: i32,
    pub(super) config: TxnConfig,
    log: LogId,
    entries: BTreeMap<Str, Entry>,
    /// Transactional ids by current producer id.
    by_producer: BTreeMap<i64, Str>,
    /// Prepared transactions and who has not heard of the outcome. Not stored: made again from the
    /// entries after a replay.
    pub(super) endings: BTreeMap<Str, Ending>,
    /// By ongoing transaction. Not stored.
    pub(super) offset_groups: BTreeMap<Str, OffsetGroups>,
    pub(super) timers: Timers<TimerKey>,
}

/// What a deadline is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimerKey {
    /// Markers of this transactional id are sent again.
    Markers(Str),
    /// The transaction of this transactional id is aborted.
    Timeout(Str),
}

impl TxnCoordinator {
    /// The coordinator of `__transaction_state` partition `partition`, whose log is `log`, before
    /// its log is replayed.
    pub fn new(partition: i32, log: LogId, config: TxnConfig) -> Self {
        TxnCoordinator {
            partition,
            config,
            log,
            entries: BTreeMap::new(),
            by_producer: BTreeMap::new(),
            endings: BTreeMap::new(),
            offset_groups: BTreeMap::new(),
            timers: Timers::new(),
        }
    }

    /// Takes over what a stored record says. Replay hands in each record of the log in order, then
    /// calls [`TxnCoordinator::recovered`].
    ///
    /// # Errors
    /// A record that cannot be used; nothing changed.
    pub fn apply(&mut self, record: &StateRecord) -> Result<(), CorruptRecord> {
        match log_record::decode(record)? {
            Stored::Entry(id, entry) => self.put(id, Some(entry)),
            Stored::Tombstone(id) => self.put(id, None),
            Stored::Unknown => {}
        }
        Ok(())
    }

    /// Everything stored, as records: applied to a new coordinator they give the same state.
    pub fn snapshot(&self) -> Vec<StateRecord> {
        // What cannot be encoded was never stored.
        let is_left_out = |entry: &Entry| {
            entry.state == TxnState::Ongoing
                && ackord_machine::planted!("row-33-snapshot-without-open-transactions")
        };
        self.entries
            .iter()
            .filter(|(_, entry)| !is_left_out(entry))
            .filter_map(|(id, entry)| log_record::encode(id, entry).ok())
            .collect()
    }

    /// The only way in which what is stored changes, live and in replay.
    fn put(&mut self, id: Str, entry: Option<Entry>) {
        if let Some(old) = self.entries.get(&id) {
            self.by_producer.remove(&old.producer_id);
        }
        match entry {
            Some(entry) => {
                self.by_producer.insert(entry.producer_id, id.clone());
                self.entries.insert(id, entry);
            }
            None => {
                self.entries.remove(&id);
            }
        }
    }

    /// Forgets a transactional id, in the log too.
    pub(super) fn remove(&mut self, id: &Str, out: &mut Outbox<TxnReply>) {
        if let Ok(record) = log_record::tombstone(id) {
            self.put(id.clone(), None);
            out.append(self.log, vec![record], None);
        }
    }

    /// Applies a decision and appends it.
    pub(super) fn store(
        &mut self,
        id: &Str,
        entry: Entry,
        out: &mut Outbox<TxnReply>,
    ) -> Result<(), ErrorCode> {
        let record = log_record::encode(id, &entry)?;
        self.put(id.clone(), Some(entry));
        out.append(self.log, vec![record], None);
        Ok(())
    }

    /// Takes a message from another machine: registrations and verifications of leaders and share
    /// coordinators, and their answers to markers. Repeats and strays are harmless.
    pub fn handle_envelope(&mut self, now: Now, envelope: Envelope, out: &mut Outbox<TxnReply>) {
        let Envelope {
            from,
            correlation,
            body,
            ..
        } = envelope;
        match body {
            Body::AddPartitionsToTxn(request) => {
                let body = self.register(now, &from, request, out);
                // Whatever the sender makes of it becomes durable after the registration.
                out.send_chained(Envelope {
                    from: Role::Tc(self.partition),
                    to: from,
                    correlation,
                    body,
                });
            }
            Body::WriteTxnMarkersReply(response) => {
                self.markers_answered(now, correlation, &response, out);
            }
            _ => {}
        }
    }

    /// Whether the producer may act in the name of the transactional id.
    ///
    /// # Errors
    /// INVALID_PRODUCER_ID_MAPPING: unknown transactional id, or not its producer id.
    /// INVALID_PRODUCER_EPOCH: not the current epoch.
    pub fn check_producer(
        &self,
        transactional_id: &str,
        producer_id: i64,
        producer_epoch: i16,
    ) -> Result<(), ErrorCode> {
        self.current(transactional_id, producer_id, producer_epoch)
            .map(|_| ())
    }

    /// [`TxnCoordinator::check_producer`], with the entry.
    pub(super) fn current(
        &self,
        transactional_id: &str,
        producer_id: i64,
        producer_epoch: i16,
    ) -> Result<&Entry, ErrorCode> {
        let entry = self
            .entries
            .get(transactional_id)
            .ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        match entry.caller(producer_id, producer_epoch) {
            Caller::Current => Ok(entry),
            Caller::Previous | Caller::Fenced
                if ackord_machine::planted!("row-44-late-registration-counts") =>
            {
                Ok(entry)
            }
            Caller::Previous | Caller::Fenced => Err(ErrorCode::INVALID_PRODUCER_EPOCH),
            Caller::Stranger => Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        }
    }

    /// The epoch is the one before the current one because its transaction has ended, by whomever:
    /// nobody has asked for a new one.
    pub fn has_ended(&self, transactional_id: &str, producer_id: i64, producer_epoch: i16) -> bool {
        self.entries.get(transactional_id).is_some_and(|entry| {
            entry.caller(producer_id, producer_epoch) == Caller::Previous
                && entry.state.outcome().is_some()
        })
    }

    /// The producer belongs to a transactional id of this coordinator: nobody else may end what it
    /// began, nor what it will begin.
    pub fn claims(&self, producer_id: i64) -> bool {
        self.entries.values().any(|entry| {
            [
                entry.producer_id,
                entry.previous_producer_id,
                entry.next_producer_id,
            ]
            .contains(&producer_id)
        })
    }

    /// The partition takes part in an ongoing or prepared transaction of the producer.
    pub fn holds(&self, producer_id: i64, topic: &str, partition: i32) -> bool {
        self.under_way(producer_id)
            .is_some_and(|entry| entry.contains(topic, partition))
    }

    /// A transaction of the producer is ongoing or prepared here.
    pub fn is_under_way(&self, producer_id: i64) -> bool {
        self.under_way(producer_id).is_some()
    }

    fn under_way(&self, producer_id: i64) -> Option<&Entry> {
        let entry = self.entries.get(self.by_producer.get(&producer_id)?)?;
        (entry.state == TxnState::Ongoing || entry.state.is_prepared()).then_some(entry)
    }

    /// All transactional ids, in order.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = TxnDescription<'_>> {
        self.entries.iter().map(|(id, entry)| describe(id, entry))
    }

    /// One transactional id.
    pub fn transaction(&self, transactional_id: &str) -> Option<TxnDescription<'_>> {
        let (id, entry) = self.entries.get_key_value(transactional_id)?;
        Some(describe(id, entry))
    }

    /// The transactional id whose transaction under way has this producer id.
    pub fn transaction_of(&self, producer_id: i64) -> Option<TxnDescription<'_>> {
        self.under_way(producer_id)?;
        self.transaction(self.by_producer.get(&producer_id)?)
    }

    /// When [`TxnCoordinator::handle_timeout`] is due.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let (at, key) = self.timers.next()?;
        let reason = match key {
            TimerKey::Markers(_) => DeadlineReason::Retry,
            TimerKey::Timeout(_) => DeadlineReason::TransactionTimeout,
        };
        Some(Deadline { at, reason })
    }

    pub(super) fn entry(&self, transactional_id: &str) -> Option<&Entry> {
        self.entries.get(transactional_id)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&Str, &Entry)> {
        self.entries.iter()
    }

    pub(super) fn id_of_producer(&self, producer_id: i64) -> Option<&Str> {
        self.by_producer.get(&producer_id)
    }
}

fn describe<'a>(id: &'a Str, entry: &'a Entry) -> TxnDescription<'a> {
    let begun = entry.state != TxnState::Empty;
    TxnDescription {
        transactional_id: id.as_str(),
        state: entry.state,
        producer_id: entry.producer_id,
        producer_epoch: entry.producer_epoch,
        timeout_ms: entry.timeout_ms,
        start_ms: if begun { entry.start_ms } else { -1 },
        updated_ms: entry.updated_ms,
        partitions: &entry.partitions,
    }
}
