//! DescribeGroups (key 15).

use ackord_proto::messages::describe_groups::{DescribedGroup, DescribedGroupMember};
use ackord_proto::str::Str;
use alloc::format;

use super::classic_group::{ClassicGroup, GroupState};

impl ClassicGroup {
    /// The group as DescribeGroups shows it. Only a stable group has a protocol in force and says
    /// what its members subscribe to.
    pub fn described(&self, id: &Str) -> DescribedGroup {
        let stable = self.state() == GroupState::Stable;
        let protocol = self.protocol.clone().filter(|_| stable);
        let protocol = protocol.unwrap_or_default();
        let members = self
            .members
            .iter()
            .map(|(member_id, member)| DescribedGroupMember {
                member_id: member_id.clone(),
                group_instance_id: member.instance_id.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                member_metadata: match stable {
                    true => member.metadata(&protocol),
                    false => Default::default(),
                },
                member_assignment: member.assignment.clone(),
                ..DescribedGroupMember::default()
            });
        DescribedGroup {
            group_id: id.clone(),
            group_state: Str::from(format!("{}", self.state())),
            protocol_type: Str::from(self.protocol_type()),
            members: members.collect(),
            protocol_data: protocol,
            ..DescribedGroup::default()
        }
    }
}
