//! Transactions: the last stable offset, markers, and the index of aborted ones.

use super::*;

fn open(log: &mut PartitionLog, producer_id: i64, epoch: i16) -> i64 {
    let batch = Client::new(producer_id).epoch(epoch).transactional();
    let check = log.append_client(now(1), &batch.build(), TxnCheck::Version2);
    match check.unwrap() {
        Produced::Appended { base, .. } => base,
        other => panic!("{other:?}"),
    }
}

fn end(producer_id: i64, epoch: i16, commit: bool) -> Marker {
    Marker {
        producer_id,
        producer_epoch: epoch,
        commit,
        coordinator_epoch: 0,
        transaction_version: 2,
        ordinal: 0,
    }
}

fn appended(log: &mut PartitionLog, marker: Marker) -> i64 {
    match log.append_marker(now(2), marker) {
        Ok(MarkerOutcome::Appended(part)) => part.base,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_stable_offset_follows_the_transaction_at_each_step() {
    let mut log = log();
    produced(&mut log, &Client::anonymous());
    let moved = log.durable_to(1);
    assert_eq!(
        moved,
        Moved {
            high_watermark: true,
            last_stable: true
        }
    );

    assert_eq!(open(&mut log, 7, 0), 1);
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (1, 1));
    let moved = log.durable_to(2);
    assert_eq!(
        moved,
        Moved {
            high_watermark: true,
            last_stable: false
        }
    );
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (2, 1));
    assert_eq!(
        log.open_transaction(7),
        Some(OpenTxn {
            first_offset: 1,
            epoch: 0,
            ordinal: 0
        })
    );

    assert_eq!(appended(&mut log, end(7, 1, true)), 2);
    assert_eq!(log.open_transaction(7), None);
    // Decided, but a crash could still take the marker back.
    assert_eq!((log.end_offset(), log.last_stable_offset()), (3, 1));
    produced(&mut log, &Client::anonymous());
    assert_eq!(log.durable_to(2), Moved::default());
    assert_eq!(log.last_stable_offset(), 1);
    let moved = log.durable_to(3);
    assert_eq!(
        moved,
        Moved {
            high_watermark: true,
            last_stable: true
        }
    );
    assert_eq!(log.last_stable_offset(), 3);
    log.durable_to(99);
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (4, 4));
    assert!(log.aborted(0, 4).is_empty());
}

#[test]
fn a_marker_counts_only_once_it_is_durable_itself() {
    let mut log = log();
    open(&mut log, 7, 0);
    appended(&mut log, end(7, 1, true));
    log.durable_to(1);
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (1, 0));
    log.durable_to(2);
    assert_eq!(log.last_stable_offset(), 2);
}

#[test]
fn the_last_stable_offset_is_not_below_the_start() {
    let mut log = log();
    open(&mut log, 7, 0);
    produced(&mut log, &Client::anonymous().records(3));
    log.durable_to(4);
    log.trim(2);
    assert_eq!((log.start_offset(), log.last_stable_offset()), (2, 2));
    assert!(log.open_transaction(7).is_some());
}

#[test]
fn the_earliest_undecided_transaction_holds_the_last_stable_offset() {
    let mut log = log();
    open(&mut log, 7, 0);
    open(&mut log, 8, 0);
    log.durable_to(2);
    appended(&mut log, end(8, 1, false));
    log.durable_to(3);
    assert_eq!(log.last_stable_offset(), 0);
    appended(&mut log, end(7, 1, false));
    log.durable_to(4);
    assert_eq!(log.last_stable_offset(), 4);
    let aborted = [(7, 0, 3), (8, 1, 2)].map(|(producer_id, first_offset, last_offset)| Aborted {
        producer_id,
        first_offset,
        last_offset,
    });
    assert_eq!(log.aborted(0, 4), aborted);
}

#[test]
fn the_aborted_list_is_what_overlaps() {
    let mut log = log();
    // Producer n: record at 2n, marker at 2n + 1.
    for producer_id in 0..5 {
        open(&mut log, producer_id, 0);
        appended(&mut log, end(producer_id, 1, producer_id == 2));
    }
    log.durable_to(10);
    let overlapping = |from, up_to| -> Vec<_> {
        log.aborted(from, up_to)
            .iter()
            .map(|txn| txn.producer_id)
            .collect()
    };
    assert_eq!(overlapping(0, 10), [0, 1, 3, 4]);
    assert_eq!(overlapping(1, 2), [0]);
    assert_eq!(overlapping(2, 2), [] as [i64; 0]);
    assert_eq!(overlapping(2, 3), [1]);
    assert_eq!(overlapping(2, 7), [1, 3]);
    assert_eq!(overlapping(4, 6), [] as [i64; 0]);
    log.trim(7);
    assert_eq!(log.aborted(0, 10).len(), 2);
}

#[test]
fn the_search_for_aborted_transactions_passes_those_that_began_late() {
    let mut log = log();
    open(&mut log, 1, 0); // 0
    open(&mut log, 2, 0); // 1
    appended(&mut log, end(2, 1, false)); // 2
    open(&mut log, 3, 0); // 3
    appended(&mut log, end(3, 1, false)); // 4
    appended(&mut log, end(1, 1, false)); // 5
    log.durable_to(6);
    let ids: Vec<_> = log
        .aborted(0, 1)
        .iter()
        .map(|txn| txn.producer_id)
        .collect();
    assert_eq!(ids, [1]);
    let ids: Vec<_> = log
        .aborted(3, 4)
        .iter()
        .map(|txn| txn.producer_id)
        .collect();
    assert_eq!(ids, [1, 3]);
}

#[test]
fn a_repeated_marker_of_version_2_is_done_already() {
    let mut log = log();
    open(&mut log, 7, 0);
    appended(&mut log, end(7, 1, true));
    assert_eq!(
        log.append_marker(now(3), end(7, 1, true)),
        Ok(MarkerOutcome::AlreadyDone)
    );
    assert_eq!(log.end_offset(), 2);
    // The next transaction runs under the bumped epoch: the copy must not end it.
    open(&mut log, 7, 1);
    let copy = log.append_marker(now(3), end(7, 1, true));
    assert_eq!(copy, Err(ErrorCode::INVALID_PRODUCER_EPOCH));
    assert!(log.open_transaction(7).is_some());
    appended(&mut log, end(7, 2, false));
}

#[test]
fn a_marker_of_version_2_fences_the_transaction_it_ended() {
    let mut log = log();
    open(&mut log, 7, 0);
    appended(&mut log, end(7, 1, false));
    let late = Client::new(7).sequence(1).transactional().build();
    for check in [TxnCheck::Unverified, TxnCheck::Version1, TxnCheck::Version2] {
        let refusal = log.append_client(now(3), &late, check).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::INVALID_PRODUCER_EPOCH);
    }
    let middle = Client::new(7).epoch(1).sequence(1).transactional().build();
    let refusal = log
        .append_client(now(3), &middle, TxnCheck::Version2)
        .unwrap_err();
    assert_eq!(refusal.code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_eq!(open(&mut log, 7, 1), 2);
}

#[test]
fn markers_of_older_versions_may_carry_the_same_epoch() {
    let mut log = log();
    open(&mut log, 7, 3);
    let same = Marker {
        transaction_version: 1,
        ..end(7, 3, true)
    };
    let stale = Marker {
        producer_epoch: 2,
        ..same
    };
    assert_eq!(
        log.append_marker(now(3), stale),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    assert_eq!(
        log.append_marker(now(3), end(7, 3, true)),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    assert_eq!(appended(&mut log, same), 1);
    // Sequence numbers go on, as the epoch does.
    let next = Client::new(7).epoch(3).sequence(1).transactional().build();
    assert!(log.append_client(now(4), &next, TxnCheck::Version1).is_ok());
    // Without anything open a marker of these versions is written once more, as in Kafka.
    appended(&mut log, same);
    assert_eq!(appended(&mut log, same), 4);
}

#[test]
fn an_older_coordinator_is_fenced() {
    let mut log = log();
    open(&mut log, 7, 0);
    appended(
        &mut log,
        Marker {
            coordinator_epoch: 5,
            ..end(7, 1, true)
        },
    );
    open(&mut log, 7, 1);
    let older = Marker {
        coordinator_epoch: 4,
        ..end(7, 2, true)
    };
    assert_eq!(
        log.append_marker(now(3), older),
        Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED)
    );
    appended(
        &mut log,
        Marker {
            coordinator_epoch: 5,
            ..older
        },
    );
}

#[test]
fn a_marker_with_another_ordinal_changes_nothing() {
    let mut log = log();
    log.set_ordinal(7, 100);
    open(&mut log, 7, 0);
    assert_eq!(log.open_transaction(7).unwrap().ordinal, 100);
    let before = Marker {
        transaction_version: 1,
        ordinal: 99,
        ..end(7, 0, true)
    };
    assert_eq!(
        log.append_marker(now(3), before),
        Err(ErrorCode::INVALID_TXN_STATE)
    );
    assert_eq!(
        (log.end_offset(), log.open_transaction(7).is_some()),
        (1, true)
    );
    appended(
        &mut log,
        Marker {
            ordinal: 100,
            ..before
        },
    );
    assert_eq!(log.open_transaction(7), None);
}

#[test]
fn the_ordinal_zero_fits_any() {
    let mut log = log();
    open(&mut log, 7, 0);
    appended(
        &mut log,
        Marker {
            ordinal: 5,
            ..end(7, 1, true)
        },
    );
    log.set_ordinal(7, 6);
    open(&mut log, 7, 1);
    appended(&mut log, end(7, 2, true));
    // A transaction that was recovered learns its ordinal late.
    open(&mut log, 7, 2);
    log.set_ordinal(7, 8);
    assert_eq!(log.open_transaction(7).unwrap().ordinal, 8);
}

#[test]
fn a_transaction_does_not_continue_another_that_is_still_open() {
    let mut log = log();
    log.set_ordinal(7, 1);
    open(&mut log, 7, 0);
    log.set_ordinal(7, 2);
    let next = Client::new(7).sequence(1).transactional().build();
    let refusal = log
        .append_client(now(3), &next, TxnCheck::Version1)
        .unwrap_err();
    assert_eq!(refusal.code, ErrorCode::INVALID_TXN_STATE);
    appended(
        &mut log,
        Marker {
            transaction_version: 1,
            ordinal: 1,
            ..end(7, 0, false)
        },
    );
    assert!(log.append_client(now(4), &next, TxnCheck::Version1).is_ok());
    assert_eq!(log.open_transaction(7).unwrap().ordinal, 2);
}

#[test]
fn a_transaction_that_ends_without_a_record_takes_its_ordinal_along() {
    let mut log = log();
    log.set_ordinal(7, 5);
    appended(
        &mut log,
        Marker {
            ordinal: 5,
            ..end(7, 1, true)
        },
    );
    open(&mut log, 7, 1);
    assert_eq!(log.open_transaction(7).unwrap().ordinal, 0);
}

#[test]
fn a_copy_of_an_old_marker_leaves_the_announced_ordinal() {
    let mut log = log();
    let first = Marker {
        transaction_version: 1,
        ordinal: 1,
        ..end(7, 0, false)
    };
    log.set_ordinal(7, 1);
    open(&mut log, 7, 0);
    appended(&mut log, first);
    log.set_ordinal(7, 2);
    appended(&mut log, first);
    let next = Client::new(7).sequence(1).transactional().build();
    log.append_client(now(4), &next, TxnCheck::Version1)
        .unwrap();
    assert_eq!(
        log.append_marker(now(5), first),
        Err(ErrorCode::INVALID_TXN_STATE)
    );
}

#[test]
fn a_transaction_has_to_be_verified_before_it_opens() {
    let mut log = log();
    let first = Client::new(7).transactional();
    assert_eq!(refused(&mut log, &first), ErrorCode::INVALID_TXN_STATE);
    open(&mut log, 7, 0);
    // What is open goes on without being asked again, under its own epoch.
    produced(&mut log, &Client::new(7).sequence(1).transactional());
    let newer = Client::new(7).epoch(1).transactional();
    assert_eq!(refused(&mut log, &newer), ErrorCode::INVALID_TXN_STATE);
    let plain = Client::new(7).sequence(2);
    assert_eq!(refused(&mut log, &plain), ErrorCode::INVALID_TXN_STATE);
}

#[test]
fn coordinators_write_in_the_transactions_of_clients() {
    let mut log = log();
    log.set_ordinal(7, 4);
    let part = log.append_records(now(1), &records(3), Some(ProducerEpoch { id: 7, epoch: 2 }));
    assert_eq!((part.base, part.last), (0, 2));
    assert_eq!(
        log.open_transaction(7),
        Some(OpenTxn {
            first_offset: 0,
            epoch: 2,
            ordinal: 4
        })
    );
    log.append_records(now(1), &records(1), None);
    log.durable_to(4);
    assert_eq!(log.last_stable_offset(), 0);
    appended(
        &mut log,
        Marker {
            ordinal: 4,
            ..end(7, 3, true)
        },
    );
    log.durable_to(5);
    assert_eq!(log.last_stable_offset(), 5);
}

#[test]
fn a_marker_for_nobody_is_refused() {
    let mut log = log();
    assert_eq!(
        log.append_marker(now(1), end(-1, 0, true)),
        Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING)
    );
    assert_eq!(
        log.append_marker(now(1), end(7, -1, true)),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    // An empty transaction leaves its marker, as in Kafka.
    assert_eq!(appended(&mut log, end(7, 1, false)), 0);
    log.durable_to(1);
    assert_eq!((log.last_stable_offset(), log.aborted(0, 1).len()), (1, 0));
}
