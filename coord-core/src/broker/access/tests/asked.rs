//! A request of each API that names topic `orders`, group `g` and transactional id `txn`, where it names
//! something.

use ackord_proto::api::{ApiKey, Request};
use ackord_proto::messages as m;
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;

pub(super) fn name(text: &str) -> Str {
    Str::from(text)
}

/// One record.
pub(super) fn batch() -> bytes::Bytes {
    let mut batch = BatchBuilder::new(0);
    batch.push(0, None, Some(b"a"));
    batch.build()
}

pub(super) fn request(api: ApiKey, topic_id: Uuid) -> Request {
    let mut request = Request::default_of(api);
    name_group(&mut request);
    name_topic(&mut request);
    name_topic_id(&mut request, topic_id);
    name_state(&mut request, topic_id);
    name_transaction(&mut request, topic_id);
    name_acls(&mut request);
    request
}

/// Those about the group.
fn name_group(request: &mut Request) {
    let g = name("g");
    match request {
        Request::AlterShareGroupOffsets(own) => own.group_id = g,
        Request::ConsumerGroupDescribe(own) => own.group_ids = vec![g],
        Request::ConsumerGroupHeartbeat(own) => own.group_id = g,
        Request::DeleteGroups(own) => own.groups_names = vec![g],
        Request::DeleteShareGroupOffsets(own) => own.group_id = g,
        Request::DescribeGroups(own) => own.groups = vec![g],
        Request::DescribeShareGroupOffsets(own) => {
            own.groups = vec![
                m::describe_share_group_offsets::DescribeShareGroupOffsetsRequestGroup {
                    group_id: g,
                    ..Default::default()
                },
            ];
        }
        Request::FindCoordinator(own) => own.coordinator_keys = vec![g],
        Request::Heartbeat(own) => own.group_id = g,
        Request::JoinGroup(own) => own.group_id = g,
        Request::LeaveGroup(own) => own.group_id = g,
        Request::OffsetDelete(own) => own.group_id = g,
        Request::OffsetFetch(own) => {
            own.groups = vec![m::offset_fetch::OffsetFetchRequestGroup {
                group_id: g,
                ..Default::default()
            }];
        }
        Request::ShareAcknowledge(own) => own.group_id = Some(g),
        Request::ShareFetch(own) => own.group_id = Some(g),
        Request::ShareGroupDescribe(own) => own.group_ids = vec![g],
        Request::ShareGroupHeartbeat(own) => own.group_id = g,
        Request::SyncGroup(own) => own.group_id = g,
        _ => {}
    }
}

/// Those about the topic.
fn name_topic(request: &mut Request) {
    let orders = name("orders");
    match request {
        Request::CreatePartitions(own) => {
            own.topics = vec![m::create_partitions::CreatePartitionsTopic {
                name: orders,
                count: 2,
                ..Default::default()
            }];
        }
        Request::CreateTopics(own) => {
            own.topics = vec![m::create_topics::CreatableTopic {
                name: name("new"),
                num_partitions: 1,
                replication_factor: 1,
                ..Default::default()
            }];
        }
        Request::DeleteRecords(own) => {
            own.topics = vec![m::delete_records::DeleteRecordsTopic {
                name: orders,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::DeleteTopics(own) => {
            own.topics = vec![m::delete_topics::DeleteTopicState {
                name: Some(orders),
                ..Default::default()
            }];
        }
        Request::DescribeConfigs(own) => {
            own.resources = vec![m::describe_configs::DescribeConfigsResource {
                resource_type: 2,
                resource_name: orders,
                ..Default::default()
            }];
        }
        Request::DescribeProducers(own) => {
            own.topics = vec![m::describe_producers::TopicRequest {
                name: orders,
                partition_indexes: vec![0],
                ..Default::default()
            }];
        }
        Request::DescribeTopicPartitions(own) => {
            own.topics = vec![m::describe_topic_partitions::TopicRequest {
                name: orders,
                ..Default::default()
            }];
        }
        Request::IncrementalAlterConfigs(own) => {
            own.resources = vec![m::incremental_alter_configs::AlterConfigsResource {
                resource_type: 2,
                resource_name: orders,
                ..Default::default()
            }];
        }
        Request::ListOffsets(own) => {
            own.topics = vec![m::list_offsets::ListOffsetsTopic {
                name: orders,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        _ => {}
    }
}

/// Those about the topic by its id.
fn name_topic_id(request: &mut Request, topic_id: Uuid) {
    let g = name("g");
    match request {
        Request::Fetch(own) => {
            own.topics = vec![m::fetch::FetchTopic {
                topic_id,
                partitions: vec![m::fetch::FetchPartition {
                    partition_max_bytes: 1000,
                    ..Default::default()
                }],
                ..Default::default()
            }];
        }
        Request::OffsetCommit(own) => {
            own.group_id = g;
            own.topics = vec![m::offset_commit::OffsetCommitRequestTopic {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::Produce(own) => {
            own.acks = -1;
            own.topic_data = vec![m::produce::TopicProduceData {
                topic_id,
                partition_data: vec![m::produce::PartitionProduceData {
                    records: Some(batch().into()),
                    ..Default::default()
                }],
                ..Default::default()
            }];
        }
        _ => {}
    }
}

/// Those about a share partition.
fn name_state(request: &mut Request, topic_id: Uuid) {
    match request {
        Request::DeleteShareGroupState(own) => {
            own.topics = vec![m::delete_share_group_state::DeleteStateData {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::InitializeShareGroupState(own) => {
            own.topics = vec![m::initialize_share_group_state::InitializeStateData {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::ReadShareGroupState(own) => {
            own.topics = vec![m::read_share_group_state::ReadStateData {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::ReadShareGroupStateSummary(own) => {
            own.topics = vec![m::read_share_group_state_summary::ReadStateSummaryData {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::WriteShareGroupState(own) => {
            own.topics = vec![m::write_share_group_state::WriteStateData {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        _ => {}
    }
}

/// Those about the transactional id.
fn name_transaction(request: &mut Request, topic_id: Uuid) {
    let orders = name("orders");
    let g = name("g");
    let txn = name("txn");
    match request {
        Request::AddOffsetsToTxn(own) => (own.transactional_id, own.group_id) = (txn, g),
        Request::AddShareAcksToTxn(own) => (own.transactional_id, own.group_id) = (txn, g),
        Request::DescribeTransactions(own) => own.transactional_ids = vec![txn],
        Request::EndTxn(own) => own.transactional_id = txn,
        Request::InitProducerId(own) => own.transactional_id = Some(txn),
        Request::TxnOffsetCommit(own) => {
            (own.transactional_id, own.group_id) = (txn, g);
            own.topics = vec![m::txn_offset_commit::TxnOffsetCommitRequestTopic {
                topic_id,
                partitions: vec![Default::default()],
                ..Default::default()
            }];
        }
        Request::TxnShareAcknowledge(own) => (own.transactional_id, own.group_id) = (txn, g),
        Request::TxnShareAcknowledgeDraft(own) => {
            (own.transactional_id, own.group_id) = (Some(txn), g);
        }
        Request::WriteTxnMarkers(own) => {
            own.markers = vec![m::write_txn_markers::WritableTxnMarker {
                topics: vec![m::write_txn_markers::WritableTxnMarkerTopic {
                    name: orders,
                    partition_indexes: vec![0],
                    ..Default::default()
                }],
                ..Default::default()
            }];
        }
        _ => {}
    }
}

/// Those about ACLs.
fn name_acls(request: &mut Request) {
    let orders = name("orders");
    match request {
        Request::CreateAcls(own) => {
            own.creations = vec![m::create_acls::AclCreation {
                resource_type: 2,
                resource_name: orders,
                principal: name("User:eve"),
                host: name("*"),
                operation: 2,
                permission_type: 3,
                ..Default::default()
            }];
        }
        Request::DeleteAcls(own) => {
            own.filters = vec![m::delete_acls::DeleteAclsFilter {
                resource_type_filter: 1,
                pattern_type_filter: 1,
                operation: 1,
                permission_type: 1,
                ..Default::default()
            }];
        }
        Request::DescribeAcls(own) => {
            (own.resource_type_filter, own.pattern_type_filter) = (1, 1);
            (own.operation, own.permission_type) = (1, 1);
        }
        _ => {}
    }
}
