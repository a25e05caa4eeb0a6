//! A member fetches: which records it gets (KIP-932, KIP-1206), and how records that fail again and
//! again are set apart from their neighbours (as Kafka does since 4.2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::str::Str;

use crate::pace::Pace;
use crate::share_partition::Touched;
use crate::window::{Hold, Lock, Record};
use crate::{AcquireMode, Acquired, LogBatch, RecordEvent, RecordState, SharePartition, Span};

/// A fetch in progress.
struct Fetch<'a> {
    lock: Lock,
    mode: AcquireMode,
    log: &'a [LogBatch],
    /// Records that it may still get; below zero where batch-optimized mode went on.
    wanted: i64,
    /// Batch-optimized: end of the log batch in which it had what it wanted.
    goes_on_to: i64,
    /// Size at which an answer range ends with its log batch.
    batch_size: i64,
    limit: i16,
    acquired: Vec<Acquired>,
    /// First offset of the batch that the next records belong to, unless they start a new one.
    batch: Option<i64>,
    /// The next records start a new answer range.
    cut: bool,
}

/// Whether a fetch may look further.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// AVAILABLE records with one delivery count.
type Run = (Span, i16);

impl SharePartition {
    /// Gives `member` the lock on AVAILABLE records of `log_batches`, which are ascending and
    /// come from a read at [`next_fetch_offset`](Self::next_fetch_offset).
    ///
    /// Offsets between two log batches, and between the end and the first one, become ARCHIVED: the
    /// log holds no record there. Where the read began below the first batch and inside the window,
    /// the caller has to say so with [`archive_range`](Self::archive_range): only it knows where
    /// the read began. Nothing beyond `max_record_locks` offsets from the start is acquired.
    ///
    /// Records whose delivery count has passed half of the limit come alone, fewer each time: see
    /// [`Pace`]. `max_records` and `batch_size` are those of ShareFetch. Each range comes with its
    /// delivery count; ranges are ascending.
    pub fn acquire(
        &mut self,
        now: MonoTime,
        member: &Str,
        log_batches: &[LogBatch],
        max_records: i32,
        batch_size: i32,
        mode: AcquireMode,
    ) -> Vec<Acquired> {
        if max_records <= 0 {
            return Vec::new();
        }
        let deadline = now.plus_millis(self.config.record_lock_ms);
        let mut fetch = Fetch {
            lock: Lock {
                member: member.clone(),
                deadline,
            },
            mode,
            log: log_batches,
            wanted: i64::from(max_records),
            goes_on_to: i64::MIN,
            batch_size: i64::from(batch_size),
            limit: self.config.delivery_count_limit,
            acquired: Vec::new(),
            batch: None,
            cut: false,
        };
        self.archive_holes_between(log_batches);
        if self.acquire_known(&mut fetch) == Next::GoOn {
            self.acquire_new(&mut fetch);
        }
        self.window.advance();
        self.batches.drop_below(self.window.start());
        for got in &fetch.acquired {
            let records = Span::new(got.first, got.last).len();
            self.counts.note(RecordEvent::Acquire, records);
        }
        fetch.acquired
    }

    /// Holes inside the window; [`acquire_new`](Self::acquire_new) finds those behind it.
    fn archive_holes_between(&mut self, log_batches: &[LogBatch]) {
        let mut touched = Touched::default();
        let last_known = self.window.end().saturating_sub(1);
        for pair in log_batches.windows(2) {
            let last = pair[1].base.saturating_sub(1).min(last_known);
            let hole = Span::new(pair[0].last.saturating_add(1), last);
            if !hole.is_empty() && hole.last >= self.window.start() {
                self.archive_hole(hole, &mut touched);
            }
        }
        self.unstored_holes |= !touched.is_empty();
        self.window.advance();
    }

    /// Records inside the window, batch by batch as they were acquired first.
    fn acquire_known(&mut self, fetch: &mut Fetch<'_>) -> Next {
        let (Some(first), Some(last)) = (fetch.log.first(), fetch.log.last()) else {
            return Next::Stop;
        };
        if self.window.count(RecordState::Available) == 0 {
            return Next::GoOn;
        }
        let read = Span::new(first.base.max(self.log_start), last.last);
        let mut runs: VecDeque<Run> = self
            .window
            .overlapping(read)
            .filter(|(_, record)| record.state == RecordState::Available)
            .map(|(part, record)| (part, record.delivery_count))
            .collect();
        while let Some((Span { first: at, .. }, _)) = runs.front().copied() {
            let known = self.batches.around(at);
            let Some(batch) = known.or_else(|| self.loaded_batch(fetch, at)) else {
                return Next::Stop;
            };
            if self.acquire_batch(fetch, batch, &take_to(batch.last, &mut runs)) == Next::Stop {
                return Next::Stop;
            }
            fetch.end_of_batch();
            if known.is_some() {
                fetch.batch = None;
            }
        }
        fetch.batch = None;
        Next::GoOn
    }

    /// The batch that begins at `at`, between the batches of a loaded state.
    fn loaded_batch(&mut self, fetch: &mut Fetch<'_>, at: i64) -> Option<Span> {
        let end = self.batches.next_first(at).unwrap_or(i64::MAX);
        let batch = Span::new(at, fetch.log_batch(at)?.last.min(end - 1));
        self.note_batch(fetch, batch);
        Some(batch)
    }

    /// The AVAILABLE records of a batch, which are `runs`.
    fn acquire_batch(&mut self, fetch: &mut Fetch<'_>, batch: Span, runs: &[Run]) -> Next {
        let mut pace = Pace::new(fetch.limit, batch.len());
        let suspect = runs.iter().any(|(_, count)| pace.is_suspect(*count));
        if suspect && !fetch.acquired.is_empty() {
            return Next::Stop;
        }
        for (part, count) in runs {
            let size = fetch.allowance(*part).min(pace.allowance(*count));
            if size <= 0 {
                return Next::Stop;
            }
            let taken = Span::new(
                part.first,
                part.last.min(part.first.saturating_add(size - 1)),
            );
            self.acquire_span(fetch, taken, *count);
            pace.took(taken.len());
            if taken.last < part.last || pace.is_over(*count) || fetch.is_full() {
                return Next::Stop;
            }
        }
        if suspect { Next::Stop } else { Next::GoOn }
    }

    fn acquire_span(&mut self, fetch: &mut Fetch<'_>, span: Span, count: i16) {
        let Record {
            delivery_count,
            hold,
            ..
        } = fetch.take(span, count);
        self.window.update(span, |_, old| {
            let next = old.after(RecordEvent::Acquire, hold.clone())?;
            Some(Record {
                delivery_count,
                ..next
            })
        });
    }

    /// Records behind the end, log batch by log batch.
    fn acquire_new(&mut self, fetch: &mut Fetch<'_>) {
        for log_batch in fetch.log {
            if log_batch.last < self.window.end() {
                continue;
            }
            if self.acquire_new_of(fetch, *log_batch) == Next::Stop {
                return;
            }
            fetch.end_of_batch();
        }
    }

    fn acquire_new_of(&mut self, fetch: &mut Fetch<'_>, log_batch: LogBatch) -> Next {
        if fetch.wanted <= 0 && log_batch.base > fetch.goes_on_to {
            return Next::Stop;
        }
        let hole = Span::new(self.window.end(), log_batch.base.saturating_sub(1));
        let mut touched = Touched::default();
        self.archive_hole(hole, &mut touched);
        self.unstored_holes |= !touched.is_empty();
        self.window.advance();
        let mut room = self.max_record_locks().saturating_sub(self.window.len());
        if ackord_machine::planted!("row-06-limit-not-checked-on-acquire") {
            room = i64::MAX;
        }
        let from = self.window.end();
        // A hole in front of the batch that did not fit leaves its first offset out of reach.
        if log_batch.base > from {
            return Next::Stop;
        }
        let size = fetch.allowance(Span::new(from, log_batch.last)).min(room);
        if size <= 0 {
            return Next::Stop;
        }
        let part = Span::new(from, from.saturating_add(size - 1));
        let mut told = part;
        if ackord_machine::planted!("row-04-fetch-begins-below-the-start-offset") {
            told.first = log_batch.base.max(self.log_start);
        }
        self.note_batch(fetch, Span::new(from, log_batch.last));
        let record = fetch.take(told, 0);
        self.window.append(part.last, record);
        self.fetched_end = log_batch.last.saturating_add(1);
        if part.last < log_batch.last || fetch.is_full() {
            Next::Stop
        } else {
            Next::GoOn
        }
    }

    /// `span` goes on with the batch before it in this fetch, or is a new one.
    fn note_batch(&mut self, fetch: &mut Fetch<'_>, span: Span) {
        if self.batches.around(span.first).is_some() {
            return;
        }
        match fetch.batch {
            Some(first) => self.batches.extend(first, span.last),
            None => {
                self.batches.insert(span);
                fetch.batch = Some(span.first);
            }
        }
    }
}

impl Fetch<'_> {
    /// The log batch that contains `offset`.
    fn log_batch(&self, offset: i64) -> Option<LogBatch> {
        let at = self.log.partition_point(|batch| batch.last < offset);
        self.log.get(at).copied()
    }

    /// How many records of `part` it may take, from the first on.
    fn allowance(&mut self, part: Span) -> i64 {
        match self.mode {
            AcquireMode::RecordLimit => part.len().min(self.wanted),
            AcquireMode::BatchOptimized => {
                if self.wanted > 0 {
                    let enough = part.first.saturating_add(self.wanted - 1);
                    if enough > part.last {
                        return part.len();
                    }
                    let batch = self.log_batch(enough);
                    self.goes_on_to = batch.map_or(enough, |batch| batch.last);
                }
                Span::new(part.first, part.last.min(self.goes_on_to)).len()
            }
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
        if self.cut {
            self.batch = None;
        }
    }
}

/// What lies up to `last` of the `runs` in front.
fn take_to(last: i64, runs: &mut VecDeque<Run>) -> Vec<Run> {
    let mut taken = Vec::new();
    while let Some((span, count)) = runs.front_mut()
        && span.first <= last
    {
        taken.push((Span::new(span.first, span.last.min(last)), *count));
        if span.last <= last {
            runs.pop_front();
        } else {
            span.first = last + 1;
        }
    }
    taken
}
