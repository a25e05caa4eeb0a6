//! From a decision to an outcome: telling every participant, until each has answered.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, MonoTime, Now, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerResult, WritableTxnMarkerTopic,
};
use ackord_proto::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use ackord_proto::str::Str;

use super::coordinator::{TimerKey, TxnCoordinator, TxnCtx, TxnReply};
use super::end_txn::success;
use super::entry::Entry;
use crate::outbox::{Counted, Measured, Outbox, Ticket};

/// A prepared transaction on its way to complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    /// Topic and partition of each marker without an answer, by correlation.
    markers: BTreeMap<u64, (Str, i32)>,
    /// EndTxn requests to answer at the end.
    waiters: Vec<Ticket>,
    /// Milliseconds until the markers are sent again.
    wait_ms: i64,
    /// When share acknowledgements were decided on; unknown after a restart.
    decided_at: Option<MonoTime>,
}

impl TxnCoordinator {
    /// Stores a decision and tells the participants. With none, it is complete at once.
    pub(super) fn prepare(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        id: &Str,
        prepared: Entry,
        waiter: Option<Ticket>,
        out: &mut Outbox<TxnReply>,
    ) -> Result<(), ErrorCode> {
        let mut waiter = waiter;
        if ackord_machine::planted!("row-46-end-answered-before-the-markers")
            && let Ok(entry) = prepared.completed(ctx.now)
            && let Some(ticket) = waiter.take()
        {
            out.reply(ticket, success(&entry));
        }
        let with_acks = prepared.has_share_acks();
        let commits = prepared.state.outcome() == Some(true);
        self.store(id, prepared, out)?;
        self.timers.cancel(&TimerKey::Timeout(id.clone()));
        self.offset_groups.remove(id);
        let decided_at = ctx.now.mono;
        if with_acks {
            out.measure(Measured::SharePrepare, decided_at);
            if !commits {
                out.count(Counted::ShareAbort);
            }
        }
        // No marker may be durable without the decision.
        out.barrier();
        self.tell_all(ctx, id, waiter, with_acks.then_some(decided_at), out);
        Ok(())
    }

    /// Begins to tell the participants of a stored decision.
    pub(super) fn tell_all(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        id: &Str,
        waiter: Option<Ticket>,
        decided_at: Option<MonoTime>,
        out: &mut Outbox<TxnReply>,
    ) {
        let Some(entry) = self.entry(id) else { return };
        let mut ending = Ending {
            waiters: waiter.into_iter().collect(),
            wait_ms: self.config.marker_retry_ms,
            decided_at,
            ..Default::default()
        };
        // Made from the ordinal, so that an answer to an earlier transaction of this producer, even
        // from before a restart, matches nothing.
        let mut correlation = u64::try_from(entry.start_ms).unwrap_or_default() << 20;
        let only_acks = entry.partitions.len() == 1 && entry.has_share_acks();
        let nothing = only_acks && ackord_machine::planted!("row-49-only-acks-is-nothing");
        for (topic, indexes) in entry.partitions.iter().filter(|_| !nothing) {
            for partition in indexes {
                ending
                    .markers
                    .insert(correlation, (topic.clone(), *partition));
                correlation = correlation.wrapping_add(1);
            }
        }
        self.endings.insert(id.clone(), ending);
        self.send_markers(ctx, id, out);
    }

    /// Sends, or sends again, every marker without an answer.
    pub(super) fn send_markers(
        &mut self,
        ctx: &mut TxnCtx<'_>,
        id: &Str,
        out: &mut Outbox<TxnReply>,
    ) {
        let Some(entry) = self.entry(id).cloned() else {
            return;
        };
        let Some(ending) = self.endings.get_mut(id) else {
            return;
        };
        let role = |topic: &Str, partition| ctx.participants.role(topic, partition);
        let all_ready = ending
            .markers
            .values()
            .map(|(topic, partition)| role(topic, *partition))
            .all(|role| ctx.participants.is_ready(role.as_ref()))
            || ackord_machine::planted!("row-45-refused-marker-counts-as-written");
        ending.markers.retain(|correlation, (topic, partition)| {
            if !all_ready {
                return true;
            }
            let Some(to) = role(topic, *partition) else {
                return false;
            };
            out.send_chained(Envelope {
                from: Role::Tc(self.partition),
                to,
                correlation: *correlation,
                body: marker(&entry, topic.clone(), *partition),
            });
            true
        });
        if ending.markers.is_empty() {
            return self.complete(ctx.now, id, out);
        }
        if ackord_machine::planted!("row-47-marker-not-repeated") {
            return;
        }
        let wait_ms = ending.wait_ms.max(1);
        ending.wait_ms = wait_ms
            .saturating_mul(2)
            .min(self.config.marker_retry_max_ms);
        self.timers.arm(
            TimerKey::Markers(id.clone()),
            ctx.now.mono.plus_millis(wait_ms),
        );
    }

    /// A participant answered. What it could not do stays without an answer and is sent again.
    pub(super) fn markers_answered(
        &mut self,
        now: Now,
        correlation: u64,
        response: &WriteTxnMarkersResponse,
        out: &mut Outbox<TxnReply>,
    ) {
        for result in &response.markers {
            let Some(id) = self.id_of_producer(result.producer_id).cloned() else {
                continue;
            };
            let Some(ending) = self.endings.get_mut(&id) else {
                continue;
            };
            let told = ending
                .markers
                .get(&correlation)
                .is_some_and(|(topic, partition)| is_told(result, topic, *partition));
            if told {
                ending.markers.remove(&correlation);
                if ending.markers.is_empty() {
                    self.complete(now, &id, out);
                }
            }
        }
    }

    /// Has the request answered when the outcome is complete.
    pub(super) fn await_ending(&mut self, id: &Str, ticket: Ticket) {
        self.endings
            .entry(id.clone())
            .or_default()
            .waiters
            .push(ticket);
    }

    fn complete(&mut self, now: Now, id: &Str, out: &mut Outbox<TxnReply>) {
        let completed = self.entry(id).and_then(|entry| entry.completed(now).ok());
        let Some(completed) = completed else { return };
        let reply = success(&completed);
        let commits = completed.state.outcome() == Some(true);
        // Every part of it was stored before, so it can be stored again.
        if self.store(id, completed, out).is_err() {
            return;
        }
        self.timers.cancel(&TimerKey::Markers(id.clone()));
        let ending = self.endings.remove(id).unwrap_or_default();
        if let Some(decided_at) = ending.decided_at.filter(|_| commits) {
            out.measure(Measured::ShareCommit, decided_at);
        }
        for ticket in ending.waiters {
            out.reply(ticket, reply.clone());
        }
    }
}

fn marker(entry: &Entry, topic: Str, partition: i32) -> Body {
    let topic = WritableTxnMarkerTopic {
        name: topic,
        partition_indexes: vec![partition],
        ..Default::default()
    };
    let marker = WritableTxnMarker {
        producer_id: entry.producer_id,
        producer_epoch: entry.producer_epoch,
        transaction_result: entry.state.outcome() == Some(true),
        topics: vec![topic],
        coordinator_epoch: 0,
        transaction_version: i8::try_from(entry.client_version).unwrap_or_default(),
        ..Default::default()
    };
    Body::WriteTxnMarkers {
        request: WriteTxnMarkersRequest {
            markers: vec![marker],
            ..Default::default()
        },
        ordinal: entry.start_ms,
    }
}

/// The answer says that the partition needs no marker any more: it has it, or is gone.
fn is_told(result: &WritableTxnMarkerResult, topic: &Str, partition: i32) -> bool {
    result
        .topics
        .iter()
        .filter(|told| told.name == *topic)
        .flat_map(|told| &told.partitions)
        .any(|told| {
            let settled = [
                ErrorCode::NONE,
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                ErrorCode::UNKNOWN_TOPIC_ID,
            ];
            let refused = told.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER
                && ackord_machine::planted!("row-45-refused-marker-counts-as-written");
            let settled = settled.contains(&told.error_code) || refused;
            told.partition_index == partition && settled
        })
}
