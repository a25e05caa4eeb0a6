//! Which fetched batches belong to aborted transactions.

use alloc::collections::{BTreeSet, VecDeque};

use ackord_proto::messages::fetch::AbortedTransaction;
use ackord_proto::records::{BatchHeader, ControlType};

/// The filter of a read_committed fetch: the broker names the aborted transactions of the range,
/// the client leaves their records out.
#[derive(Debug)]
pub(crate) struct AbortedFilter {
    // By first offset, ascending.
    to_come: VecDeque<(i64, i64)>,
    open: BTreeSet<i64>,
}

impl AbortedFilter {
    pub(crate) fn new(aborted: &[AbortedTransaction]) -> Self {
        let mut to_come: VecDeque<_> = aborted
            .iter()
            .map(|one| (one.first_offset, one.producer_id))
            .collect();
        to_come.make_contiguous().sort_unstable();
        AbortedFilter {
            to_come,
            open: BTreeSet::new(),
        }
    }

    /// A batch begins: whether its records count.
    pub(crate) fn keeps(&mut self, batch: &BatchHeader) -> bool {
        while let Some((_, producer)) = self
            .to_come
            .pop_front_if(|(first, _)| *first <= batch.last_offset())
        {
            self.open.insert(producer);
        }
        !(batch.is_transactional() && self.open.contains(&batch.producer_id))
    }

    /// The batch is a marker: an abort ends the aborted transaction of its producer.
    pub(crate) fn marker(&mut self, batch: &BatchHeader, kind: ControlType) {
        if kind == ControlType::Abort {
            self.open.remove(&batch.producer_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use ackord_proto::records::BatchBuilder;

    use super::*;

    fn batch(producer_id: i64, base_offset: i64) -> BatchHeader {
        let builder = BatchBuilder::new(base_offset).producer(producer_id, 0, 0);
        let mut builder = builder.transactional();
        builder.push(0, None, None);
        BatchHeader::parse(&builder.build()).expect("a batch that we made")
    }

    #[test]
    fn only_the_aborted_transaction_of_a_producer_is_left_out() {
        let aborted = |producer_id, first_offset| AbortedTransaction {
            producer_id,
            first_offset,
            ..Default::default()
        };
        let mut filter = AbortedFilter::new(&[aborted(1, 10), aborted(1, 3)]);
        assert!(filter.keeps(&batch(1, 0)), "before the aborted one");
        assert!(!filter.keeps(&batch(1, 3)));
        assert!(filter.keeps(&batch(2, 4)), "of another producer");
        filter.marker(&batch(1, 5), ControlType::Abort);
        assert!(filter.keeps(&batch(1, 6)), "the next transaction committed");
        filter.marker(&batch(1, 7), ControlType::Commit);
        assert!(!filter.keeps(&batch(1, 10)));
    }
}
