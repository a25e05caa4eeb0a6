//! The log itself: its offsets, and the one function that changes it.

use alloc::vec::Vec;

use ackord_machine::LogId;
use bytes::Bytes;

use super::batch::{self, BatchFacts, BatchKind, BatchSpan};
use super::checkpoint;
use super::producer_state::{ProducerInfo, ProducerTable};
use super::retention::Retention;
use super::segments::{Rolling, Segments};
use super::tail::Tail;
use super::timestamps::{MaxTimestamp, Timestamps};
use super::transactions::{Aborted, OpenTxn, Transactions};

/// What a log has to know of its topic and its broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// `max.message.bytes`: the largest batch a client may append.
    pub max_message_bytes: i32,
    /// `max.decompressed.message.bytes`: the largest record of a compressed batch.
    pub max_decompressed_bytes: usize,
    /// How many bytes of the newest durable batches stay in memory.
    pub tail_bytes: usize,
    /// `producer.id.expiration.ms`: how long an idle producer is remembered.
    pub producer_id_expiration_ms: i64,
    /// `message.timestamp.type`: `true` for `LogAppendTime`, `false` for `CreateTime`.
    pub timestamp_type_append: bool,
    /// `message.timestamp.after.max.ms`: how far ahead of the broker's clock a record may be.
    pub timestamp_after_max_ms: i64,
    /// `message.timestamp.before.max.ms`: how far behind it.
    pub timestamp_before_max_ms: i64,
    /// The topic is compacted, so a record needs a key.
    pub keys_required: bool,
    /// What is kept; `None`: everything.
    pub retention: Option<Retention>,
    /// When a segment is rolled.
    pub rolling: Rolling,
}

impl Default for LogConfig {
    fn default() -> Self {
        LogConfig {
            max_message_bytes: 1_048_588,
            max_decompressed_bytes: usize::MAX,
            tail_bytes: 4 << 20,
            producer_id_expiration_ms: 86_400_000,
            timestamp_type_append: false,
            timestamp_after_max_ms: 3_600_000,
            timestamp_before_max_ms: i64::MAX,
            keys_required: false,
            retention: None,
            rolling: Rolling::default(),
        }
    }
}

/// Which of the offsets that readers are held by has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The high watermark.
    pub high_watermark: bool,
    /// The last stable offset.
    pub last_stable: bool,
}

/// One partition's log. See the [module](super).
#[derive(Clone, Debug)]
pub struct PartitionLog {
    pub(super) id: LogId,
    pub(super) config: LogConfig,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Everything below is durable: the high watermark.
    pub(super) durable: i64,
    pub(super) producers: ProducerTable,
    pub(super) transactions: Transactions,
    pub(super) timestamps: Timestamps,
    pub(super) segments: Segments,
    pub(super) tail: Tail,
}

impl PartitionLog {
    /// An empty log that starts at offset 0.
    pub fn new(id: LogId, config: LogConfig) -> Self {
        PartitionLog {
            id,
            config,
            start: 0,
            end: 0,
            durable: 0,
            producers: ProducerTable::default(),
            transactions: Transactions::default(),
            timestamps: Timestamps::default(),
            segments: Segments::default(),
            tail: Tail::new(0, None),
        }
    }

    /// Which log this is.
    pub fn id(&self) -> LogId {
        self.id
    }

    /// Its configuration.
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Takes a changed configuration; it holds from the next call on.
    pub fn set_config(&mut self, config: LogConfig) {
        self.config = config;
        self.tail.evict(self.config.tail_bytes, self.durable);
    }

    /// First offset that is kept.
    pub fn start_offset(&self) -> i64 {
        self.start
    }

    /// Offset of the next record. What lies below may not be durable yet.
    pub fn end_offset(&self) -> i64 {
        self.end
    }

    /// Everything below is durable, and readers see no further.
    pub fn high_watermark(&self) -> i64 {
        self.durable
    }

    /// Everything below is durable and decided: the first offset of the earliest transaction that
    /// is open, or whose marker is not durable yet, else the high watermark.
    pub fn last_stable_offset(&self) -> i64 {
        let mut undecided = self.transactions.first_undecided().unwrap_or(self.durable);
        if ackord_machine::planted!("row-35-stable-offset-one-too-far") {
            undecided += 1;
        }
        undecided.min(self.durable).max(self.start)
    }

    /// Takes note that everything below `end` is durable. An `end` below the high watermark changes
    /// nothing, and one past the end of the log counts as the end.
    pub fn durable_to(&mut self, end: i64) -> Moved {
        let end = end.min(self.end);
        if end <= self.durable {
            return Moved::default();
        }
        let stable_before = self.last_stable_offset();
        for batch in self.tail.between(self.durable, end) {
            self.timestamps
                .note(batch.max_timestamp, batch.base, batch.last);
        }
        self.durable = end;
        self.transactions.durable_to(end);
        self.tail.evict(self.config.tail_bytes, end);
        Moved {
            high_watermark: true,
            last_stable: self.last_stable_offset() != stable_before,
        }
    }

    /// Lets the log start at `before`, at most at the high watermark; never moves back. Before it
    /// asks the store to trim, the embedder stores a checkpoint at or past `before`: markers that
    /// are trimmed could not be replayed.
    pub fn trim(&mut self, before: i64) {
        let start = before.min(self.durable);
        if start <= self.start {
            return;
        }
        self.start = start;
        self.tail.trim(start);
        self.transactions.trim(start);
        self.timestamps.trim(start);
        self.segments.trim(start, self.end);
    }

    /// What has to be known to recover the log without the batches below the offset given with it,
    /// which is its end. It may be stored no earlier than the last append.
    pub fn checkpoint(&self) -> (i64, Bytes) {
        (
            self.end,
            checkpoint::encode(self, &self.timestamps_at_end()),
        )
    }

    /// The timestamps as they will be when everything is durable.
    fn timestamps_at_end(&self) -> Timestamps {
        let mut timestamps = self.timestamps.clone();
        for batch in self.tail.between(self.durable, self.end) {
            timestamps.note(batch.max_timestamp, batch.base, batch.last);
        }
        timestamps
    }

    /// The transaction of that producer that is open here.
    pub fn open_transaction(&self, producer_id: i64) -> Option<OpenTxn> {
        self.transactions.open(producer_id)
    }

    /// The newest epoch of a producer that the log knows.
    pub fn producer_epoch(&self, producer_id: i64) -> Option<i16> {
        self.producers.epoch(producer_id)
    }

    /// Names the transaction that the next batches of the producer belong to: its ordinal at the
    /// coordinator. An open transaction without one takes it at once. It is kept in memory only;
    /// 0 means unknown, and fits any.
    pub fn set_ordinal(&mut self, producer_id: i64, ordinal: i64) {
        self.transactions.set_ordinal(producer_id, ordinal);
    }

    /// The aborted transactions that reach into the offsets from `from` to below `up_to`, by first
    /// offset: what a read_committed answer has to carry.
    pub fn aborted(&self, from: i64, up_to: i64) -> Vec<Aborted> {
        self.transactions.aborted(from, up_to)
    }

    /// The batch with the largest timestamp (ListOffsets -3), the first of several; durable batches
    /// only.
    pub fn max_timestamp(&self) -> Option<MaxTimestamp> {
        self.timestamps.max()
    }

    /// All producers that are remembered, by id (DescribeProducers).
    pub fn producers(&self) -> impl Iterator<Item = ProducerInfo> + '_ {
        self.producers.iter().map(|(id, entry)| {
            entry.info(id, self.transactions.open(id).map(|open| open.first_offset))
        })
    }

    /// How many producers are remembered.
    pub fn producer_count(&self) -> usize {
        self.producers.iter().len()
    }

    /// Forgets the producers whose newest batch is older than `producer.id.expiration.ms`, except
    /// those with an open transaction. `now_wall` is in milliseconds since the Unix epoch.
    pub fn expire_producers(&mut self, now_wall: i64) {
        let oldest = now_wall.saturating_sub(self.config.producer_id_expiration_ms);
        let transactions = &self.transactions;
        self.producers.expire(oldest, |producer_id| {
            transactions.open(producer_id).is_some()
        });
    }

    /// The batches in `chunks`, whose borders need not be those of batches; a cut last batch is left
    /// out.
    pub fn batch_bounds(chunks: &[Bytes]) -> Vec<BatchSpan> {
        batch::bounds(chunks)
    }

    /// Takes the batch into the log's state: the only place where that changes, live and replayed.
    pub(super) fn apply(&mut self, facts: &BatchFacts) {
        self.end = facts.last + 1;
        self.segments.note(
            self.config.rolling,
            facts.base,
            facts.size,
            facts.max_timestamp,
        );
        match facts.kind {
            BatchKind::OtherControl => {}
            BatchKind::Plain => self.producers.record(facts),
            BatchKind::Transactional => {
                self.producers.record(facts);
                self.transactions.continue_or_open(
                    facts.producer_id,
                    facts.producer_epoch,
                    facts.base,
                );
            }
            BatchKind::Marker {
                commit,
                coordinator_epoch,
            } => {
                self.producers.end_transaction(facts, coordinator_epoch);
                self.transactions
                    .decide(facts.producer_id, facts.last, commit);
            }
        }
    }
}
