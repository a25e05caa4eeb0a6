//! Records that wait for their copies in the dead letter queue (KIP-1191).
//!
//! A group with such a queue gives nothing up without a copy: what is rejected, or comes back at the
//! delivery limit, is ARCHIVING first. Its copy and ARCHIVED are stored together.

use crate::share_partition::Touched;
use crate::window::{Hold, Record};
use crate::{Change, DeadLetter, DeadLetterCause, RecordEvent, RecordState, SharePartition, Span};

impl SharePartition {
    /// Records that wait for their copies, ascending.
    pub fn dead_letters(&self) -> impl Iterator<Item = DeadLetter> {
        let waiting = self.archiving_count() > 0;
        let records = waiting.then(|| self.window.iter()).into_iter().flatten();
        records.filter_map(|(span, record)| {
            Some(DeadLetter {
                span,
                delivery_count: record.delivery_count,
                cause: record.dead_letter()?,
            })
        })
    }

    /// Number of records that wait for their copies.
    pub fn archiving_count(&self) -> i64 {
        self.window.count(RecordState::Archiving)
    }

    /// The copies of `spans` are stored together with this change, or were given up.
    pub fn dead_letters_written(&mut self, spans: &[Span]) -> Change {
        let mut touched = Touched::default();
        for span in spans {
            self.apply(*span, &mut touched, |_, record| {
                let archiving = record.state == RecordState::Archiving;
                archiving.then_some((RecordEvent::DeadLetterWritten, Hold::Nobody))
            });
        }
        self.change(touched)
    }

    /// A record as a share coordinator stores it. Why it was given up is not stored: the limit where
    /// it has been reached and gives anything up, else a reject, as in Kafka.
    pub(crate) fn stored_record(&self, state: RecordState, delivery_count: i16) -> Record {
        let limited = !self.config.transactional;
        let hold = match state {
            RecordState::Archiving
                if limited && delivery_count >= self.config.delivery_count_limit =>
            {
                Hold::DeadLetterQueue(DeadLetterCause::LimitReached)
            }
            RecordState::Archiving => Hold::DeadLetterQueue(DeadLetterCause::Rejected),
            _ => Hold::Nobody,
        };
        Record {
            state,
            delivery_count,
            hold,
        }
    }
}
