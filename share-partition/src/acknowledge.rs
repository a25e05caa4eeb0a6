//! Plain acknowledgement, outside of any transaction: ShareAcknowledge and the acknowledgements that
//! ride on ShareFetch (KIP-932; RENEW: KIP-1222).

use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::str::Str;

use crate::share_partition::Touched;
use crate::window::{Hold, Lock, Record};
use crate::{AckError, AckRange, Change, RecordEvent, RecordState, SharePartition, Span};

pub(crate) use ackord_proto::kip1289::{
    ACKNOWLEDGE_ACCEPT as ACCEPT, ACKNOWLEDGE_GAP as GAP, ACKNOWLEDGE_REJECT as REJECT,
    ACKNOWLEDGE_RELEASE as RELEASE, ACKNOWLEDGE_RENEW as RENEW,
};

/// Neighbouring records that are acknowledged alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) span: Span,
    pub(crate) acknowledge_type: i8,
    /// Last offset of the range that it was cut from.
    pub(crate) range_last: i64,
}

impl SharePartition {
    /// Applies the acknowledgements of one request of `member`: all of them, or none on an error.
    ///
    /// INVALID_REQUEST: ranges out of order, lists of types of a wrong length or with unknown types,
    /// offsets behind all that was fetched. INVALID_RECORD_STATE: a record that the member does not
    /// hold (not acquired, another member's, pending, lock run out at `now`), anything where nothing
    /// is in flight, or a renewal where the group has none. Below the start offset everything is
    /// accepted without effect. A range may begin with the last offset of the one before, as in
    /// Kafka; what that one has ended is not acquired any more then.
    ///
    /// In [transactional mode](crate::Config::transactional) each record is judged alone and
    /// [`Change::refused`] tells whether any was refused.
    pub fn acknowledge(
        &mut self,
        now: MonoTime,
        member: &Str,
        ranges: &[AckRange],
    ) -> Result<Change, AckError> {
        self.acknowledge_with_holes(now, member, ranges, &[])
    }

    /// As [`acknowledge`](Self::acknowledge), by a caller that knows the log: `holes`, ascending, are
    /// offsets without a record. In transactional mode a plain gap counts only there; in other
    /// groups `holes` has no meaning.
    pub fn acknowledge_with_holes(
        &mut self,
        now: MonoTime,
        member: &Str,
        ranges: &[AckRange],
        holes: &[Span],
    ) -> Result<Change, AckError> {
        let pieces = pieces(ranges)?;
        if self.config.transactional {
            return Ok(self.acknowledge_each(now, member, &pieces, holes));
        }
        self.judge(now, member, &pieces)?;
        let mut touched = Touched::default();
        for piece in &pieces {
            self.acknowledge_held(now, member, *piece, &mut touched);
        }
        Ok(self.change(touched))
    }

    fn judge(&self, now: MonoTime, member: &Str, pieces: &[Piece]) -> Result<(), AckError> {
        let start = self.window.start();
        let known = self.window.end().max(self.fetched_end);
        let mut before: Option<Piece> = None;
        for piece in pieces {
            let touches = before.replace(*piece).filter(|before| {
                before.span.last == piece.span.first && before.acknowledge_type != RENEW
            });
            if piece.range_last < start {
                continue;
            }
            if known <= start {
                return Err(AckError::state("no record is in flight"));
            }
            if piece.range_last >= known {
                return Err(AckError::request("an offset was never delivered"));
            }
            self.judge_piece(now, member, *piece)?;
            if touches.is_some() && piece.span.first >= start {
                return Err(AckError::state("an offset is acknowledged twice"));
            }
        }
        Ok(())
    }

    fn judge_piece(&self, now: MonoTime, member: &Str, piece: Piece) -> Result<(), AckError> {
        for (_, record) in self.window.overlapping(piece.span) {
            if !record.is_held_by(member, now) {
                return Err(refusal(record));
            }
            if piece.acknowledge_type == RENEW && !self.config.renew_enabled {
                return Err(AckError::state("locks cannot be renewed in this group"));
            }
        }
        // The rest of a batch of which a fetch has taken the beginning.
        if piece.span.last >= self.window.end() {
            return Err(NOT_ACQUIRED);
        }
        Ok(())
    }

    /// Applies one type to what `member` holds of a piece; skips what it does not hold.
    pub(crate) fn acknowledge_held(
        &mut self,
        now: MonoTime,
        member: &Str,
        piece: Piece,
        touched: &mut Touched,
    ) {
        let limit = self.delivery_limit();
        let renewed = Lock {
            member: member.clone(),
            deadline: now.plus_millis(self.config.record_lock_ms),
        };
        self.apply(piece.span, touched, |span, record| {
            if !record.is_held_by(member, now) {
                return None;
            }
            Some(match piece.acknowledge_type {
                ACCEPT => (RecordEvent::Accept, Hold::Nobody),
                RELEASE => limit.event(RecordEvent::Release, span, record),
                REJECT => limit.reject(),
                RENEW => (RecordEvent::Renew, Hold::Member(renewed.clone())),
                _ => (RecordEvent::Gap, Hold::Nobody),
            })
        });
    }
}

const NOT_ACQUIRED: AckError = AckError::state("the record is not acquired");

pub(crate) fn refusal(record: &Record) -> AckError {
    match record.state {
        RecordState::TxPending => {
            AckError::state("a transaction holds the record; it decides when it ends")
        }
        RecordState::Acquired => {
            AckError::state("another member holds the record, or the acquisition lock ran out")
        }
        _ => NOT_ACQUIRED,
    }
}

/// Cuts ranges into pieces of one type each, after checking their form.
fn pieces(ranges: &[AckRange]) -> Result<Vec<Piece>, AckError> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(ranges.len());
    // Kafka takes the offset -1 for one below the start offset.
    let mut before = -1;
    for range in ranges {
        if range.first > range.last {
            return Err(AckError::request("a range ends before it begins"));
        }
        if range.first < before {
            return Err(AckError::request("ranges overlap or are not ascending"));
        }
        before = range.last;
        if range.types.iter().any(|kind| !(GAP..=RENEW).contains(kind)) {
            return Err(AckError::request("unknown acknowledge type"));
        }
        let size = Span::new(range.first, range.last).len();
        match range.types.as_slice() {
            [kind] => pieces.push(Piece {
                span: Span::new(range.first, range.last),
                acknowledge_type: *kind,
                range_last: range.last,
            }),
            types if i64::try_from(types.len()) == Ok(size) => {
                let mut first = range.first;
                for run in types.chunk_by(|one, next| one == next) {
                    let size = i64::try_from(run.len()).unwrap_or(i64::MAX);
                    let span = Span::new(first, first.saturating_add(size - 1));
                    pieces.push(Piece {
                        span,
                        acknowledge_type: run.first().copied().unwrap_or(GAP),
                        range_last: range.last,
                    });
                    first = first.saturating_add(size);
                }
            }
            _ => {
                return Err(AckError::request(
                    "acknowledge types and offsets differ in number",
                ));
            }
        }
    }
    Ok(pieces)
}
