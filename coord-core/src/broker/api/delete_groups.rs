//! DeleteGroups: a group without members and everything it has acknowledged (KIP-229, KIP-932).

use ackord_machine::OpId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::delete_groups::DeletableGroupResult;
use ackord_proto::messages::{DeleteGroupsRequest, DeleteGroupsResponse};
use ackord_proto::str::Str;
use alloc::collections::BTreeSet;
use alloc::format;

use super::super::Broker;
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
            if let Err((code, why)) = self.delete_group(&result.group_id, &mut gate) {
                result.error_code = code;
                result.error_message = Some(Str::from(why));
            }
            response.results.push(result);
        }
        self.respond(slot, response, gate);
    }

    fn delete_group(&mut self, group: &Str, gate: &mut Option<OpId>) -> Result<(), Refusal> {
        if !self.groups.contains_key(group) {
            let why = format!("Group {group} not found.");
            return Err((ErrorCode::GROUP_ID_NOT_FOUND, why));
        }
        self.check_unused(group)?;
        self.check_sgcs()?;
        let keys = self.share_keys(group);
        self.delete_share_keys(&keys, gate)?;
        self.remove_group(group, gate);
        Ok(())
    }

    fn remove_group(&mut self, group: &Str, _gate: &mut Option<OpId>) {
        self.groups.remove(group);
        self.arm_group(group);
    }
}
