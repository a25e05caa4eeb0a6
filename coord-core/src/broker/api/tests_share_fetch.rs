//! What answers to ShareFetch and ShareAcknowledge list.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    CreatePartitionsRequest, DeleteTopicsRequest, ShareAcknowledgeRequest, ShareFetchRequest,
    create_partitions as grow, share_acknowledge as acknowledge, share_fetch,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask};

const NOWHERE: Uuid = Uuid([9; 16]);

struct Member {
    test: TestBroker,
    epoch: i32,
}

/// Partitions that are named or listed.
type Places = Vec<(Uuid, i32)>;

impl Member {
    fn new(test: TestBroker) -> Self {
        Member { test, epoch: 0 }
    }

    /// Fetches without waiting; the partitions of the answer with their codes.
    fn fetch(
        &mut self,
        added: &[(Uuid, i32)],
        forgotten: &[(Uuid, i32)],
    ) -> Vec<(Uuid, i32, ErrorCode)> {
        self.fetch_in(0, added, forgotten)
    }

    fn fetch_in(
        &mut self,
        max_wait_ms: i32,
        added: &[(Uuid, i32)],
        forgotten: &[(Uuid, i32)],
    ) -> Vec<(Uuid, i32, ErrorCode)> {
        let topic = |(topic_id, partition_index): &(Uuid, i32)| share_fetch::FetchTopic {
            topic_id: *topic_id,
            partitions: vec![share_fetch::FetchPartition {
                partition_index: *partition_index,
                ..Default::default()
            }],
            ..Default::default()
        };
        let forget = |(topic_id, partition): &(Uuid, i32)| share_fetch::ForgottenTopic {
            topic_id: *topic_id,
            partitions: vec![*partition],
            ..Default::default()
        };
        let request = ShareFetchRequest {
            group_id: Some(Str::from("g")),
            member_id: Some(Str::from("m")),
            share_session_epoch: self.epoch,
            max_wait_ms,
            max_bytes: i32::MAX,
            max_records: 100,
            batch_size: 100,
            topics: added.iter().map(topic).collect(),
            forgotten_topics_data: forgotten.iter().map(forget).collect(),
            ..Default::default()
        };
        self.epoch += 1;
        let response = ask!(self.test, ShareFetch, 1, request);
        assert_eq!(response.error_code, ErrorCode::NONE);
        let topics = response.responses.iter().flat_map(|topic| {
            let id = topic.topic_id;
            let parts = topic.partitions.iter();
            parts.map(move |part| (id, part.partition_index, part.error_code))
        });
        let mut all: Vec<_> = topics.collect();
        all.sort_unstable();
        all
    }

    /// Acknowledges records of one partition, an element for each range.
    fn acknowledge(&mut self, topic: Uuid, ranges: &[(i64, i64)]) -> Vec<ErrorCode> {
        let part = |(first_offset, last_offset): &(i64, i64)| acknowledge::AcknowledgePartition {
            acknowledgement_batches: vec![acknowledge::AcknowledgementBatch {
                first_offset: *first_offset,
                last_offset: *last_offset,
                acknowledge_types: vec![1],
                ..Default::default()
            }],
            ..Default::default()
        };
        let request = ShareAcknowledgeRequest {
            group_id: Some(Str::from("g")),
            member_id: Some(Str::from("m")),
            share_session_epoch: self.epoch,
            topics: vec![acknowledge::AcknowledgeTopic {
                topic_id: topic,
                partitions: ranges.iter().map(part).collect(),
                ..Default::default()
            }],
            ..Default::default()
        };
        self.epoch += 1;
        let response = ask!(self.test, ShareAcknowledge, 1, request);
        assert_eq!(response.error_code, ErrorCode::NONE);
        let topics = response.responses.iter();
        let parts = topics.flat_map(|topic| &topic.partitions);
        parts.map(|part| part.error_code).collect()
    }
}

fn none(places: &[(Uuid, i32)]) -> Vec<(Uuid, i32, ErrorCode)> {
    let all = places.iter();
    all.map(|(topic, partition)| (*topic, *partition, ErrorCode::NONE))
        .collect()
}

#[test]
fn a_partition_is_listed_when_it_is_new_and_as_long_as_it_is_in_error() {
    let mut test = TestBroker::new(&[]);
    let orders = test.create_topic("orders", 3);
    test.join_share_group("m", "orders");
    let mut member = Member::new(test);
    let first: Places = vec![(orders, 0), (orders, 1)];
    assert_eq!(
        member.fetch(&first, &[]),
        none(&first),
        "the first answer lists all"
    );
    assert_eq!(member.fetch(&[], &[]), []);
    assert_eq!(member.fetch(&first, &[]), [], "named again is not new");
    assert_eq!(member.fetch(&[(orders, 2)], &[]), none(&[(orders, 2)]));
    assert_eq!(member.fetch(&[], &[]), []);
    let beyond = (orders, 5, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let nowhere = (NOWHERE, 0, ErrorCode::UNKNOWN_TOPIC_ID);
    let mut failed = vec![beyond, nowhere];
    failed.sort_unstable();
    assert_eq!(member.fetch(&[(orders, 5), (NOWHERE, 0)], &[]), failed);
    assert_eq!(member.fetch(&[], &[]), failed, "named or not");
    assert_eq!(member.fetch(&[], &[(NOWHERE, 0)]), [beyond]);
    let topic = grow::CreatePartitionsTopic {
        name: Str::from("orders"),
        count: 6,
        assignments: None,
        ..Default::default()
    };
    let request = CreatePartitionsRequest {
        topics: vec![topic],
        ..Default::default()
    };
    let response = ask!(member.test, CreatePartitions, 2, request);
    assert_eq!(response.results[0].error_code, ErrorCode::NONE);
    assert_eq!(
        member.fetch(&[], &[]),
        none(&[(orders, 5)]),
        "its error is gone"
    );
    assert_eq!(member.fetch(&[], &[]), []);
}

#[test]
fn a_deleted_topic_stays_in_error_until_it_is_forgotten() {
    let mut test = TestBroker::new(&[]);
    let orders = test.create_topic("orders", 1);
    let more = test.create_topic("more", 1);
    test.join_share_group("m", "orders");
    let mut member = Member::new(test);
    let both: Places = vec![(orders, 0), (more, 0)];
    member.fetch(&both, &[]);
    let request = DeleteTopicsRequest {
        topic_names: vec![Str::from("more")],
        ..Default::default()
    };
    let response = ask!(member.test, DeleteTopics, 4, request);
    assert_eq!(response.responses[0].error_code, ErrorCode::NONE);
    let gone = [(more, 0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)];
    assert_eq!(member.fetch(&[], &[]), gone, "the session knows its name");
    assert_eq!(member.fetch(&[(more, 0)], &[]), gone);
    // Alone it is answered at once, since nothing else can come.
    assert_eq!(member.fetch_in(i32::MAX, &[], &[(orders, 0)]), gone);
    assert_eq!(member.fetch_in(i32::MAX, &[], &[(more, 0)]), []);
    let unknown = [(more, 0, ErrorCode::UNKNOWN_TOPIC_ID)];
    assert_eq!(member.fetch_in(i32::MAX, &[(more, 0)], &[]), unknown);
    assert_eq!(member.fetch_in(i32::MAX, &[], &[]), unknown);
}

#[test]
fn a_partition_that_comes_twice_is_answered_once_and_for_all_of_it() {
    let mut test = TestBroker::new(&[]);
    let orders = test.create_topic("orders", 1);
    test.join_share_group("m", "orders");
    let mut member = Member::new(test);
    member.fetch(&[(orders, 0)], &[]);
    let mut batch = BatchBuilder::new(0);
    (0..8).for_each(|_| batch.push(1, None, Some(b"x")));
    member.test.produce("orders", batch.build());
    member.fetch(&[], &[]);
    assert_eq!(
        member.acknowledge(orders, &[(0, 0), (1, 1)]),
        [ErrorCode::NONE]
    );
    let refused = [ErrorCode::INVALID_REQUEST];
    assert_eq!(member.acknowledge(orders, &[(2, 2), (100, 100)]), refused);
    assert_eq!(member.acknowledge(orders, &[(100, 100), (2, 2)]), refused);
    // Neither was done.
    assert_eq!(member.acknowledge(orders, &[(2, 3)]), [ErrorCode::NONE]);
}
