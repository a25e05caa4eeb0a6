//! DescribePendingShareAcks (key 12892): what transactions hold in share groups, and whose they are.
//!
//! Kafka's own answers have no place for it: DescribeTransactions ends at partitions,
//! ShareGroupDescribe at members. A request rather than a page of `--admin`, so that the commands
//! work against every broker that a client can reach.

use ackord_machine::{LogId, PendingAck};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_pending_share_acks::{PendingShareAck, RefusedShareAck};
use ackord_proto::messages::{DescribePendingShareAcksRequest, DescribePendingShareAcksResponse};
use ackord_proto::str::Str;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::later;
use crate::authorizer::ResourceType;
use crate::metadata::SHARE_STATE_TOPIC;
use crate::share::ShareKey;

impl Broker {
    pub(in crate::broker) fn describe_pending_share_acks(
        &mut self,
        slot: u64,
        request: DescribePendingShareAcksRequest,
    ) {
        let loading = |log: &LogId| self.tc_of(*log).is_some() || self.sgc_of(*log).is_some();
        if self.frozen.iter().any(loading) {
            let response = DescribePendingShareAcksResponse {
                error_code: ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let mut gate = self.cluster_gate();
        let mut pending = Vec::new();
        for (partition, sgc) in &self.sgcs {
            let log = self.metadata.log(SHARE_STATE_TOPIC, *partition);
            gate = later(gate, log.and_then(|log| self.journal.newest(log)));
            for (key, state) in sgc.states().filter(|(_, state)| !state.pending.is_empty()) {
                let wanted = request.group_id.as_ref().is_none_or(|id| *id == key.group);
                let ranges = state.pending.iter().filter(|_| wanted);
                pending.extend(ranges.map(|range| self.pending_ack(key, range)));
            }
        }
        let wanted = request.transactional_id;
        let hidden = |id: &Str| !self.is_shown(slot, ResourceType::TransactionalId, id);
        // Not even by asking whether it is the one.
        let hidden = wanted.as_ref().is_some_and(hidden);
        pending.retain(|own| !hidden && (wanted.is_none() || own.transactional_id == wanted));
        pending.sort_by(|a, b| place(a).cmp(&place(b)));
        let wanted = wanted.filter(|_| !hidden);
        let refusal = wanted.and_then(|id| self.last_ack_refusal(&id));
        let refused = refusal.map(|last| RefusedShareAck {
            group_id: last.group.clone(),
            reason: Str::from(last.reason.as_str()),
            refused_at_ms: last.at.as_millis(),
            ..Default::default()
        });
        let response = DescribePendingShareAcksResponse {
            pending,
            refused: refused.into_iter().collect(),
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn pending_ack(&self, key: &ShareKey, range: &PendingAck) -> PendingShareAck {
        let owner = range.owner;
        let mut coordinators = self.tcs.values();
        let transaction = coordinators.find_map(|tc| tc.transaction_of(owner.producer_id));
        let now_ms = self.now.wall.as_millis();
        PendingShareAck {
            transactional_id: transaction.map(|own| Str::from(own.transactional_id)),
            producer_id: owner.producer_id,
            producer_epoch: owner.producer_epoch,
            group_id: key.group.clone(),
            topic_id: key.topic,
            topic_name: (self.metadata.topic_by_id(key.topic)).map(|topic| topic.name.clone()),
            partition_index: key.partition,
            first_offset: range.first_offset,
            last_offset: range.last_offset,
            acknowledge_type: range.acknowledge_type,
            delivery_count: range.delivery_count,
            member_id: self.member_of(key, range),
            transaction_age_ms: transaction
                .map_or(-1, |own| now_ms.saturating_sub(own.start_ms).max(0)),
            ..Default::default()
        }
    }

    /// Who staged a range, as far as the leader of the partition knows.
    fn member_of(&self, key: &ShareKey, range: &PendingAck) -> Option<Str> {
        let leader = self.leaders.get(&LogId {
            topic: key.topic,
            partition: key.partition,
        })?;
        let mut ranges = leader.share_partition(&key.group)?.ranges();
        let held = ranges.find(|own| {
            own.owner == Some(range.owner)
                && own.first <= range.last_offset
                && own.last >= range.first_offset
        })?;
        held.member.cloned()
    }
}

fn place(own: &PendingShareAck) -> (&Str, Option<&Str>, i32) {
    (&own.group_id, own.topic_name.as_ref(), own.partition_index)
}
