//! The share partition itself: its offsets, loading, and how a change is made up.

use alloc::vec::Vec;

use ackord_machine::{MonoTime, PendingAck};

use crate::counts::Counts;
use crate::in_flight_batches::InFlightBatches;
use crate::window::{Hold, Record, Staged, Window};
use crate::{Change, Config, RangeView, RecordEvent, RecordState, Span, StateBatch};

/// The delivery state of one topic partition for one share group.
///
/// Every method decides and applies at once. The caller stores what a [`Change`] says and answers
/// only then; where storing fails, it throws the share partition away and [loads](Self::load) it.
#[derive(Clone, Debug)]
pub struct SharePartition {
    pub(crate) config: Config,
    pub(crate) window: Window,
    pub(crate) batches: InFlightBatches,
    /// The log has nothing below this offset.
    pub(crate) log_start: i64,
    /// Behind the last log batch that a fetch took records of, whole or in part.
    pub(crate) fetched_end: i64,
    /// A fetch has found holes in the log that no change has told of.
    pub(crate) unstored_holes: bool,
    /// The end of a transaction has moved the start offset, of which a share coordinator knows only
    /// as far as it knows the records.
    pub(crate) unstored_start: bool,
    /// The start offset of the last change.
    reported_start: i64,
    pub(crate) counts: Counts,
}

/// What an operation has touched so far.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    spans: Vec<Span>,
    available: bool,
}

impl SharePartition {
    /// A share partition that has delivered nothing; `start_offset` is where it begins.
    pub fn new(config: Config, start_offset: i64) -> Self {
        SharePartition {
            config,
            window: Window::new(start_offset),
            batches: InFlightBatches::new(),
            log_start: start_offset,
            fetched_end: start_offset,
            unstored_holes: false,
            unstored_start: false,
            reported_start: start_offset,
            counts: Counts::new(),
        }
    }

    /// From what a share coordinator stores. Offsets between stored batches are AVAILABLE, records
    /// that were acquired are AVAILABLE, records in `pending` stay with their transaction.
    pub fn load(
        config: Config,
        start_offset: i64,
        batches: &[StateBatch],
        pending: &[PendingAck],
    ) -> Self {
        let mut loaded = SharePartition::new(config, start_offset);
        let lasts = batches.iter().map(|batch| batch.last);
        let lasts = lasts.chain(pending.iter().map(|ack| ack.last_offset));
        if let Some(last) = lasts.filter(|last| *last < i64::MAX).max() {
            let mut between = RecordState::Available;
            if ackord_machine::planted!("row-05-gaps-count-as-done-on-load") {
                between = RecordState::Archived;
            }
            loaded.window.append(last, Record::free(between, 0));
        }
        for batch in batches {
            // A stored TX_PENDING without its transaction could never end.
            let state = match batch.state {
                RecordState::Acquired | RecordState::TxPending => RecordState::Available,
                state => state,
            };
            let record = loaded.stored_record(state, batch.delivery_count);
            loaded.batches.insert(Span::new(batch.first, batch.last));
            let window = &mut loaded.window;
            window.update(Span::new(batch.first, batch.last), |_, _| {
                Some(record.clone())
            });
        }
        for ack in pending {
            let record = Record {
                state: RecordState::TxPending,
                delivery_count: ack.delivery_count,
                hold: Hold::Transaction(Staged {
                    owner: ack.owner,
                    acknowledge_type: ack.acknowledge_type,
                    dead_letter: ack.dead_letter,
                    lock: None,
                }),
            };
            let span = Span::new(ack.first_offset, ack.last_offset);
            loaded.batches.insert(span);
            loaded.window.update(span, |_, _| Some(record.clone()));
        }
        loaded.window.advance();
        loaded.batches.drop_below(loaded.window.start());
        loaded
    }

    /// What a fetch has found out and no change has told of: where the log has no record, and a start
    /// offset behind it. It is found again, so it is to be stored only before the share partition is
    /// given up, for others to see the same as before.
    pub fn unstored(&mut self) -> Change {
        let mut touched = Touched::default();
        if core::mem::take(&mut self.unstored_holes) {
            let holes = self.window.iter().filter(|(_, record)| {
                record.state == RecordState::Archived && record.delivery_count == 0
            });
            touched.spans = holes.map(|(span, _)| span).collect();
        }
        let unstored = core::mem::take(&mut self.unstored_start);
        let mut change = self.change(touched);
        change.start_moved |= unstored;
        change
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A new configuration. Locks keep the deadline that they were given.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
    }

    /// First offset that is not done (SPSO).
    pub fn start_offset(&self) -> i64 {
        self.window.start()
    }

    /// Offset behind the last one that is known (SPEO).
    pub fn end_offset(&self) -> i64 {
        self.window.end()
    }

    /// Where to read next: the first AVAILABLE offset, else the end.
    pub fn next_fetch_offset(&self) -> i64 {
        if self.window.count(RecordState::Available) == 0 {
            return self.window.end();
        }
        self.window
            .iter()
            .find(|(_, record)| record.state == RecordState::Available)
            .map_or(self.window.end(), |(span, _)| span.first)
    }

    /// Whether a fetch can give a member anything: an AVAILABLE record, or room for new ones.
    pub fn can_acquire(&self) -> bool {
        self.window.count(RecordState::Available) > 0 || self.window.len() < self.max_record_locks()
    }

    /// Records that a member or a transaction holds.
    pub fn in_flight(&self) -> i64 {
        self.window.count(RecordState::Acquired) + self.window.count(RecordState::TxPending)
    }

    /// Records that a transaction holds.
    pub fn pending_count(&self) -> i64 {
        self.window.count(RecordState::TxPending)
    }

    /// Records at or above the start offset that are done (KIP-1226).
    pub fn delivery_complete_count(&self) -> i32 {
        let done =
            self.window.count(RecordState::Acknowledged) + self.window.count(RecordState::Archived);
        i32::try_from(done).unwrap_or(i32::MAX)
    }

    /// The window from start to end, ascending, without a gap.
    pub fn ranges(&self) -> impl Iterator<Item = RangeView<'_>> {
        self.window.iter().map(|(span, record)| {
            let staged = record.staged();
            let before = staged.and_then(|staged| staged.lock.as_ref());
            RangeView {
                first: span.first,
                last: span.last,
                state: record.state,
                delivery_count: record.delivery_count,
                member: record.lock().or(before).map(|lock| &lock.member),
                owner: staged.map(|staged| staged.owner),
                acknowledge_type: staged.map(|staged| staged.acknowledge_type),
                deadline: record.lock().map(|lock| lock.deadline),
            }
        })
    }

    /// When the next acquisition lock ends.
    pub fn next_expiry(&self) -> Option<MonoTime> {
        self.window.next_lock().map(|(deadline, _)| deadline)
    }

    /// One without records that goes on with the figures of this one, for when it is given up.
    pub fn emptied(&self) -> Self {
        let mut empty = SharePartition::new(self.config.clone(), self.window.start());
        empty.counts = self.counts.clone();
        empty
    }

    /// Goes on with the figures of the one before, see [`emptied`](Self::emptied).
    pub fn count_on(&mut self, before: &Self) {
        self.counts = before.counts.clone();
    }

    /// How many records met `event` since the share partition was made or loaded.
    pub fn records_met(&self, event: RecordEvent) -> u64 {
        self.counts.of(event)
    }

    /// How long the oldest acquisition lock has run at `now`, in milliseconds; a renewed one began
    /// anew. Locks older than the last change of the lock duration count by the new duration.
    pub fn oldest_lock_ms(&self, now: MonoTime) -> Option<i64> {
        let left = self.next_expiry()?.since(now).as_millis();
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        Some(self.config.record_lock_ms.saturating_sub(left).max(0))
    }

    /// Ranges of records that a member or a transaction holds.
    pub fn in_flight_ranges(&self) -> usize {
        let held = |record: &Record| {
            matches!(record.state, RecordState::Acquired | RecordState::TxPending)
        };
        self.window
            .iter()
            .filter(|(_, record)| held(record))
            .count()
    }

    pub(crate) fn max_record_locks(&self) -> i64 {
        i64::try_from(self.config.max_record_locks).unwrap_or(i64::MAX)
    }

    /// Lets `decide` name an event for each range in `span`, and who holds the records after it. No
    /// range that it sees lies across the start of the log.
    pub(crate) fn apply(
        &mut self,
        span: Span,
        touched: &mut Touched,
        mut decide: impl FnMut(Span, &Record) -> Option<(RecordEvent, Hold)>,
    ) {
        let below = Span::new(span.first, span.last.min(self.log_start.saturating_sub(1)));
        let above = Span::new(span.first.max(self.log_start), span.last);
        let counts = &mut self.counts;
        for part in [below, above] {
            self.window.update(part, |span, record| {
                let (event, hold) = decide(span, record)?;
                let next = record.after(event, hold)?;
                counts.note(event, span.len());
                touched.note(span, next.state);
                Some(next)
            });
        }
    }

    /// The change that `touched` amounts to; moves the start offset.
    pub(crate) fn change(&mut self, touched: Touched) -> Change {
        let batches = self.state_batches(touched.spans);
        self.window.advance();
        let start_offset = self.window.start();
        self.batches.drop_below(start_offset);
        let start_moved = start_offset != self.reported_start;
        self.reported_start = start_offset;
        self.unstored_start &= batches.is_empty() && !start_moved;
        Change {
            batches,
            start_offset,
            start_moved,
            available_again: touched.available || (start_moved && self.can_acquire()),
            delivery_complete_count: self.delivery_complete_count(),
            refused: None,
        }
    }

    fn state_batches(&self, mut spans: Vec<Span>) -> Vec<StateBatch> {
        spans.sort_unstable();
        let mut batches: Vec<StateBatch> = Vec::new();
        let mut from = i64::MIN;
        for span in spans {
            // Spans may overlap: an operation can touch a record twice.
            let rest = Span::new(span.first.max(from), span.last);
            for (part, record) in self.window.overlapping(rest) {
                push_joined(
                    &mut batches,
                    StateBatch {
                        first: part.first,
                        last: part.last,
                        state: record.state,
                        delivery_count: record.delivery_count,
                    },
                );
            }
            from = from.max(span.last.saturating_add(1));
        }
        batches.retain(|batch| batch.state != RecordState::Acquired);
        batches
    }
}

impl Touched {
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// `span` is in `state` now.
    pub(crate) fn note(&mut self, span: Span, state: RecordState) {
        self.available |= state == RecordState::Available;
        // Locks live in memory only, so a renewal leaves nothing to store.
        if state != RecordState::Acquired {
            self.spans.push(span);
        }
    }
}

fn push_joined(batches: &mut Vec<StateBatch>, next: StateBatch) {
    match batches.last_mut() {
        Some(last)
            if last.last.checked_add(1) == Some(next.first)
                && (last.state == next.state
                    || ackord_machine::planted!("row-11-neighbours-stored-as-one-state"))
                && last.delivery_count == next.delivery_count =>
        {
            last.last = next.last;
        }
        _ => batches.push(next),
    }
}
