//! ShareGroupHeartbeat (key 76).

use ackord_machine::LogId;
use ackord_proto::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackord_proto::str::Str;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::gather::Gather;
use crate::group::{ClientInfo, ShareGroup};
use crate::outbox::Ticket;

impl Broker {
    pub(super) fn share_group_heartbeat(&mut self, slot: u64, request: ShareGroupHeartbeatRequest) {
        self.ensure_share_state_topic();
        let id = request.group_id.clone();
        if let Err(error_code) = self.check_not_classic(&id) {
            let response = ShareGroupHeartbeatResponse {
                error_code,
                error_message: Some(Str::from("the group is not a share group")),
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let Some(meta) = self.connections.request(slot) else {
            return;
        };
        let client = ClientInfo {
            client_id: meta.client_id.clone(),
            host: Str::from(self.connections.host(meta.conn)),
        };
        let existed = self.groups.contains_key(&id);
        self.ensure_group(&id);
        self.gathers.insert(slot, Gather::Heartbeat);
        let gate = self.cluster_gate();
        self.with_group(&id, gate, |group, now, metadata, out| {
            group.heartbeat(
                now,
                Ticket { slot, part: 0 },
                &request,
                client,
                metadata,
                out,
            );
        });
        // A refused first heartbeat leaves no group behind.
        if !existed && self.groups.get(&id).is_some_and(ShareGroup::is_empty) {
            self.groups.remove(&id);
            self.arm_group(&id);
        }
    }

    /// Makes a group without members where there is none of this id.
    pub(in crate::broker) fn ensure_group(&mut self, id: &Str) {
        if !self.groups.contains_key(id) {
            let config = self.group_config(id);
            self.groups
                .insert(id.clone(), ShareGroup::new(id.clone(), config));
        }
    }

    pub(in crate::broker) fn group_config(&mut self, group: &str) -> crate::group::GroupConfig {
        let state_partitions = self.share_state_partitions();
        crate::group::GroupConfig {
            state_partitions,
            ..self.share_settings(group).group_config()
        }
    }

    /// A member left or its session timed out: what it holds is free.
    pub(in crate::broker) fn member_departed(&mut self, group: &Str, member: &Str) {
        self.share_sessions.close(group, member);
        let logs: Vec<LogId> = self
            .leaders
            .iter()
            .filter(|(_, leader)| leader.share_partition(group).is_some())
            .map(|(log, _)| *log)
            .collect();
        for log in logs {
            self.release_member(log, group, member);
        }
    }

    /// Frees what a member holds of one partition.
    pub(in crate::broker) fn release_member(&mut self, log: LogId, group: &Str, member: &Str) {
        let mut available = false;
        self.with_leader(log, group, None, |leader, ctx, out| {
            available = leader.release_member(ctx, group, member, out);
        });
        if available {
            self.wake_share_fetches(log, group);
        }
    }
}
