//! Every message, one file for each API. The structs of requests and responses are named here too.

pub mod add_partitions_to_txn;
pub mod add_share_acks_to_txn;
pub mod api_versions;
pub mod create_topics;
pub mod delete_share_group_state;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_topic_partitions;
pub mod end_txn;
pub mod fetch;
pub mod find_coordinator;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod initialize_share_group_state;
pub mod list_offsets;
pub mod metadata;
pub mod produce;
pub mod read_share_group_state;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_heartbeat;
pub mod txn_share_acknowledge;
pub mod write_share_group_state;
pub mod write_txn_markers;

pub use add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
pub use add_share_acks_to_txn::{AddShareAcksToTxnRequest, AddShareAcksToTxnResponse};
pub use api_versions::{ApiVersionsRequest, ApiVersionsResponse};
pub use create_topics::{CreateTopicsRequest, CreateTopicsResponse};
pub use delete_share_group_state::{DeleteShareGroupStateRequest, DeleteShareGroupStateResponse};
pub use delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};
pub use describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
pub use describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse};
pub use describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
};
pub use end_txn::{EndTxnRequest, EndTxnResponse};
pub use fetch::{FetchRequest, FetchResponse};
pub use find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
pub use incremental_alter_configs::{
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
pub use init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
pub use initialize_share_group_state::{
    InitializeShareGroupStateRequest, InitializeShareGroupStateResponse,
};
pub use list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
pub use metadata::{MetadataRequest, MetadataResponse};
pub use produce::{ProduceRequest, ProduceResponse};
pub use read_share_group_state::{ReadShareGroupStateRequest, ReadShareGroupStateResponse};
pub use share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
pub use share_fetch::{ShareFetchRequest, ShareFetchResponse};
pub use share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
pub use txn_share_acknowledge::{TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse};
pub use write_share_group_state::{WriteShareGroupStateRequest, WriteShareGroupStateResponse};
pub use write_txn_markers::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
