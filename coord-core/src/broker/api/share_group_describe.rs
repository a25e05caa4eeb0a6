//! ShareGroupDescribe: a share group with its members (KIP-932).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::share_group_describe::{
    Assignment, DescribedGroup, Member, TopicPartitions,
};
use ackord_proto::messages::{ShareGroupDescribeRequest, ShareGroupDescribeResponse};
use ackord_proto::str::Str;
use alloc::format;

use super::super::Broker;
use super::super::journal::later;
use super::list_groups::GROUP_OPERATIONS;
use super::once::once;
use crate::group::{Assigned, MemberView, ShareGroup, partition_for_id};

const ASSIGNOR: &str = "simple";

impl Broker {
    pub(in crate::broker) fn share_group_describe(
        &mut self,
        slot: u64,
        request: ShareGroupDescribeRequest,
    ) {
        let mut gate = self.cluster_gate();
        let ids = once(request.group_ids);
        let groups = ids.iter().map(|id| {
            let partition = partition_for_id(id, self.offsets_partitions());
            gate = later(gate, self.gc_gate(partition));
            let mut described = match self.groups.get(id) {
                _ if let Err(error_code) = self.check_group(slot, id) => DescribedGroup {
                    group_id: id.clone(),
                    error_code,
                    ..Default::default()
                },
                _ if self.is_gc_frozen(partition) => DescribedGroup {
                    group_id: id.clone(),
                    error_code: ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                    ..Default::default()
                },
                Some(group) => self.describe_share_group(group),
                None => missing(id, self.has_any_group(id)),
            };
            if request.include_authorized_operations && described.error_code == ErrorCode::NONE {
                described.authorized_operations = GROUP_OPERATIONS;
            }
            described
        });
        let response = ShareGroupDescribeResponse {
            groups: groups.collect(),
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn describe_share_group(&self, group: &ShareGroup) -> DescribedGroup {
        DescribedGroup {
            group_id: group.id().clone(),
            group_state: Str::from(group.state()),
            group_epoch: group.epoch(),
            assignment_epoch: group.epoch(),
            assignor_name: Str::from(ASSIGNOR),
            members: group
                .members()
                .map(|member| self.describe_member(member))
                .collect(),
            ..Default::default()
        }
    }

    fn describe_member(&self, member: MemberView<'_>) -> Member {
        Member {
            member_id: member.member_id.clone(),
            rack_id: member.rack_id.cloned(),
            member_epoch: member.epoch,
            client_id: member.client.client_id.clone(),
            // As Java prints an address.
            client_host: Str::from(format!("/{}", member.client.host)),
            subscribed_topic_names: member.subscribed_topic_names.iter().cloned().collect(),
            assignment: self.describe_assignment(member.assignment),
            ..Default::default()
        }
    }

    fn describe_assignment(&self, assigned: &Assigned) -> Assignment {
        let topics = assigned.iter().filter_map(|(topic_id, partitions)| {
            Some(TopicPartitions {
                topic_id: *topic_id,
                topic_name: self.metadata.topic_by_id(*topic_id)?.name.clone(),
                partitions: partitions.iter().copied().collect(),
                ..Default::default()
            })
        });
        Assignment {
            topic_partitions: topics.collect(),
            ..Default::default()
        }
    }
}

/// There is none of this id, or one of another type.
fn missing(id: &Str, other_type: bool) -> DescribedGroup {
    let (error_code, error_message) = match id.is_empty() {
        true => (ErrorCode::INVALID_GROUP_ID, None),
        false => {
            let why = match other_type {
                true => format!("Group {id} is not a share group."),
                false => format!("Group {id} not found."),
            };
            (ErrorCode::GROUP_ID_NOT_FOUND, Some(Str::from(why)))
        }
    };
    DescribedGroup {
        error_code,
        error_message,
        group_id: id.clone(),
        ..Default::default()
    }
}
