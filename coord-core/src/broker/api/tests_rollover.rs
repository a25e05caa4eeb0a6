//! Acknowledgements in transactions at the last epochs of a producer id, and over them.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AddShareAcksToTxnRequest, EndTxnRequest, InitProducerIdRequest, TxnShareAcknowledgeRequest,
    add_share_acks_to_txn as register, txn_share_acknowledge as stage,
};
use ackord_proto::records::BatchBuilder;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask};

/// The last epoch that a transaction runs under, and one that is left for fencing it.
const LAST: i16 = i16::MAX - 1;

struct World {
    test: TestBroker,
    topic: Uuid,
    session_epoch: i32,
    producer: (i64, i16),
}

impl World {
    /// A producer whose next epoch is the one before `epoch`, and a topic of a few records.
    fn with_epoch(epoch: i16) -> Self {
        let mut test = TestBroker::new(&[("transaction.two.phase.commit.enable", "true")]);
        let topic = test.create_topic("t", 1);
        let mut world = World {
            test,
            topic,
            session_epoch: 0,
            producer: (-1, -1),
        };
        world.test.join_share_group("m", "t");
        assert_eq!(world.fetch(), []);
        let mut batch = BatchBuilder::new(0);
        (0..8).for_each(|_| batch.push(1, None, Some(b"x")));
        world.test.produce("t", batch.build());
        while world.producer.1 < epoch {
            world.init();
        }
        world
    }

    fn init(&mut self) {
        let request = InitProducerIdRequest {
            transactional_id: Some(Str::from("txn")),
            transaction_timeout_ms: 10_000,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let response = loop {
            let response = ask!(self.test, InitProducerId, 5, request.clone());
            if response.error_code != ErrorCode::CONCURRENT_TRANSACTIONS {
                break response;
            }
        };
        assert_eq!(response.error_code, ErrorCode::NONE);
        self.producer = (response.producer_id, response.producer_epoch);
    }

    /// InitProducerId of a participant of two-phase commit; the pair of the transaction that was kept.
    fn init_two_phase(&mut self, keep_prepared_txn: bool) -> (i64, i16) {
        let request = InitProducerIdRequest {
            transactional_id: Some(Str::from("txn")),
            producer_id: -1,
            producer_epoch: -1,
            enable_2pc: true,
            keep_prepared_txn,
            ..Default::default()
        };
        let response = ask!(self.test, InitProducerId, 6, request);
        assert_eq!(response.error_code, ErrorCode::NONE);
        self.producer = (response.producer_id, response.producer_epoch);
        (
            response.ongoing_txn_producer_id,
            response.ongoing_txn_producer_epoch,
        )
    }

    /// The offsets that the member gets, with their delivery counts.
    fn fetch(&mut self) -> Vec<(i64, i16)> {
        let acquired = self.test.share_fetch("m", self.topic, self.session_epoch);
        self.session_epoch += 1;
        let offsets = acquired.iter().flat_map(|range| {
            let count = range.delivery_count;
            (range.first_offset..=range.last_offset).map(move |offset| (offset, count))
        });
        offsets.collect()
    }

    /// Has the record accepted in the transaction that is or begins.
    fn stage(&mut self, offset: i64) -> ErrorCode {
        let (producer_id, producer_epoch) = self.producer;
        let topic = register::AddShareAcksToTxnTopic {
            name: Str::from("t"),
            partitions: vec![0],
            ..Default::default()
        };
        let request = AddShareAcksToTxnRequest {
            transactional_id: Str::from("txn"),
            producer_id,
            producer_epoch,
            group_id: Str::from("g"),
            topics: vec![topic],
            ..Default::default()
        };
        let registered = ask!(self.test, AddShareAcksToTxn, 0, request);
        if registered.error_code.is_error() {
            return registered.error_code;
        }
        let batch = stage::AcknowledgementBatch {
            first_offset: offset,
            last_offset: offset,
            acknowledge_type: 1,
            ..Default::default()
        };
        let partition = stage::TxnShareAcknowledgePartition {
            acknowledgement_batches: vec![batch],
            ..Default::default()
        };
        let topic = stage::TxnShareAcknowledgeTopic {
            topic_id: self.topic,
            partitions: vec![partition],
            ..Default::default()
        };
        let request = TxnShareAcknowledgeRequest {
            group_id: Str::from("g"),
            transactional_id: Str::from("txn"),
            producer_id,
            producer_epoch,
            topics: vec![topic],
            ..Default::default()
        };
        let response = ask!(self.test, TxnShareAcknowledge, 0, request);
        match response.responses.first() {
            Some(topic) => topic.partitions[0].error_code,
            None => response.error_code,
        }
    }

    fn end(&mut self, committed: bool) {
        let request = EndTxnRequest {
            transactional_id: Str::from("txn"),
            producer_id: self.producer.0,
            producer_epoch: self.producer.1,
            committed,
            ..Default::default()
        };
        let response = ask!(self.test, EndTxn, 5, request);
        assert_eq!(response.error_code, ErrorCode::NONE);
        self.producer = (response.producer_id, response.producer_epoch);
    }

    /// The broker comes back on what it stored, and the member with it.
    fn restart(&mut self) {
        self.test.restart();
        self.test.join_share_group("m", "t");
        self.session_epoch = 0;
    }
}

#[test]
fn commits_and_aborts_cross_the_last_epoch() {
    let mut world = World::with_epoch(LAST - 2);
    let first_id = world.producer.0;
    let held = world.fetch();
    assert_eq!(held.len(), 8);
    for (offset, committed) in [(0, true), (1, false), (2, true), (3, false), (4, true)] {
        assert_eq!(world.stage(offset), ErrorCode::NONE, "offset {offset}");
        world.end(committed);
    }
    assert!(world.producer.0 != first_id, "the id was replaced");
    assert_eq!(world.fetch(), [(1, 2), (3, 2)]);
    world.restart();
    let again = world.fetch();
    let offsets: Vec<i64> = again.iter().map(|(offset, _)| *offset).collect();
    assert_eq!(offsets, [1, 3, 5, 6, 7]);
}

#[test]
fn what_is_pending_at_the_last_epoch_outlives_a_restart_and_is_released_by_whoever_fences() {
    for epoch in [LAST - 1, LAST] {
        for by_timeout in [true, false] {
            let mut world = World::with_epoch(epoch);
            let old = world.producer;
            assert_eq!(world.fetch().len(), 8);
            assert_eq!(world.stage(0), ErrorCode::NONE);
            world.restart();
            assert!(world.fetch().iter().all(|(offset, _)| *offset != 0));
            if by_timeout {
                world.test.pass(10_001);
            } else {
                world.init();
                assert_ne!(world.producer, old);
            }
            assert_eq!(world.fetch().first(), Some(&(0, 2)), "{epoch} {by_timeout}");
            // The old one is done for good, the new one works.
            let current = world.producer;
            world.producer = old;
            assert!(world.stage(0).is_error());
            world.producer = current;
            if by_timeout {
                world.init();
            }
            assert_eq!(world.stage(0), ErrorCode::NONE);
            world.end(true);
            world.restart();
            assert!(world.fetch().iter().all(|(offset, _)| *offset != 0));
        }
    }
}

/// Its client gets another producer id; what it stages belongs to the transaction all the same.
#[test]
fn a_prepared_transaction_is_kept_over_the_last_epoch() {
    for epoch in [LAST - 1, LAST] {
        let mut world = World::with_epoch(epoch - 1);
        assert_eq!(world.init_two_phase(false), (-1, -1));
        let own = world.producer;
        assert_eq!(own.1, epoch);
        assert_eq!(world.fetch().len(), 8);
        assert_eq!(world.stage(0), ErrorCode::NONE);
        while world.producer.0 == own.0 {
            assert_eq!(world.init_two_phase(true), own);
        }
        assert_eq!(world.producer.1, 0, "a new producer id");
        world.restart();
        assert!(world.fetch().iter().all(|(offset, _)| *offset != 0));
        // The same once more, but no other.
        assert_eq!(world.stage(0), ErrorCode::NONE);
        assert_eq!(world.stage(1), ErrorCode::INVALID_TXN_STATE);
        world.end(true);
        world.restart();
        let left: Vec<i64> = world.fetch().iter().map(|(offset, _)| *offset).collect();
        assert_eq!(left, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(world.stage(2), ErrorCode::NONE);
        world.end(false);
        assert_eq!(world.fetch().first().map(|(offset, _)| *offset), Some(2));
    }
}
