//! ListGroups and DescribeGroups: which groups there are (KIP-518, KIP-848).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_groups::DescribedGroup;
use ackord_proto::messages::list_groups::ListedGroup;
use ackord_proto::messages::{
    DescribeGroupsRequest, DescribeGroupsResponse, ListGroupsRequest, ListGroupsResponse,
};
use ackord_proto::str::Str;
use alloc::format;
use alloc::vec::Vec;

use super::super::Broker;

/// Type and protocol of a share group.
const SHARE: &str = "share";

/// State of a group that is not there, for clients below the version that has a code for it.
const DEAD: &str = "Dead";

/// From here on a group that is not there is GROUP_ID_NOT_FOUND (KIP-1043).
const FIRST_WITH_NOT_FOUND: i16 = 6;

impl Broker {
    pub(in crate::broker) fn list_groups(&mut self, slot: u64, request: ListGroupsRequest) {
        let wanted = |filter: &[Str], own: &str| {
            filter.is_empty() || filter.iter().any(|word| word.eq_ignore_ascii_case(own))
        };
        let groups = self
            .groups
            .values()
            .filter(|group| {
                wanted(&request.types_filter, SHARE)
                    && wanted(&request.states_filter, group.state())
            })
            .map(|group| ListedGroup {
                group_id: group.id().clone(),
                protocol_type: Str::from(SHARE),
                group_state: Str::from(group.state()),
                group_type: Str::from(SHARE),
                ..Default::default()
            });
        let response = ListGroupsResponse {
            groups: groups.collect(),
            ..Default::default()
        };
        self.respond(slot, response, None);
    }

    /// DescribeGroups is for classic groups.
    pub(in crate::broker) fn describe_groups(&mut self, slot: u64, request: DescribeGroupsRequest) {
        let tells = self.version(slot) >= FIRST_WITH_NOT_FOUND;
        let groups: Vec<DescribedGroup> = request
            .groups
            .into_iter()
            .map(|group_id| {
                let why = match self.groups.contains_key(&group_id) {
                    true => format!("Group {group_id} is not a classic group."),
                    false => format!("Group {group_id} not found."),
                };
                DescribedGroup {
                    error_code: match tells {
                        true => ErrorCode::GROUP_ID_NOT_FOUND,
                        false => ErrorCode::NONE,
                    },
                    error_message: tells.then(|| Str::from(why)),
                    group_id,
                    group_state: Str::from(DEAD),
                    ..Default::default()
                }
            })
            .collect();
        let response = DescribeGroupsResponse {
            groups,
            ..Default::default()
        };
        self.respond(slot, response, None);
    }
}
