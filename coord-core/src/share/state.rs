//! What the share coordinator keeps of one share partition.

use alloc::vec::Vec;

use ackord_machine::{PendingAck, TxnOwner};
use ackord_proto::kip1289::ACKNOWLEDGE_ACCEPT;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::delivery_ranges::{Delivery, DeliveryRanges};

/// Delivery state of records that wait for their copies in the dead letter queue.
pub(super) const ARCHIVING: i8 = 3;

/// Names a share partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareKey {
    /// Share group.
    pub group: Str,
    /// Topic id.
    pub topic: Uuid,
    /// Partition of the topic.
    pub partition: i32,
}

/// The durable state of a share partition: a snapshot and the updates since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareState {
    /// Counts snapshots.
    pub snapshot_epoch: i32,
    /// Rises with each initialisation; fences older leaders.
    pub state_epoch: i32,
    /// Newest leader epoch seen.
    pub leader_epoch: i32,
    /// Share-partition start offset; -1 until the leader has chosen one.
    pub start_offset: i64,
    /// When the state was initialised, in milliseconds since the Unix epoch.
    pub create_timestamp: i64,
    /// What became of the offsets from the start offset on.
    pub deliveries: DeliveryRanges,
    /// Ranges that a transaction holds, in the order in which they were staged.
    pub pending: Vec<PendingAck>,
    /// When the last snapshot was written, in milliseconds since the Unix epoch.
    pub snapshot_timestamp: i64,
    /// Updates since the last snapshot; what a transaction stages counts, and so does its end.
    pub updates: usize,
    /// Where the last snapshot is in the log; -1 where that is not known.
    pub snapshot_offset: i64,
}

impl ShareState {
    /// As `InitializeShareGroupState` begins it.
    pub fn initial(state_epoch: i32, start_offset: i64, create_timestamp: i64) -> Self {
        ShareState {
            snapshot_epoch: 0,
            state_epoch,
            leader_epoch: 0,
            start_offset,
            create_timestamp,
            deliveries: DeliveryRanges::default(),
            pending: Vec::new(),
            snapshot_timestamp: create_timestamp,
            updates: 0,
            snapshot_offset: -1,
        }
    }

    /// Whether records wait for their copies in the dead letter queue.
    pub fn has_dead_letters(&self) -> bool {
        self.deliveries
            .iter()
            .any(|(_, _, delivery)| delivery.state == ARCHIVING)
    }

    /// Moves the start offset forward, never back, and past what is terminal.
    pub fn advance(&mut self, start_offset: i64) {
        self.start_offset = self.start_offset.max(start_offset);
        if self.start_offset < 0 {
            return;
        }
        self.deliveries.drop_below(self.start_offset);
        self.start_offset = self.deliveries.take_terminal_prefix(self.start_offset);
    }

    /// Adds staged ranges of one record, which are apart; one that is there already stays as it is.
    pub fn stage(&mut self, ranges: impl Iterator<Item = PendingAck>) {
        let twice = ackord_machine::planted!("row-31-applied-at-write-and-again");
        let mut new: Vec<PendingAck> = ranges.collect();
        // To sort costs more than to look at all of them a few times.
        let sorted = (new.len() > 8).then(|| self.pending_by_offset());
        let is_there = |range: &PendingAck| match &sorted {
            Some(sorted) => near(sorted, range).any(|own| own == range),
            None => self.pending.contains(range),
        };
        new.retain(|range| twice || !is_there(range));
        self.pending.append(&mut new);
    }

    /// What is pending in ascending order, each with the last offset of all up to it: those of
    /// different transactions may overlap.
    fn pending_by_offset(&self) -> Vec<(PendingAck, i64)> {
        let mut pending = self.pending.clone();
        pending.sort_by_key(|range| range.first_offset);
        let reaching = pending.into_iter().scan(i64::MIN, |reach, range| {
            *reach = range.last_offset.max(*reach);
            Some((range, *reach))
        });
        reaching.collect()
    }

    /// What of `held` is not pending.
    pub fn not_pending(&self, held: &[PendingAck]) -> Vec<PendingAck> {
        let pending = self.pending_by_offset();
        let missing = held.iter().flat_map(|range| {
            near(&pending, range).fold(alloc::vec![*range], |missing, stored| {
                let missing = missing.into_iter();
                missing.flat_map(|piece| without(piece, stored)).collect()
            })
        });
        missing.collect()
    }

    /// Whether nothing of a record that was delivered `count` times can come back any more.
    fn is_done(&self, offset: i64, count: i16) -> bool {
        let end = self.deliveries.at(offset);
        offset < self.start_offset
            || end.is_some_and(|end| {
                end.count >= count && (end.is_terminal() || end.state == ARCHIVING)
            })
    }

    /// Which of the records of `range` have ended in this state, and which are free: two lists.
    pub fn split_by_end(&self, range: &PendingAck) -> [Vec<PendingAck>; 2] {
        let mut lists = [Vec::new(), Vec::new()];
        let mut from = range.first_offset;
        while from <= range.last_offset {
            let done = self.is_done(from, range.delivery_count);
            let mut last = from;
            while last < range.last_offset && self.is_done(last + 1, range.delivery_count) == done {
                last += 1;
            }
            let part = PendingAck {
                first_offset: from,
                last_offset: last,
                ..*range
            };
            lists[usize::from(!done)].push(part);
            from = last + 1;
        }
        lists
    }

    /// Ends what `producer_id` staged under epochs up to `marker_epoch`; everything else stays.
    /// Returns what has ended.
    pub fn complete(
        &mut self,
        producer_id: i64,
        marker_epoch: i16,
        commit: bool,
    ) -> Vec<PendingAck> {
        let ends = |owner: TxnOwner| {
            let own = owner.producer_id == producer_id
                || ackord_machine::planted!("row-56-marker-ends-other-producers");
            own && owner.producer_epoch <= marker_epoch
        };
        let ended: Vec<PendingAck> = match self.pending.iter().all(|range| ends(range.owner)) {
            true => core::mem::take(&mut self.pending),
            false => self
                .pending
                .extract_if(.., |range| ends(range.owner))
                .collect(),
        };
        self.updates += usize::from(!ended.is_empty());
        for range in &ended {
            let state = if commit { committed_state(range) } else { 0 };
            let delivery = Delivery {
                count: range.delivery_count,
                state,
            };
            self.deliveries
                .merge(range.first_offset, range.last_offset, delivery);
        }
        self.advance(self.start_offset);
        ended
    }
}

/// What of `range` lies outside of `stored`, where both have one owner.
/// Those of `pending` that may have a record with `range` in common; see
/// [`pending_by_offset`](ShareState::pending_by_offset).
fn near<'p>(
    pending: &'p [(PendingAck, i64)],
    range: &PendingAck,
) -> impl Iterator<Item = &'p PendingAck> {
    let last = range.last_offset;
    let from = pending.partition_point(|(_, reach)| *reach < range.first_offset);
    let behind = pending.get(from..).unwrap_or_default().iter();
    behind
        .map(|(own, _)| own)
        .take_while(move |own| own.first_offset <= last)
}

fn without(range: PendingAck, stored: &PendingAck) -> impl Iterator<Item = PendingAck> {
    let apart = stored.last_offset < range.first_offset
        || range.last_offset < stored.first_offset
        || !stored.owner.is_same(range.owner);
    let pieces = if apart {
        [Some(range), None]
    } else {
        let before = PendingAck {
            last_offset: stored.first_offset - 1,
            ..range
        };
        let behind = PendingAck {
            first_offset: stored.last_offset.saturating_add(1),
            ..range
        };
        [
            Some(before).filter(|piece| piece.first_offset <= piece.last_offset),
            Some(behind).filter(|piece| piece.first_offset <= piece.last_offset),
        ]
    };
    pieces.into_iter().flatten()
}

/// Delivery state after commit: accept acknowledges; reject and gap archive, where a reject may have
/// to wait for its copy in the dead letter queue.
fn committed_state(range: &PendingAck) -> i8 {
    match range.acknowledge_type {
        ACKNOWLEDGE_ACCEPT => 2,
        _ if range.dead_letter => ARCHIVING,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(producer_id: i64, first_offset: i64, last_offset: i64) -> PendingAck {
        PendingAck {
            first_offset,
            last_offset,
            acknowledge_type: 1,
            delivery_count: 1,
            owner: TxnOwner {
                producer_id,
                producer_epoch: 0,
                ordinal: 1,
            },
            dead_letter: false,
        }
    }

    /// Against looking at every pair: 10,000 ranges on both sides, as a repeated stage has them,
    /// and a long one of another transaction over them.
    #[test]
    fn what_is_not_pending_is_found_among_many() {
        let mut state = ShareState::initial(0, 0, 0);
        let all: Vec<PendingAck> = (0..10_000).map(|at| range(1, 2 * at, 2 * at)).collect();
        let (known, new) = all.split_at(5_000);
        state.stage([range(2, 0, 30_000)].into_iter());
        state.stage(known.iter().rev().copied());
        assert_eq!(state.not_pending(&all), new);
        state.stage(all.iter().copied());
        assert_eq!(state.pending.len(), all.len() + 1);
        assert_eq!(state.not_pending(&all), []);
        let wide = range(1, 3, 7);
        let holes = [range(1, 3, 3), range(1, 5, 5), range(1, 7, 7)];
        assert_eq!(state.not_pending(&[wide]), holes);
    }
}
