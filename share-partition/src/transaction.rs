//! Acknowledgement inside a transaction (KIP-1289): stage, undo of a stage, outcome.

use alloc::vec::Vec;

use ackord_machine::{MonoTime, PendingAck, StageVerdict, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use crate::acknowledge::{ACCEPT, GAP, REJECT, refusal};
use crate::lock_expiry::{DeliveryLimit, dead_letter};
use crate::share_partition::Touched;
use crate::window::{Hold, Record, Staged};
use crate::{AckError, Change, DeadLetterCause, RecordEvent, SharePartition, Span, TxnOutcome};

impl SharePartition {
    /// Moves records that `member` (any, for `None`) holds to TX_PENDING, all or none. Their
    /// acquisition locks stop; from now on `owner` decides.
    ///
    /// What `owner` holds with the same types already is success, and nothing to store, whatever
    /// became of the member since. Refused with INVALID_REQUEST: ranges reversed, overlapping or not
    /// ascending, and types other than gap, accept and reject. With INVALID_RECORD_STATE: records
    /// that are not acquired by the member, whose lock has run out at `now`, that were delivered
    /// again since, or lie outside of the window. With `member_error`: whatever is not a
    /// repetition, for the whole request, or, where it is INVALID_TXN_STATE, only here. A refusal
    /// changes nothing.
    pub fn stage(
        &mut self,
        now: MonoTime,
        member: Option<&Str>,
        owner: TxnOwner,
        member_error: ErrorCode,
        ranges: &[StagedRange],
    ) -> StageVerdict {
        let form = check_form(ranges);
        if form.is_ok() && ranges.iter().all(|range| self.is_repeated(owner, range)) {
            return StageVerdict::Repeated;
        }
        let of_transaction = member_error == ErrorCode::INVALID_TXN_STATE;
        if member_error != ErrorCode::NONE && !of_transaction {
            return StageVerdict::Refused {
                code: member_error,
                message: Str::from("the member may not acknowledge: it left or its epoch is stale"),
                whole_request: true,
            };
        }
        let records = ranges
            .iter()
            .try_for_each(|range| self.check_stage(now, member, owner, range));
        match form.and(records) {
            Err(error) => StageVerdict::Refused {
                code: error.code,
                message: Str::from(error.message),
                whole_request: false,
            },
            Ok(()) if of_transaction => StageVerdict::Refused {
                code: member_error,
                message: Str::from("the transaction takes only what it holds already"),
                whole_request: false,
            },
            Ok(()) => StageVerdict::Staged(self.hold(owner, ranges)),
        }
    }

    /// Storing a stage failed without effect: `ranges`, as the stage returned them, go back to their
    /// members under the old deadlines, or become AVAILABLE where the member has gone meanwhile.
    pub fn unstage(&mut self, now: MonoTime, owner: TxnOwner, ranges: &[PendingAck]) -> Change {
        let limit = self.delivery_limit();
        let mut touched = Touched::default();
        for range in ranges {
            let span = Span::new(range.first_offset, range.last_offset);
            self.apply(span, &mut touched, |span, record| {
                let staged = record
                    .staged()
                    .filter(|staged| staged.owner.is_same(owner))?;
                Some(match &staged.lock {
                    Some(lock) => (RecordEvent::Unstage, Hold::Member(lock.clone())),
                    None => (limit.outcome(RecordEvent::Abort, span), Hold::Nobody),
                })
            });
        }
        self.expire_into(now, &mut touched);
        self.change(touched)
    }

    /// Transactions have ended: ends those of the records in `ranges` that the range's owner still
    /// holds, and no others, so that an old copy of the news can do nothing to a later transaction,
    /// and a repetition finds nothing. `ranges` is what the share coordinator had stored of them.
    ///
    /// Commit: accept to ACKNOWLEDGED, reject and gap to ARCHIVED; a reject that was staged in a
    /// group with a dead letter queue to ARCHIVING. Abort: to AVAILABLE, delivery count kept. At the
    /// limit to ARCHIVING, where the group has a dead letter queue that can be written
    /// (`queue_open`); else it is delivered again. Below the start of the log both archive.
    ///
    /// The coordinator's log holds the outcome before this is called. Only what an abort has sent to
    /// the dead letter queue needs storing.
    pub fn resolve_ranges(&mut self, ranges: &[PendingAck], outcome: TxnOutcome) -> Change {
        let limit = self.delivery_limit();
        let mut touched = Touched::default();
        for range in ranges {
            let span = Span::new(range.first_offset, range.last_offset);
            self.apply(span, &mut touched, |span, record| {
                let staged = record
                    .staged()
                    .filter(|staged| staged.owner.is_same(range.owner))?;
                Some(limit.end_of(outcome, span, record, staged))
            });
        }
        let before = self.unstored_start;
        let change = self.change(touched);
        self.unstored_start = before || change.start_moved;
        change
    }

    /// What transactions hold of `first` to `last`, ascending.
    pub fn pending_acks(&self, first: i64, last: i64) -> impl Iterator<Item = PendingAck> {
        let held = self.window.overlapping(Span::new(first, last));
        held.filter_map(|(span, record)| {
            let staged = record.staged()?;
            Some(PendingAck {
                first_offset: span.first,
                last_offset: span.last,
                acknowledge_type: staged.acknowledge_type,
                delivery_count: record.delivery_count,
                owner: staged.owner,
                dead_letter: staged.dead_letter,
            })
        })
    }

    /// Whether `owner` holds the whole range with its type. The member plays no part in it.
    fn is_repeated(&self, owner: TxnOwner, range: &StagedRange) -> bool {
        let span = Span::new(range.first_offset, range.last_offset);
        self.is_inside(span)
            && self
                .window
                .overlapping(span)
                .all(|(_, record)| holds(record, owner, range.acknowledge_type))
    }

    fn check_stage(
        &self,
        now: MonoTime,
        member: Option<&Str>,
        owner: TxnOwner,
        range: &StagedRange,
    ) -> Result<(), AckError> {
        let span = Span::new(range.first_offset, range.last_offset);
        if !self.is_inside(span) {
            return Err(AckError::state(if span.first < self.window.start() {
                "the record is below the start offset, so somebody has finished it"
            } else {
                "the record was never delivered"
            }));
        }
        for (_, record) in self.window.overlapping(span) {
            if holds(record, owner, range.acknowledge_type) {
                continue;
            }
            let held = record.lock().is_some_and(|lock| {
                lock.deadline > now && member.is_none_or(|member| lock.member == *member)
            });
            if !held {
                return Err(refusal(record));
            }
            if range
                .delivery_count
                .is_some_and(|count| count != record.delivery_count)
            {
                return Err(AckError::state("the record was delivered again since"));
            }
        }
        Ok(())
    }

    /// Stages what has been checked; returns what is new.
    fn hold(&mut self, owner: TxnOwner, ranges: &[StagedRange]) -> Vec<PendingAck> {
        let mut touched = Touched::default();
        let mut held: Vec<PendingAck> = Vec::new();
        let dead_letters = self.config.dead_letters;
        for range in ranges {
            let span = Span::new(range.first_offset, range.last_offset);
            let acknowledge_type = range.acknowledge_type;
            let dead_letter = dead_letters && acknowledge_type == REJECT;
            self.apply(span, &mut touched, |part, record| {
                let lock = Some(record.lock()?.clone());
                push_joined(
                    &mut held,
                    PendingAck {
                        first_offset: part.first,
                        last_offset: part.last,
                        acknowledge_type,
                        delivery_count: record.delivery_count,
                        owner,
                        dead_letter,
                    },
                );
                let staged = Staged {
                    owner,
                    acknowledge_type,
                    dead_letter,
                    lock,
                };
                Some((RecordEvent::Stage, Hold::Transaction(staged)))
            });
        }
        held
    }

    fn is_inside(&self, span: Span) -> bool {
        self.window.start() <= span.first && span.last < self.window.end()
    }
}

impl DeliveryLimit {
    /// What becomes of a pending record whose transaction ends with `outcome`.
    fn end_of(
        self,
        outcome: TxnOutcome,
        span: Span,
        record: &Record,
        staged: &Staged,
    ) -> (RecordEvent, Hold) {
        let event = match (outcome, staged.acknowledge_type) {
            (TxnOutcome::Commit, REJECT) if staged.dead_letter => {
                return dead_letter(DeadLetterCause::Rejected);
            }
            (TxnOutcome::Commit, ACCEPT) => RecordEvent::CommitAccept,
            (TxnOutcome::Commit, REJECT) => RecordEvent::CommitReject,
            (TxnOutcome::Commit, _) => RecordEvent::CommitGap,
            (TxnOutcome::Abort { queue_open: true }, _) if self.gives_up(span, record) => {
                return dead_letter(DeadLetterCause::LimitReached);
            }
            (TxnOutcome::Abort { .. }, _) => RecordEvent::Abort,
        };
        (self.outcome(event, span), Hold::Nobody)
    }
}

fn holds(record: &Record, owner: TxnOwner, acknowledge_type: i8) -> bool {
    record
        .staged()
        .is_some_and(|held| held.owner.is_same(owner) && held.acknowledge_type == acknowledge_type)
}

fn check_form(ranges: &[StagedRange]) -> Result<(), AckError> {
    let mut before: Option<i64> = None;
    for range in ranges {
        if range.first_offset > range.last_offset {
            return Err(AckError::request("a range ends before it begins"));
        }
        if before.is_some_and(|last| range.first_offset <= last) {
            return Err(AckError::request("ranges overlap or are not ascending"));
        }
        if ![GAP, ACCEPT, REJECT].contains(&range.acknowledge_type) {
            return Err(AckError::request(
                "a transaction can only accept, reject or report gaps",
            ));
        }
        before = Some(range.last_offset);
    }
    Ok(())
}

fn push_joined(held: &mut Vec<PendingAck>, next: PendingAck) {
    match held.last_mut() {
        Some(last)
            if last.last_offset.checked_add(1) == Some(next.first_offset)
                && last.acknowledge_type == next.acknowledge_type
                && last.delivery_count == next.delivery_count =>
        {
            last.last_offset = next.last_offset;
        }
        _ => held.push(next),
    }
}
