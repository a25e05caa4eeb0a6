//! The in-flight window: what is known of each offset between start and end, kept as ranges of equal
//! records, so that cost follows the number of ranges and not of records.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{MonoTime, TxnOwner};
use ackord_proto::str::Str;

use crate::{DeadLetterCause, RecordEvent, RecordState, Span};

/// What is known of one record. Neighbours with equal records form one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) state: RecordState,
    pub(crate) delivery_count: i16,
    pub(crate) hold: Hold,
}

/// Who holds a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nobody,
    /// The dead letter queue, until its copy is written.
    DeadLetterQueue(DeadLetterCause),
    Member(Lock),
    Transaction(Staged),
}

/// An acquisition lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) member: Str,
    pub(crate) deadline: MonoTime,
}

/// The hold of a transaction, and the lock that it stopped. There is none after a load, or once the
/// member has gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Staged {
    pub(crate) owner: TxnOwner,
    pub(crate) acknowledge_type: i8,
    /// A commit of this reject goes to the dead letter queue.
    pub(crate) dead_letter: bool,
    pub(crate) lock: Option<Lock>,
}

impl Record {
    pub(crate) const fn free(state: RecordState, delivery_count: i16) -> Self {
        Record {
            state,
            delivery_count,
            hold: Hold::Nobody,
        }
    }

    /// The record after `event`, held by `hold`; `None` where the table refuses.
    pub(crate) fn after(&self, event: RecordEvent, hold: Hold) -> Option<Record> {
        let state = self.state.transition(event).ok()?;
        let mut delivery_count = self.delivery_count;
        if event == RecordEvent::MemberGone
            && ackord_machine::planted!("row-07-count-falls-when-a-session-ends")
        {
            delivery_count -= 1;
        }
        Some(Record {
            state,
            delivery_count,
            hold,
        })
    }

    /// Acquired by `member`, and the lock has not run out at `now`.
    pub(crate) fn is_held_by(&self, member: &Str, now: MonoTime) -> bool {
        self.lock().is_some_and(|lock| {
            let own =
                lock.member == *member || ackord_machine::planted!("row-22-lock-without-an-owner");
            let runs =
                lock.deadline > now || ackord_machine::planted!("row-23-lock-without-a-clock");
            own && runs
        })
    }

    /// Whether it waits for its copy in the dead letter queue, and why.
    pub(crate) fn dead_letter(&self) -> Option<DeadLetterCause> {
        match self.hold {
            Hold::DeadLetterQueue(cause) => Some(cause),
            Hold::Nobody | Hold::Member(_) | Hold::Transaction(_) => None,
        }
    }

    pub(crate) fn lock(&self) -> Option<&Lock> {
        match &self.hold {
            Hold::Member(lock) => Some(lock),
            Hold::Nobody | Hold::DeadLetterQueue(_) | Hold::Transaction(_) => None,
        }
    }

    pub(crate) fn staged(&self) -> Option<&Staged> {
        match &self.hold {
            Hold::Transaction(staged) => Some(staged),
            Hold::Nobody | Hold::DeadLetterQueue(_) | Hold::Member(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Range {
    last: i64,
    record: Record,
}

/// Ranges that tile `[start, end)` without a gap.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    start: i64,
    end: i64,
    /// By first offset.
    ranges: BTreeMap<i64, Range>,
    /// Deadline and first offset of each acquired range.
    locks: BTreeSet<(MonoTime, i64)>,
    /// Number of records by state id.
    records: [i64; 6],
}

impl Window {
    pub(crate) const fn new(start: i64) -> Self {
        Window {
            start,
            end: start,
            ranges: BTreeMap::new(),
            locks: BTreeSet::new(),
            records: [0; 6],
        }
    }

    pub(crate) const fn start(&self) -> i64 {
        self.start
    }

    pub(crate) const fn end(&self) -> i64 {
        self.end
    }

    /// Number of offsets.
    pub(crate) const fn len(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// The first offset that is not done: where the start is to be.
    pub(crate) fn first_open(&self) -> Option<i64> {
        self.iter()
            .find(|(_, record)| !record.state.is_terminal())
            .map(|(span, _)| span.first)
    }

    /// Number of records in a state.
    pub(crate) const fn count(&self, state: RecordState) -> i64 {
        self.records[state as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Span, &Record)> {
        self.ranges
            .iter()
            .map(|(first, range)| (Span::new(*first, range.last), &range.record))
    }

    /// What is known of `span`, cut to it, ascending.
    pub(crate) fn overlapping(&self, span: Span) -> impl Iterator<Item = (Span, &Record)> {
        let found = (span.first <= span.last).then(|| {
            let from = self
                .ranges
                .range(..=span.first)
                .next_back()
                .map_or(span.first, |at| *at.0);
            self.ranges.range(from..=span.last)
        });
        found
            .into_iter()
            .flatten()
            .filter_map(move |(first, range)| {
                Some((Span::new(*first, range.last).within(span)?, &range.record))
            })
    }

    /// Replaces what is known inside `span` where `change` says so; outside of the window nothing.
    pub(crate) fn update(
        &mut self,
        span: Span,
        mut change: impl FnMut(Span, &Record) -> Option<Record>,
    ) {
        let Some(span) = span.within(Span::new(self.start, self.end.saturating_sub(1))) else {
            return;
        };
        if self.update_inside(span, &mut change) {
            return;
        }
        self.split(span.first);
        self.split(span.last.saturating_add(1));
        let firsts: Vec<i64> = self
            .ranges
            .range(span.first..=span.last)
            .map(|(first, _)| *first)
            .collect();
        for first in firsts {
            let Some(range) = self.take(first) else {
                continue;
            };
            let record = change(Span::new(first, range.last), &range.record);
            if let Some(record) = &record {
                self.note_change(&range.record, record);
            }
            self.put(first, range.last, record.unwrap_or(range.record));
        }
        self.merge(span);
    }

    /// As [`update`](Self::update), where one range has the whole span, as most of the time: only
    /// what changes is touched. Whether it was so.
    fn update_inside(
        &mut self,
        span: Span,
        change: &mut impl FnMut(Span, &Record) -> Option<Record>,
    ) -> bool {
        let Some((&first, range)) = self.ranges.range_mut(..=span.first).next_back() else {
            return false;
        };
        let last = range.last;
        if last < span.last {
            return false;
        }
        let next = change(span, &range.record).filter(|next| *next != range.record);
        let Some(next) = next else {
            return true;
        };
        let before = if first < span.first {
            range.last = span.first - 1;
            let before = range.record.clone();
            self.records[before.state as usize] -= Span::new(span.first, last).len();
            before
        } else if let Some(range) = self.take(first) {
            range.record
        } else {
            return false;
        };
        self.note_change(&before, &next);
        if span.last < last {
            self.put(span.last + 1, last, before);
        }
        self.put_joined(span, next);
        true
    }

    /// Puts a range between its neighbours, and joins it with those that are equal.
    fn put_joined(&mut self, span: Span, record: Record) {
        let Span { first, mut last } = span;
        let behind = last.saturating_add(1);
        let follows = self.ranges.get(&behind);
        if follows.is_some_and(|range| range.record == record)
            && let Some(range) = self.take(behind)
        {
            last = range.last;
        }
        match self.ranges.range_mut(..first).next_back() {
            Some((_, range))
                if range.last.checked_add(1) == Some(first) && range.record == record =>
            {
                range.last = last;
                self.count_in(record.state, Span::new(first, last));
            }
            _ => self.put(first, last, record),
        }
    }

    fn note_change(&mut self, before: &Record, after: &Record) {
        if before.state == RecordState::TxPending
            && after.state == RecordState::Available
            && ackord_machine::planted!("row-59-abort-keeps-the-count")
        {
            self.records[RecordState::TxPending as usize] += 1;
        }
    }

    /// Moves the end behind `last`; the new offsets hold `record`.
    pub(crate) fn append(&mut self, last: i64, record: Record) {
        let (first, Some(end)) = (self.end, last.checked_add(1)) else {
            return;
        };
        if last < first {
            return;
        }
        self.put(first, last, record);
        self.end = end;
        self.merge(Span::new(first, last));
    }

    /// Moves the start over the terminal prefix.
    pub(crate) fn advance(&mut self) {
        while let Some((&first, range)) = self.ranges.first_key_value()
            && range.record.state.is_terminal()
        {
            self.start = range.last.saturating_add(1);
            self.take(first);
        }
    }

    /// The acquired range whose lock ends first.
    pub(crate) fn next_lock(&self) -> Option<(MonoTime, i64)> {
        self.locks.first().copied()
    }

    /// The range that contains `offset`.
    pub(crate) fn range_at(&self, offset: i64) -> Option<Span> {
        let (first, range) = self.ranges.range(..=offset).next_back()?;
        (range.last >= offset).then(|| Span::new(*first, range.last))
    }

    fn put(&mut self, first: i64, last: i64, record: Record) {
        self.count_in(record.state, Span::new(first, last));
        if let Hold::Member(lock) = &record.hold {
            self.locks.insert((lock.deadline, first));
        }
        self.ranges.insert(first, Range { last, record });
    }

    fn count_in(&mut self, state: RecordState, span: Span) {
        let mut size = span.len();
        if state == RecordState::TxPending && ackord_machine::planted!("row-60-stage-counts-ranges")
        {
            size = 1;
        }
        self.records[state as usize] += size;
    }

    fn take(&mut self, first: i64) -> Option<Range> {
        let range = self.ranges.remove(&first)?;
        self.records[range.record.state as usize] -= Span::new(first, range.last).len();
        if let Hold::Member(lock) = &range.record.hold {
            self.locks.remove(&(lock.deadline, first));
        }
        Some(range)
    }

    /// Makes `at` the first offset of a range.
    fn split(&mut self, at: i64) {
        let Some(span) = self.range_at(at).filter(|span| span.first < at) else {
            return;
        };
        if let Some(range) = self.take(span.first) {
            self.put(span.first, at - 1, range.record.clone());
            self.put(at, span.last, range.record);
        }
    }

    /// Joins equal neighbours in and at the borders of `span`.
    fn merge(&mut self, span: Span) {
        let before = span.first.saturating_sub(1);
        let mut at = self
            .range_at(before)
            .map_or(span.first, |range| range.first);
        while let Some(head) = self.ranges.get(&at) {
            let next = head.last.saturating_add(1);
            if next > span.last.saturating_add(1) {
                return;
            }
            match self.ranges.get(&next) {
                Some(tail) if tail.record == head.record => {
                    let last = tail.last;
                    self.take(next);
                    if let Some(head) = self.take(at) {
                        self.put(at, last, head.record);
                    }
                }
                Some(_) => at = next,
                None => return,
            }
        }
    }
}
