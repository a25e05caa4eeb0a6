//! A fetch as the model does it: offset by offset, and what it gets is foretold.

use ackord_machine::MonoTime;
use ackord_proto::str::Str;
use ackord_share_partition::{AcquireMode, Acquired, LogBatch, RecordState};

use super::World;
use crate::model::{Entry, Model};
use crate::operations::{LOCK_MS, read};

/// A fetch of the model.
struct Fetch<'a> {
    log: &'a [LogBatch],
    strict: bool,
    wanted: i64,
    /// Not strict: end of the log batch in which it had what it wanted.
    goes_on_to: i64,
    batch_size: i64,
    lock: (Str, MonoTime),
    got: Vec<Acquired>,
    /// The next record begins a new range.
    cut: bool,
    /// First offset of the batch that this fetch began and may go on with.
    open: Option<i64>,
}

/// Nothing more is looked at.
struct Stop;

impl Fetch<'_> {
    fn log_batch(&self, offset: i64) -> LogBatch {
        let found = self.log.iter().find(|batch| offset <= batch.last);
        *found.expect("it was read")
    }

    fn may_take(&self, offset: i64) -> bool {
        self.wanted > 0 || (!self.strict && offset <= self.goes_on_to)
    }

    fn end_of_batch(&mut self) {
        let size = self
            .got
            .last()
            .map_or(0, |range| range.last - range.first + 1);
        self.cut = !self.strict && size >= self.batch_size;
        if self.cut {
            self.open = None;
        }
    }
}

impl World {
    pub(super) fn acquire(&mut self, who: &Str, batches: usize, max: i32, size: i32, strict: bool) {
        let from = self.sut.next_fetch_offset();
        let log = read(from, batches);
        // The reader knows what it asked for.
        if let Some(first) = log.first().filter(|first| from < first.base) {
            self.archive(from, first.base - 1);
            self.model.settle();
        }
        let mode = if strict {
            AcquireMode::RecordLimit
        } else {
            AcquireMode::BatchOptimized
        };
        let could = self.sut.can_acquire();
        let got = self.sut.acquire(self.now, who, &log, max, size, mode);
        if max > 0 {
            let mut fetch = Fetch {
                log: &log,
                strict,
                wanted: i64::from(max),
                goes_on_to: -1,
                batch_size: i64::from(size),
                lock: (who.clone(), self.now.plus_millis(LOCK_MS)),
                got: Vec::new(),
                cut: false,
                open: None,
            };
            self.foretell(&mut fetch);
            assert_eq!(got, fetch.got);
        } else {
            assert_eq!(got, []);
        }
        if max > 0 && could {
            assert!(
                !got.is_empty()
                    || self.sut.next_fetch_offset() > from
                    || self.blocked_by_hole(&log),
                "a fetch gets something or reads on"
            );
        }
    }

    fn foretell(&mut self, fetch: &mut Fetch<'_>) {
        for pair in fetch.log.windows(2) {
            for offset in pair[0].last + 1..pair[1].base {
                self.hole(offset);
            }
        }
        self.model.settle();
        if self.model.known(fetch).is_ok() {
            self.new_ones(fetch);
        }
        self.model.settle();
    }

    /// Records behind the end.
    fn new_ones(&mut self, fetch: &mut Fetch<'_>) {
        for batch in fetch.log {
            if batch.last < self.model.end() {
                continue;
            }
            if !fetch.may_take(batch.base) {
                return;
            }
            self.model.hole_behind_the_end(batch.base);
            if self.model.end() < batch.base {
                return;
            }
            while self.model.end() <= batch.last {
                let offset = self.model.end();
                let full = self.model.entries.len() >= self.model.config.max_record_locks;
                if full || !fetch.may_take(offset) {
                    return;
                }
                self.model.note_batch(fetch, offset, batch.last);
                self.model.take(fetch, offset);
                self.fetched_end = batch.last + 1;
            }
            if fetch.strict && fetch.wanted == 0 {
                return;
            }
            fetch.end_of_batch();
        }
    }

    /// A hole longer than the room that is left stops a fetch until the start offset moves.
    fn blocked_by_hole(&self, log: &[LogBatch]) -> bool {
        let limit = self.sut.start_offset() + self.model.config.max_record_locks as i64;
        log.iter().any(|batch| batch.base >= limit)
    }
}

impl Model {
    fn available_in(&self, first: i64, last: i64) -> Vec<(i64, i16)> {
        if first > last {
            return Vec::new();
        }
        self.entries
            .range(first..=last)
            .filter(|(_, entry)| entry.state == RecordState::Available)
            .map(|(offset, entry)| (*offset, entry.count))
            .collect()
    }

    fn batch_around(&self, offset: i64) -> Option<(i64, i64)> {
        let around = |(first, last): &&(i64, i64)| (*first..=*last).contains(&offset);
        self.batches.iter().find(around).copied()
    }

    /// Records inside the window, batch by batch.
    fn known(&mut self, fetch: &mut Fetch<'_>) -> Result<(), Stop> {
        let (Some(first), Some(last)) = (fetch.log.first(), fetch.log.last()) else {
            return Err(Stop);
        };
        let (mut at, read_to) = (first.base.max(self.log_start), last.last);
        while let Some((offset, _)) = self.available_in(at, read_to).first().copied() {
            let known = self.batch_around(offset);
            let (first, last) = known.unwrap_or_else(|| {
                let next = self.batches.iter().map(|(first, _)| *first);
                let next = next.filter(|first| *first > offset).min();
                let log_end = fetch.log_batch(offset).last;
                (offset, log_end.min(next.unwrap_or(i64::MAX) - 1))
            });
            self.note_batch(fetch, offset, last);
            self.known_batch(fetch, (at, last.min(read_to)), last - first + 1)?;
            fetch.end_of_batch();
            if known.is_some() {
                fetch.open = None;
            }
            at = last + 1;
        }
        fetch.open = None;
        Ok(())
    }

    /// What a fetch takes of one batch of `size` records, of which it has read `span`.
    fn known_batch(
        &mut self,
        fetch: &mut Fetch<'_>,
        span: (i64, i64),
        size: i64,
    ) -> Result<(), Stop> {
        let limit = self.config.delivery_count_limit;
        let half = ((limit + 1) / 2).max(2);
        let available = self.available_in(span.0, span.1);
        let suspect = available.iter().any(|(_, count)| *count >= half);
        if suspect && !fetch.got.is_empty() {
            return Err(Stop);
        }
        let (mut taken, mut bound) = (0, None);
        for (offset, count) in available {
            let last_attempt = limit > 2 && count >= limit - 1;
            if (last_attempt && taken > 0) || !fetch.may_take(offset) {
                return Err(Stop);
            }
            if count >= half && bound.is_none() {
                bound = Some((size / (1 << (count - half + 1))).max(1));
            }
            self.take(fetch, offset);
            taken += 1;
            let full = fetch.strict && fetch.wanted == 0;
            if last_attempt || full || bound == Some(taken) {
                return Err(Stop);
            }
        }
        if suspect { Err(Stop) } else { Ok(()) }
    }

    fn note_batch(&mut self, fetch: &mut Fetch<'_>, offset: i64, last: i64) {
        if self.batch_around(offset).is_some() {
            return;
        }
        match fetch.open {
            Some(open) => {
                let batch = self.batches.iter_mut().find(|(first, _)| *first == open);
                batch.expect("this fetch began it").1 = last;
            }
            None => {
                self.batches.push((offset, last));
                fetch.open = Some(offset);
            }
        }
    }

    fn hole_behind_the_end(&mut self, base: i64) {
        let open = self.entries.iter().find(|(_, entry)| !entry.done());
        let limit = open.map_or(i64::MAX, |(open, _)| {
            open + self.config.max_record_locks as i64
        });
        self.extend(base.min(limit));
        self.settle();
    }

    fn take(&mut self, fetch: &mut Fetch<'_>, offset: i64) {
        let before = self.entries.get(&offset).map_or(0, |entry| entry.count);
        let limit = self.config.delivery_count_limit;
        let count = if before >= limit { before } else { before + 1 };
        let entry = Entry {
            lock: Some(fetch.lock.clone()),
            ..Entry::free(RecordState::Acquired, count)
        };
        self.entries.insert(offset, entry);
        fetch.wanted -= 1;
        if fetch.wanted == 0 {
            fetch.goes_on_to = fetch.log_batch(offset).last;
        }
        match fetch.got.last_mut() {
            Some(range)
                if !fetch.cut && range.last + 1 == offset && range.delivery_count == count =>
            {
                range.last = offset;
            }
            _ => fetch.got.push(Acquired {
                first: offset,
                last: offset,
                delivery_count: count,
            }),
        }
        fetch.cut = false;
    }
}
