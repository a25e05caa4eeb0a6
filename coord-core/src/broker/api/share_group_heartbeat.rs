//! ShareGroupHeartbeat (key 76).

use ackord_machine::LogId;
use ackord_proto::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackord_proto::str::Str;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::gather::Gather;
use super::topic_creation::Refusal;
use crate::group::{ClientInfo, ShareGroup};
use crate::outbox::Ticket;

impl Broker {
    pub(super) fn share_group_heartbeat(&mut self, slot: u64, request: ShareGroupHeartbeatRequest) {
        self.ensure_share_state_topic();
        let id = request.group_id.clone();
        let partition = match self.share_group_coordinator(&id) {
            Ok(partition) => partition,
            Err((error_code, why)) => {
                let response = ShareGroupHeartbeatResponse {
                    error_code,
                    error_message: Some(Str::from(why)),
                    ..Default::default()
                };
                return self.respond(slot, response, None);
            }
        };
        let Some(meta) = self.connections.request(slot) else {
            return;
        };
        let client = ClientInfo {
            client_id: meta.client_id.clone(),
            host: Str::from(self.connections.host(meta.conn)),
        };
        let existed = self.groups.contains_key(&id);
        self.ensure_group(&id);
        self.gathers
            .insert(slot, Gather::ShareGroupHeartbeat(partition));
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
        let unused = |group: &ShareGroup| group.is_empty() && !group.is_stored();
        if !existed && self.groups.get(&id).is_some_and(unused) {
            self.groups.remove(&id);
            self.arm_group(&id);
        }
    }

    /// The coordinator of a group that is a share group, or may become one.
    pub(super) fn share_group_coordinator(&mut self, id: &str) -> Result<i32, Refusal> {
        let loading = |code| (code, "The coordinator reads its log.".to_string());
        let partition = self.coordinator_of_group(id).map_err(loading)?;
        let other_type = |code| (code, format!("Group {id} is not a share group."));
        self.check_not_classic(id).map_err(other_type)?;
        Ok(partition)
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
        let session = self.share_sessions.close(group, member);
        let logs: Vec<LogId> = self
            .leaders
            .iter()
            .filter(|(_, leader)| leader.share_partition(group).is_some())
            .map(|(log, _)| *log)
            .collect();
        for log in logs {
            self.release_member(log, group, member);
        }
        for log in session.into_iter().flat_map(|session| session.used) {
            self.abandon_unused(log, group);
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
