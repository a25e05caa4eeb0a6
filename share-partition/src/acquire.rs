//! A member fetches: which records it gets (KIP-932, KIP-1206), and how records that fail again and
//! again are set apart from their neighbours (as Kafka does since 4.2).

use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::str::Str;

use crate::share_partition::Touched;
use crate::window::{Hold, Lock, Record};
use crate::{AcquireMode, Acquired, LogBatch, RecordEvent, RecordState, SharePartition, Span};

/// A fetch in progress.
struct Fetch {
    lock: Lock,
    mode: AcquireMode,
    /// Records that it may still get; below zero where batch-optimized mode went on.
    wanted: i64,
    /// Size at which an answer range ends with its log batch.
    batch_size: i64,
    limit: i16,
    acquired: Vec<Acquired>,
    /// The next records start a new answer range.
    cut: bool,
}

/// Whether a fetch may look further.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

impl SharePartition {
    /// Gives `member` the lock on AVAILABLE records of `log_batches`, which are ascending and
    /// come from a read at [`next_fetch_offset`](Self::next_fetch_offset).
    ///
    /// Offsets between two log batches, and between the end and the first one, become ARCHIVED: the
    /// log holds no record there. Where the read began below the first batch and inside the window,
    /// the caller has to say so with [`archive_range`](Self::archive_range): only it knows where
    /// the read began. Nothing beyond `max_record_locks` offsets from the start is acquired.
    ///
    /// `max_records` and `batch_size` are those of ShareFetch. Each range comes with its delivery
    /// count; ranges are ascending.
    pub fn acquire(
        &mut self,
        now: MonoTime,
        member: &Str,
        log_batches: &[LogBatch],
        max_records: i32,
        batch_size: i32,
        mode: AcquireMode,
    ) -> Vec<Acquired> {
        let deadline = now.plus_millis(self.config.record_lock_ms);
        let mut fetch = Fetch {
            lock: Lock {
                member: member.clone(),
                deadline,
            },
            mode,
            wanted: i64::from(max_records),
            batch_size: i64::from(batch_size),
            limit: self.config.delivery_count_limit,
            acquired: Vec::new(),
            cut: false,
        };
        let mut known_to = None;
        for batch in log_batches {
            if fetch.wanted <= 0 || self.acquire_batch(&mut fetch, known_to, *batch) == Next::Stop {
                break;
            }
            fetch.end_of_batch();
            known_to = Some(batch.last);
        }
        self.window.advance();
        for got in &fetch.acquired {
            let records = Span::new(got.first, got.last).len();
            self.counts.note(RecordEvent::Acquire, records);
        }
        fetch.acquired
    }

    fn acquire_batch(&mut self, fetch: &mut Fetch, before: Option<i64>, batch: LogBatch) -> Next {
        let hole_from = before.map_or(self.window.end(), |last| last.saturating_add(1));
        let hole = Span::new(hole_from, batch.base.saturating_sub(1));
        let mut touched = Touched::default();
        self.archive_hole(hole, &mut touched);
        self.unstored_holes |= !touched.is_empty();
        self.window.advance();
        let mut from = self.window.start().max(self.log_start);
        if ackord_machine::planted!("row-04-fetch-begins-below-the-start-offset") {
            from = self.log_start;
        }
        let Some(span) = Span::new(batch.base, batch.last).within(Span::new(from, i64::MAX)) else {
            return Next::GoOn;
        };
        if self.acquire_known(fetch, span) == Next::Stop {
            return Next::Stop;
        }
        self.acquire_new(fetch, span)
    }

    /// Records inside the window.
    fn acquire_known(&mut self, fetch: &mut Fetch, span: Span) -> Next {
        if self.window.count(RecordState::Available) == 0 {
            return Next::GoOn;
        }
        let available: Vec<(Span, i16)> = self
            .window
            .overlapping(span)
            .filter(|(_, record)| record.state == RecordState::Available)
            .map(|(part, record)| (part, record.delivery_count))
            .collect();
        for (part, delivery_count) in available {
            let throttled = throttle(part.len(), delivery_count, fetch.limit);
            if throttled.is_some() && !fetch.acquired.is_empty() {
                return Next::Stop;
            }
            let size = fetch.allowance(throttled.unwrap_or(part.len()));
            let part = Span::new(part.first, part.first.saturating_add(size - 1));
            let Record {
                delivery_count,
                hold,
                ..
            } = fetch.take(part, delivery_count);
            self.window.update(part, |_, old| {
                let next = old.after(RecordEvent::Acquire, hold.clone())?;
                Some(Record {
                    delivery_count,
                    ..next
                })
            });
            if throttled.is_some() || fetch.is_full() {
                return Next::Stop;
            }
        }
        Next::GoOn
    }

    /// Records behind the end.
    fn acquire_new(&mut self, fetch: &mut Fetch, span: Span) -> Next {
        let mut room = self.max_record_locks().saturating_sub(self.window.len());
        if ackord_machine::planted!("row-06-limit-not-checked-on-acquire") {
            room = i64::MAX;
        }
        let from = self.window.end();
        if span.last < from {
            return Next::GoOn;
        }
        let size = fetch.allowance((span.last - from).saturating_add(1).min(room));
        // A hole in front of the batch that did not fit leaves its first offset out of reach.
        if size <= 0 || span.first > from {
            return Next::Stop;
        }
        let part = Span::new(from, from.saturating_add(size - 1));
        let mut told = part;
        if ackord_machine::planted!("row-04-fetch-begins-below-the-start-offset") {
            told.first = span.first;
        }
        let record = fetch.take(told, 0);
        self.window.append(part.last, record);
        self.fetched_end = span.last.saturating_add(1);
        if part.last < span.last || fetch.is_full() {
            Next::Stop
        } else {
            Next::GoOn
        }
    }
}

impl Fetch {
    /// How many of `size` records it may take.
    fn allowance(&self, size: i64) -> i64 {
        match self.mode {
            AcquireMode::BatchOptimized => size,
            AcquireMode::RecordLimit => size.min(self.wanted),
        }
    }

    fn is_full(&self) -> bool {
        self.mode == AcquireMode::RecordLimit && self.wanted <= 0
    }

    /// Adds `part`, which was delivered `delivered` times, to the answer.
    fn take(&mut self, part: Span, delivered: i16) -> Record {
        let delivery_count = delivered.saturating_add(1).min(self.limit).max(delivered);
        self.wanted = self.wanted.saturating_sub(part.len());
        match self.acquired.last_mut() {
            Some(last)
                if !self.cut
                    && last.last.checked_add(1) == Some(part.first)
                    && last.delivery_count == delivery_count =>
            {
                last.last = part.last;
            }
            _ => self.acquired.push(Acquired {
                first: part.first,
                last: part.last,
                delivery_count,
            }),
        }
        self.cut = false;
        Record {
            state: RecordState::Acquired,
            delivery_count,
            hold: Hold::Member(self.lock.clone()),
        }
    }

    fn end_of_batch(&mut self) {
        let size = self
            .acquired
            .last()
            .map_or(0, |last| Span::new(last.first, last.last).len());
        self.cut = self.mode == AcquireMode::BatchOptimized && size >= self.batch_size;
    }
}

/// How many of `size` records with this count are delivered, alone in their answer, so that one bad
/// record does not take its neighbours to the limit; `None` while there is no suspicion.
fn throttle(size: i64, delivery_count: i16, limit: i16) -> Option<i64> {
    let (count, limit) = (i32::from(delivery_count), i32::from(limit));
    let threshold = ((limit + 1) / 2).max(2);
    if count < threshold {
        return None;
    }
    if limit > 2 && count >= limit - 1 {
        return Some(1);
    }
    let halvings = u32::try_from(count - threshold + 1).unwrap_or(0).min(62);
    Some((size >> halvings).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_batch_halves_and_ends_as_single_records() {
        let sizes = [0, 2, 3, 4, 5].map(|count| throttle(100, count, 5));
        assert_eq!(sizes, [None, None, Some(50), Some(1), Some(1)]);
        let sizes = [4, 5, 6, 7, 8, 9].map(|count| throttle(100, count, 10));
        assert_eq!(
            sizes,
            [None, Some(50), Some(25), Some(12), Some(6), Some(1)]
        );
        assert_eq!(throttle(2, 3, 5), Some(1));
    }

    #[test]
    fn the_smallest_limits_begin_with_the_second_delivery() {
        assert_eq!(throttle(8, 1, 2), None);
        assert_eq!(throttle(8, 2, 2), Some(4));
        assert_eq!(throttle(8, 1, 1), None);
    }
}
