//! DescribeCluster (key 60): lists the brokers or controllers.

use alloc::vec::Vec;

use crate::Wire;
use crate::error_code::ErrorCode;
use crate::str::Str;
use crate::tags::UnknownTags;

/// What to list.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 60, request, versions = 0..=2, flexible = 0)]
pub struct DescribeClusterRequest {
    /// Whether the answer names the operations allowed on the cluster.
    pub include_cluster_authorized_operations: bool,
    /// 1 brokers, 2 controllers.
    #[wire(versions = 1.., default = 1)]
    pub endpoint_type: i8,
    /// Whether fenced brokers are listed too.
    #[wire(versions = 2..)]
    pub include_fenced_brokers: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// The cluster.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
#[wire(api = 60, response, versions = 0..=2, flexible = 0)]
pub struct DescribeClusterResponse {
    /// How long a quota held the request back, in milliseconds.
    pub throttle_time_ms: i32,
    /// What went wrong, or NONE.
    pub error_code: ErrorCode,
    /// The reason, for people.
    pub error_message: Option<Str>,
    /// 1 brokers, 2 controllers.
    #[wire(versions = 1.., default = 1)]
    pub endpoint_type: i8,
    /// The id of the cluster.
    pub cluster_id: Str,
    /// The broker to which requests for the controller go; -1 where there is none.
    #[wire(default = -1)]
    pub controller_id: i32,
    /// The brokers of the cluster.
    pub brokers: Vec<DescribeClusterBroker>,
    /// A bit for each operation allowed on the cluster; -2147483648 where not asked for.
    #[wire(default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}

/// An element of [`DescribeClusterResponse::brokers`].
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub struct DescribeClusterBroker {
    /// The id of the broker.
    pub broker_id: i32,
    /// The host name.
    pub host: Str,
    /// The port.
    pub port: i32,
    /// Where the broker stands.
    pub rack: Option<Str>,
    /// Whether the controller has fenced the broker.
    #[wire(versions = 2..)]
    pub is_fenced: bool,
    /// Tagged fields that this version of Kafka does not define.
    pub unknown_tags: UnknownTags,
}
