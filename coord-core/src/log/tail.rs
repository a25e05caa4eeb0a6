//! The newest batches of a log in memory, served without a copy.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use ackord_machine::StoredBatch;
use bytes::Bytes;

use super::read::FindHot;

/// One batch: `head` followed by `body`.
#[derive(Clone, Debug)]
pub(super) struct TailBatch {
    pub(super) base: i64,
    pub(super) last: i64,
    pub(super) max_timestamp: i64,
    pub(super) head: Bytes,
    pub(super) body: Bytes,
    /// Bytes that entered the tail before this batch.
    position: usize,
}

impl TailBatch {
    fn size(&self) -> usize {
        self.head.len() + self.body.len()
    }

    fn push_chunks(&self, chunks: &mut Vec<Bytes>) {
        if !self.head.is_empty() {
            chunks.push(self.head.clone());
        }
        chunks.push(self.body.clone());
    }

    fn stored(&self) -> StoredBatch {
        let bytes = if self.head.is_empty() {
            self.body.clone()
        } else {
            let mut whole = Vec::with_capacity(self.size());
            whole.extend_from_slice(&self.head);
            whole.extend_from_slice(&self.body);
            Bytes::from(whole)
        };
        StoredBatch {
            base: self.base,
            last: self.last,
            bytes,
        }
    }
}

/// The newest batches, without gaps up to the end of the log.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    batches: VecDeque<TailBatch>,
    /// First offset held, or the end of the log where nothing is.
    from: i64,
    /// Bytes that ever entered the tail.
    position: usize,
    /// The largest timestamp before the tail; `None`: nothing is before it.
    before: Option<i64>,
}

impl Tail {
    /// An empty tail of a log that ends at `from`. `before`: see the field.
    pub(super) fn new(from: i64, before: Option<i64>) -> Self {
        Tail {
            batches: VecDeque::new(),
            from,
            position: 0,
            before,
        }
    }

    pub(super) fn push(
        &mut self,
        base: i64,
        last: i64,
        max_timestamp: i64,
        head: Bytes,
        body: Bytes,
    ) {
        let batch = TailBatch {
            base,
            last,
            max_timestamp,
            head,
            body,
            position: self.position,
        };
        self.position = self.position.wrapping_add(batch.size());
        self.batches.push_back(batch);
    }

    /// Drops the oldest batches that are durable until at most `limit` bytes are left.
    pub(super) fn evict(&mut self, limit: usize, durable: i64) {
        while let Some(oldest) = self.batches.front() {
            if self.held() <= limit || oldest.last >= durable {
                return;
            }
            self.before = Some(self.before.unwrap_or(-1).max(oldest.max_timestamp));
            self.pop_oldest();
        }
    }

    /// Drops what ends below `start`.
    pub(super) fn trim(&mut self, start: i64) {
        while self
            .batches
            .front()
            .is_some_and(|oldest| oldest.last < start)
        {
            self.pop_oldest();
        }
        if self.from <= start {
            // Nothing of the log is left before the tail.
            self.before = None;
        }
    }

    /// Whether the tail reaches back to `offset`.
    pub(super) fn reaches(&self, offset: i64) -> bool {
        offset >= self.from
    }

    /// Whole batches that end below `up_to`, beginning with the one that contains `from`, until
    /// `max_bytes` are reached; at least one where there is one.
    pub(super) fn read(&self, from: i64, max_bytes: usize, up_to: i64) -> Vec<Bytes> {
        let mut chunks = Vec::new();
        let mut bytes = 0usize;
        for batch in self.batches.range(self.index(from)..) {
            let with_it = bytes.saturating_add(batch.size());
            if batch.last >= up_to || (!chunks.is_empty() && with_it > max_bytes) {
                break;
            }
            bytes = with_it;
            batch.push_chunks(&mut chunks);
        }
        chunks
    }

    /// Bytes from the batch that contains `from` to the one that ends below `up_to`.
    pub(super) fn bytes_between(&self, from: i64, up_to: i64) -> usize {
        self.position_at(up_to)
            .saturating_sub(self.position_at(from))
    }

    /// The batches that begin in the range from `from` to below `up_to`.
    pub(super) fn between(&self, from: i64, up_to: i64) -> impl Iterator<Item = &TailBatch> {
        self.batches
            .range(self.index(from)..)
            .take_while(move |batch| batch.base < up_to)
    }

    /// The first batch below `up_to` with a timestamp of at least `timestamp`.
    pub(super) fn find_timestamp(&self, timestamp: i64, up_to: i64) -> FindHot {
        if self.before.is_some_and(|before| before >= timestamp) {
            return FindHot::Cold;
        }
        let found = self
            .batches
            .iter()
            .take_while(|batch| batch.last < up_to)
            .find(|batch| batch.max_timestamp >= timestamp);
        found.map_or(FindHot::NotFound, |batch| FindHot::Found(batch.stored()))
    }

    fn held(&self) -> usize {
        self.batches
            .front()
            .map_or(0, |oldest| self.position.wrapping_sub(oldest.position))
    }

    fn pop_oldest(&mut self) {
        if let Some(oldest) = self.batches.pop_front() {
            self.from = oldest.last + 1;
        }
    }

    /// Index of the batch that contains `offset`, or of the first one after it.
    fn index(&self, offset: i64) -> usize {
        self.batches.partition_point(|batch| batch.last < offset)
    }

    fn position_at(&self, offset: i64) -> usize {
        self.batches
            .get(self.index(offset))
            .map_or(self.position, |batch| batch.position)
    }
}
