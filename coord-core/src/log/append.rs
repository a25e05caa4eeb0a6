//! Appending: what a client sends, what coordinators write, and the markers of transactions.

use alloc::string::String;
use core::fmt;

use ackord_machine::{LogAppend, Now};
use ackord_proto::ErrorCode;
use ackord_proto::records::{BatchHeader, MAX_DECOMPRESSED, UnpackBudget};
use bytes::Bytes;

use super::batch::{self, BatchFacts, BatchKind};
use super::partition_log::PartitionLog;
use super::producer_state::{MarkerFit, Sequenced};
use super::topic_policy;
use crate::outbox::{ProducerEpoch, StateRecord};

/// What the transaction coordinator said about the batch that comes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxnCheck {
    /// It was not asked. A transactional batch has to continue a transaction that is open here.
    #[default]
    Unverified,
    /// The partition is in the producer's ongoing transaction (Produce up to v11, transaction
    /// version 0 or 1).
    Version1,
    /// The same for Produce v12 and later, transaction version 2: a producer that is unknown here
    /// has to start at sequence number 0.
    Version2,
}

/// A client's batch is in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Produced {
    /// It has been appended.
    Appended {
        /// Offset of its first record.
        base: i64,
        /// Offset of its last record.
        last: i64,
        /// What to store.
        part: LogAppend,
        /// The timestamp that the log gave it, where it does that (`LogAppendTime`).
        log_append_time: Option<i64>,
    },
    /// It came before and is not appended again. It may not be durable yet.
    Duplicate {
        /// Offset of its first record.
        base: i64,
        /// Offset of its last record.
        last: i64,
    },
}

/// A client's batch is refused; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendError {
    /// What to answer.
    pub code: ErrorCode,
    /// Why, for the error message.
    pub reason: String,
    /// The record that is wrong, by its place in the batch, where it is a single one.
    pub record: Option<i32>,
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.reason)
    }
}

impl core::error::Error for AppendError {}

/// The end of a transaction, as WriteTxnMarkers tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Producer id.
    pub producer_id: i64,
    /// Epoch that the marker carries; bumped where the transaction has version 2 or was fenced.
    pub producer_epoch: i16,
    /// Whether the transaction commits.
    pub commit: bool,
    /// Epoch of the coordinator.
    pub coordinator_epoch: i32,
    /// Transaction version; from 2 on the epoch has to be newer than that of the transaction.
    pub transaction_version: i8,
    /// Which transaction of its transactional id it ends; 0: unknown.
    pub ordinal: i64,
}

/// What became of a marker that was not refused.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkerOutcome {
    /// The marker has been written before. It may not be durable yet: the answer waits until all
    /// that has been appended so far is.
    AlreadyDone,
    /// The marker has been appended; what to store.
    Appended(LogAppend),
}

impl PartitionLog {
    /// Appends the one batch that a Produce request has for this partition, or refuses it the way
    /// Kafka does. A transactional batch of a producer without an open transaction opens one at its
    /// first offset; the embedder has asked the coordinator before.
    pub fn append_client(
        &mut self,
        now: Now,
        batch: &Bytes,
        txn: TxnCheck,
    ) -> Result<Produced, AppendError> {
        let mut budget = UnpackBudget::new(MAX_DECOMPRESSED);
        self.append_client_charged(now, batch, txn, &mut budget)
    }

    /// As [`append_client`](Self::append_client); what the batch takes unpacked counts into the
    /// `budget` of its request, beyond which it is MESSAGE_TOO_LARGE.
    pub fn append_client_charged(
        &mut self,
        now: Now,
        batch: &Bytes,
        txn: TxnCheck,
        budget: &mut UnpackBudget,
    ) -> Result<Produced, AppendError> {
        let header = self.check_client(now, batch, budget)?;
        self.append_checked(now, &header, batch, txn)
    }

    /// As [`append_client`](Self::append_client), with a batch that
    /// [`check_client`](Self::check_client) has found good: `header` is its answer.
    pub(crate) fn append_checked(
        &mut self,
        now: Now,
        header: &BatchHeader,
        batch: &Bytes,
        txn: TxnCheck,
    ) -> Result<Produced, AppendError> {
        let mut facts = BatchFacts::at(header, self.end);
        if facts.producer_id >= 0 {
            let from_zero = txn == TxnCheck::Version2 && facts.kind == BatchKind::Transactional;
            let sequenced = self.producers.judge(&facts, from_zero)?;
            if let Sequenced::Duplicate { base, last } = sequenced {
                return Ok(Produced::Duplicate { base, last });
            }
            self.judge_transaction(&facts, txn)?;
        }
        let log_append_time = self
            .config
            .timestamp_type_append
            .then(|| now.wall.as_millis());
        let [head, body] = batch::place(batch, header, self.end, log_append_time);
        facts.max_timestamp = log_append_time.unwrap_or(facts.max_timestamp);
        let part = self.append(&facts, head, body);
        Ok(Produced::Appended {
            base: facts.base,
            last: facts.last,
            part,
            log_append_time,
        })
    }

    /// What the configuration of the topic and the format ask of a client's batch.
    pub(crate) fn check_client(
        &self,
        now: Now,
        batch: &Bytes,
        budget: &mut UnpackBudget,
    ) -> Result<BatchHeader, AppendError> {
        if batch.len() > usize::try_from(self.config.max_message_bytes).unwrap_or(0) {
            return Err(refuse(
                ErrorCode::MESSAGE_TOO_LARGE,
                "larger than max.message.bytes",
            ));
        }
        let header = batch::validate(batch, budget)?;
        topic_policy::check(&self.config, now.wall, &header, batch)?;
        Ok(header)
    }

    /// Appends the records of a coordinator as one batch, in the transaction of `producer` where
    /// one is named, whose sequence numbers in this log begin at 0 with each epoch. There is at
    /// least one record, and the coordinator has made sure of the producer.
    pub fn append_records(
        &mut self,
        now: Now,
        records: &[StateRecord],
        producer: Option<ProducerEpoch>,
    ) -> LogAppend {
        let producer = producer.map(|producer| {
            (
                producer,
                self.producers.next_sequence(producer.id, producer.epoch),
            )
        });
        let (facts, bytes) = batch::build(self.end, now.wall.as_millis(), records, producer);
        self.append(&facts, Bytes::new(), bytes)
    }

    /// Whether a coordinator may append for a producer: INVALID_PRODUCER_EPOCH where a newer epoch
    /// has been here, INVALID_TXN_STATE where another transaction of it has not ended here.
    pub fn check_producer(&self, producer: ProducerEpoch) -> Result<(), ErrorCode> {
        let newest = self.producers.epoch(producer.id);
        if newest.is_some_and(|newest| newest > producer.epoch) {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        match self.transactions.parted(producer.id) {
            true => Err(ErrorCode::INVALID_TXN_STATE),
            false => Ok(()),
        }
    }

    /// Appends the marker that ends a producer's transaction, under Kafka's rules: an epoch that is
    /// older than the producer's (with transaction version 2, one that is not newer) is
    /// INVALID_PRODUCER_EPOCH, except for the repetition of a version 2 marker after which nothing
    /// was opened; an older coordinator is TRANSACTION_COORDINATOR_FENCED. Where the open
    /// transaction is known to be another one: INVALID_TXN_STATE. A refused marker changes nothing.
    pub fn append_marker(&mut self, now: Now, marker: Marker) -> Result<MarkerOutcome, ErrorCode> {
        if marker.producer_id < 0 {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if marker.producer_epoch < 0 {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        let open = self.transactions.open(marker.producer_id);
        let fit = self.producers.judge_marker(&marker, open.is_some())?;
        let known = [marker.ordinal, open.map_or(0, |open| open.ordinal)];
        if !known.contains(&0) && known[0] != known[1] {
            return Err(ErrorCode::INVALID_TXN_STATE);
        }
        if fit == MarkerFit::Repeated {
            return Ok(MarkerOutcome::AlreadyDone);
        }
        let (facts, bytes) = batch::build_marker(self.end, now.wall.as_millis(), &marker);
        let part = self.append(&facts, Bytes::new(), bytes);
        self.transactions
            .forget_announced(marker.producer_id, marker.ordinal);
        Ok(MarkerOutcome::Appended(part))
    }

    fn judge_transaction(&self, facts: &BatchFacts, txn: TxnCheck) -> Result<(), AppendError> {
        let verified = txn != TxnCheck::Unverified;
        let refusal = match (facts.kind, self.transactions.open(facts.producer_id)) {
            (BatchKind::Transactional, None) if !verified => "the transaction is not verified",
            (BatchKind::Transactional, Some(open)) if facts.producer_epoch != open.epoch => {
                "the open transaction has another epoch"
            }
            (BatchKind::Transactional, Some(_)) if self.transactions.parted(facts.producer_id) => {
                "the transaction before has not ended here"
            }
            (BatchKind::Plain, Some(_)) => "a transaction of the producer is open",
            _ => return Ok(()),
        };
        Err(refuse(ErrorCode::INVALID_TXN_STATE, refusal))
    }

    fn append(&mut self, facts: &BatchFacts, head: Bytes, body: Bytes) -> LogAppend {
        self.apply(facts);
        self.tail.push(
            facts.base,
            facts.last,
            facts.max_timestamp,
            head.clone(),
            body.clone(),
        );
        LogAppend {
            log: self.id,
            base: facts.base,
            last: facts.last,
            head,
            body,
        }
    }
}

pub(super) fn refuse(code: ErrorCode, reason: impl Into<String>) -> AppendError {
    AppendError {
        code,
        reason: reason.into(),
        record: None,
    }
}
