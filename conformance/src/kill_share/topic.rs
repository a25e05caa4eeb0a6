//! The topic and the group of a run, and what the topic holds.

use ackord_proto::api::Response;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::create_topics::CreatableTopic;
use ackord_proto::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use ackord_proto::messages::produce::{PartitionProduceData, TopicProduceData};
use ackord_proto::messages::{
    CreateTopicsRequest, IncrementalAlterConfigsRequest, ListOffsetsRequest, ProduceRequest,
    list_offsets,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::uuid::Uuid;

use crate::caller::Caller;

/// Resource type of a group in IncrementalAlterConfigs.
const GROUP_RESOURCE: i8 = 32;
/// Records of one batch.
pub(crate) const BATCH: i64 = 50;

/// Where records are, and who reads them.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) address: String,
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) partitions: i32,
}

impl Topic {
    /// Creates the topic and configures the group.
    pub(crate) fn set_up(&self) -> Result<Uuid, String> {
        let mut caller = Caller::connect(&self.address, "admin")?;
        let topic = CreatableTopic {
            name: self.name.as_str().into(),
            num_partitions: self.partitions,
            replication_factor: -1,
            ..Default::default()
        };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            ..Default::default()
        };
        let Response::CreateTopics(response) = caller.call(request, 7)? else {
            return Err("no answer of CreateTopics".to_string());
        };
        let topic = response.topics.first().ok_or("CreateTopics says nothing")?;
        if topic.error_code.is_error() {
            return Err(format!("the topic is not created: {}", topic.error_code));
        }
        let config = AlterableConfig {
            name: "share.auto.offset.reset".into(),
            value: Some("earliest".into()),
            ..Default::default()
        };
        let resource = AlterConfigsResource {
            resource_type: GROUP_RESOURCE,
            resource_name: self.group.as_str().into(),
            configs: vec![config],
            ..Default::default()
        };
        let request = IncrementalAlterConfigsRequest {
            resources: vec![resource],
            ..Default::default()
        };
        let Response::IncrementalAlterConfigs(response) = caller.call(request, 1)? else {
            return Err("no answer of IncrementalAlterConfigs".to_string());
        };
        match response
            .responses
            .iter()
            .find(|own| own.error_code.is_error())
        {
            Some(own) => Err(format!("the group is not configured: {}", own.error_code)),
            None => Ok(topic.topic_id),
        }
    }

    /// A batch for a partition.
    pub(super) fn batch(&self, index: i32) -> ProduceRequest {
        let mut batch = BatchBuilder::new(0);
        for number in 0..BATCH {
            let value = format!("order {number}");
            batch.push(0, None, Some(value.as_bytes()));
        }
        let data = PartitionProduceData {
            index,
            records: Some(batch.build().into()),
            ..Default::default()
        };
        let topic = TopicProduceData {
            name: self.name.as_str().into(),
            partition_data: vec![data],
            ..Default::default()
        };
        ProduceRequest {
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![topic],
            ..Default::default()
        }
    }

    /// The ends of all partitions.
    pub(crate) fn ends(&self) -> Result<Vec<i64>, String> {
        let parts = (0..self.partitions).map(|index| list_offsets::ListOffsetsPartition {
            partition_index: index,
            timestamp: -1,
            ..Default::default()
        });
        let topic = list_offsets::ListOffsetsTopic {
            name: self.name.as_str().into(),
            partitions: parts.collect(),
            ..Default::default()
        };
        let request = ListOffsetsRequest {
            replica_id: -1,
            topics: vec![topic],
            ..Default::default()
        };
        let mut caller = Caller::connect(&self.address, "admin")?;
        let Response::ListOffsets(response) = caller.call(request, 7)? else {
            return Err("no answer of ListOffsets".to_string());
        };
        let topic = response.topics.first().ok_or("ListOffsets says nothing")?;
        let mut ends = vec![0; topic.partitions.len()];
        for part in &topic.partitions {
            if part.error_code != ErrorCode::NONE {
                return Err(format!("ListOffsets: {}", part.error_code));
            }
            let place = usize::try_from(part.partition_index).unwrap_or_default();
            if let Some(end) = ends.get_mut(place) {
                *end = part.offset;
            }
        }
        Ok(ends)
    }
}
