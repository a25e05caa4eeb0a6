//! DescribeCluster: this node, which is broker and controller in one (KIP-700, KIP-919).

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::describe_cluster::DescribeClusterBroker;
use ackord_proto::messages::{DescribeClusterRequest, DescribeClusterResponse};
use ackord_proto::str::Str;
use alloc::format;
use alloc::vec;

use super::super::Broker;
use super::metadata::operations;

/// Operations that apply to the cluster, where nothing is forbidden: create, alter, describe,
/// cluster action, describe configs, alter configs, idempotent write.
pub(super) const CLUSTER_OPERATIONS: i32 = operations([5, 7, 8, 9, 10, 11, 12]);

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

impl Broker {
    pub(in crate::broker) fn describe_cluster(
        &mut self,
        slot: u64,
        request: DescribeClusterRequest,
    ) {
        let refuse = |error_code, why: &str| DescribeClusterResponse {
            error_code,
            error_message: Some(Str::from(why)),
            endpoint_type: request.endpoint_type,
            ..Default::default()
        };
        let response = match request.endpoint_type {
            BROKERS => self.cluster_description(&request),
            CONTROLLERS => refuse(
                ErrorCode::MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of \
                 type CONTROLLER",
            ),
            other => refuse(
                ErrorCode::UNSUPPORTED_ENDPOINT_TYPE,
                &format!("Unsupported endpoint type {other}"),
            ),
        };
        self.respond(slot, response, self.cluster_gate());
    }

    fn cluster_description(&self, request: &DescribeClusterRequest) -> DescribeClusterResponse {
        let mut response = DescribeClusterResponse {
            cluster_id: self.metadata.cluster_id().clone(),
            controller_id: self.config.node_id(),
            brokers: vec![DescribeClusterBroker {
                broker_id: self.config.node_id(),
                host: Str::from(self.config.host()),
                port: self.config.port(),
                ..Default::default()
            }],
            ..Default::default()
        };
        if request.include_cluster_authorized_operations {
            response.cluster_authorized_operations = CLUSTER_OPERATIONS;
        }
        response
    }
}
