//! Where the batches begin and end in which records were acquired first. A batch that fails again
//! and again is halved by the size that it had then, however little of it is left (as Kafka does).

use alloc::collections::BTreeMap;

use crate::Span;

/// Batches that do not overlap, ascending. Offsets between two of them were never acquired.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlightBatches {
    /// Last offset by first offset.
    lasts: BTreeMap<i64, i64>,
}

impl InFlightBatches {
    pub(crate) const fn new() -> Self {
        InFlightBatches {
            lasts: BTreeMap::new(),
        }
    }

    /// The batch that `offset` belongs to.
    pub(crate) fn around(&self, offset: i64) -> Option<Span> {
        let (first, last) = self.lasts.range(..=offset).next_back()?;
        (*last >= offset).then(|| Span::new(*first, *last))
    }

    /// The first offset behind `offset` that a batch begins with.
    pub(crate) fn next_first(&self, offset: i64) -> Option<i64> {
        let behind = self.lasts.range(offset.saturating_add(1)..).next();
        behind.map(|(first, _)| *first)
    }

    /// `span` is a batch, as far as it is not in one already.
    pub(crate) fn insert(&mut self, span: Span) {
        let first = match self.around(span.first) {
            Some(before) => before.last.saturating_add(1),
            None => span.first,
        };
        let last = match self.next_first(span.first) {
            Some(next) => span.last.min(next - 1),
            None => span.last,
        };
        if first <= last {
            self.lasts.insert(first, last);
        }
    }

    /// The batch that begins with `first` goes on to `last`.
    pub(crate) fn extend(&mut self, first: i64, last: i64) {
        let bound = self.next_first(first).map_or(i64::MAX, |next| next - 1);
        if let Some(old) = self.lasts.get_mut(&first) {
            *old = last.min(bound).max(*old);
        }
    }

    /// Forgets the batches that end below `start`.
    pub(crate) fn drop_below(&mut self, start: i64) {
        while let Some(batch) = self.lasts.first_entry()
            && *batch.get() < start
        {
            batch.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_never_overlap_and_go_with_the_start() {
        let mut batches = InFlightBatches::new();
        batches.insert(Span::new(10, 19));
        batches.insert(Span::new(5, 14));
        batches.insert(Span::new(15, 24));
        batches.insert(Span::new(12, 13));
        let all = [4, 5, 9, 10, 19, 20, 24, 25].map(|offset| {
            let batch = batches.around(offset);
            batch.map(|batch| (batch.first, batch.last))
        });
        let (a, b, c) = (Some((5, 9)), Some((10, 19)), Some((20, 24)));
        assert_eq!(all, [None, a, a, b, b, c, c, None]);
        batches.extend(5, 30);
        batches.extend(20, 30);
        assert_eq!(batches.around(9), Some(Span::new(5, 9)));
        assert_eq!(batches.around(30), Some(Span::new(20, 30)));
        batches.drop_below(15);
        assert_eq!(batches.around(9), None);
        assert_eq!(batches.around(12), Some(Span::new(10, 19)));
        assert_eq!(batches.next_first(12), Some(20));
    }
}
