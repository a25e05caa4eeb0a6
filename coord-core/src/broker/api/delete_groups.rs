//! DeleteGroups: a group without members, and its offsets (KIP-229).

use ackord_machine::OpId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::delete_groups::DeletableGroupResult;
use ackord_proto::messages::{DeleteGroupsRequest, DeleteGroupsResponse};
use ackord_proto::str::Str;
use alloc::collections::BTreeSet;
use alloc::format;

use super::super::Broker;
use super::super::journal::later;
use super::topic_creation::Refusal;

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
            if let Err((code, why)) = self.delete_classic_group(&result.group_id, &mut gate) {
                result.error_code = code;
                result.error_message = Some(Str::from(why));
            }
            response.results.push(result);
        }
        self.respond(slot, response, gate);
    }

    /// Deletes a classic group.
    pub(super) fn delete_classic_group(
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
