//! Records that can never be delivered: below the start of the log, holes, aborted data.

use crate::share_partition::Touched;
use crate::window::{Hold, Record};
use crate::{Change, RecordEvent, RecordState, SharePartition, Span};

impl SharePartition {
    /// The log starts at `log_start` now (retention, DeleteRecords). AVAILABLE records below it are
    /// archived. ACQUIRED ones stay until they are decided or come back, pending ones until their
    /// transaction ends; whatever would make them available archives them.
    pub fn archive_below(&mut self, log_start: i64) -> Change {
        self.log_start = self.log_start.max(log_start);
        let mut touched = Touched::default();
        let below = Span::new(self.window.start(), self.log_start.saturating_sub(1));
        self.apply(below, &mut touched, |_, record| {
            (record.state == RecordState::Available)
                .then_some((RecordEvent::BelowStart, Hold::Nobody))
        });
        self.window
            .append(below.last, Record::free(RecordState::Archived, 0));
        self.change(touched)
    }

    /// The log has nothing to deliver in `first` to `last`: holes of compaction, control records,
    /// or aborted data where the group reads committed data only. AVAILABLE records are archived,
    /// held ones stay. May reach over the end, as far as `max_record_locks` allows.
    pub fn archive_range(&mut self, first: i64, last: i64) -> Change {
        let mut touched = Touched::default();
        self.archive_hole(Span::new(first, last), &mut touched);
        self.change(touched)
    }

    pub(crate) fn archive_hole(&mut self, hole: Span, touched: &mut Touched) {
        if hole.is_empty() {
            return;
        }
        self.apply(hole, touched, |_, record| {
            (record.state == RecordState::Available).then_some((RecordEvent::Hole, Hold::Nobody))
        });
        let end = self.window.end();
        if hole.first > end || hole.last < end {
            return;
        }
        // A finished window moves over a hole of any size; one that something holds back has a limit.
        let last = match self.window.first_open() {
            None => hole.last,
            Some(open) => hole
                .last
                .min(open.saturating_add(self.max_record_locks() - 1)),
        };
        if last >= end {
            self.window
                .append(last, Record::free(RecordState::Archived, 0));
            touched.note(Span::new(end, last), RecordState::Archived);
        }
    }
}
