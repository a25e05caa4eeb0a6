//! What became of each record, and what must not.

use std::collections::BTreeMap;

/// A record by partition and offset.
pub(super) type Place = (i32, i64);

/// What members saw of one record.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    deliveries: u32,
    /// The run of the broker in which its acknowledgement succeeded.
    accepted_in: Option<u32>,
    /// An acknowledgement got no answer, or an error: it may count.
    maybe_accepted: bool,
    /// The greatest delivery count under which a release succeeded.
    released_at: i16,
}

/// The account of all members.
#[derive(Debug, Default)]
pub(super) struct Account {
    fates: BTreeMap<Place, Fate>,
    /// What was wrong, in sentences.
    pub(super) wrong: Vec<String>,
}

impl Account {
    /// A record came in an answer of this run of the broker.
    pub(super) fn delivered(&mut self, place: Place, count: i16, run: u32) {
        let fate = self.fates.entry(place).or_default();
        fate.deliveries += 1;
        let (partition, offset) = place;
        // An answer from an earlier run may be read late.
        if let Some(accepted) = fate.accepted_in.filter(|accepted| *accepted <= run) {
            self.wrong.push(format!(
                "{partition}@{offset} was accepted in run {accepted} and came again in run {run}"
            ));
        } else if fate.accepted_in.is_none() && count <= fate.released_at {
            self.wrong.push(format!(
                "{partition}@{offset} came with count {count} after a release at {}",
                fate.released_at
            ));
        }
    }

    /// An acknowledgement was answered with success.
    pub(super) fn accepted(&mut self, place: Place, run: u32) {
        self.fates.entry(place).or_default().accepted_in = Some(run);
    }

    /// An acknowledgement was sent, and nobody knows what became of it.
    pub(super) fn maybe_accepted(&mut self, place: Place) {
        self.fates.entry(place).or_default().maybe_accepted = true;
    }

    /// A release was answered with success.
    pub(super) fn released(&mut self, place: Place, count: i16) {
        let fate = self.fates.entry(place).or_default();
        fate.released_at = fate.released_at.max(count);
    }

    /// Records below the ends that are neither accepted nor perhaps accepted.
    pub(super) fn missing(&self, ends: &[i64]) -> Vec<Place> {
        let places = (0..).zip(ends);
        let places = places.flat_map(|(partition, end)| (0..*end).map(move |at| (partition, at)));
        let done = |place: &Place| {
            let fate = self.fates.get(place);
            fate.is_some_and(|fate| fate.accepted_in.is_some() || fate.maybe_accepted)
        };
        places.filter(|place| !done(place)).collect()
    }

    /// How many records were accepted for sure, and how often any was delivered.
    pub(super) fn totals(&self) -> (usize, u32) {
        let accepted = self.fates.values();
        let accepted = accepted.filter(|fate| fate.accepted_in.is_some());
        (
            accepted.count(),
            self.fates.values().map(|fate| fate.deliveries).sum(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn what_was_accepted_must_not_come_again() {
        let mut account = Account::default();
        account.delivered((0, 5), 1, 1);
        account.accepted((0, 5), 1);
        account.delivered((0, 5), 2, 0);
        assert!(account.wrong.is_empty(), "read late: {:?}", account.wrong);
        account.delivered((0, 5), 2, 2);
        assert_eq!(account.wrong.len(), 1);
    }

    #[test]
    fn counts_go_on_after_a_release() {
        let mut account = Account::default();
        account.delivered((0, 0), 1, 1);
        account.released((0, 0), 1);
        account.delivered((0, 0), 2, 1);
        assert!(account.wrong.is_empty(), "{:?}", account.wrong);
        account.delivered((0, 0), 1, 2);
        assert_eq!(account.wrong.len(), 1);
    }

    #[test]
    fn what_nobody_acknowledged_is_missing() {
        let mut account = Account::default();
        account.accepted((0, 0), 1);
        account.maybe_accepted((1, 0));
        assert_eq!(account.missing(&[2, 1]), [(0, 1)]);
        assert_eq!(account.totals(), (1, 0));
    }
}
