//! The delivery state of a record: states, events and the one table of transitions (KIP-932, KIP-1289).

use alloc::string::String;
use core::fmt::{self, Write};

/// Delivery state of a record. The numbers are those that share coordinators store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordState {
    /// May be delivered.
    Available = 0,
    /// Delivered to a member that holds the acquisition lock.
    Acquired = 1,
    /// Done.
    Acknowledged = 2,
    /// Given up; its copy for the dead letter queue is not written yet.
    Archiving = 3,
    /// Given up, or without a record.
    Archived = 4,
    /// Acknowledged inside a transaction that has not ended (KIP-1289).
    TxPending = 5,
}

/// What can happen to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordEvent {
    /// A member fetches it.
    Acquire,
    /// Acknowledge type 1.
    Accept,
    /// Acknowledge type 2.
    Release,
    /// Acknowledge type 3.
    Reject,
    /// Acknowledge type 0: the offset holds no record.
    Gap,
    /// Acknowledge type 4: the lock starts anew.
    Renew,
    /// The acquisition lock ran out.
    LockExpired,
    /// The member's share session ended.
    MemberGone,
    /// It came back (release, lock, session) and the delivery count is at its limit.
    LimitReached,
    /// A transaction takes it over.
    Stage,
    /// The stage could not be stored.
    Unstage,
    /// The transaction committed an accept.
    CommitAccept,
    /// The transaction committed a reject.
    CommitReject,
    /// The transaction committed a gap.
    CommitGap,
    /// The transaction was aborted.
    Abort,
    /// The log starts behind it now, so it can never be delivered again.
    BelowStart,
    /// The log has nothing to deliver here: compacted, a control record, or aborted data.
    Hole,
    /// Rejected, or at the limit, in a group with a dead letter queue (KIP-1191): it waits for its
    /// copy there.
    DeadLetter,
    /// Its copy is in the dead letter queue, or was given up.
    DeadLetterWritten,
}

/// Every allowed transition: from, event, to. What is not here is refused.
const TRANSITIONS: [(RecordState, RecordEvent, RecordState); 22] = {
    use RecordEvent::*;
    use RecordState::*;
    [
        (Available, Acquire, Acquired),
        (Available, BelowStart, Archived),
        (Available, Hole, Archived),
        (Acquired, Accept, Acknowledged),
        (Acquired, Release, Available),
        (Acquired, Reject, Archived),
        (Acquired, Gap, Archived),
        (Acquired, Renew, Acquired),
        (Acquired, LockExpired, Available),
        (Acquired, MemberGone, Available),
        (Acquired, LimitReached, Archived),
        (Acquired, DeadLetter, Archiving),
        (Acquired, BelowStart, Archived),
        (Acquired, Stage, TxPending),
        (TxPending, Unstage, Acquired),
        (TxPending, CommitAccept, Acknowledged),
        (TxPending, CommitReject, Archived),
        (TxPending, CommitGap, Archived),
        (TxPending, Abort, Available),
        (TxPending, DeadLetter, Archiving),
        (TxPending, BelowStart, Archived),
        (Archiving, DeadLetterWritten, Archived),
    ]
};

impl RecordState {
    /// All states, by number.
    pub const ALL: [RecordState; 6] = [
        RecordState::Available,
        RecordState::Acquired,
        RecordState::Acknowledged,
        RecordState::Archiving,
        RecordState::Archived,
        RecordState::TxPending,
    ];

    /// The number that share coordinators store.
    pub const fn id(self) -> i8 {
        self as i8
    }

    /// The state with this number.
    pub fn from_id(id: i8) -> Option<RecordState> {
        RecordState::ALL.into_iter().find(|state| state.id() == id)
    }

    /// The state after `event`, or the refusal.
    pub fn transition(self, event: RecordEvent) -> Result<RecordState, InvalidTransition> {
        TRANSITIONS
            .iter()
            .find(|(from, by, _)| *from == self && *by == event)
            .map(|(_, _, to)| *to)
            .ok_or(InvalidTransition { state: self, event })
    }

    /// Nothing happens to the record any more, and the start offset may pass it.
    pub const fn is_terminal(self) -> bool {
        matches!(self, RecordState::Acknowledged | RecordState::Archived)
    }

    /// The transitions as a Graphviz graph.
    pub fn dot() -> String {
        let mut graph = String::from("digraph record_state {\n");
        for (from, event, to) in TRANSITIONS {
            // Writing to a string cannot fail.
            let _ = writeln!(graph, "  {from} -> {to} [label=\"{event:?}\"];");
        }
        for state in RecordState::ALL
            .into_iter()
            .filter(|state| state.is_terminal())
        {
            let _ = writeln!(graph, "  {state} [shape=doublecircle];");
        }
        graph.push_str("}\n");
        graph
    }
}

impl fmt::Display for RecordState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RecordState::Available => "AVAILABLE",
            RecordState::Acquired => "ACQUIRED",
            RecordState::Acknowledged => "ACKNOWLEDGED",
            RecordState::Archiving => "ARCHIVING",
            RecordState::Archived => "ARCHIVED",
            RecordState::TxPending => "TX_PENDING",
        })
    }
}

impl RecordEvent {
    /// All events.
    pub const ALL: [RecordEvent; 19] = [
        RecordEvent::Acquire,
        RecordEvent::Accept,
        RecordEvent::Release,
        RecordEvent::Reject,
        RecordEvent::Gap,
        RecordEvent::Renew,
        RecordEvent::LockExpired,
        RecordEvent::MemberGone,
        RecordEvent::LimitReached,
        RecordEvent::Stage,
        RecordEvent::Unstage,
        RecordEvent::CommitAccept,
        RecordEvent::CommitReject,
        RecordEvent::CommitGap,
        RecordEvent::Abort,
        RecordEvent::BelowStart,
        RecordEvent::Hole,
        RecordEvent::DeadLetter,
        RecordEvent::DeadLetterWritten,
    ];
}

/// An event that the state does not allow. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTransition {
    /// The state.
    pub state: RecordState,
    /// The event.
    pub event: RecordEvent,
}

impl fmt::Display for InvalidTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not possible in state {}",
            self.event, self.state
        )
    }
}

impl core::error::Error for InvalidTransition {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_event() {
        let mut table = String::new();
        let _ = write!(table, "{:<18}", "");
        for state in RecordState::ALL {
            let _ = write!(table, "{state:<13}");
        }
        for event in RecordEvent::ALL {
            let _ = write!(table, "\n{:<18}", alloc::format!("{event:?}"));
            for state in RecordState::ALL {
                match state.transition(event) {
                    Ok(next) => write!(table, "{next:<13}"),
                    Err(_) => write!(table, "{:<13}", "-"),
                }
                .expect("a string takes everything");
            }
        }
        let table: alloc::vec::Vec<&str> = table.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn graph() {
        insta::assert_snapshot!(RecordState::dot());
    }

    #[test]
    fn a_terminal_state_is_never_left() {
        for state in RecordState::ALL
            .into_iter()
            .filter(|state| state.is_terminal())
        {
            for event in RecordEvent::ALL {
                assert_eq!(
                    state.transition(event),
                    Err(InvalidTransition { state, event })
                );
            }
        }
    }

    #[test]
    fn numbers_are_the_stored_ones() {
        for (id, state) in (0..).zip(RecordState::ALL) {
            assert_eq!(state.id(), id);
            assert_eq!(RecordState::from_id(id), Some(state));
        }
        assert_eq!(RecordState::from_id(6), None);
        assert_eq!(RecordState::from_id(-1), None);
    }
}
