//! The messages that are measured.

use ackord_proto::api::ApiKey;
use ackord_proto::messages::api_versions::ApiVersion;
use ackord_proto::messages::fetch::{FetchableTopicResponse, PartitionData};
use ackord_proto::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::share_fetch::{self, AcquiredRecords, ShareFetchableTopicResponse};
use ackord_proto::messages::*;
use ackord_proto::records::{BatchBuilder, Records};
use bytes::Bytes;

/// An answer with every API.
pub fn api_versions() -> ApiVersionsResponse {
    let announce = |api: &ApiKey| ApiVersion {
        api_key: api.key(),
        min_version: *api.versions().start(),
        max_version: *api.versions().end(),
        ..Default::default()
    };
    ApiVersionsResponse {
        api_keys: ApiKey::ALL.iter().map(announce).collect(),
        ..Default::default()
    }
}

/// 10 topics of 100 partitions with 3 replicas each.
pub fn metadata() -> MetadataResponse {
    let partition = |index| MetadataResponsePartition {
        partition_index: index,
        leader_id: index % 3,
        leader_epoch: 7,
        replica_nodes: [0, 1, 2].into(),
        isr_nodes: [0, 1, 2].into(),
        ..Default::default()
    };
    let topic = |index: i32| MetadataResponseTopic {
        name: Some(format!("a-topic-name-{index}").into()),
        partitions: (0..100).map(partition).collect(),
        ..Default::default()
    };
    let broker = |node_id| MetadataResponseBroker {
        node_id,
        host: format!("broker-{node_id}.example.com").into(),
        port: 9092,
        ..Default::default()
    };
    MetadataResponse {
        brokers: (0..3).map(broker).collect(),
        cluster_id: Some("nLUSiBEzSzGBR4TvmsBJXw".into()),
        topics: (0..10).map(topic).collect(),
        ..Default::default()
    }
}

/// A batch with so many records of 100 bytes.
pub fn batch(records: i64) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for index in 0..records {
        builder.push(
            1_700_000_000_000 + index,
            Some(b"a-key-of-record"),
            Some(&[7; 100]),
        );
    }
    builder.build()
}

/// One partition with 1 MiB.
pub fn produce() -> ProduceRequest {
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData {
            name: "orders".into(),
            partition_data: vec![PartitionProduceData {
                records: Some(Records::from(Bytes::from(vec![7; 1 << 20]))),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// One partition with 1 MiB.
pub fn fetch() -> FetchResponse {
    FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic: "orders".into(),
            partitions: vec![PartitionData {
                records: Some(Records::from(Bytes::from(vec![7; 1 << 20]))),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// One partition with 500 acquired ranges and 64 KiB.
pub fn share_fetch() -> ShareFetchResponse {
    let range = |index: i64| AcquiredRecords {
        first_offset: index * 10,
        last_offset: index * 10 + 9,
        delivery_count: 1,
        ..Default::default()
    };
    ShareFetchResponse {
        acquisition_lock_timeout_ms: 30_000,
        responses: vec![ShareFetchableTopicResponse {
            partitions: vec![share_fetch::PartitionData {
                records: Some(Records::from(Bytes::from(vec![7; 64 << 10]))),
                acquired_records: (0..500).map(range).collect(),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}
