//! ConsumerGroupDescribe (key 69): a consumer group with its members (KIP-848).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::consumer_group_describe::DescribedGroup;
use ackord_proto::messages::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse};
use ackord_proto::str::Str;
use alloc::format;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::later;
use super::list_groups::GROUP_OPERATIONS;
use super::once::once;
use crate::consumer_group::Assignor;

impl Broker {
    pub(super) fn consumer_group_describe(
        &mut self,
        slot: u64,
        request: ConsumerGroupDescribeRequest,
    ) {
        let mut gate = None;
        let mut groups = Vec::new();
        for id in &once(request.group_ids) {
            let allowed = self.check_group(slot, id);
            let mut described = match allowed.and_then(|()| self.existing_coordinator(id)) {
                Ok(partition) => {
                    let own = partition.and_then(|partition| self.gc_gate(partition));
                    gate = later(gate, own);
                    self.describe_consumer_group(id, partition)
                }
                Err(error_code) => DescribedGroup {
                    error_code,
                    group_id: id.clone(),
                    ..Default::default()
                },
            };
            if request.include_authorized_operations && described.error_code == ErrorCode::NONE {
                described.authorized_operations = GROUP_OPERATIONS;
            }
            groups.push(described);
        }
        let response = ConsumerGroupDescribeResponse {
            groups,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn describe_consumer_group(&self, id: &Str, partition: Option<i32>) -> DescribedGroup {
        let gc = partition.and_then(|partition| self.gcs.get(&partition));
        if let Some(group) = gc.and_then(|gc| gc.consumer_group(id)) {
            let default = self.consumer_assignors().first().copied();
            let default = default.unwrap_or(Assignor::Uniform);
            return group.described(id, default, &|topic| {
                self.metadata
                    .topic_by_id(topic)
                    .map(|topic| topic.name.clone())
            });
        }
        let (error_code, why) = match self.has_any_group(id) {
            _ if id.is_empty() => (ErrorCode::INVALID_GROUP_ID, None),
            true => (
                ErrorCode::GROUP_ID_NOT_FOUND,
                Some(format!("Group {id} is not a consumer group.")),
            ),
            false => (
                ErrorCode::GROUP_ID_NOT_FOUND,
                Some(format!("Group {id} not found.")),
            ),
        };
        DescribedGroup {
            error_code,
            error_message: why.map(Str::from),
            group_id: id.clone(),
            ..Default::default()
        }
    }
}
