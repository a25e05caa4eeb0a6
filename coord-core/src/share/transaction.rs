//! The end of a transaction at the share coordinator (KIP-1289).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{Now, PendingAck, ResolveShareAcks};

use super::coordinator::{ShareCoordinator, ShareReply, next_snapshot};
use super::requests::Asked;
use super::state::{ShareKey, ShareState};
use crate::outbox::{Outbox, ProducerEpoch};

/// A transaction marker that the log of the share coordinator has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndMarker {
    /// Producer and epoch of the marker.
    pub producer: ProducerEpoch,
    /// Commit or abort.
    pub commit: bool,
}

impl ShareCoordinator {
    /// Ends what the marker's producer has pending, and returns it. The live path and replay both
    /// come here; which marker may be written at all was decided before it was appended.
    pub fn replay_end_transaction_marker(
        &mut self,
        marker: EndMarker,
    ) -> BTreeMap<ShareKey, Vec<PendingAck>> {
        let producer = marker.producer;
        let mut all_ended = BTreeMap::new();
        for key in self.by_producer.remove(&producer.id).unwrap_or_default() {
            let Some(state) = self.states.get_mut(&key) else {
                continue;
            };
            let ended = state.complete(producer.id, producer.epoch, marker.commit);
            if state
                .pending
                .iter()
                .any(|range| range.owner.producer_id == producer.id)
            {
                let keys = self.by_producer.entry(producer.id).or_default();
                keys.insert(key.clone());
            }
            all_ended.insert(key, ended);
        }
        all_ended
    }

    /// Ends a transaction live: as in replay, and every leader that holds records for it is told as
    /// soon as the marker is durable. Stages of the transaction that are still under way come too
    /// late; what a leader may hold for them goes back to its members with the same message, since
    /// it must not part what was stored before from the outcome. `ordinal` is the marker's: a copy of
    /// the marker before (transaction version 1) is not about them.
    pub fn complete_transaction(
        &mut self,
        now: Now,
        marker: EndMarker,
        ordinal: i64,
        out: &mut Outbox<ShareReply>,
    ) {
        let mut returned = self.cancel_stages(marker.producer, ordinal, out);
        let mut ends = self.replay_end_transaction_marker(marker);
        for key in returned.keys() {
            ends.entry(key.clone()).or_default();
        }
        for (key, ended) in ends {
            self.snapshot_full(now, &key, out);
            let resolve = ResolveShareAcks {
                group: key.group.clone(),
                ended,
                commit: marker.commit,
                returned: returned.remove(&key).unwrap_or_default(),
                in_order: false,
            };
            self.ask(now, Asked::Resolve { key, resolve }, out);
        }
    }

    /// What is only ever staged has its snapshots here, where nothing but its own transaction waits
    /// for the append.
    fn snapshot_full(&mut self, now: Now, key: &ShareKey, out: &mut Outbox<ShareReply>) {
        let most = self.config.updates_per_snapshot.max(1);
        let full = |state: &&ShareState| state.updates >= most;
        if let Some(state) = self.states.get(key).filter(full) {
            let record = next_snapshot(key, state, now);
            self.append(alloc::vec![record], None, out);
        }
    }
}
