//! Who sets the world up, changes it, and reads it.

use std::cell::RefCell;
use std::rc::Rc;

use ackord_proto::api::{ApiKey, RequestHeader, encode_request_frame};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AlterShareGroupOffsetsRequest, CreatePartitionsRequest, CreateTopicsRequest,
    DeleteRecordsRequest, DeleteShareGroupOffsetsRequest, DeleteTopicsRequest,
    IncrementalAlterConfigsRequest, InitProducerIdRequest, WriteTxnMarkersRequest,
    alter_share_group_offsets as alter, create_partitions, create_topics, delete_records,
    delete_share_group_offsets as forget, delete_topics, incremental_alter_configs as configs,
    write_txn_markers as markers,
};

use super::{GROUPS, INPUT, OUTPUT, QUEUE};
use crate::sim::ctx::Ctx;
use crate::sim::wire;
use crate::sim_call;

fn topic(name: &str, partitions: i32) -> CreateTopicsRequest {
    let topic = create_topics::CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor: 1,
        ..Default::default()
    };
    CreateTopicsRequest {
        topics: vec![topic],
        ..Default::default()
    }
}

/// Which resources have which configurations.
const TOPIC: i8 = 2;
const GROUP: i8 = 32;

/// Whether a topic is a dead letter queue.
const IS_QUEUE: &str = "errors.deadletterqueue.group.enable";

fn alter_configs(
    resource_type: i8,
    name: &str,
    pairs: &[(&'static str, String)],
) -> IncrementalAlterConfigsRequest {
    let config = |(name, value): &(&str, String)| configs::AlterableConfig {
        name: (*name).into(),
        value: Some(value.as_str().into()),
        ..Default::default()
    };
    let resource = configs::AlterConfigsResource {
        resource_type,
        resource_name: name.into(),
        configs: pairs.iter().map(config).collect(),
        ..Default::default()
    };
    IncrementalAlterConfigsRequest {
        resources: vec![resource],
        ..Default::default()
    }
}

/// Creates topics and groups, perhaps with their dead letter queue.
pub async fn set_up(ctx: Ctx, configs: Vec<(&'static str, String)>, has_queue: bool) {
    for name in [INPUT, OUTPUT, "other"] {
        match sim_call!(ctx, CreateTopics v 7, topic(name, 2)) {
            Ok(response) if response.topics[0].error_code == ErrorCode::NONE => {
                ctx.ledger
                    .borrow_mut()
                    .learn(name, response.topics[0].topic_id);
            }
            other => ctx
                .ledger
                .borrow_mut()
                .problem(format!("{name} was not created: {other:?}")),
        }
    }
    if has_queue {
        let mut request = topic(QUEUE, i32::try_from(ctx.between(1, 2)).unwrap_or(1));
        for own in &mut request.topics {
            own.configs = vec![create_topics::CreatableTopicConfig {
                name: IS_QUEUE.into(),
                value: Some("true".into()),
                ..Default::default()
            }];
        }
        let _ = sim_call!(ctx, CreateTopics v 7, request);
    }
    for group in GROUPS {
        let request = alter_configs(GROUP, group, &configs);
        let response = sim_call!(ctx, IncrementalAlterConfigs v 1, request);
        let well = response.is_ok_and(|own| {
            own.responses
                .iter()
                .all(|own| own.error_code == ErrorCode::NONE)
        });
        if !well {
            ctx.ledger
                .borrow_mut()
                .problem(format!("{group} was not configured"));
        }
    }
}

/// Lets the dead letter queue be written, or not.
pub async fn open_queue(ctx: Ctx, open: bool) {
    let pairs = [(IS_QUEUE, open.to_string())];
    let _ = sim_call!(ctx, IncrementalAlterConfigs v 1, alter_configs(TOPIC, QUEUE, &pairs));
}

/// Reads all committed data, again and again.
pub async fn reader(ctx: Ctx) {
    while !ctx.stopping() {
        let _ = sim_call!(ctx, Fetch v 12, wire::read_all(&[(OUTPUT, 2), (INPUT, 2)]));
        ctx.sleep(ctx.between(20, 400)).await;
    }
}

/// Gives transactional ids their producer ids.
pub async fn elder(ctx: Ctx, tids: Vec<String>, given: Rc<RefCell<Vec<(String, i64)>>>) {
    for tid in tids {
        let request = InitProducerIdRequest {
            transactional_id: Some(tid.as_str().into()),
            transaction_timeout_ms: 5000,
            ..Default::default()
        };
        if let Ok(response) = sim_call!(ctx, InitProducerId v 5, request) {
            given.borrow_mut().push((tid, response.producer_id));
        }
    }
}

/// Sends bytes that look like a request, but are none.
pub async fn vandal(ctx: Ctx) {
    while !ctx.stopping() {
        let header = RequestHeader {
            api_key: ctx.pick(&[
                ApiKey::Fetch,
                ApiKey::Metadata,
                ApiKey::ShareFetch,
                ApiKey::Produce,
            ]),
            api_version: 12,
            correlation_id: 1,
            client_id: None,
            unknown_tags: Default::default(),
        };
        let request = wire::read_all(&[(OUTPUT, 2), (INPUT, 1)]);
        let mut bytes = match encode_request_frame(&header, &request) {
            Ok(chunks) => chunks.concat().split_off(4),
            Err(_) => vec![0, 1, 0, 12, 0, 0, 0, 1, 255, 255],
        };
        for _ in 0..ctx.below(4) {
            let place = usize::try_from(ctx.below(bytes.len() as u64)).unwrap_or(0);
            bytes[place] = ctx.pick(&[0, 1, 127, 128, 255]);
        }
        match ctx.below(3) {
            0 => bytes.truncate(usize::try_from(ctx.below(bytes.len() as u64)).unwrap_or(0)),
            1 => bytes.extend_from_slice(&[127, 255, 255, 255]),
            _ => {}
        }
        ctx.raw(bytes.into()).await;
        ctx.sleep(ctx.between(100, 900)).await;
    }
}

/// Does what operators do, at bad moments.
pub async fn admin(ctx: Ctx) {
    while !ctx.stopping() {
        ctx.sleep(ctx.between(200, 1500)).await;
        match ctx.below(10) {
            0..=2 => trim(&ctx).await,
            3 => alter(&ctx, "h").await,
            4 => forget(&ctx, "h").await,
            5..=6 => mark(&ctx).await,
            7 => grow(&ctx).await,
            8 => open_queue(ctx.clone(), ctx.percent(60)).await,
            _ => limits(&ctx).await,
        }
    }
}

async fn trim(ctx: &Ctx) {
    let partition = delete_records::DeleteRecordsPartition {
        partition_index: i32::try_from(ctx.below(2)).unwrap_or(0),
        offset: i64::try_from(ctx.below(30)).unwrap_or(0),
        ..Default::default()
    };
    let topic = delete_records::DeleteRecordsTopic {
        name: INPUT.into(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = DeleteRecordsRequest {
        topics: vec![topic],
        timeout_ms: 30_000,
        ..Default::default()
    };
    let _ = sim_call!(ctx, DeleteRecords v 2, request);
}

/// Has a group go on from some offset.
pub(super) async fn alter(ctx: &Ctx, group: &str) {
    let partition = alter::AlterShareGroupOffsetsRequestPartition {
        partition_index: i32::try_from(ctx.below(2)).unwrap_or(0),
        start_offset: i64::try_from(ctx.below(40)).unwrap_or(0),
        ..Default::default()
    };
    let topic = alter::AlterShareGroupOffsetsRequestTopic {
        topic_name: INPUT.into(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = AlterShareGroupOffsetsRequest {
        group_id: group.into(),
        topics: vec![topic],
        ..Default::default()
    };
    let _ = sim_call!(ctx, AlterShareGroupOffsets v 0, request);
}

/// Has a group begin anew.
pub(super) async fn forget(ctx: &Ctx, group: &str) {
    let topic = forget::DeleteShareGroupOffsetsRequestTopic {
        topic_name: INPUT.into(),
        ..Default::default()
    };
    let request = DeleteShareGroupOffsetsRequest {
        group_id: group.into(),
        topics: vec![topic],
        ..Default::default()
    };
    let _ = sim_call!(ctx, DeleteShareGroupOffsets v 0, request);
}

/// Markers for a transaction that the coordinator holds; they must change nothing.
async fn mark(ctx: &Ctx) {
    let newest = {
        let ledger = ctx.ledger.borrow();
        let back = usize::try_from(ctx.below(4)).unwrap_or(0) + 1;
        ledger
            .txns
            .len()
            .checked_sub(back)
            .map(|place| ledger.txns[place].producer)
    };
    let Some((producer_id, producer_epoch)) = newest else {
        return;
    };
    let name = [OUTPUT, INPUT, "__share_group_state"][usize::try_from(ctx.below(3)).unwrap_or(0)];
    let topic = markers::WritableTxnMarkerTopic {
        name: name.into(),
        partition_indexes: vec![i32::try_from(ctx.below(2)).unwrap_or(0)],
        ..Default::default()
    };
    let marker = markers::WritableTxnMarker {
        producer_id,
        producer_epoch: producer_epoch.saturating_add(i16::from(ctx.percent(50))),
        transaction_result: ctx.percent(50),
        topics: vec![topic],
        ..Default::default()
    };
    let request = WriteTxnMarkersRequest {
        markers: vec![marker],
        ..Default::default()
    };
    let _ = sim_call!(ctx, WriteTxnMarkers v 1, request);
}

/// Topics of no importance come, grow and go.
async fn grow(ctx: &Ctx) {
    let growing = create_partitions::CreatePartitionsTopic {
        name: "other".into(),
        count: i32::try_from(ctx.between(2, 5)).unwrap_or(2),
        ..Default::default()
    };
    let request = CreatePartitionsRequest {
        topics: vec![growing],
        timeout_ms: 30_000,
        ..Default::default()
    };
    let _ = sim_call!(ctx, CreatePartitions v 3, request);
    let _ = sim_call!(ctx, CreateTopics v 7, topic("passing", 1));
    let gone = delete_topics::DeleteTopicState {
        name: Some("passing".into()),
        ..Default::default()
    };
    let request = DeleteTopicsRequest {
        topics: vec![gone],
        timeout_ms: 30_000,
        ..Default::default()
    };
    let _ = sim_call!(ctx, DeleteTopics v 6, request);
}

/// A configuration without a meaning for the oracle changes.
async fn limits(ctx: &Ctx) {
    let interval = [(
        "share.heartbeat.interval.ms",
        ctx.between(5000, 9000).to_string(),
    )];
    let _ = sim_call!(ctx, IncrementalAlterConfigs v 1, alter_configs(GROUP, "h", &interval));
}
