//! The group APIs at every version that is announced.

use ackord_proto::api::ApiKey;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::join_group::JoinGroupRequestProtocol;
use ackord_proto::messages::leave_group::MemberIdentity;
use ackord_proto::messages::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackord_proto::messages::offset_delete::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ackord_proto::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use ackord_proto::messages::sync_group::SyncGroupRequestAssignment;
use ackord_proto::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ackord_proto::messages::*;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use bytes::Bytes;

use crate::broker::testing::{TestBroker, ask};

const NO_DELAY: (&str, &str) = ("group.initial.rebalance.delay.ms", "0");

fn join(version: i16, group: &str, member: &Str) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol {
        name: Str::from("range"),
        // A subscription to `orders`.
        metadata: Bytes::from_static(b"\0\0\0\0\0\x01\0\x06orders\0\0\0\0"),
        ..Default::default()
    };
    JoinGroupRequest {
        group_id: Str::from(group),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: if version == 0 { -1 } else { 20_000 },
        member_id: member.clone(),
        protocol_type: Str::from("consumer"),
        protocols: vec![protocol],
        ..Default::default()
    }
}

/// Joins a group, alone.
fn joined(test: &mut TestBroker, version: i16, group: &str) -> JoinGroupResponse {
    let mut answer = ask!(test, JoinGroup, version, join(version, group, &Str::EMPTY));
    if version >= 4 {
        assert_eq!(answer.error_code, ErrorCode::MEMBER_ID_REQUIRED);
        let member = answer.member_id.clone();
        answer = ask!(test, JoinGroup, version, join(version, group, &member));
    }
    assert_eq!(answer.error_code, ErrorCode::NONE, "{answer:?}");
    answer
}

fn synced(test: &mut TestBroker, group: &str, member: &JoinGroupResponse) {
    let assignment = SyncGroupRequestAssignment {
        member_id: member.member_id.clone(),
        assignment: Bytes::from_static(b"all"),
        ..Default::default()
    };
    let request = SyncGroupRequest {
        group_id: Str::from(group),
        generation_id: member.generation_id,
        member_id: member.member_id.clone(),
        assignments: vec![assignment],
        ..Default::default()
    };
    let answer = ask!(test, SyncGroup, 3, request);
    assert_eq!(&answer.assignment[..], b"all", "{answer:?}");
}

fn commit(version: i16, group: &str, topic: (&str, Uuid), offset: i64) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition {
        committed_offset: offset,
        committed_leader_epoch: if version >= 6 { 3 } else { -1 },
        committed_metadata: Some(Str::from("note")),
        ..Default::default()
    };
    let topic = OffsetCommitRequestTopic {
        name: Str::from(if version < 10 { topic.0 } else { "" }),
        topic_id: if version < 10 { Uuid::ZERO } else { topic.1 },
        partitions: vec![partition],
        ..Default::default()
    };
    OffsetCommitRequest {
        group_id: Str::from(group),
        topics: vec![topic],
        ..Default::default()
    }
}

fn fetch(version: i16, group: &str, topics: Option<Vec<(&str, Uuid)>>) -> OffsetFetchRequest {
    if version < 8 {
        let topic = |(name, _): (&str, Uuid)| OffsetFetchRequestTopic {
            name: Str::from(name),
            partition_indexes: vec![0, 1],
            ..Default::default()
        };
        return OffsetFetchRequest {
            group_id: Str::from(group),
            topics: topics.map(|topics| topics.into_iter().map(topic).collect()),
            ..Default::default()
        };
    }
    let topic = |(name, id): (&str, Uuid)| OffsetFetchRequestTopics {
        name: Str::from(if version < 10 { name } else { "" }),
        topic_id: if version < 10 { Uuid::ZERO } else { id },
        partition_indexes: vec![0, 1],
        ..Default::default()
    };
    let group = OffsetFetchRequestGroup {
        group_id: Str::from(group),
        topics: topics.map(|topics| topics.into_iter().map(topic).collect()),
        ..Default::default()
    };
    OffsetFetchRequest {
        groups: vec![group],
        ..Default::default()
    }
}

/// Offset and code of each partition that an answer holds.
fn offsets(version: i16, response: OffsetFetchResponse) -> Vec<(i32, i64, ErrorCode)> {
    if version < 8 {
        let partitions = response
            .topics
            .into_iter()
            .flat_map(|topic| topic.partitions);
        return partitions
            .map(|own| (own.partition_index, own.committed_offset, own.error_code))
            .collect();
    }
    let topics = response.groups.into_iter().flat_map(|group| group.topics);
    let partitions = topics.flat_map(|topic| topic.partitions);
    partitions
        .map(|own| (own.partition_index, own.committed_offset, own.error_code))
        .collect()
}

#[test]
fn every_version_of_the_classic_protocol() {
    for version in ApiKey::JoinGroup.versions() {
        let mut test = TestBroker::new(&[NO_DELAY]);
        let member = joined(&mut test, version, "g");
        assert_eq!(member.generation_id, 1);
        assert_eq!(member.leader, member.member_id);
        assert_eq!(member.members.len(), 1);
        assert_eq!(member.protocol_name, Some(Str::from("range")));
        let kind = (version >= 7).then(|| Str::from("consumer"));
        assert_eq!(member.protocol_type, kind);
    }
    let mut test = TestBroker::new(&[NO_DELAY]);
    let member = joined(&mut test, 9, "g");
    for version in ApiKey::SyncGroup.versions() {
        let (kind, name) = match version {
            5.. => (Some(Str::from("consumer")), Some(Str::from("range"))),
            _ => (None, None),
        };
        let request = SyncGroupRequest {
            group_id: Str::from("g"),
            generation_id: 1,
            member_id: member.member_id.clone(),
            protocol_type: kind.clone(),
            protocol_name: name.clone(),
            ..Default::default()
        };
        let answer = ask!(test, SyncGroup, version, request.clone());
        assert_eq!(answer.error_code, ErrorCode::NONE);
        assert_eq!((answer.protocol_type, answer.protocol_name), (kind, name));
        if version >= 5 {
            let unnamed = SyncGroupRequest {
                protocol_name: None,
                ..request.clone()
            };
            let other = SyncGroupRequest {
                protocol_name: Some(Str::from("sticky")),
                ..request
            };
            for request in [unnamed, other] {
                let answer = ask!(test, SyncGroup, version, request);
                let code = ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
                assert_eq!(answer.error_code, code);
            }
        }
    }
    for version in ApiKey::Heartbeat.versions() {
        let request = HeartbeatRequest {
            group_id: Str::from("g"),
            generation_id: 1,
            member_id: member.member_id.clone(),
            ..Default::default()
        };
        let answer = ask!(test, Heartbeat, version, request);
        assert_eq!(answer.error_code, ErrorCode::NONE);
    }
}

#[test]
fn every_version_of_leaving() {
    for version in ApiKey::LeaveGroup.versions() {
        let mut test = TestBroker::new(&[NO_DELAY]);
        let member = joined(&mut test, 9, "g");
        let identity = MemberIdentity {
            member_id: member.member_id.clone(),
            ..Default::default()
        };
        let mut request = LeaveGroupRequest {
            group_id: Str::from("g"),
            ..Default::default()
        };
        if version < 3 {
            request.member_id = member.member_id.clone();
        } else {
            request.members = vec![identity.clone(), identity];
        }
        let answer = ask!(test, LeaveGroup, version, request.clone());
        assert_eq!(answer.error_code, ErrorCode::NONE);
        let codes: Vec<ErrorCode> = answer.members.iter().map(|own| own.error_code).collect();
        if version >= 3 {
            assert_eq!(codes, [ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID]);
        }
        let again = ask!(test, LeaveGroup, version, request);
        let unknown = (version < 3).then_some(ErrorCode::UNKNOWN_MEMBER_ID);
        assert_eq!(again.error_code, unknown.unwrap_or_default());
    }
}

#[test]
fn offsets_by_name_and_by_id_are_the_same_offsets() {
    let mut test = TestBroker::new(&[]);
    let id = test.create_topic("orders", 2);
    for version in ApiKey::OffsetCommit.versions() {
        let offset = 10 + i64::from(version);
        let answer = ask!(
            test,
            OffsetCommit,
            version,
            commit(version, "g", ("orders", id), offset)
        );
        assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::NONE);
        for version in ApiKey::OffsetFetch.versions() {
            let topics = Some(vec![("orders", id)]);
            let answer = ask!(test, OffsetFetch, version, fetch(version, "g", topics));
            let both = [(0, offset, ErrorCode::NONE), (1, -1, ErrorCode::NONE)];
            assert_eq!(offsets(version, answer), both, "v{version}");
            if version >= 2 {
                let answer = ask!(test, OffsetFetch, version, fetch(version, "g", None));
                let committed = [(0, offset, ErrorCode::NONE)];
                assert_eq!(offsets(version, answer), committed, "v{version}");
            }
        }
    }
}

#[test]
fn topics_that_are_not_there() {
    let mut test = TestBroker::new(&[]);
    let id = Uuid([9; 16]);
    for (version, code) in [
        (9, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        (10, ErrorCode::UNKNOWN_TOPIC_ID),
    ] {
        let request = commit(version, "g", ("nowhere", id), 1);
        let answer = ask!(test, OffsetCommit, version, request);
        assert_eq!(answer.topics[0].partitions[0].error_code, code);
    }
    let topics = Some(vec![("nowhere", id)]);
    let answer = ask!(test, OffsetFetch, 10, fetch(10, "g", topics));
    let code = ErrorCode::UNKNOWN_TOPIC_ID;
    assert_eq!(offsets(10, answer), [(0, -1, code), (1, -1, code)]);
}

#[test]
fn a_text_of_acknowledgements_outside_of_a_transaction_is_a_note() {
    let mut test = TestBroker::new(&[]);
    let id = test.create_topic("orders", 1);
    let mut request = commit(9, "g", ("orders", id), 1);
    let text = Some(Str::from("acks:accept=0-1@1"));
    request.topics[0].partitions[0].committed_metadata = text.clone();
    let answer = ask!(test, OffsetCommit, 9, request);
    assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::NONE);
    let topics = Some(vec![("orders", id)]);
    let answer = ask!(test, OffsetFetch, 9, fetch(9, "g", topics));
    assert_eq!(answer.groups[0].topics[0].partitions[0].metadata, text);
}

#[test]
fn metadata_that_is_too_long() {
    let mut test = TestBroker::new(&[("offset.metadata.max.bytes", "3")]);
    let id = test.create_topic("orders", 1);
    let request = commit(9, "g", ("orders", id), 1);
    let answer = ask!(test, OffsetCommit, 9, request);
    let code = answer.topics[0].partitions[0].error_code;
    assert_eq!(code, ErrorCode::OFFSET_METADATA_TOO_LARGE);
}

#[test]
fn old_clients_say_how_long_an_offset_lives() {
    let mut test = TestBroker::new(&[("offsets.retention.check.interval.ms", "1000")]);
    let id = test.create_topic("orders", 1);
    let request = OffsetCommitRequest {
        retention_time_ms: 5000,
        ..commit(2, "g", ("orders", id), 7)
    };
    ask!(test, OffsetCommit, 2, request);
    test.restart();
    let read = |test: &mut TestBroker| {
        let answer = ask!(
            test,
            OffsetFetch,
            9,
            fetch(9, "g", Some(vec![("orders", id)]))
        );
        offsets(9, answer)[0].1
    };
    assert_eq!(read(&mut test), 7);
    test.pass(6000);
    assert_eq!(read(&mut test), -1);
}

fn delete_offset(test: &mut TestBroker, group: &str) -> (ErrorCode, Option<ErrorCode>) {
    let request = OffsetDeleteRequest {
        group_id: Str::from(group),
        topics: vec![OffsetDeleteRequestTopic {
            name: Str::from("orders"),
            partitions: vec![OffsetDeleteRequestPartition::default()],
        }],
    };
    let answer = ask!(test, OffsetDelete, 0, request);
    let part = answer
        .topics
        .first()
        .map(|topic| topic.partitions[0].error_code);
    (answer.error_code, part)
}

#[test]
fn offsets_of_subscribed_topics_are_not_deleted() {
    let mut test = TestBroker::new(&[NO_DELAY]);
    let id = test.create_topic("orders", 1);
    let member = joined(&mut test, 9, "g");
    synced(&mut test, "g", &member);
    let subscribed = Some(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
    assert_eq!(delete_offset(&mut test, "g"), (ErrorCode::NONE, subscribed));
    ask!(test, OffsetCommit, 9, commit(9, "h", ("orders", id), 4));
    let deleted = (ErrorCode::NONE, Some(ErrorCode::NONE));
    assert_eq!(delete_offset(&mut test, "h"), deleted);
    let answer = ask!(test, OffsetFetch, 9, fetch(9, "h", None));
    assert_eq!(offsets(9, answer), []);
    let missing = (ErrorCode::GROUP_ID_NOT_FOUND, None);
    assert_eq!(delete_offset(&mut test, "nobody"), missing);
}

fn described(test: &mut TestBroker, version: i16, group: &str) -> describe_groups::DescribedGroup {
    let request = DescribeGroupsRequest {
        groups: vec![Str::from(group)],
        include_authorized_operations: version >= 3,
        ..Default::default()
    };
    let mut answer = ask!(test, DescribeGroups, version, request);
    answer.groups.remove(0)
}

#[test]
fn groups_are_described_and_listed() {
    let mut test = TestBroker::new(&[NO_DELAY]);
    let id = test.create_topic("orders", 1);
    let member = joined(&mut test, 9, "g");
    ask!(
        test,
        OffsetCommit,
        9,
        commit(9, "simple", ("orders", id), 4)
    );
    let rebalancing = described(&mut test, 5, "g");
    assert_eq!(rebalancing.group_state, "CompletingRebalance");
    assert_eq!(rebalancing.protocol_data, "");
    synced(&mut test, "g", &member);
    for version in ApiKey::DescribeGroups.versions() {
        let group = described(&mut test, version, "g");
        assert_eq!(group.group_state, "Stable");
        assert_eq!(
            (&*group.protocol_type, &*group.protocol_data),
            ("consumer", "range")
        );
        assert_eq!(&group.members[0].member_assignment[..], b"all");
        assert_eq!(group.members[0].client_host, "/client.test");
        assert_eq!(group.authorized_operations != i32::MIN, version >= 3);
        let none = described(&mut test, version, "nobody");
        assert_eq!(none.group_state, "Dead");
        let code = match version {
            6.. => ErrorCode::GROUP_ID_NOT_FOUND,
            _ => ErrorCode::NONE,
        };
        assert_eq!(none.error_code, code);
    }
    for version in ApiKey::ListGroups.versions() {
        let answer = ask!(test, ListGroups, version, ListGroupsRequest::default());
        let groups = answer.groups.iter();
        let mut names: Vec<_> = groups
            .map(|group| {
                format!(
                    "{} {} {}",
                    group.group_id, group.group_state, group.group_type
                )
            })
            .collect();
        names.sort();
        match version {
            5.. => assert_eq!(names, ["g Stable classic", "simple Empty classic"]),
            4 => assert_eq!(names, ["g Stable ", "simple Empty "]),
            _ => assert_eq!(names, ["g  ", "simple  "]),
        }
    }
    let request = ListGroupsRequest {
        states_filter: vec![Str::from("stable")],
        types_filter: vec![Str::from("Classic")],
        ..Default::default()
    };
    let answer = ask!(test, ListGroups, 5, request);
    assert_eq!(answer.groups.len(), 1);
}

#[test]
fn a_group_without_members_is_deleted_with_its_offsets() {
    let mut test = TestBroker::new(&[NO_DELAY]);
    let id = test.create_topic("orders", 1);
    let member = joined(&mut test, 9, "g");
    synced(&mut test, "g", &member);
    ask!(
        test,
        OffsetCommit,
        9,
        commit(9, "simple", ("orders", id), 4)
    );
    for version in ApiKey::DeleteGroups.versions() {
        let request = DeleteGroupsRequest {
            groups_names: ["g", "simple", "nobody"].map(Str::from).into(),
            ..Default::default()
        };
        let answer = ask!(test, DeleteGroups, version, request);
        let codes: Vec<ErrorCode> = answer.results.iter().map(|own| own.error_code).collect();
        let first = version == 0;
        let gone = ErrorCode::GROUP_ID_NOT_FOUND;
        let simple = if first { ErrorCode::NONE } else { gone };
        assert_eq!(codes, [ErrorCode::NON_EMPTY_GROUP, simple, gone]);
        assert_eq!(answer.results[0].error_message.is_some(), version >= 3);
    }
    test.restart();
    let answer = ask!(test, ListGroups, 5, ListGroupsRequest::default());
    assert_eq!(answer.groups.len(), 1);
}

fn stage(version: i16, topic: (&str, Uuid), producer: (i64, i16)) -> TxnOffsetCommitRequest {
    let partition = TxnOffsetCommitRequestPartition {
        committed_offset: 40 + i64::from(version),
        committed_metadata: None,
        ..Default::default()
    };
    let topic = TxnOffsetCommitRequestTopic {
        name: Str::from(if version < 6 { topic.0 } else { "" }),
        topic_id: if version < 6 { Uuid::ZERO } else { topic.1 },
        partitions: vec![partition],
        ..Default::default()
    };
    TxnOffsetCommitRequest {
        transactional_id: Str::from("txn"),
        group_id: Str::from("g"),
        producer_id: producer.0,
        producer_epoch: producer.1,
        topics: vec![topic],
        ..Default::default()
    }
}

#[test]
fn every_version_of_offsets_in_transactions() {
    for version in ApiKey::TxnOffsetCommit.versions() {
        let mut test = TestBroker::new(&[]);
        let id = test.create_topic("orders", 1);
        let request = InitProducerIdRequest {
            transactional_id: Some(Str::from("txn")),
            transaction_timeout_ms: 60_000,
            ..Default::default()
        };
        let own = ask!(test, InitProducerId, 4, request);
        let producer = (own.producer_id, own.producer_epoch);
        let code = |answer: TxnOffsetCommitResponse| answer.topics[0].partitions[0].error_code;
        if version < 5 {
            let early = ask!(
                test,
                TxnOffsetCommit,
                version,
                stage(version, ("orders", id), producer)
            );
            let refusal = match version {
                4 => ErrorCode::TRANSACTION_ABORTABLE,
                _ => ErrorCode::INVALID_TXN_STATE,
            };
            assert_eq!(code(early), refusal, "v{version}");
            let request = AddOffsetsToTxnRequest {
                transactional_id: Str::from("txn"),
                producer_id: producer.0,
                producer_epoch: producer.1,
                group_id: Str::from("g"),
                ..Default::default()
            };
            let added = ask!(test, AddOffsetsToTxn, version, request);
            assert_eq!(added.error_code, ErrorCode::NONE);
        }
        let staged = ask!(
            test,
            TxnOffsetCommit,
            version,
            stage(version, ("orders", id), producer)
        );
        assert_eq!(code(staged), ErrorCode::NONE, "v{version}");
        let old = stage(version, ("orders", id), (producer.0, producer.1 - 1));
        let fenced = ask!(test, TxnOffsetCommit, version, old);
        assert_eq!(code(fenced), ErrorCode::INVALID_PRODUCER_EPOCH);
        let request = EndTxnRequest {
            transactional_id: Str::from("txn"),
            producer_id: producer.0,
            producer_epoch: producer.1,
            committed: true,
            ..Default::default()
        };
        let ended = ask!(test, EndTxn, if version < 5 { 4 } else { 5 }, request);
        assert_eq!(ended.error_code, ErrorCode::NONE);
        let topics = Some(vec![("orders", id)]);
        let answer = ask!(test, OffsetFetch, 9, fetch(9, "g", topics));
        assert_eq!(offsets(9, answer)[0].1, 40 + i64::from(version));
    }
}

#[test]
fn an_offset_is_answered_when_it_is_durable() {
    let mut test = TestBroker::new(&[]);
    let id = test.create_topic("orders", 1);
    ask!(test, OffsetCommit, 9, commit(9, "g", ("orders", id), 1));
    test.storage_stands_still = true;
    test.send(9, commit(9, "g", ("orders", id), 2));
    test.send(9, fetch(9, "g", Some(vec![("orders", id)])));
    assert_eq!(test.reply(), None);
    test.resume_storage();
    test.reply().expect("the commit");
    let Some(ackord_proto::api::Response::OffsetFetch(answer)) = test.reply() else {
        panic!("no offsets")
    };
    assert_eq!(offsets(9, answer)[0].1, 2);
}
