//! The log of share states stays short however long its history, and alone tells every state.

use ackord_machine::StoredBatch;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::write_share_group_state as write;
use ackord_proto::records::{BatchBuilder, RecordIter};
use ackord_proto::uuid::Uuid;
use alloc::vec;
use alloc::vec::Vec;

use crate::broker::testing::{TestBroker, ask, write_share_state};
use crate::metadata::SHARE_STATE_TOPIC;
use crate::outbox::StateRecord;
use crate::share::{ShareCoordinator, ShareCoordinatorConfig, ShareKey, ShareState};

/// Milliseconds between two prunings, and after which a quiet share partition gets a snapshot.
const INTERVAL_MS: i64 = 300_000;
/// Appends between two checkpoints.
const CHECKPOINT: usize = 1000;
const UPDATES_PER_SNAPSHOT: usize = 500;

fn world(partitions: i32) -> (TestBroker, Uuid) {
    let mut test = TestBroker::new(&[
        ("group.share.min.partition.max.record.locks", "100"),
        ("group.share.partition.max.record.locks", "100"),
        ("share.coordinator.state.topic.num.partitions", "1"),
    ]);
    let topic = test.create_topic("t", partitions);
    test.join_share_group("m", "t");
    (test, topic)
}

/// One update: a record came back once more.
fn update(test: &mut TestBroker, topic_id: Uuid, partition: i32, delivery_count: i16) {
    let batch = write::StateBatch {
        first_offset: 0,
        last_offset: 0,
        delivery_state: 0,
        delivery_count,
        ..Default::default()
    };
    let data = write::PartitionData {
        partition,
        // Above every other.
        state_epoch: i32::MAX,
        start_offset: -1,
        state_batches: vec![batch],
        ..Default::default()
    };
    let request = write_share_state("g", topic_id, data);
    let response = ask!(test, WriteShareGroupState, 1, request);
    let code = response.results[0].partitions[0].error_code;
    assert_eq!(code, ErrorCode::NONE);
}

/// States without what a checkpoint does not keep of them.
fn essence(sgc: &ShareCoordinator) -> Vec<(ShareKey, ShareState)> {
    let states = sgc.states().map(|(key, state)| {
        let state = ShareState {
            snapshot_timestamp: 0,
            updates: 0,
            snapshot_offset: 0,
            ..state.clone()
        };
        (key.clone(), state)
    });
    states.collect()
}

fn live(test: &TestBroker) -> Vec<(ShareKey, ShareState)> {
    let mut coordinators = test.broker.share_coordinators();
    essence(coordinators.next().expect("there is one"))
}

/// The states as whoever has nothing but the records of the log makes them, such as Kafka's tools.
fn told_by(batches: &[StoredBatch]) -> Vec<(ShareKey, ShareState)> {
    let config = ShareCoordinatorConfig {
        updates_per_snapshot: UPDATES_PER_SNAPSHOT,
        transaction_partitions: 1,
    };
    let log = ackord_machine::LogId {
        topic: Uuid::ZERO,
        partition: 0,
    };
    let mut sgc = ShareCoordinator::new(0, log, config);
    for batch in batches {
        for record in RecordIter::new(&batch.bytes).expect("a batch") {
            let record = record.expect("a record");
            let record = StateRecord {
                key: record.key.unwrap_or_default(),
                value: record.value,
            };
            sgc.apply(&record, None).expect("own records decode");
        }
    }
    essence(&sgc)
}

fn bytes(batches: &[StoredBatch]) -> usize {
    batches.iter().map(|batch| batch.bytes.len()).sum()
}

/// KAFKA-18058: one share partition is busy, others are quiet.
#[test]
fn the_log_stays_short_under_updates_of_one_key() {
    let (mut test, topic) = world(8);
    for partition in 0..8 {
        update(&mut test, topic, partition, 1);
    }
    let mut starts = Vec::new();
    for round in 1..=20 {
        for _ in 0..2 * CHECKPOINT {
            update(&mut test, topic, 0, round);
        }
        test.pass(INTERVAL_MS);
        let (start, batches, loaded) = test.stored(SHARE_STATE_TOPIC, 0);
        starts.push(start);
        assert!(batches.len() <= 4 * CHECKPOINT, "{} batches", batches.len());
        assert!(
            bytes(&batches) <= 4 * CHECKPOINT * 256,
            "{}",
            bytes(&batches)
        );
        let read = loaded.batches.len();
        assert!(read <= CHECKPOINT, "a start reads {read} batches");
        assert_eq!(told_by(&batches), live(&test), "round {round}");
    }
    assert!(starts.is_sorted() && starts[0] < starts[19], "{starts:?}");
    assert!(starts[19] > 18 * 2 * CHECKPOINT as i64, "{starts:?}");
    let before = live(&test);
    test.restart();
    assert_eq!(live(&test), before);
    // What the checkpoint knows of the log holds after it, too.
    update(&mut test, topic, 0, 21);
    test.pass(INTERVAL_MS);
    let (start, batches, _) = test.stored(SHARE_STATE_TOPIC, 0);
    assert!(start >= starts[19]);
    assert_eq!(told_by(&batches), live(&test));
}

#[test]
fn quiet_share_partitions_are_written_anew_only_as_the_log_grows() {
    let (mut test, topic) = world(8);
    for partition in 0..8 {
        update(&mut test, topic, partition, 1);
    }
    let end = |test: &mut TestBroker| {
        test.pass(INTERVAL_MS);
        let (_, batches, _) = test.stored(SHARE_STATE_TOPIC, 0);
        assert_eq!(told_by(&batches), live(test));
        batches.last().map_or(0, |batch| batch.last)
    };
    let first = end(&mut test);
    for round in 0..10 {
        assert_eq!(end(&mut test), first, "round {round}: nothing is written");
    }
    update(&mut test, topic, 0, 2);
    // The update, and the snapshot that follows it.
    assert_eq!(end(&mut test), first + 2);
    assert_eq!(end(&mut test), first + 2);
}

/// PIP-262: every second record is acknowledged, the rest comes back and is acknowledged then.
#[test]
fn a_state_with_holes_is_bounded_by_the_in_flight_limit() {
    const LIMIT: usize = 100;
    /// A batch of one record, and what each range takes of it.
    const BATCH: usize = 200 + LIMIT * 20;
    let (mut test, topic) = world(1);
    assert_eq!(test.share_fetch("m", topic, 0), []);
    let mut batch = BatchBuilder::new(0);
    (0..LIMIT).for_each(|_| batch.push(1, None, Some(b"x")));
    let batch = batch.build();
    let (mut session_epoch, mut holes) = (1, 0);
    for round in 0..200 {
        test.join_share_group("m", "t");
        test.produce("t", batch.clone());
        for _ in 0..2 {
            let got = fetched(&mut test, topic, session_epoch);
            acknowledge(&mut test, topic, session_epoch + 1, &got);
            session_epoch += 2;
            let ranges = live(&test)[0].1.deliveries.iter().count();
            holes = holes.max(ranges);
            assert!(ranges <= LIMIT, "round {round}: {ranges} ranges");
        }
        let (_, batches, loaded) = test.stored(SHARE_STATE_TOPIC, 0);
        let longest = batches.iter().map(|batch| batch.bytes.len()).max();
        assert!(longest <= Some(BATCH), "round {round}: {longest:?} bytes");
        let read = bytes(&loaded.batches) + loaded.checkpoint.map_or(0, |it| it.state.len());
        assert!(read <= CHECKPOINT * BATCH, "a start reads {read} bytes");
    }
    assert!(holes >= LIMIT - 1, "only {holes} ranges");
    assert_eq!(live(&test)[0].1.start_offset, 200 * LIMIT as i64);
}

/// What the member gets, with its delivery counts.
fn fetched(test: &mut TestBroker, topic: Uuid, session_epoch: i32) -> Vec<(i64, i16)> {
    let acquired = test.share_fetch("m", topic, session_epoch);
    let offsets = acquired.iter().flat_map(|range| {
        let count = range.delivery_count;
        (range.first_offset..=range.last_offset).map(move |at| (at, count))
    });
    offsets.collect()
}

/// Every second one is accepted at once, the others when they come again.
fn acknowledge(test: &mut TestBroker, topic_id: Uuid, session_epoch: i32, got: &[(i64, i16)]) {
    let records = got.iter().map(|(offset, count)| {
        let kind = if *count > 1 || offset % 2 == 0 { 1 } else { 2 };
        (*offset, kind)
    });
    test.share_acknowledge(topic_id, session_epoch, records);
}
