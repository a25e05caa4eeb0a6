//! The record machine beside its model.

use ackord_share_partition::RecordState;

use super::World;

impl World {
    /// Everything that can be seen agrees with the model, offset by offset.
    pub(super) fn check(&self) {
        let (sut, model) = (&self.sut, &self.model);
        assert_eq!(
            (sut.start_offset(), sut.end_offset()),
            (model.start, model.end())
        );
        let mut next = model.start;
        for range in sut.ranges() {
            assert_eq!(range.first, next, "ranges tile the window");
            next = range.last + 1;
            for offset in range.first..=range.last {
                let entry = &model.entries[&offset];
                assert_eq!(
                    (range.state, range.delivery_count),
                    (entry.state, entry.count),
                    "{offset}"
                );
                assert_eq!(
                    range.member,
                    entry.lock.as_ref().map(|(member, _)| member),
                    "{offset}"
                );
                assert_eq!(
                    range.owner.zip(range.acknowledge_type),
                    entry.txn,
                    "{offset}"
                );
            }
            match range.state {
                RecordState::Acquired => {
                    let lock = model.entries[&range.first].lock.as_ref();
                    assert_eq!(range.deadline, lock.map(|(_, deadline)| *deadline));
                    assert!(
                        range.deadline.is_some(),
                        "every acquired record has a deadline"
                    );
                }
                _ => assert_eq!(range.deadline, None),
            }
        }
        assert_eq!(next, model.end());
        let views: Vec<_> = sut.ranges().collect();
        for pair in views.windows(2) {
            let same = pair[0].state == pair[1].state
                && pair[0].delivery_count == pair[1].delivery_count
                && pair[0].member == pair[1].member
                && pair[0].owner == pair[1].owner
                && pair[0].acknowledge_type == pair[1].acknowledge_type
                && pair[0].deadline == pair[1].deadline;
            // The stopped lock of a staged record is not shown, nor why a record was given up.
            let hidden = [RecordState::TxPending, RecordState::Archiving];
            assert!(
                !same || hidden.contains(&pair[0].state),
                "neighbours are joined"
            );
        }
        let count = |state| model.matching(|entry| entry.state == state).len() as i64;
        let pending = count(RecordState::TxPending);
        assert_eq!(sut.pending_count(), pending);
        assert_eq!(sut.in_flight(), count(RecordState::Acquired) + pending);
        assert_eq!(sut.archiving_count(), count(RecordState::Archiving));
        let all: Vec<_> = sut.dead_letters().collect();
        for pair in all.windows(2) {
            let [one, next] = [0, 1].map(|n| (pair[n].delivery_count, pair[n].cause));
            let touch = pair[0].span.last + 1 == pair[1].span.first;
            assert!(!touch || one != next, "dead letters are joined");
        }
        let letters = sut.dead_letters();
        let letters: i64 = letters.map(|letter| letter.span.len()).sum();
        assert_eq!(letters, sut.archiving_count());
        let done = count(RecordState::Acknowledged) + count(RecordState::Archived);
        assert_eq!(i64::from(sut.delivery_complete_count()), done);
        let available = model.matching(|entry| entry.state == RecordState::Available);
        assert_eq!(
            sut.next_fetch_offset(),
            available.first().copied().unwrap_or(model.end())
        );
        let deadlines = model
            .entries
            .values()
            .filter(|entry| entry.state == RecordState::Acquired);
        let earliest = deadlines
            .filter_map(|entry| entry.lock.as_ref().map(|(_, at)| *at))
            .min();
        assert_eq!(sut.next_expiry(), earliest);
    }
}
