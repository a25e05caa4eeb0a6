//! The share consumer: membership, sessions, deliveries, acknowledgements.

use ackord_client_core::{
    AcknowledgeType, AcknowledgementMode, CallId, ClientError, ConsumerRecord, PolledRecords,
    ShareCommand, ShareConsumer, ShareConsumerConfig, ShareOutput,
};
use ackord_proto::api::{ApiKey, Request};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::share_acknowledge::{
    PartitionData as AcknowledgedPartition, ShareAcknowledgeTopicResponse,
};
use ackord_proto::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchableTopicResponse,
};
use ackord_proto::messages::share_group_heartbeat::{Assignment, TopicPartitions};
use ackord_proto::messages::{
    ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareFetchRequest, ShareFetchResponse,
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use ackord_proto::records::{BatchBuilder, ControlType, Records, control_batch};
use bytes::Bytes;

use crate::bench::{Bench, Sent, TOPIC_ID};

pub(crate) fn consumer(mode: AcknowledgementMode) -> Bench<ShareConsumer> {
    let mut config = ShareConsumerConfig::new(["broker:9092".parse().unwrap()], "g");
    config.acknowledgement_mode = mode;
    Bench::new(ShareConsumer::new(config, [1; 32]))
}

pub(crate) fn heartbeat(sent: &Sent) -> &ShareGroupHeartbeatRequest {
    match &sent.request {
        Request::ShareGroupHeartbeat(request) => request,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn fetch(sent: &Sent) -> &ShareFetchRequest {
    match &sent.request {
        Request::ShareFetch(request) => request,
        other => panic!("{other:?}"),
    }
}

fn acknowledge(sent: &Sent) -> &ShareAcknowledgeRequest {
    match &sent.request {
        Request::ShareAcknowledge(request) => request,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn joined(member_epoch: i32, partitions: &[i32]) -> ShareGroupHeartbeatResponse {
    let topic = TopicPartitions {
        topic_id: TOPIC_ID,
        partitions: partitions.to_vec(),
        ..Default::default()
    };
    ShareGroupHeartbeatResponse {
        member_epoch,
        heartbeat_interval_ms: 5_000,
        assignment: Some(Assignment {
            topic_partitions: vec![topic],
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// A member with partition 0.
pub(crate) fn member(mode: AcknowledgementMode) -> Bench<ShareConsumer> {
    let mut bench = consumer(mode);
    let call = bench.call(ShareCommand::Subscribe(vec!["t".into()]));
    assert_eq!(bench.result(call), Ok(ShareOutput::Done));
    let sent = bench.next();
    bench.answer(&sent, joined(3, &[0]));
    bench
}

/// A session was lost, so the member asks at once whether it still is one, and is.
fn stays(bench: &mut Bench<ShareConsumer>) {
    let sent = bench.pass_until_sent();
    assert_eq!(heartbeat(&sent).member_epoch, 3);
    bench.answer(&sent, joined(3, &[0]));
}

pub(crate) fn poll(bench: &mut Bench<ShareConsumer>) -> CallId {
    bench.call(ShareCommand::Poll { timeout_ms: 2_000 })
}

fn polled(bench: &mut Bench<ShareConsumer>, call: CallId) -> PolledRecords {
    match bench.result(call) {
        Ok(ShareOutput::Polled(polled)) => polled,
        other => panic!("{other:?}"),
    }
}

fn offsets(polled: &PolledRecords) -> Vec<i64> {
    polled.records.iter().map(|record| record.offset).collect()
}

fn batch(base_offset: i64, count: usize) -> Bytes {
    let mut batch = BatchBuilder::new(base_offset);
    (0..count).for_each(|_| batch.push(9, Some(b"k"), Some(b"v")));
    batch.build()
}

fn data(chunks: Vec<Bytes>, acquired: &[(i64, i64)]) -> PartitionData {
    let acquired = acquired
        .iter()
        .map(|&(first_offset, last_offset)| AcquiredRecords {
            first_offset,
            last_offset,
            delivery_count: 1,
            ..Default::default()
        });
    PartitionData {
        records: Some(Records::from(chunks)),
        acquired_records: acquired.collect(),
        ..Default::default()
    }
}

fn delivered(data: PartitionData) -> ShareFetchResponse {
    let data = PartitionData {
        records: Some(data.records.unwrap_or_default()),
        ..data
    };
    let topic = ShareFetchableTopicResponse {
        topic_id: TOPIC_ID,
        partitions: vec![data],
        ..Default::default()
    };
    ShareFetchResponse {
        responses: vec![topic],
        ..Default::default()
    }
}

fn refused(error_code: ErrorCode) -> ShareFetchResponse {
    ShareFetchResponse {
        error_code,
        ..Default::default()
    }
}

/// Acknowledgements in a ShareFetch or ShareAcknowledge: first, last, type.
pub(crate) fn acks(sent: &Sent) -> Vec<(i64, i64, i8)> {
    match &sent.request {
        Request::ShareFetch(request) => {
            let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
            let batches = partitions.flat_map(|partition| &partition.acknowledgement_batches);
            batches
                .map(|b| (b.first_offset, b.last_offset, b.acknowledge_types[0]))
                .collect()
        }
        Request::ShareAcknowledge(request) => {
            let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
            let batches = partitions.flat_map(|partition| &partition.acknowledgement_batches);
            batches
                .map(|b| (b.first_offset, b.last_offset, b.acknowledge_types[0]))
                .collect()
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn acknowledged(code: ErrorCode) -> ShareAcknowledgeResponse {
    let partition = AcknowledgedPartition {
        error_code: code,
        ..Default::default()
    };
    let topic = ShareAcknowledgeTopicResponse {
        topic_id: TOPIC_ID,
        partitions: vec![partition],
        ..Default::default()
    };
    ShareAcknowledgeResponse {
        responses: vec![topic],
        ..Default::default()
    }
}

fn answer_record(
    bench: &mut Bench<ShareConsumer>,
    record: &ConsumerRecord,
    kind: AcknowledgeType,
) -> Result<ShareOutput, ClientError> {
    let ConsumerRecord {
        topic_id,
        partition,
        offset,
        ..
    } = *record;
    let call = bench.call(ShareCommand::Acknowledge {
        topic_id,
        partition,
        offset,
        kind,
    });
    bench.result(call)
}

pub(crate) fn committed(bench: &mut Bench<ShareConsumer>, call: CallId) -> Vec<(i32, ErrorCode)> {
    match bench.result(call) {
        Ok(ShareOutput::Acknowledged(results)) => results
            .iter()
            .map(|result| (result.partition, result.code))
            .collect(),
        other => panic!("{other:?}"),
    }
}

/// A member that holds offsets 0 to 3 from its first poll.
pub(crate) fn holder(mode: AcknowledgementMode) -> (Bench<ShareConsumer>, PolledRecords) {
    let mut bench = member(mode);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.answer(&sent, delivered(data(vec![batch(0, 4)], &[(0, 3)])));
    let records = polled(&mut bench, call);
    assert_eq!(offsets(&records), [0, 1, 2, 3]);
    (bench, records)
}

#[test]
fn only_acquired_records_are_polled_and_the_session_goes_on() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    assert_eq!(sent.version, 2);
    let request = fetch(&sent);
    assert_eq!((request.share_session_epoch, request.max_records), (0, 500));
    assert_eq!(request.topics[0].partitions[0].partition_index, 0);
    bench.answer(&sent, delivered(data(vec![batch(0, 8)], &[(2, 3), (6, 6)])));
    let records = polled(&mut bench, call);
    assert_eq!(offsets(&records), [2, 3, 6]);
    assert_eq!(
        (
            &*records.records[0].topic,
            records.records[0].delivery_count
        ),
        ("t", 1)
    );
    assert_eq!(records.group.member_epoch, 3);
    poll(&mut bench);
    let sent = bench.next();
    assert_eq!(fetch(&sent).share_session_epoch, 1);
    assert_eq!(acks(&sent), [(2, 3, 1), (6, 6, 1)], "implicit mode accepts");
}

#[test]
fn gaps_are_acknowledged_unless_a_transaction_takes_them() {
    let marker = || control_batch(2, 0, 1, 0, ControlType::Commit, 0);
    let chunks = || vec![batch(0, 2), marker(), batch(3, 1)];
    for mode in [AcknowledgementMode::Implicit, AcknowledgementMode::Explicit] {
        let mut bench = member(mode);
        let call = poll(&mut bench);
        let sent = bench.next();
        bench.answer(&sent, delivered(data(chunks(), &[(0, 3)])));
        let records = polled(&mut bench, call);
        assert!(records.gaps.is_empty());
        for record in &records.records {
            if mode == AcknowledgementMode::Explicit {
                answer_record(&mut bench, record, AcknowledgeType::Accept).unwrap();
            }
        }
        poll(&mut bench);
        assert_eq!(acks(&bench.next()), [(0, 1, 1), (2, 2, 0), (3, 3, 1)]);
    }
    let mut bench = member(AcknowledgementMode::Transactional);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.answer(&sent, delivered(data(chunks(), &[(0, 3)])));
    let records = polled(&mut bench, call);
    assert_eq!(
        (records.gaps[0].first_offset, records.gaps[0].last_offset),
        (2, 2)
    );
    poll(&mut bench);
    let sent = bench.next();
    assert!(acks(&sent).is_empty(), "the transaction has them");
    // Nobody would begin a transaction for a gap alone.
    let lone = control_batch(4, 0, 1, 0, ControlType::Abort, 0);
    bench.answer(&sent, delivered(data(vec![lone], &[(4, 4)])));
    assert_eq!(acks(&bench.next()), [(4, 4, 0)]);
}

#[test]
fn explicit_mode_wants_an_answer_for_each_record() {
    let (mut bench, records) = holder(AcknowledgementMode::Explicit);
    let early = poll(&mut bench);
    assert!(matches!(
        bench.result(early),
        Err(ClientError::IllegalState(_))
    ));
    let kinds = [
        AcknowledgeType::Accept,
        AcknowledgeType::Release,
        AcknowledgeType::Reject,
        AcknowledgeType::Reject,
    ];
    for (record, kind) in records.records.iter().zip(kinds) {
        answer_record(&mut bench, record, kind).unwrap();
    }
    let twice = answer_record(&mut bench, &records.records[0], AcknowledgeType::Accept);
    assert!(matches!(twice, Err(ClientError::IllegalState(_))));
    let commit = bench.call(ShareCommand::CommitSync);
    let sent = bench.next();
    assert_eq!(acknowledge(&sent).share_session_epoch, 1);
    assert_eq!(acks(&sent), [(0, 0, 1), (1, 1, 2), (2, 3, 3)]);
    bench.answer(&sent, acknowledged(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(
        committed(&mut bench, commit),
        [(0, ErrorCode::INVALID_RECORD_STATE)]
    );
    poll(&mut bench);
    assert_eq!(fetch(&bench.next()).share_session_epoch, 2);
}

#[test]
fn a_renewal_goes_alone_and_keeps_the_record() {
    let (mut bench, records) = holder(AcknowledgementMode::Explicit);
    for record in &records.records {
        answer_record(&mut bench, record, AcknowledgeType::Renew).unwrap();
    }
    let commit = bench.call(ShareCommand::CommitSync);
    let sent = bench.next();
    assert!(acknowledge(&sent).is_renew_ack);
    assert_eq!(acks(&sent), [(0, 3, 4)]);
    bench.answer(&sent, acknowledged(ErrorCode::NONE));
    assert_eq!(committed(&mut bench, commit), [(0, ErrorCode::NONE)]);
    answer_record(&mut bench, &records.records[0], AcknowledgeType::Accept).unwrap();
    let call = poll(&mut bench);
    assert_eq!(acks(&bench.next()), [(0, 0, 1)]);
    assert!(!bench.is_done(call));
}

#[test]
fn transactional_mode_leaves_accepting_to_the_producer() {
    let (mut bench, records) = holder(AcknowledgementMode::Transactional);
    let accept = answer_record(&mut bench, &records.records[0], AcknowledgeType::Accept);
    assert!(matches!(accept, Err(ClientError::IllegalState(_))));
    answer_record(&mut bench, &records.records[0], AcknowledgeType::Release).unwrap();
    poll(&mut bench);
    assert_eq!(acks(&bench.next()), [(0, 0, 2)]);
}

#[test]
fn a_commit_without_acknowledgements_is_done_at_once() {
    let mut bench = member(AcknowledgementMode::Explicit);
    let commit = bench.call(ShareCommand::CommitSync);
    assert!(committed(&mut bench, commit).is_empty());
}

#[test]
fn a_lost_session_is_opened_anew_and_its_acknowledgements_are_told() {
    for code in [
        ErrorCode::SHARE_SESSION_NOT_FOUND,
        ErrorCode::INVALID_SHARE_SESSION_EPOCH,
    ] {
        let (mut bench, _) = holder(AcknowledgementMode::Implicit);
        let call = poll(&mut bench);
        let sent = bench.next();
        bench.answer(&sent, refused(code));
        let told = polled(&mut bench, call);
        assert_eq!((told.refused[0].partition, told.refused[0].code), (0, code));
        stays(&mut bench);
        poll(&mut bench);
        let sent = bench.next();
        let request = fetch(&sent);
        assert_eq!((request.share_session_epoch, acks(&sent).len()), (0, 0));
        assert_eq!(
            request.topics[0].partitions[0].partition_index, 0,
            "told anew"
        );
    }
}

#[test]
fn a_broken_connection_loses_the_session_and_the_poll_goes_on() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.answer(&sent, delivered(data(vec![batch(0, 1)], &[(0, 0)])));
    polled(&mut bench, call);
    let commit = bench.call(ShareCommand::CommitSync);
    let sent = bench.next();
    bench.cut(sent.conn);
    assert_eq!(
        committed(&mut bench, commit),
        [(0, ErrorCode::NETWORK_EXCEPTION)]
    );
    let call = poll(&mut bench);
    stays(&mut bench);
    let sent = bench.pass_until_sent();
    assert_eq!(fetch(&sent).share_session_epoch, 0);
    bench.cut(sent.conn);
    stays(&mut bench);
    let sent = bench.pass_until_sent();
    bench.answer(&sent, delivered(data(vec![batch(0, 1)], &[(0, 0)])));
    assert_eq!(offsets(&polled(&mut bench, call)), [0]);
}

#[test]
fn a_moved_leader_is_looked_up_again() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    let error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    bench.answer(
        &sent,
        delivered(PartitionData {
            error_code,
            ..Default::default()
        }),
    );
    stays(&mut bench);
    assert!(bench.is_silent(), "it pauses");
    let sent = bench.pass_until_sent();
    let look_ups = bench
        .look_ups
        .iter()
        .filter(|(_, r)| r.key() == ApiKey::Metadata)
        .count();
    assert!(look_ups >= 2);
    assert_eq!(
        fetch(&sent).topics[0].partitions[0].partition_index,
        0,
        "told again"
    );
    bench.answer(&sent, delivered(data(vec![batch(0, 1)], &[(0, 0)])));
    assert_eq!(offsets(&polled(&mut bench, call)), [0]);
}

#[test]
fn what_cannot_be_read_is_given_back_and_told() {
    let mut bench = member(AcknowledgementMode::Transactional);
    let call = poll(&mut bench);
    let sent = bench.next();
    let mut damaged = batch(0, 2).to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    bench.answer(
        &sent,
        delivered(data(vec![Bytes::from(damaged)], &[(0, 1)])),
    );
    let told = polled(&mut bench, call);
    assert_eq!(
        (told.records.len(), told.faults[0].code),
        (0, ErrorCode::CORRUPT_MESSAGE)
    );
    poll(&mut bench);
    assert_eq!(acks(&bench.next()), [(0, 1, 2)]);
}

#[test]
fn a_changed_assignment_is_told_to_the_session() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.answer(&sent, delivered(data(vec![batch(0, 1)], &[(0, 0)])));
    polled(&mut bench, call);
    bench.pass(5_000);
    let sent = bench.next();
    bench.answer(&sent, joined(4, &[1, 2]));
    poll(&mut bench);
    let sent = bench.next();
    let request = fetch(&sent);
    let told: Vec<_> = request.topics[0]
        .partitions
        .iter()
        .map(|p| p.partition_index)
        .collect();
    // Partition 0 stands here for its acknowledgement only.
    assert_eq!(told, [0, 1, 2]);
    assert_eq!(request.forgotten_topics_data[0].partitions, [0]);
}

#[test]
fn a_poll_without_records_ends_in_time_and_the_late_answer_is_kept() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.pass(2_000);
    assert!(polled(&mut bench, call).is_empty());
    bench.answer(&sent, delivered(data(vec![batch(0, 1)], &[(0, 0)])));
    assert!(bench.is_silent(), "nobody polls");
    let call = poll(&mut bench);
    assert_eq!(offsets(&polled(&mut bench, call)), [0]);
}

#[test]
fn closing_ends_the_session_and_leaves_the_group() {
    let (mut bench, records) = holder(AcknowledgementMode::Explicit);
    answer_record(&mut bench, &records.records[1], AcknowledgeType::Accept).unwrap();
    let close = bench.call(ShareCommand::Close);
    let sent = bench.next();
    assert_eq!(acknowledge(&sent).share_session_epoch, -1);
    assert_eq!(acks(&sent), [(1, 1, 1)]);
    bench.answer(&sent, acknowledged(ErrorCode::NONE));
    let sent = bench.next();
    assert_eq!(heartbeat(&sent).member_epoch, -1);
    assert!(!bench.is_done(close));
    bench.answer(
        &sent,
        ShareGroupHeartbeatResponse {
            member_epoch: -1,
            ..Default::default()
        },
    );
    assert_eq!(bench.result(close), Ok(ShareOutput::Done));
    assert!(bench.open.is_empty());
    assert_eq!(
        ackord_client_core::Machine::next_deadline(&bench.machine),
        None
    );
}

#[test]
fn closing_does_not_wait_for_a_broker_that_is_gone() {
    let (mut bench, _) = holder(AcknowledgementMode::Implicit);
    let waiting = poll(&mut bench);
    let close = bench.call(ShareCommand::Close);
    assert_eq!(bench.result(waiting), Err(ClientError::Closed));
    let before = bench.now.mono;
    assert_eq!(bench.pass_until_done(close), Ok(ShareOutput::Done));
    assert_eq!(bench.now.mono.since(before).as_millis(), 5_000);
}

#[test]
fn a_poll_that_nobody_waits_for_leaves_its_records_to_the_next() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.answer(&sent, delivered(data(vec![batch(0, 2)], &[(0, 1)])));
    let unseen = polled(&mut bench, call);
    bench.abandon(call, Some(ShareOutput::Polled(unseen)));
    // What was not seen is not accepted.
    let commit = bench.call(ShareCommand::CommitSync);
    assert!(committed(&mut bench, commit).is_empty());
    let call = poll(&mut bench);
    assert_eq!(offsets(&polled(&mut bench, call)), [0, 1]);
    bench.call(ShareCommand::CommitSync);
    assert_eq!(acks(&bench.next()), [(0, 1, 1)]);
}

#[test]
fn a_poll_that_is_given_up_makes_room_for_the_next() {
    let mut bench = member(AcknowledgementMode::Implicit);
    let call = poll(&mut bench);
    let sent = bench.next();
    bench.abandon(call, None);
    bench.answer(&sent, delivered(data(vec![batch(0, 1)], &[(0, 0)])));
    assert!(!bench.is_done(call));
    let call = poll(&mut bench);
    assert_eq!(offsets(&polled(&mut bench, call)), [0]);
}
