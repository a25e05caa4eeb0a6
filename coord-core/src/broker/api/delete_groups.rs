//! DeleteGroups: a group without members, its offsets and everything it has acknowledged (KIP-229,
//! KIP-932).

use ackord_machine::OpId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::delete_groups::DeletableGroupResult;
use ackord_proto::messages::{DeleteGroupsRequest, DeleteGroupsResponse};
use ackord_proto::str::Str;
use alloc::collections::BTreeSet;
use alloc::format;

use super::super::Broker;
use super::super::access::told;
use super::super::journal::later;
use super::topic_creation::Refusal;
use crate::group::partition_for_id;

impl Broker {
    pub(in crate::broker) fn delete_groups(&mut self, slot: u64, request: DeleteGroupsRequest) {
        let mut gate = None;
        let mut seen = BTreeSet::new();
        let mut response = DeleteGroupsResponse::default();
        for group_id in request.groups_names {
            if !seen.insert(group_id.clone()) {
                continue;
            }
            let mut result = DeletableGroupResult {
                group_id,
                ..Default::default()
            };
            let allowed = self.check_group(slot, &result.group_id).map_err(told);
            let deleted =
                allowed.and_then(|()| self.delete_group(slot, &result.group_id, &mut gate));
            if let Err((code, why)) = deleted {
                result.error_code = code;
                result.error_message = Some(Str::from(why));
            }
            response.results.push(result);
        }
        self.respond(slot, response, gate);
    }

    fn delete_group(
        &mut self,
        slot: u64,
        group: &Str,
        gate: &mut Option<OpId>,
    ) -> Result<(), Refusal> {
        if !self.groups.contains_key(group) {
            return self.delete_classic_group(group, gate);
        }
        self.check_unused(slot, group)?;
        self.check_sgcs()?;
        let keys = self.share_keys(group);
        self.delete_share_keys(&keys, gate)?;
        self.remove_group(group, gate);
        Ok(())
    }

    fn remove_group(&mut self, group: &Str, gate: &mut Option<OpId>) {
        self.with_group(group, None, |group, _, _, _| group.delete());
        self.groups.remove(group);
        self.share_counters.forget_group(group);
        for leader in self.leaders.values_mut() {
            leader.forget_figures(group);
        }
        self.arm_group(group);
        let partition = partition_for_id(group, self.offsets_partitions());
        *gate = later(*gate, self.gc_gate(partition));
    }

    fn delete_classic_group(
        &mut self,
        group: &Str,
        gate: &mut Option<OpId>,
    ) -> Result<(), Refusal> {
        let refusal = |code| {
            let why = match code {
                ErrorCode::NON_EMPTY_GROUP => format!("Group {group} is not empty."),
                ErrorCode::GROUP_ID_NOT_FOUND => format!("Group {group} not found."),
                _ => format!("The coordinator of group {group} reads its log."),
            };
            (code, why)
        };
        let partition = self.existing_coordinator(group).map_err(refusal)?;
        let not_found = ErrorCode::GROUP_ID_NOT_FOUND;
        let partition = partition.ok_or_else(|| refusal(not_found))?;
        let deleted = self.with_gc(partition, |gc, _, out| gc.delete_group(group, out));
        deleted.unwrap_or(Err(not_found)).map_err(refusal)?;
        *gate = later(*gate, self.gc_gate(partition));
        Ok(())
    }
}
