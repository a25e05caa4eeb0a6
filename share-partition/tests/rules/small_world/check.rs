//! What must hold after every step of a small world.

use ackord_share_partition::RecordState;

use super::{Event, HOLES, Seen, SmallWorld};
use crate::common::GAP;

impl SmallWorld {
    pub(super) fn check(&self, before: &SmallWorld, event: &Event) {
        let (old, new) = (before.seen(), self.seen());
        let start = self.partition.start_offset();
        let reload = matches!(event, Event::Reload | Event::Delete);
        assert!(
            start >= before.partition.start_offset() || reload,
            "{event:?}: V3"
        );
        let limit = self.config.delivery_count_limit;
        let mut held = [0_i64; 6];
        for (offset, (old, new)) in old.iter().zip(&new).enumerate() {
            let below = (offset as i64) < start;
            if let (Some(old), Some(new)) = (old, new) {
                let end = old.state.is_terminal();
                // Of a record below the start of the log the outcome is stored, and lives as archived.
                let ended = reload && new.state.is_terminal();
                let deleted = matches!(event, Event::Delete);
                assert!(
                    !end || ended || deleted || old.state == new.state,
                    "{event:?} {offset}: V2, {old:?} to {new:?}"
                );
                // A count that was never stored may be lost with the leader.
                assert!(new.count >= old.count || reload, "{event:?} {offset}: V5");
            }
            let gone = (offset as i64) < before.partition.start_offset();
            assert!(!gone || below || reload, "{event:?} {offset}: V2");
            let Some(new) = new else { continue };
            held[new.state.id() as usize] += 1;
            assert!(new.count <= limit, "{event:?} {offset}: V5");
            let locked = new.state == RecordState::Acquired;
            assert_eq!(new.deadline.is_some(), locked, "{event:?} {offset}: V4");
            assert!(!locked || new.member.is_some(), "{event:?} {offset}: V1");
            assert!(
                new.deadline.is_none_or(|ticks| ticks > 0),
                "{event:?} {offset}: V4"
            );
            let pending = new.state == RecordState::TxPending;
            assert_eq!(new.owner.is_some(), pending, "{event:?} {offset}");
            let back = old
                .as_ref()
                .is_some_and(|old| old.state == RecordState::Acquired);
            let available = new.state == RecordState::Available;
            assert!(
                !(back && available && new.count >= limit) || reload || self.config.transactional,
                "{event:?} {offset}: V5"
            );
            self.check_holder(offset, new, event);
            if self.config.transactional && back {
                self.check_mode(offset, new, event);
            }
        }
        let in_flight =
            held[RecordState::Acquired as usize] + held[RecordState::TxPending as usize];
        assert_eq!(self.partition.in_flight(), in_flight, "{event:?}: V6");
        let earliest = new.iter().flatten().filter_map(|seen| seen.deadline).min();
        let own = self.partition.next_expiry().map(|at| self.ticks(at));
        assert_eq!(own, earliest, "{event:?}: V4");
        if let Event::Leave(member) = *event {
            let his = |seen: &Seen| seen.deadline.is_some() && seen.member == Some(member);
            assert!(!new.iter().flatten().any(his), "{event:?}: V18");
        }
        self.check_stored(&new, event);
        self.check_unstored(&new, event);
    }

    /// Leader and share coordinator agree on who holds a record, but for news that are under way.
    fn check_holder(&self, offset: usize, seen: &Seen, event: &Event) {
        let holder = seen.owner.map(|(owner, _)| owner);
        let stored = self.pending[offset].map(|ack| ack.owner);
        let ended = self.news[offset].map(|(ack, _)| ack.owner);
        let agree = holder == stored || (stored.is_none() && holder == ended);
        assert!(
            agree,
            "{event:?} {offset}: V9, {holder:?} holds, {stored:?} is stored"
        );
    }

    /// In transactional mode no plain acknowledgement ends a record, but a known hole.
    fn check_mode(&self, offset: usize, seen: &Seen, event: &Event) {
        if let Event::Acknowledge { kind, .. } = *event {
            let offset = offset as i64;
            let may = kind == GAP && HOLES[0].first == offset || offset < self.log_start;
            let ended = seen.state.is_terminal() || seen.state == RecordState::Archiving;
            assert!(
                !ended || may,
                "{event:?} {offset}: ended outside of a transaction"
            );
        }
    }

    /// What is loaded equals what lives, but for locks: those are in memory only (V8).
    fn check_stored(&self, live: &[Option<Seen>], event: &Event) {
        let mut copy = self.clone();
        copy.reload();
        for (offset, (live, loaded)) in live.iter().zip(copy.seen()).enumerate() {
            let loaded = loaded.map(|seen| (seen.state, seen.count, seen.owner));
            let done = |own: Option<RecordState>| own.is_none_or(RecordState::is_terminal);
            match live {
                // The outcome is stored, and its news are under way.
                Some(live) if live.owner.is_some() && self.pending[offset].is_none() => {
                    let commit = self.news[offset].is_some_and(|(_, commit)| commit);
                    let state = loaded.map(|(state, ..)| state);
                    let again = state == Some(RecordState::Available);
                    let trimmed = (offset as i64) < self.log_start;
                    assert!(again != commit || trimmed, "{event:?} {offset}: V9");
                }
                // Nothing is stored before the first outcome.
                Some(live) if live.state == RecordState::Acquired => {
                    let state = loaded.map(|(state, ..)| state);
                    let trimmed = (offset as i64) < self.log_start && done(state);
                    let again = state.is_none_or(|state| state == RecordState::Available);
                    assert!(again || trimmed, "{event:?} {offset}: V8, {loaded:?}");
                }
                Some(live) if live.state == RecordState::Available && live.count == 0 => {}
                Some(live) if done(Some(live.state)) => {
                    // A hole behind what a fetch has read is found again by the next one.
                    let hole = live.count == 0;
                    assert!(
                        hole || done(loaded.map(|own| own.0)),
                        "{event:?} {offset}: V8"
                    );
                }
                Some(live) => {
                    let live = Some((live.state, live.count, live.owner));
                    assert_eq!(loaded, live, "{event:?} {offset}: V8");
                }
                None => {}
            }
        }
    }

    /// With what no change has told of stored too, whoever loads it sees no less done than before.
    fn check_unstored(&self, live: &[Option<Seen>], event: &Event) {
        let mut copy = self.clone();
        let change = copy.partition.unstored();
        copy.store(&change);
        let again = copy.partition.unstored();
        assert!(again.is_empty(), "{event:?}: told twice");
        copy.reload();
        let start = self.partition.start_offset();
        assert!(copy.partition.start_offset() >= start, "{event:?}: V3");
        for (live, loaded) in live.iter().zip(copy.seen()) {
            let done = |seen: &Seen| seen.state.is_terminal();
            let lost = live.as_ref().is_some_and(done) && loaded.is_some_and(|own| !done(&own));
            assert!(!lost, "{event:?}: V2");
        }
    }

    /// Ends of transactions and stages may come twice (V14).
    pub(super) fn check_repetition(&self, event: &Event) {
        if matches!(
            event,
            Event::Marker { .. } | Event::News { .. } | Event::Stage { .. } | Event::Written { .. }
        ) {
            let mut twice = self.clone();
            let refused = twice.apply(event);
            assert!(!refused && twice.key() == self.key(), "{event:?}: V14");
        }
    }
}
