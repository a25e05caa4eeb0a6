//! Ranges of offsets, each with a value.

use alloc::collections::BTreeMap;

/// A map from offsets to values that keeps neighbours of equal value together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeMap<V> {
    // First offset to last offset and value; no overlap.
    ranges: BTreeMap<i64, (i64, V)>,
}

impl<V> Default for RangeMap<V> {
    fn default() -> Self {
        RangeMap {
            ranges: BTreeMap::new(),
        }
    }
}

impl<V: Copy + PartialEq> RangeMap<V> {
    pub(crate) const fn new() -> Self {
        RangeMap {
            ranges: BTreeMap::new(),
        }
    }

    pub(crate) fn get(&self, offset: i64) -> Option<V> {
        let (_, (last, value)) = self.ranges.range(..=offset).next_back()?;
        (*last >= offset).then_some(*value)
    }

    /// Forgets the offsets from `first` to `last`.
    pub(crate) fn remove(&mut self, first: i64, last: i64) {
        while let Some((&start, &(end, value))) = self.ranges.range(..=last).next_back() {
            if end < first {
                break;
            }
            self.ranges.remove(&start);
            if end > last {
                self.ranges.insert(last + 1, (end, value));
            }
            if start < first {
                self.ranges.insert(start, (first - 1, value));
                break;
            }
        }
    }

    /// Sets the value of the offsets from `first` to `last`, in place of any they had.
    pub(crate) fn insert(&mut self, first: i64, last: i64, value: V) {
        if last < first {
            return;
        }
        self.remove(first, last);
        let (mut first, mut last) = (first, last);
        if let Some((&start, &(end, before))) = self.ranges.range(..first).next_back()
            && end.checked_add(1) == Some(first)
            && before == value
        {
            self.ranges.remove(&start);
            first = start;
        }
        if let Some(next) = last.checked_add(1)
            && let Some(&(end, after)) = self.ranges.get(&next)
            && after == value
        {
            self.ranges.remove(&next);
            last = end;
        }
        self.ranges.insert(first, (last, value));
    }

    /// First offset, last offset and value, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, i64, V)> {
        self.ranges
            .iter()
            .map(|(first, (last, value))| (*first, *last, *value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn neighbours_merge_and_overlaps_are_replaced() {
        let mut map = RangeMap::new();
        map.insert(0, 4, 'a');
        map.insert(6, 9, 'a');
        map.insert(5, 5, 'a');
        assert_eq!(map.iter().collect::<Vec<_>>(), [(0, 9, 'a')]);
        map.insert(3, 6, 'b');
        assert_eq!(
            map.iter().collect::<Vec<_>>(),
            [(0, 2, 'a'), (3, 6, 'b'), (7, 9, 'a')]
        );
        map.remove(2, 7);
        assert_eq!(map.iter().collect::<Vec<_>>(), [(0, 1, 'a'), (8, 9, 'a')]);
        map.insert(5, 4, 'c');
        assert_eq!(
            (map.get(1), map.get(2), map.get(9)),
            (Some('a'), None, Some('a'))
        );
    }

    #[test]
    fn it_behaves_like_a_map_of_single_offsets() {
        let mut chance = ackord_machine::Entropy::from_seed([3; 32]);
        let (mut map, mut model) = (RangeMap::new(), BTreeMap::new());
        for _ in 0..2000 {
            let first = chance.below(40) as i64;
            let last = first + chance.below(8) as i64;
            let value = chance.below(4);
            for offset in first..=last {
                if value == 3 {
                    model.remove(&offset)
                } else {
                    model.insert(offset, value)
                };
            }
            if value == 3 {
                map.remove(first, last)
            } else {
                map.insert(first, last, value)
            };
            for offset in -1..50 {
                assert_eq!(map.get(offset), model.get(&offset).copied());
            }
            let ranges: Vec<_> = map.iter().collect();
            for pair in ranges.windows(2) {
                let ((_, end, left), (start, _, right)) = (pair[0], pair[1]);
                assert!(end + 1 < start || left != right, "{ranges:?}");
            }
        }
    }
}
