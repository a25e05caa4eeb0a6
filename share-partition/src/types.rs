//! What goes in and comes out.

use alloc::vec::Vec;
use core::fmt;

use ackord_machine::{MonoTime, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use crate::RecordState;

/// Group and broker configuration that decides over delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Most offsets between start and end (`share.partition.max.record.locks`).
    pub max_record_locks: usize,
    /// Deliveries after which a record that comes back is given up (`share.delivery.count.limit`).
    pub delivery_count_limit: i16,
    /// Length of the acquisition lock in milliseconds (`share.record.lock.duration.ms`).
    pub record_lock_ms: i64,
    /// Whether locks may be renewed (`share.renew.acknowledge.enable`).
    pub renew_enabled: bool,
    /// The group has a dead letter queue (`errors.deadletterqueue.topic.name`, KIP-1191): what is
    /// rejected or reaches the limit is ARCHIVING until its copy is written.
    pub dead_letters: bool,
    /// The group acknowledges in transactions only (`share.acknowledgement.mode=transactional`,
    /// KIP-1289): plain ACCEPT and REJECT never acknowledge, and the limit gives nothing up.
    pub transactional: bool,
}

impl Default for Config {
    /// Kafka's defaults.
    fn default() -> Self {
        Config {
            max_record_locks: 2000,
            delivery_count_limit: 5,
            record_lock_ms: 30_000,
            renew_enabled: true,
            dead_letters: false,
            transactional: false,
        }
    }
}

/// Offsets `first` to `last`, both included. Empty where `first` is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
}

impl Span {
    /// Offsets `first` to `last`.
    pub const fn new(first: i64, last: i64) -> Self {
        Span { first, last }
    }

    /// The part of this span that lies in `other`, if there is any.
    pub fn within(self, other: Span) -> Option<Span> {
        let cut = Span::new(self.first.max(other.first), self.last.min(other.last));
        (cut.first <= cut.last).then_some(cut)
    }

    /// Number of offsets.
    pub const fn len(self) -> i64 {
        if self.is_empty() {
            0
        } else {
            self.last.saturating_sub(self.first).saturating_add(1)
        }
    }

    /// No offsets.
    pub const fn is_empty(self) -> bool {
        self.first > self.last
    }
}

/// One batch of the log, as a fetch returned it. Offsets between two of them hold no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBatch {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
}

/// How strictly the number of records of a fetch is taken (KIP-1206).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireMode {
    /// On to the end of the log batch that reaches the number.
    BatchOptimized,
    /// Never more than the number.
    RecordLimit,
}

/// Records that a member holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// Which delivery this is, from 1.
    pub delivery_count: i16,
}

/// State of a range as a share coordinator stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateBatch {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// Delivery state.
    pub state: RecordState,
    /// Deliveries so far.
    pub delivery_count: i16,
}

/// What an operation changed: what to store, and whom to wake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Ascending; also those that the start offset has passed with this change. Never ACQUIRED,
    /// which lives in memory only.
    pub batches: Vec<StateBatch>,
    /// Start offset (SPSO) after the change.
    pub start_offset: i64,
    /// The start offset is not the one of the last change.
    pub start_moved: bool,
    /// Records became available, or there is room for more: waiting fetches should try again.
    pub available_again: bool,
    /// Records at or above the start offset that are done (KIP-1226).
    pub delivery_complete_count: i32,
    /// In transactional mode: some records of an acknowledgement were refused, the others are done.
    pub refused: Option<AckError>,
}

impl Change {
    /// Nothing to store and nobody to wake.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty() && !self.start_moved && !self.available_again
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnOutcome {
    /// What was staged holds.
    Commit,
    /// It does not.
    Abort {
        /// The group has a dead letter queue and it can be written, so that records at the
        /// delivery limit go there instead of being delivered again.
        queue_open: bool,
    },
}

/// Why a record goes to the dead letter queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadLetterCause {
    /// A member rejected it.
    Rejected,
    /// It came back at the delivery limit.
    LimitReached,
}

impl DeadLetterCause {
    /// What Kafka writes into the header `__dlq.errors.message`.
    pub const fn message(self) -> &'static str {
        match self {
            DeadLetterCause::Rejected => "Offset rejected by client.",
            DeadLetterCause::LimitReached => "Offset delivery count exceeded the threshold.",
        }
    }
}

/// Records that wait for their copies in the dead letter queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The records.
    pub span: Span,
    /// Deliveries of each.
    pub delivery_count: i16,
    /// Why.
    pub cause: DeadLetterCause,
}

/// One batch of a plain acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckRange {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// 0 gap, 1 accept, 2 release, 3 reject, 4 renew; one for each offset, or one for all.
    pub types: Vec<i8>,
}

/// Why records of a partition were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckError {
    /// Kafka's code.
    pub code: ErrorCode,
    /// What was wrong, for people.
    pub message: &'static str,
}

impl AckError {
    pub(crate) const fn request(message: &'static str) -> Self {
        AckError {
            code: ErrorCode::INVALID_REQUEST,
            message,
        }
    }

    pub(crate) const fn state(message: &'static str) -> Self {
        AckError {
            code: ErrorCode::INVALID_RECORD_STATE,
            message,
        }
    }
}

impl fmt::Display for AckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl core::error::Error for AckError {}

/// One range of the window, to describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeView<'a> {
    /// First offset.
    pub first: i64,
    /// Last offset.
    pub last: i64,
    /// Delivery state.
    pub state: RecordState,
    /// Deliveries so far.
    pub delivery_count: i16,
    /// ACQUIRED: who holds it. TX_PENDING: who held it at the stage, where that is known.
    pub member: Option<&'a Str>,
    /// TX_PENDING: the transaction.
    pub owner: Option<TxnOwner>,
    /// TX_PENDING: what commit makes of it (0 gap, 1 accept, 3 reject).
    pub acknowledge_type: Option<i8>,
    /// ACQUIRED: when the lock ends.
    pub deadline: Option<MonoTime>,
}

impl fmt::Display for RangeView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}-{} {} x{}",
            self.first, self.last, self.state, self.delivery_count
        )?;
        if let Some(member) = self.member {
            write!(f, " member {}", member.as_str())?;
        }
        if let Some(deadline) = self.deadline {
            write!(f, " until {deadline}")?;
        }
        if let Some(owner) = self.owner {
            write!(f, " {owner}")?;
        }
        if let Some(acknowledge_type) = self.acknowledge_type {
            write!(f, " type {acknowledge_type}")?;
        }
        Ok(())
    }
}
