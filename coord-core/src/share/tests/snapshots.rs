//! When snapshots are written, and that replay gives what was live.

use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{Entropy, LogId, MonoTime, Now, WallTime};
use ackord_proto::coordinator_records::ShareGroupStateRecord;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    initialize_share_group_state as initialize, write_share_group_state as write,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::super::*;
use crate::outbox::{Outbox, Output, ProducerEpoch, StateRecord};

const LOG: LogId = LogId {
    topic: Uuid([9; 16]),
    partition: 0,
};

fn coordinator(updates_per_snapshot: usize) -> ShareCoordinator {
    let config = ShareCoordinatorConfig {
        updates_per_snapshot,
        transaction_partitions: 1,
    };
    ShareCoordinator::new(0, LOG, config)
}

fn at(millis: i64) -> Now {
    Now {
        mono: MonoTime::ZERO.plus_millis(millis),
        wall: WallTime::from_millis(millis),
    }
}

fn key(partition: i32) -> ShareKey {
    ShareKey {
        group: Str::from("g"),
        topic: Uuid([3; 16]),
        partition,
    }
}

type Appended = (StateRecord, Option<ProducerEpoch>);

fn appended(out: &mut Outbox<ShareReply>) -> Vec<Appended> {
    let batch = |output| match output {
        Output::Append {
            records, producer, ..
        } => records
            .into_iter()
            .map(|record| (record, producer))
            .collect(),
        _ => vec![],
    };
    out.take().into_iter().flat_map(batch).collect()
}

fn begin(sgc: &mut ShareCoordinator, now: Now, key: &ShareKey, state_epoch: i32) -> Vec<Appended> {
    let mut out = Outbox::new();
    let data = initialize::PartitionData {
        partition: key.partition,
        state_epoch,
        start_offset: 0,
        ..Default::default()
    };
    sgc.initialize(now, key, &data, &mut out);
    appended(&mut out)
}

/// Writes one delivered range; the code of the answer and what was appended.
fn deliver(
    sgc: &mut ShareCoordinator,
    now: Now,
    key: &ShareKey,
    epochs: (i32, i32),
    range: (i64, i64, i8, i16),
) -> (ErrorCode, Vec<Appended>) {
    let mut out = Outbox::new();
    let batch = write::StateBatch {
        first_offset: range.0,
        last_offset: range.1,
        delivery_state: range.2,
        delivery_count: range.3,
        ..Default::default()
    };
    let data = write::PartitionData {
        partition: key.partition,
        leader_epoch: epochs.0,
        state_epoch: epochs.1,
        start_offset: -1,
        state_batches: vec![batch],
        ..Default::default()
    };
    let answer = sgc.write_state(now, key, &data, &mut out);
    (answer.error_code, appended(&mut out))
}

fn is_snapshot(record: &Appended) -> bool {
    let decoded = ShareGroupStateRecord::decode(&record.0.key, record.0.value.as_ref());
    matches!(decoded, Ok(ShareGroupStateRecord::ShareSnapshot(..)))
}

#[test]
fn a_snapshot_comes_after_exactly_as_many_updates_as_configured() {
    for limit in [0, 1, 2, 5] {
        let mut sgc = coordinator(limit);
        begin(&mut sgc, at(0), &key(0), 0);
        for round in 0..3 {
            for update in 0..=limit {
                let offset = 10 * round + update as i64;
                let write = (offset, offset, 0, 1);
                let (code, records) = deliver(&mut sgc, at(1), &key(0), (0, 0), write);
                assert_eq!(code, ErrorCode::NONE);
                let snapshots: Vec<bool> = records.iter().map(is_snapshot).collect();
                assert_eq!(
                    snapshots,
                    [update == limit],
                    "limit {limit}, update {update}"
                );
            }
        }
        let state = sgc.state(&key(0)).expect("it was begun");
        assert_eq!((state.snapshot_epoch, state.updates), (3, 0));
    }
}

#[test]
fn a_quiet_share_partition_gets_a_snapshot_once() {
    let mut sgc = coordinator(500);
    for partition in 0..3 {
        begin(&mut sgc, at(0), &key(partition), 0);
    }
    for partition in 0..2 {
        deliver(&mut sgc, at(5), &key(partition), (0, 0), (0, 0, 0, 1));
    }
    let mut out = Outbox::new();
    assert!(!sgc.snapshot_cold(at(999), 1000, -1, 10, &mut out));
    assert_eq!(appended(&mut out), []);
    // One at a time, and the third has nothing new.
    assert!(sgc.snapshot_cold(at(1000), 1000, -1, 1, &mut out));
    assert!(!sgc.snapshot_cold(at(1000), 1000, -1, 1, &mut out));
    let written = appended(&mut out);
    assert_eq!(
        written.iter().map(is_snapshot).collect::<Vec<_>>(),
        [true; 2]
    );
    assert!(!sgc.snapshot_cold(at(9000), 1000, -1, 1, &mut out));
    assert_eq!(appended(&mut out), []);
}

#[test]
fn leaders_and_states_of_older_epochs_are_fenced() {
    let mut sgc = coordinator(500);
    begin(&mut sgc, at(0), &key(0), 4);
    let range = (0, 0, 2, 1);
    let code = |sgc: &mut ShareCoordinator, epochs| deliver(sgc, at(1), &key(0), epochs, range).0;
    assert_eq!(code(&mut sgc, (7, 4)), ErrorCode::NONE);
    assert_eq!(code(&mut sgc, (6, 4)), ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!(code(&mut sgc, (7, 3)), ErrorCode::FENCED_STATE_EPOCH);
    // A reset begins anew under a higher state epoch: the writes of before come too late.
    begin(&mut sgc, at(2), &key(0), 5);
    assert_eq!(code(&mut sgc, (7, 4)), ErrorCode::FENCED_STATE_EPOCH);
    let state = sgc.state(&key(0)).expect("it was begun");
    assert_eq!((state.start_offset, state.deliveries.is_empty()), (0, true));
}

/// After every append, a coordinator that has only read the log is equal to the one that wrote it;
/// one that has read a snapshot of all and what followed is too, but for the counting of updates.
#[test]
fn replay_gives_what_was_live_after_every_record() {
    let mut chance = Entropy::from_seed([7; 32]);
    for _ in 0..20 {
        let (mut live, mut replayed) = (coordinator(3), coordinator(3));
        let mut pruned = coordinator(3);
        for step in 0..200 {
            let now = at(step * 10);
            let key = key(chance.below(3) as i32);
            let records = match chance.below(10) {
                0 => begin(&mut live, now, &key, chance.below(3) as i32),
                1 => {
                    let mut out = Outbox::new();
                    live.snapshot_cold(now, 100, -1, 2, &mut out);
                    appended(&mut out)
                }
                2 => {
                    let mut out = Outbox::new();
                    live.delete(&key, key.partition, &mut out);
                    appended(&mut out)
                }
                _ => {
                    let first = chance.below(20) as i64;
                    let last = first + chance.below(4) as i64;
                    let state = [0, 2, 4][chance.below(3) as usize];
                    let epochs = (0, chance.below(3) as i32);
                    let range = (first, last, state, 1 + chance.below(3) as i16);
                    deliver(&mut live, now, &key, epochs, range).1
                }
            };
            for (record, producer) in &records {
                replayed
                    .apply(record, *producer)
                    .expect("own records decode");
                pruned.apply(record, *producer).expect("own records decode");
            }
            if step % 50 == 49 {
                let snapshot = live.snapshot(now);
                pruned = coordinator(3);
                for record in &snapshot {
                    pruned.apply(record, None).expect("own records decode");
                }
            }
            let states = |sgc: &ShareCoordinator| -> Vec<_> {
                sgc.states()
                    .map(|(key, state)| (key.clone(), state.clone()))
                    .collect()
            };
            assert_eq!(states(&live), states(&replayed));
            let essence = |sgc: &ShareCoordinator| -> Vec<_> {
                let uncounted = |(key, mut state): (ShareKey, ShareState)| {
                    (state.updates, state.snapshot_timestamp) = (0, 0);
                    (key, state)
                };
                states(sgc).into_iter().map(uncounted).collect()
            };
            assert_eq!(essence(&live), essence(&pruned));
        }
    }
}
