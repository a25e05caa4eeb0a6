//! Plain acknowledgement in a group that acknowledges in transactions only (KIP-1289).
//!
//! Clients that accept on their own, or late, must not acknowledge what only a transaction may. Each
//! record is judged alone, so one that was lost meanwhile does not lock the others.

use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::str::Str;

use crate::acknowledge::{ACCEPT, GAP, Piece, REJECT, RELEASE, RENEW};
use crate::share_partition::Touched;
use crate::{AckError, Change, RecordState, SharePartition, Span};

/// What becomes of one record of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is done as asked.
    Apply,
    /// Success without effect: it is so already, or no longer the member's business.
    Settled,
    /// INVALID_RECORD_STATE.
    Refuse(&'static str),
}

const NOT_IN_TRANSACTION: Verdict = Verdict::Refuse("this group acknowledges in transactions only");
const NOT_HELD: Verdict = Verdict::Refuse("the member does not hold the record");

impl SharePartition {
    pub(crate) fn acknowledge_each(
        &mut self,
        now: MonoTime,
        member: &Str,
        pieces: &[Piece],
        holes: &[Span],
    ) -> Change {
        let mut touched = Touched::default();
        let mut refused = None;
        for piece in pieces {
            let kind = piece.acknowledge_type;
            if piece.span.last >= self.window.end() && kind != RELEASE {
                refused = refused.or(Some("an offset was never delivered"));
            }
            let mut apply = Vec::new();
            for (span, record) in self.window.overlapping(piece.span) {
                let held = record.is_held_by(member, now);
                match verdict(kind, record.state, held, self.config.renew_enabled) {
                    Verdict::Apply if kind == GAP => {
                        let known = parts_in(span, holes);
                        if known.iter().map(|part| part.len()).sum::<i64>() < span.len() {
                            refused =
                                refused.or(Some("the log has a record where a gap is reported"));
                        }
                        apply.extend(known);
                    }
                    Verdict::Apply => apply.push(span),
                    Verdict::Settled => {}
                    Verdict::Refuse(message) => refused = refused.or(Some(message)),
                }
            }
            for span in apply {
                self.acknowledge_held(now, member, Piece { span, ..*piece }, &mut touched);
            }
        }
        Change {
            refused: refused.map(AckError::state),
            ..self.change(touched)
        }
    }
}

/// `held`: by the member that asks, with its lock running.
fn verdict(kind: i8, state: RecordState, held: bool, renew_enabled: bool) -> Verdict {
    match (kind, state) {
        (RELEASE, _) if held => Verdict::Apply,
        (RELEASE, _) => Verdict::Settled,
        (RENEW, _) if held && renew_enabled => Verdict::Apply,
        (RENEW, _) if held => Verdict::Refuse("locks cannot be renewed in this group"),
        (GAP, _) if held => Verdict::Apply,
        // What a transaction has ended with this type may be settled by whoever asks late.
        (ACCEPT, RecordState::Acknowledged)
        | (REJECT | GAP, RecordState::Archived | RecordState::Archiving) => Verdict::Settled,
        (ACCEPT | REJECT, RecordState::Acquired) => NOT_IN_TRANSACTION,
        _ => NOT_HELD,
    }
}

/// The parts of `span` that lie in `holes`.
fn parts_in(span: Span, holes: &[Span]) -> Vec<Span> {
    let mut from = span.first;
    let mut parts = Vec::new();
    for hole in holes {
        if let Some(part) = hole.within(Span::new(from, span.last)) {
            from = part.last.saturating_add(1);
            parts.push(part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use core::fmt::Write as _;

    use alloc::string::String;

    use super::*;

    #[test]
    fn every_type_in_every_state() {
        let types = [
            ("gap", GAP),
            ("accept", ACCEPT),
            ("release", RELEASE),
            ("reject", REJECT),
            ("renew", RENEW),
        ];
        let mut table = String::new();
        for (name, kind) in types {
            for state in RecordState::ALL {
                // Only an acquired record is held.
                let held: &[bool] = match state {
                    RecordState::Acquired => &[true, false],
                    _ => &[false],
                };
                for held in held {
                    let by = if *held { "held" } else { "" };
                    let verdict = verdict(kind, state, *held, true);
                    let line = alloc::format!("{name:<8} {state:<13} {by:<5} {verdict:?}");
                    writeln!(table, "{line}").expect("a string takes everything");
                }
            }
        }
        insta::assert_snapshot!(table);
    }
}
