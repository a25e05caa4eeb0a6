//! What became of each record, and what must not.

use std::collections::BTreeMap;
use std::fmt;

/// A record by partition and offset.
pub(crate) type Place = (i32, i64);

/// What was known when a request was sent: how many answers had been noted.
pub(super) type Moment = u64;

/// What members saw of one record.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    deliveries: u32,
    /// The greatest delivery count that came in an answer, and when that was noted.
    counted: Option<(i16, Moment)>,
    /// When the success of its acknowledgement was noted.
    accepted: Option<Moment>,
    /// When nobody heard what became of its acknowledgement: it counts, or the record comes again.
    unheard: Option<Moment>,
    /// It came again after such an acknowledgement, which therefore has not counted.
    did_not_count: bool,
    /// The greatest delivery count under which a release succeeded, and when that was noted.
    released: Option<(i16, Moment)>,
}

/// Something that must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A record came in an answer to a request that was sent after its acknowledgement succeeded.
    CameAgain(Place),
    /// A record came with a delivery count (the first number) below that of an earlier delivery, or
    /// not above that of a release.
    CountWentBack(Place, i16, i16),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::CameAgain((partition, offset)) => {
                write!(
                    f,
                    "{partition}@{offset} was accepted with success and came again"
                )
            }
            Wrong::CountWentBack((partition, offset), count, before) => write!(
                f,
                "{partition}@{offset} came with count {count} after a delivery or release at {before}"
            ),
        }
    }
}

/// The account of all members.
#[derive(Debug, Default)]
pub(crate) struct Account {
    fates: BTreeMap<Place, Fate>,
    moment: Moment,
    /// What was wrong.
    pub(crate) wrong: Vec<Wrong>,
}

impl Account {
    /// Now, for a request that is about to be sent.
    pub(super) fn moment(&self) -> Moment {
        self.moment
    }

    /// A record came in an answer to a request of that moment. A delivery rests on stored ones, so
    /// after a crash it may come again under its count, and never under a lower one.
    pub(super) fn delivered(&mut self, place: Place, count: i16, sent: Moment) {
        self.moment += 1;
        let fate = self.fates.entry(place).or_default();
        fate.deliveries += 1;
        // A request that was sent before an answer was noted may have been answered before it.
        let known = |own: Option<(i16, Moment)>| own.filter(|(_, noted)| *noted <= sent);
        let counted = known(fate.counted).filter(|(counted, _)| count < *counted);
        let released = known(fate.released).filter(|(released, _)| count <= *released);
        if fate.unheard.is_some_and(|noted| noted <= sent) {
            fate.unheard = None;
            fate.did_not_count = true;
        }
        if fate.accepted.is_some_and(|noted| noted <= sent) {
            self.wrong.push(Wrong::CameAgain(place));
        } else if let Some((before, _)) = released.or(counted) {
            self.wrong.push(Wrong::CountWentBack(place, count, before));
        }
        if fate.counted.is_none_or(|(counted, _)| counted < count) {
            fate.counted = Some((count, self.moment));
        }
    }

    /// An acknowledgement was answered with success.
    pub(super) fn accepted(&mut self, place: Place) {
        self.moment += 1;
        self.fates.entry(place).or_default().accepted = Some(self.moment);
    }

    /// An acknowledgement was sent, and nobody knows what became of it: if the record comes again, it
    /// has to be accepted anew; if not, the group has to be done with it.
    pub(super) fn unheard(&mut self, place: Place) {
        self.moment += 1;
        self.fates.entry(place).or_default().unheard = Some(self.moment);
    }

    /// A release was answered with success.
    pub(super) fn released(&mut self, place: Place, count: i16) {
        self.moment += 1;
        let fate = self.fates.entry(place).or_default();
        if fate.released.is_none_or(|(released, _)| released < count) {
            fate.released = Some((count, self.moment));
        }
    }

    /// Records below the ends that are still to come: neither accepted with success, nor with an
    /// outcome that nobody has heard since they came last.
    pub(crate) fn missing(&self, ends: &[i64]) -> Vec<Place> {
        let places = (0..).zip(ends);
        let places = places.flat_map(|(partition, end)| (0..*end).map(move |at| (partition, at)));
        let done = |place: &Place| {
            let fate = self.fates.get(place);
            fate.is_some_and(|fate| fate.accepted.is_some() || fate.unheard.is_some())
        };
        places.filter(|place| !done(place)).collect()
    }

    /// Of the acknowledgements whose outcome nobody heard: how many have not counted, since their
    /// records came again, and how many must have, if nothing is left to the group.
    pub(crate) fn unheard_of(&self) -> (usize, usize) {
        let open = |fate: &&Fate| fate.unheard.is_some() && fate.accepted.is_none();
        (
            self.fates
                .values()
                .filter(|fate| fate.did_not_count)
                .count(),
            self.fates.values().filter(open).count(),
        )
    }

    /// How many records were accepted for sure, and how often any was delivered.
    pub(crate) fn totals(&self) -> (usize, u32) {
        let accepted = self.fates.values();
        let accepted = accepted.filter(|fate| fate.accepted.is_some());
        (
            accepted.count(),
            self.fates.values().map(|fate| fate.deliveries).sum(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Wrong};

    #[test]
    fn what_was_accepted_must_not_come_again() {
        let mut account = Account::default();
        let before = account.moment();
        account.delivered((0, 5), 1, before);
        account.accepted((0, 5));
        account.delivered((0, 5), 2, before);
        assert_eq!(account.wrong, [], "read late");
        account.delivered((0, 5), 2, account.moment());
        assert_eq!(account.wrong, [Wrong::CameAgain((0, 5))]);
    }

    #[test]
    fn counts_go_on_after_a_release() {
        let mut account = Account::default();
        account.delivered((0, 0), 1, 0);
        account.released((0, 0), 1);
        account.delivered((0, 0), 2, account.moment());
        account.delivered((0, 0), 1, 0);
        assert_eq!(account.wrong, [], "read late");
        account.delivered((0, 0), 1, account.moment());
        assert_eq!(account.wrong, [Wrong::CountWentBack((0, 0), 1, 1)]);
    }

    #[test]
    fn counts_of_deliveries_never_go_back() {
        let mut account = Account::default();
        let before = account.moment();
        account.delivered((0, 0), 2, before);
        account.delivered((0, 0), 1, before);
        account.delivered((0, 0), 2, account.moment());
        account.delivered((0, 0), 3, account.moment());
        assert_eq!(account.wrong, [], "read late, again after a crash, or next");
        account.delivered((0, 0), 2, account.moment());
        assert_eq!(account.wrong, [Wrong::CountWentBack((0, 0), 2, 3)]);
    }

    #[test]
    fn what_nobody_acknowledged_is_missing() {
        let mut account = Account::default();
        account.accepted((0, 0));
        account.unheard((1, 0));
        assert_eq!(account.missing(&[2, 1]), [(0, 1)]);
        assert_eq!(account.totals(), (1, 0));
        assert_eq!(account.unheard_of(), (0, 1));
    }

    #[test]
    fn what_comes_again_has_to_be_accepted_anew() {
        let mut account = Account::default();
        let before = account.moment();
        account.delivered((0, 0), 1, before);
        account.unheard((0, 0));
        account.delivered((0, 0), 2, before);
        assert_eq!(account.missing(&[1]), [], "read late");
        account.delivered((0, 0), 2, account.moment());
        assert_eq!(account.missing(&[1]), [(0, 0)]);
        account.accepted((0, 0));
        assert_eq!(account.missing(&[1]), []);
        assert_eq!(account.unheard_of(), (1, 0));
        account.delivered((0, 0), 3, account.moment());
        assert_eq!(account.wrong, [Wrong::CameAgain((0, 0))]);
    }
}
