//! Records come back: the acquisition lock ends, or the member's session does (KIP-932).

use ackord_machine::MonoTime;
use ackord_proto::str::Str;

use crate::share_partition::Touched;
use crate::window::{Hold, Record, Staged};
use crate::{Change, DeadLetterCause, RecordEvent, RecordState, SharePartition, Span};

/// What decides whether a record that comes back is delivered again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliveryLimit {
    count: i16,
    log_start: i64,
    /// In transactional mode the limit gives nothing up.
    enforced: bool,
    /// What is given up goes to the dead letter queue.
    dead_letters: bool,
}

impl DeliveryLimit {
    /// What happens to an acquired record that comes back by `cause`.
    pub(crate) fn event(
        self,
        cause: RecordEvent,
        span: Span,
        record: &Record,
    ) -> (RecordEvent, Hold) {
        if self.is_gone(span) {
            (RecordEvent::BelowStart, Hold::Nobody)
        } else if !self.is_reached(record) {
            (cause, Hold::Nobody)
        } else if self.dead_letters {
            dead_letter(DeadLetterCause::LimitReached)
        } else {
            (RecordEvent::LimitReached, Hold::Nobody)
        }
    }

    /// What happens to an acquired record that is rejected.
    pub(crate) fn reject(self) -> (RecordEvent, Hold) {
        if self.dead_letters {
            dead_letter(DeadLetterCause::Rejected)
        } else {
            (RecordEvent::Reject, Hold::Nobody)
        }
    }

    /// The record has been delivered as often as it may be.
    fn is_reached(self, record: &Record) -> bool {
        self.enforced && record.delivery_count >= self.count
    }

    /// A record that comes back now goes to the dead letter queue.
    pub(crate) fn gives_up(self, span: Span, record: &Record) -> bool {
        self.dead_letters && span.first >= self.log_start && self.is_reached(record)
    }

    /// The event for a pending record whose transaction gives `outcome`.
    pub(crate) fn outcome(self, outcome: RecordEvent, span: Span) -> RecordEvent {
        if self.is_gone(span) {
            RecordEvent::BelowStart
        } else {
            outcome
        }
    }

    /// The log starts behind it.
    fn is_gone(self, span: Span) -> bool {
        span.first < self.log_start
            && !ackord_machine::planted!("row-02-released-below-the-log-start")
    }
}

/// The record waits for its copy in the dead letter queue.
pub(crate) const fn dead_letter(cause: DeadLetterCause) -> (RecordEvent, Hold) {
    (RecordEvent::DeadLetter, Hold::DeadLetterQueue(cause))
}

impl SharePartition {
    /// Ends every acquisition lock whose deadline has come.
    pub fn expire(&mut self, now: MonoTime) -> Change {
        let mut touched = Touched::default();
        self.expire_into(now, &mut touched);
        self.change(touched)
    }

    pub(crate) fn expire_into(&mut self, now: MonoTime, touched: &mut Touched) {
        let limit = self.delivery_limit();
        while let Some((deadline, first)) = self.window.next_lock()
            && deadline <= now
            && let Some(span) = self.window.range_at(first)
        {
            self.apply(span, touched, |span, record| {
                Some(limit.event(RecordEvent::LockExpired, span, record))
            });
        }
    }

    /// The share session of `member` ended (closed, connection lost, fenced): what it holds comes
    /// back. What a transaction holds stays with the transaction.
    pub fn release_member(&mut self, _now: MonoTime, member: &Str) -> Change {
        let limit = self.delivery_limit();
        let mut touched = Touched::default();
        let window = Span::new(self.window.start(), self.window.end().saturating_sub(1));
        self.apply(window, &mut touched, |span, record| {
            let held = record.lock().is_some_and(|lock| lock.member == *member);
            if ackord_machine::planted!("row-61-session-end-frees-staged-records")
                && record.staged().is_some_and(|staged| staged.lock.is_some())
            {
                return Some((RecordEvent::Abort, Hold::Nobody));
            }
            held.then(|| limit.event(RecordEvent::MemberGone, span, record))
        });
        // Should a stage of this member fail to be stored, there is nobody to give the record back to.
        self.window.update(window, |_, record| {
            let staged = record.staged()?;
            let gone = staged
                .lock
                .as_ref()
                .is_some_and(|lock| lock.member == *member);
            gone.then(|| Record {
                state: RecordState::TxPending,
                delivery_count: record.delivery_count,
                hold: Hold::Transaction(Staged {
                    lock: None,
                    ..staged.clone()
                }),
            })
        });
        self.change(touched)
    }

    pub(crate) fn delivery_limit(&self) -> DeliveryLimit {
        DeliveryLimit {
            count: self.config.delivery_count_limit,
            log_start: self.log_start,
            enforced: !self.config.transactional,
            dead_letters: self.config.dead_letters,
        }
    }
}
