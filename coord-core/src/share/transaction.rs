//! The end of a transaction at the share coordinator (KIP-1289).

use ackord_machine::{Body, Envelope, LogId, ResolveShareAcks, Role};

use super::coordinator::{ShareCoordinator, ShareReply};
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
    /// Ends what the marker's producer has pending. The live path and replay both come here; which
    /// marker may be written at all was decided before it was appended.
    pub fn replay_end_transaction_marker(&mut self, marker: EndMarker) {
        let producer = marker.producer;
        for key in self.by_producer.remove(&producer.id).unwrap_or_default() {
            let Some(state) = self.states.get_mut(&key) else {
                continue;
            };
            state.complete(producer.id, producer.epoch, marker.commit);
            if state
                .pending
                .iter()
                .any(|range| range.owner.producer_id == producer.id)
            {
                self.by_producer.entry(producer.id).or_default().insert(key);
            }
        }
    }

    /// Ends a transaction live: as in replay, and every leader that holds records for it is told as
    /// soon as the marker is durable. Stages of the transaction that are still under way come too
    /// late.
    pub fn complete_transaction(
        &mut self,
        marker: EndMarker,
        strict: bool,
        out: &mut Outbox<ShareReply>,
    ) {
        self.stages.cancel(marker.producer);
        let keys = self
            .by_producer
            .get(&marker.producer.id)
            .cloned()
            .unwrap_or_default();
        self.replay_end_transaction_marker(marker);
        for key in keys {
            let log = LogId {
                topic: key.topic,
                partition: key.partition,
            };
            out.send(Envelope {
                from: Role::Sgc(self.partition),
                to: Role::Leader(log),
                correlation: 0,
                body: Body::ResolveShareAcks(ResolveShareAcks {
                    group: key.group,
                    producer_id: marker.producer.id,
                    marker_epoch: marker.producer.epoch,
                    strict,
                    commit: marker.commit,
                }),
            });
        }
    }
}
