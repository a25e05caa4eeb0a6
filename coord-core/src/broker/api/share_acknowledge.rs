//! ShareAcknowledge (key 79).

use alloc::vec::Vec;

use ackord_machine::{LogId, OpId};
use ackord_proto::api::ApiKey;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::share_acknowledge::{PartitionData, ShareAcknowledgeTopicResponse};
use ackord_proto::messages::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
use ackord_proto::str::Str;

use super::super::Broker;
use super::super::gather::{Gather, Missing};
use super::super::share_counters::acknowledged;
use super::super::share_sessions::FINAL_EPOCH;
use super::share_common::{
    PartitionAcks, acks_of, by_topic, check_types, group_and_member, of_each_partition,
};
use crate::outbox::Ticket;

/// The partitions of a request with what became of them.
#[derive(Debug)]
pub(in crate::broker) struct ShareAcknowledgeGather {
    group: Str,
    member: Str,
    /// The session ends with this request.
    last: bool,
    results: Vec<(LogId, ErrorCode, Option<Str>)>,
    missing: Missing,
}

impl ShareAcknowledgeGather {
    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    pub(in crate::broker) fn arrived(
        &mut self,
        part: u32,
        code: ErrorCode,
        message: Option<Str>,
        gate: Option<OpId>,
    ) {
        self.missing.arrived(gate);
        if let Some(result) = self.results.get_mut(part as usize) {
            (result.1, result.2) = (code, message);
        }
    }
}

impl Broker {
    pub(super) fn share_acknowledge(&mut self, slot: u64, request: ShareAcknowledgeRequest) {
        let version = self.version(slot);
        let refuse = |broker: &mut Broker, error_code| {
            let response = ShareAcknowledgeResponse {
                error_code,
                ..Default::default()
            };
            broker.respond(slot, response, None);
        };
        let epoch = request.share_session_epoch;
        let names = (request.group_id.as_ref(), request.member_id.as_ref());
        // A session begins with a fetch only.
        if let ((Some(_), Some(_)), 0) = (names, epoch) {
            return refuse(self, ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        let (group, member) = match group_and_member(names.0, names.1) {
            Ok(named) => named,
            Err(code) => return refuse(self, code),
        };
        let proceeds = self.share_sessions.proceed(&group, &member, epoch);
        let vanish = proceeds == Err(ErrorCode::SHARE_SESSION_NOT_FOUND)
            && ackord_machine::planted!("row-78-acks-without-a-session-vanish");
        if let Err(code) = proceeds.as_ref().map_err(|code| *code)
            && !vanish
        {
            return refuse(self, code);
        }
        let acks = of_each_partition(acks_of!(request.topics));
        let mut gather = ShareAcknowledgeGather {
            group: group.clone(),
            member: member.clone(),
            last: epoch == FINAL_EPOCH,
            results: acks
                .iter()
                .map(|acks| (acks.id, ErrorCode::NONE, None))
                .collect(),
            missing: Missing::default(),
        };
        // One more than there are, so that no answer leaves before all were asked.
        (0..=acks.len()).for_each(|_| gather.missing.one_more());
        self.gathers.insert(slot, Gather::ShareAcknowledge(gather));
        for (part, acks) in acks.iter().enumerate() {
            let ticket = Ticket {
                slot,
                part: u32::try_from(part).unwrap_or(u32::MAX),
            };
            let types = check_types(&acks.ranges, version, request.is_renew_ack);
            if vanish {
                let reply = crate::leader::LeaderReply::Acknowledged {
                    code: ErrorCode::NONE,
                    message: None,
                };
                self.leader_reply(ticket, reply, None);
                continue;
            }
            self.acknowledge(ticket, &group, &member, acks, types);
        }
        if let Some(Gather::ShareAcknowledge(mut gather)) = self.gathers.remove(&slot) {
            let done = gather.results.iter();
            let done = done.filter(|(_, code, _)| *code == ErrorCode::NONE);
            let gate = self.share_state_gate(&group, done.map(|(id, ..)| *id));
            gather.missing.arrived(gate);
            self.share_acknowledge_progress(slot, gather);
        }
    }

    /// Acknowledges one partition's records for a ShareAcknowledge or ShareFetch.
    pub(super) fn acknowledge(
        &mut self,
        ticket: Ticket,
        group: &Str,
        member: &Str,
        acks: &PartitionAcks,
        types: Result<(), ErrorCode>,
    ) {
        let allowed = self.check_topic_id(ticket.slot, acks.id.topic);
        let checked = allowed.and_then(|()| self.check_share_partition(acks.id));
        if let Err(code) = checked.and(types) {
            let reply = crate::leader::LeaderReply::Acknowledged {
                code,
                message: None,
            };
            return self.leader_reply(ticket, reply, None);
        }
        let (mut available, mut met) = (false, None);
        self.with_leader(acks.id, group, None, |leader, ctx, out| {
            let before = leader.share_partition(group).map(acknowledged);
            available = leader.acknowledge(ctx, ticket, group, member, &acks.ranges, out);
            met = before.zip(leader.share_partition(group).map(acknowledged));
        });
        if let Some((before, after)) = met {
            self.share_counters.acknowledged(before, after);
        }
        if ackord_machine::planted!("row-20-riding-acks-wake-nobody") {
            let meta = self.connections.request(ticket.slot);
            available &= meta.is_some_and(|meta| meta.api == ApiKey::ShareAcknowledge);
        }
        if available {
            self.wake_share_fetches(acks.id, group);
        }
    }

    /// Answers once every partition has its outcome.
    pub(in crate::broker) fn share_acknowledge_progress(
        &mut self,
        slot: u64,
        gather: ShareAcknowledgeGather,
    ) {
        if !gather.missing.is_complete() {
            self.gathers.insert(slot, Gather::ShareAcknowledge(gather));
            return;
        }
        if gather.last
            && let Some(session) = self.share_sessions.close(&gather.group, &gather.member)
            && !ackord_machine::planted!("row-74-close-keeps-records")
        {
            self.release_session(&session);
        }
        for (id, code, _) in &gather.results {
            let failed = *code != ErrorCode::NONE;
            self.share_counters.acknowledgement(id.topic, failed);
        }
        let lock_ms = self.share_settings(&gather.group).record_lock_ms;
        let results = gather
            .results
            .into_iter()
            .map(|(id, error_code, error_message)| {
                let data = PartitionData {
                    partition_index: id.partition,
                    error_code,
                    error_message,
                    ..Default::default()
                };
                (id.topic, data)
            });
        let topics = by_topic(results.collect());
        let responses =
            topics
                .into_iter()
                .map(|(topic_id, partitions)| ShareAcknowledgeTopicResponse {
                    topic_id,
                    partitions,
                    ..Default::default()
                });
        let response = ShareAcknowledgeResponse {
            acquisition_lock_timeout_ms: lock_ms,
            responses: responses.collect(),
            ..Default::default()
        };
        self.respond_whole(slot, response, gather.missing);
    }
}
