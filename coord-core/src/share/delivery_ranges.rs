//! Delivery states by offset range, and the one rule by which newer ones are merged in.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Delivery state and count of a range. Ordered: where two meet, the greater one holds, so a higher
/// count wins, then the later state (KIP-932).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery {
    /// How often it was delivered.
    pub count: i16,
    /// 0 available, 2 acknowledged, 3 archiving, 4 archived.
    pub state: i8,
}

impl Delivery {
    /// No record of the range is delivered again.
    pub fn is_terminal(self) -> bool {
        matches!(self.state, 2 | 4)
    }
}

/// Disjoint ranges in ascending order; neighbours never say the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryRanges {
    ranges: BTreeMap<i64, (i64, Delivery)>,
}

impl DeliveryRanges {
    /// First offset, last offset and delivery of each range.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64, Delivery)> + '_ {
        self.ranges
            .iter()
            .map(|(first, (last, delivery))| (*first, *last, *delivery))
    }

    /// What is known of one offset.
    pub fn at(&self, offset: i64) -> Option<Delivery> {
        let (_, (last, delivery)) = self.ranges.range(..=offset).next_back()?;
        (offset <= *last).then_some(*delivery)
    }

    /// No ranges.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Merges a range in. It costs what it overlaps, whatever else is there. An empty range
    /// (`last < first`) changes nothing.
    pub fn merge(&mut self, first: i64, last: i64, delivery: Delivery) {
        if last < first {
            return;
        }
        if self.merge_apart(first, last, delivery) {
            return;
        }
        self.split_at(first);
        if let Some(after) = last.checked_add(1) {
            self.split_at(after);
        }
        let covered: Vec<(i64, i64, Delivery)> = self
            .ranges
            .range(first..=last)
            .map(|(first, (last, delivery))| (*first, *last, *delivery))
            .collect();
        let mut next = Some(first);
        for (old_first, old_last, old) in covered {
            if let Some(gap) = next.filter(|gap| *gap < old_first) {
                self.ranges.insert(gap, (old_first - 1, delivery));
            }
            self.ranges.insert(old_first, (old_last, old.max(delivery)));
            next = old_last.checked_add(1);
        }
        if let Some(gap) = next.filter(|gap| *gap <= last) {
            self.ranges.insert(gap, (last, delivery));
        }
        self.join(first, last);
    }

    /// As [`merge`](Self::merge), where nothing is known of the range yet. Whether it was so.
    fn merge_apart(&mut self, first: i64, last: i64, delivery: Delivery) -> bool {
        let before = self.ranges.range_mut(..=last).next_back();
        let ahead = match before {
            Some((_, (end, _))) if *end >= first => return false,
            Some((_, (end, same))) if *same == delivery && end.checked_add(1) == Some(first) => {
                Some(end)
            }
            _ => None,
        };
        match ahead {
            Some(end) => *end = last,
            None => {
                self.ranges.insert(first, (last, delivery));
            }
        }
        let behind = last.checked_add(1);
        let follows = behind.and_then(|behind| self.ranges.get(&behind));
        if let (Some(behind), Some(&(end, same))) = (behind, follows)
            && same == delivery
        {
            self.ranges.remove(&behind);
            if let Some((_, (own, _))) = self.ranges.range_mut(..=first).next_back() {
                *own = end;
            }
        }
        true
    }

    /// Drops everything below `start`.
    pub fn drop_below(&mut self, start: i64) {
        self.split_at(start);
        while let Some(entry) = self.ranges.first_entry()
            && *entry.key() < start
        {
            entry.remove();
        }
    }

    /// Removes the terminal ranges that begin at `start` and follow each other without a gap;
    /// returns the offset behind them.
    pub fn take_terminal_prefix(&mut self, start: i64) -> i64 {
        let mut start = start;
        while let Some(entry) = self.ranges.first_entry() {
            let (last, delivery) = *entry.get();
            if *entry.key() != start || !delivery.is_terminal() || last == i64::MAX {
                break;
            }
            start = last + 1;
            entry.remove();
        }
        start
    }

    /// Offsets in terminal ranges (KIP-1226), at most `i32::MAX`.
    pub fn terminal_count(&self) -> i32 {
        let total = self
            .iter()
            .filter(|(_, _, delivery)| delivery.is_terminal())
            .fold(0_i64, |sum, (first, last, _)| {
                sum.saturating_add((last - first).saturating_add(1))
            });
        i32::try_from(total).unwrap_or(i32::MAX)
    }

    fn split_at(&mut self, offset: i64) {
        let Some((first, (last, delivery))) = self.ranges.range_mut(..offset).next_back() else {
            return;
        };
        if *last < offset {
            return;
        }
        let (first, tail) = (*first, (*last, *delivery));
        self.ranges.insert(first, (offset - 1, tail.1));
        self.ranges.insert(offset, tail);
    }

    /// Joins equal neighbours from the range before `first` to the one after `last`.
    fn join(&mut self, first: i64, last: i64) {
        let from = self
            .ranges
            .range(..first)
            .next_back()
            .map_or(first, |(first, _)| *first);
        let upto = last.saturating_add(1);
        let mut current: Option<(i64, i64, Delivery)> = None;
        let touched: Vec<(i64, i64, Delivery)> = self
            .ranges
            .range(from..=upto)
            .map(|(first, (last, delivery))| (*first, *last, *delivery))
            .collect();
        for (first, last, delivery) in touched {
            match current {
                Some((start, end, same))
                    if same == delivery && end.checked_add(1) == Some(first) =>
                {
                    self.ranges.remove(&first);
                    self.ranges.insert(start, (last, delivery));
                    current = Some((start, last, delivery));
                }
                _ => current = Some((first, last, delivery)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const STATES: [i8; 3] = [0, 2, 4];

    fn delivery(code: usize) -> Option<Delivery> {
        match code {
            0 => None,
            code => Some(Delivery {
                count: 1 + ((code - 1) / 3) as i16,
                state: STATES[(code - 1) % 3],
            }),
        }
    }

    /// Every assignment of states to four offsets, merged with every range and every state, gives
    /// what merging offset by offset gives.
    #[test]
    fn merging_ranges_equals_merging_each_offset() {
        for world in 0..7_usize.pow(4) {
            let offsets: Vec<Option<Delivery>> = (0..4)
                .map(|i| delivery(world / 7_usize.pow(i) % 7))
                .collect();
            let mut before = DeliveryRanges::default();
            for (offset, state) in offsets.iter().enumerate() {
                if let Some(state) = state {
                    before.merge(offset as i64, offset as i64, *state);
                }
            }
            for first in 0..4_usize {
                for last in first..4 {
                    for code in 1..7 {
                        let new = delivery(code).unwrap();
                        let mut ranges = before.clone();
                        ranges.merge(first as i64, last as i64, new);
                        let mut expected = offsets.clone();
                        for slot in &mut expected[first..=last] {
                            *slot = Some(slot.map_or(new, |old| old.max(new)));
                        }
                        assert_eq!(by_offset(&ranges), expected);
                        assert_minimal(&ranges);
                    }
                }
            }
        }
    }

    fn by_offset(ranges: &DeliveryRanges) -> Vec<Option<Delivery>> {
        let mut offsets = vec![None; 4];
        for (first, last, delivery) in ranges.iter() {
            for offset in first..=last {
                assert!(
                    offsets[offset as usize].replace(delivery).is_none(),
                    "overlap"
                );
            }
        }
        offsets
    }

    fn assert_minimal(ranges: &DeliveryRanges) {
        let all: Vec<_> = ranges.iter().collect();
        for pair in all.windows(2) {
            assert!(
                pair[0].1 + 1 != pair[1].0 || pair[0].2 != pair[1].2,
                "{all:?}"
            );
        }
    }

    /// KAFKA-20691: with work for each range that grows with the ranges this would take hours.
    #[test]
    fn many_ranges_are_merged_without_looking_at_all() {
        const RUNS: i64 = 200_000;
        let (acknowledged, archived) = (
            Delivery { count: 1, state: 2 },
            Delivery { count: 1, state: 4 },
        );
        let mut ranges = DeliveryRanges::default();
        for run in 0..RUNS {
            // From the middle outwards, so that neither end is a special place.
            let run = RUNS / 2 + if run % 2 == 0 { run / 2 } else { -1 - run / 2 };
            ranges.merge(2 * run, 2 * run, acknowledged);
        }
        assert_eq!(ranges.iter().count() as i64, RUNS);
        for run in 0..RUNS {
            let at = 2 * (run * 7919 % RUNS) + 1;
            ranges.merge(at, at, acknowledged);
        }
        let all = [(0, 2 * RUNS - 1, acknowledged)];
        assert_eq!(ranges.iter().collect::<Vec<_>>(), all);
        ranges.merge(0, 2 * RUNS - 1, archived);
        assert_eq!(ranges.take_terminal_prefix(0), 2 * RUNS);
    }

    #[test]
    fn the_terminal_prefix_stops_at_a_gap_and_at_an_available_range() {
        let acknowledged = Delivery { count: 1, state: 2 };
        let mut ranges = DeliveryRanges::default();
        ranges.merge(0, 4, acknowledged);
        ranges.merge(5, 5, Delivery { count: 2, state: 4 });
        ranges.merge(7, 9, acknowledged);
        assert_eq!(ranges.clone().take_terminal_prefix(1), 1);
        assert_eq!(ranges.take_terminal_prefix(0), 6);
        assert_eq!(ranges.terminal_count(), 3);
        ranges.drop_below(9);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(9, 9, acknowledged)]);
    }

    #[test]
    fn the_ends_of_the_offset_space_do_not_overflow() {
        let archived = Delivery {
            count: i16::MAX,
            state: 4,
        };
        let mut ranges = DeliveryRanges::default();
        ranges.merge(0, i64::MAX, archived);
        ranges.merge(i64::MAX, i64::MAX, archived);
        ranges.merge(5, 4, archived);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, i64::MAX, archived)]);
        assert_eq!(ranges.terminal_count(), i32::MAX);
        assert_eq!(ranges.take_terminal_prefix(0), 0);
    }
}
