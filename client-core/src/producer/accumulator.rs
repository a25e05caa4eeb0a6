//! Records on their way into batches: one batch under way for each partition.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use ackord_machine::{MonoTime, WallTime};
use ackord_proto::records::{BatchBuilder, RecordHeader};
use ackord_proto::str::Str;
use bytes::Bytes;

use crate::CallId;

/// A record that waits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingRecord {
    pub(super) call: CallId,
    pub(super) timestamp: WallTime,
    pub(super) give_up_at: MonoTime,
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
    pub(super) headers: Vec<RecordHeader>,
}

impl PendingRecord {
    /// Roughly what it takes in a batch, in bytes.
    fn size(&self) -> usize {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers = self.headers.iter();
        let headers: usize = headers.map(|h| h.key.len() + length(&h.value) + 10).sum();
        length(&self.key) + length(&self.value) + headers + 30
    }
}

/// Whether the transaction coordinator knows the partition (transaction version 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Registration {
    #[default]
    None,
    UnderWay,
    Done,
}

/// The way into one partition.
#[derive(Debug, Default)]
pub(super) struct PartitionQueue {
    pub(super) registration: Registration,
    next_sequence: i32,
    waiting: VecDeque<PendingRecord>,
    in_flight: Vec<CallId>,
}

impl PartitionQueue {
    pub(super) fn push(&mut self, record: PendingRecord) {
        self.waiting.push_back(record);
    }

    /// Whether every record is stored or has failed.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_empty()
    }

    /// Whether a batch could leave now.
    pub(super) fn is_ready(&self) -> bool {
        !self.waiting.is_empty() && self.in_flight.is_empty()
    }

    /// The next batch and its time limit. It is under way from now on.
    pub(super) fn take_batch(
        &mut self,
        limit: usize,
        producer_id: i64,
        producer_epoch: i16,
    ) -> Option<(Bytes, MonoTime)> {
        let give_up_at = self.waiting.front()?.give_up_at;
        let mut batch = BatchBuilder::new(0)
            .producer(producer_id, producer_epoch, self.next_sequence)
            .transactional();
        while let Some(record) = self.waiting.pop_front() {
            let headers = record.headers.iter();
            let headers: Vec<_> = headers.map(|h| (&*h.key, h.value.as_deref())).collect();
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            batch.push_with_headers(record.timestamp.as_millis(), key, value, &headers);
            self.in_flight.push(record.call);
            let next = self.waiting.front().map_or(0, PendingRecord::size);
            if batch.size() + next > limit {
                break;
            }
        }
        Some((batch.build(), give_up_at))
    }

    /// The batch under way is stored: the sequence goes on behind it.
    pub(super) fn stored(&mut self) -> Vec<CallId> {
        let calls = core::mem::take(&mut self.in_flight);
        let count = i32::try_from(calls.len()).unwrap_or(i32::MAX);
        // Sequences go from 0 to 2147483647 and on from 0.
        self.next_sequence = self.next_sequence.wrapping_add(count) & i32::MAX;
        calls
    }

    /// The batch under way failed.
    pub(super) fn failed(&mut self) -> Vec<CallId> {
        core::mem::take(&mut self.in_flight)
    }

    /// Gives up what has not left yet.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = CallId> {
        self.waiting.drain(..).map(|record| record.call)
    }

    /// A new producer epoch counts from 0.
    pub(super) fn restart(&mut self) {
        self.next_sequence = 0;
    }
}

/// Topic and partition.
pub(super) type TopicPartition = (Str, i32);

/// All partitions that records were sent to.
pub(super) type Accumulator = BTreeMap<TopicPartition, PartitionQueue>;
