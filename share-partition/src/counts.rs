//! How many records met each event: figures for operators, on which nothing depends.

use crate::RecordEvent;

const EVENTS: usize = RecordEvent::DeadLetterWritten as usize + 1;

/// Records by event, since the share partition was made or loaded.
#[derive(Clone, Debug)]
pub(crate) struct Counts([u64; EVENTS]);

impl Counts {
    pub(crate) const fn new() -> Self {
        Counts([0; EVENTS])
    }

    /// `records` of them met `event`.
    pub(crate) fn note(&mut self, event: RecordEvent, records: i64) {
        let records = u64::try_from(records).unwrap_or(0);
        let count = &mut self.0[event as usize];
        *count = count.saturating_add(records);
    }

    pub(crate) const fn of(&self, event: RecordEvent) -> u64 {
        self.0[event as usize]
    }
}
