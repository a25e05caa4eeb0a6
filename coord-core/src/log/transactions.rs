//! Transactions in one log: open, decided but not durable, and the index of aborted ones.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A transaction that is open in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTxn {
    /// Offset of its first record.
    pub first_offset: i64,
    /// Newest producer epoch that wrote into it.
    pub epoch: i16,
    /// Which transaction of its transactional id it is; 0: unknown.
    pub ordinal: i64,
}

/// An aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// Producer id.
    pub producer_id: i64,
    /// Offset of its first record.
    pub first_offset: i64,
    /// Offset of its marker.
    pub last_offset: i64,
}

/// An aborted transaction in the index, which is ordered by the offsets of the markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) txn: Aborted,
    /// Where the log was stable once this was decided: no later entry begins below, which is what
    /// ends a search.
    pub(super) stable: i64,
}

/// All transactions of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Transactions {
    open: BTreeMap<i64, OpenTxn>,
    /// First offsets of the open ones.
    open_from: BTreeMap<i64, i64>,
    /// First offset to marker offset, until the marker is durable.
    decided: BTreeMap<i64, i64>,
    aborted: VecDeque<IndexEntry>,
    /// Ordinals of transactions that have no batch here yet, by producer.
    announced: BTreeMap<i64, i64>,
}

impl Transactions {
    pub(super) fn open(&self, producer_id: i64) -> Option<OpenTxn> {
        self.open.get(&producer_id).copied()
    }

    pub(super) fn all_open(&self) -> impl ExactSizeIterator<Item = (i64, &OpenTxn)> {
        self.open
            .iter()
            .map(|(producer_id, open)| (*producer_id, open))
    }

    pub(super) fn index(&self) -> impl ExactSizeIterator<Item = &IndexEntry> {
        self.aborted.iter()
    }

    /// The first offset of the earliest transaction that is open or not durably decided.
    pub(super) fn first_undecided(&self) -> Option<i64> {
        let open = self.open_from.keys().next();
        let decided = self.decided.keys().next();
        open.into_iter().chain(decided).min().copied()
    }

    pub(super) fn set_ordinal(&mut self, producer_id: i64, ordinal: i64) {
        match self.open.get_mut(&producer_id) {
            Some(open) if open.ordinal == 0 || open.ordinal == ordinal => open.ordinal = ordinal,
            _ if ordinal == 0 => {
                self.announced.remove(&producer_id);
            }
            _ => {
                self.announced.insert(producer_id, ordinal);
            }
        }
    }

    /// Whether the next batch of the producer belongs to another transaction than the open one.
    pub(super) fn parted(&self, producer_id: i64) -> bool {
        // An ordinal stays announced beside an open transaction only if it is another.
        self.open.contains_key(&producer_id) && self.announced.contains_key(&producer_id)
    }

    /// A transactional batch landed at `base`.
    pub(super) fn continue_or_open(&mut self, producer_id: i64, epoch: i16, base: i64) {
        if let Some(open) = self.open.get_mut(&producer_id) {
            open.epoch = open.epoch.max(epoch);
            return;
        }
        let ordinal = self.announced.remove(&producer_id).unwrap_or(0);
        self.restore_open(
            producer_id,
            OpenTxn {
                first_offset: base,
                epoch,
                ordinal,
            },
        );
    }

    /// A marker landed at `marker`.
    pub(super) fn decide(&mut self, producer_id: i64, marker: i64, commit: bool) {
        let Some(open) = self.open.remove(&producer_id) else {
            return;
        };
        self.open_from.remove(&open.first_offset);
        self.decided.insert(open.first_offset, marker);
        if !commit {
            let txn = Aborted {
                producer_id,
                first_offset: open.first_offset,
                last_offset: marker,
            };
            let stable = self.open_from.keys().next().copied().unwrap_or(marker + 1);
            self.aborted.push_back(IndexEntry { txn, stable });
        }
    }

    /// A transaction that was announced and ended before it wrote anything here.
    pub(super) fn forget_announced(&mut self, producer_id: i64, ordinal: i64) {
        if self.announced.get(&producer_id) == Some(&ordinal) {
            self.announced.remove(&producer_id);
        }
    }

    pub(super) fn durable_to(&mut self, end: i64) {
        self.decided.retain(|_, marker| *marker >= end);
    }

    /// See [`super::PartitionLog::aborted`].
    pub(super) fn aborted(&self, from: i64, up_to: i64) -> Vec<Aborted> {
        let first = self
            .aborted
            .partition_point(|entry| entry.txn.last_offset < from);
        let mut found = Vec::new();
        for entry in self.aborted.range(first..) {
            if entry.txn.first_offset < up_to {
                found.push(entry.txn);
            }
            if entry.stable >= up_to {
                break;
            }
        }
        found.sort_unstable_by_key(|txn| txn.first_offset);
        found
    }

    /// Nobody reads below `start` any more.
    pub(super) fn trim(&mut self, start: i64) {
        let gone = self
            .aborted
            .partition_point(|entry| entry.txn.last_offset < start);
        self.aborted.drain(..gone);
    }

    /// For recovery: puts back what a checkpoint says.
    pub(super) fn restore_open(&mut self, producer_id: i64, open: OpenTxn) {
        self.open_from.insert(open.first_offset, producer_id);
        self.open.insert(producer_id, open);
    }

    /// For recovery: puts back what a checkpoint says, in the order of the index.
    pub(super) fn restore_aborted(&mut self, entry: IndexEntry) {
        self.aborted.push_back(entry);
    }
}
