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
use super::super::journal::later;
use super::metadata::operations;
use super::once::once;

/// Type and protocol of a share group.
const SHARE: &str = "share";
/// Type and protocol of a group of the consumer protocol.
const CONSUMER: &str = "consumer";
/// Type of a classic group.
const CLASSIC: &str = "classic";

/// State of a group that is not there, for clients below the version that has a code for it.
const DEAD: &str = "Dead";

/// From here on a group that is not there is GROUP_ID_NOT_FOUND (KIP-1043).
const FIRST_WITH_NOT_FOUND: i16 = 6;

/// Operations that apply to a group, where nothing is forbidden: read, delete, describe, describe
/// configs, alter configs.
pub(super) const GROUP_OPERATIONS: i32 = operations([3, 6, 8, 10, 11]);

impl Broker {
    pub(in crate::broker) fn list_groups(&mut self, slot: u64, request: ListGroupsRequest) {
        let loading = self
            .gcs
            .keys()
            .any(|partition| self.is_gc_frozen(*partition));
        if loading {
            let response = ListGroupsResponse {
                error_code: ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let wanted = |filter: &[Str], own: &str| {
            filter.is_empty() || filter.iter().any(|word| word.eq_ignore_ascii_case(own))
        };
        let mut groups = self.listed_share_groups();
        groups.extend(self.listed_classic_groups());
        groups.extend(self.listed_consumer_groups());
        groups.retain(|group| {
            wanted(&request.types_filter, &group.group_type)
                && wanted(&request.states_filter, &group.group_state)
        });
        let response = ListGroupsResponse {
            groups,
            ..Default::default()
        };
        let gates = self.gcs.keys().map(|partition| self.gc_gate(*partition));
        let gate = gates.fold(None, later);
        self.respond(slot, response, gate);
    }

    fn listed_share_groups(&self) -> Vec<ListedGroup> {
        let groups = self.groups.values().map(|group| ListedGroup {
            group_id: group.id().clone(),
            protocol_type: Str::from(SHARE),
            group_state: Str::from(group.state()),
            group_type: Str::from(SHARE),
            ..Default::default()
        });
        groups.collect()
    }

    fn listed_classic_groups(&self) -> impl Iterator<Item = ListedGroup> + '_ {
        let coordinators = self.gcs.values();
        coordinators.flat_map(|gc| {
            let groups = gc.groups().filter_map(|id| Some((id, gc.group(id)?)));
            groups.map(|(id, group)| ListedGroup {
                group_id: id.clone(),
                protocol_type: Str::from(group.protocol_type()),
                group_state: Str::from(format!("{}", group.state())),
                group_type: Str::from(CLASSIC),
                ..Default::default()
            })
        })
    }

    fn listed_consumer_groups(&self) -> impl Iterator<Item = ListedGroup> + '_ {
        let coordinators = self.gcs.values();
        coordinators.flat_map(|gc| {
            let groups = gc
                .groups()
                .filter_map(|id| Some((id, gc.consumer_group(id)?)));
            groups.map(|(id, group)| ListedGroup {
                group_id: id.clone(),
                protocol_type: Str::from(CONSUMER),
                group_state: Str::from(format!("{}", group.state())),
                group_type: Str::from(CONSUMER),
                ..Default::default()
            })
        })
    }

    /// DescribeGroups is for classic groups.
    pub(in crate::broker) fn describe_groups(&mut self, slot: u64, request: DescribeGroupsRequest) {
        let tells = self.version(slot) >= FIRST_WITH_NOT_FOUND;
        let operations = match request.include_authorized_operations {
            true => GROUP_OPERATIONS,
            false => i32::MIN,
        };
        let mut gate = None;
        let mut groups = Vec::new();
        for id in &once(request.groups) {
            let allowed = self.check_group(slot, id);
            let mut described = match allowed.and_then(|()| self.existing_coordinator(id)) {
                Ok(Some(partition)) => {
                    gate = later(gate, self.gc_gate(partition));
                    let gc = self.gcs.get(&partition);
                    let found = gc.and_then(|gc| gc.group(id));
                    found.map_or_else(|| self.not_classic(id, tells), |group| group.described(id))
                }
                Ok(None) => self.not_classic(id, tells),
                Err(error_code) => DescribedGroup {
                    error_code,
                    group_id: id.clone(),
                    ..Default::default()
                },
            };
            if described.error_code == ErrorCode::NONE {
                described.authorized_operations = operations;
            }
            groups.push(described);
        }
        let response = DescribeGroupsResponse {
            groups,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn not_classic(&self, id: &Str, tells: bool) -> DescribedGroup {
        let why = match self.has_any_group(id) {
            true => format!("Group {id} is not a classic group."),
            false => format!("Group {id} not found."),
        };
        DescribedGroup {
            error_code: match tells {
                true => ErrorCode::GROUP_ID_NOT_FOUND,
                false => ErrorCode::NONE,
            },
            error_message: tells.then(|| Str::from(why)),
            group_id: id.clone(),
            group_state: Str::from(DEAD),
            ..Default::default()
        }
    }
}
