//! Where retention lets a log begin.

use ackord_machine::{LoadedLog, StoredCheckpoint};

use super::*;

const KEPT: Retention = Retention { ms: -1, bytes: -1 };

fn retained(retention: Retention, rolling: Rolling) -> PartitionLog {
    let config = LogConfig {
        retention: Some(retention),
        rolling,
        timestamp_after_max_ms: i64::MAX,
        ..config()
    };
    PartitionLog::new(ID, config)
}

/// One record of 109 bytes at that time.
fn record(log: &mut PartitionLog, timestamp: i64) -> LogAppend {
    let part = append(log, &Client::anonymous().timestamp(timestamp));
    log.durable_to(log.end_offset());
    part
}

fn bases(log: &PartitionLog) -> Vec<i64> {
    log.segments().map(|segment| segment.base).collect()
}

fn size() -> i64 {
    let mut log = log();
    let part = record(&mut log, 0);
    (part.head.len() + part.body.len()) as i64
}

#[test]
fn a_segment_is_rolled_when_it_is_full_or_old() {
    let by_size = Rolling {
        bytes: 2 * size(),
        ms: 1_000,
    };
    let mut log = retained(KEPT, by_size);
    (0..5).for_each(|_| drop(record(&mut log, 10)));
    assert_eq!(bases(&log), [0, 2, 4]);
    assert_eq!(log.bytes(), 5 * size());
    let by_time = Rolling {
        bytes: i64::MAX,
        ms: 1_000,
    };
    let mut log = retained(KEPT, by_time);
    [10, 1_010, 1_011, 500, 2_011, 2_012]
        .into_iter()
        .for_each(|time| drop(record(&mut log, time)));
    assert_eq!(bases(&log), [0, 2, 5]);
}

#[test]
fn what_has_expired_goes_by_segments_and_never_sooner() {
    let rolling = Rolling {
        bytes: 2 * size(),
        ms: i64::MAX,
    };
    let mut log = retained(Retention { ms: 100, bytes: -1 }, rolling);
    for time in [10, 20, 30, 15, 40] {
        record(&mut log, time);
    }
    assert_eq!(log.retention_due(), Some(120));
    assert_eq!(log.retention_start(120), 0);
    // 0 and 1 expired with the younger of them; 3 is kept by 2.
    assert_eq!(log.retention_start(121), 2);
    assert_eq!(log.retention_start(130), 2);
    assert_eq!(log.retention_start(131), 4);
    // The active segment expires as others do.
    assert_eq!(log.retention_start(141), 5);
    log.trim(2);
    assert_eq!((log.retention_due(), log.bytes()), (Some(130), 3 * size()));
    log.trim(5);
    assert_eq!((log.retention_due(), log.bytes()), (None, 0));
    record(&mut log, 50);
    assert_eq!(bases(&log), [5]);
}

#[test]
fn what_is_too_much_goes_while_enough_is_left() {
    let rolling = Rolling {
        bytes: 2 * size(),
        ms: i64::MAX,
    };
    let most = |bytes| Retention { ms: -1, bytes };
    let mut log = retained(most(3 * size()), rolling);
    for _ in 0..5 {
        record(&mut log, 10);
    }
    assert_eq!(log.retention_start(i64::MAX), 2);
    log.set_config(LogConfig {
        retention: Some(most(3 * size() + 1)),
        ..log.config().clone()
    });
    assert_eq!((log.retention_start(0), log.retention_due()), (0, None));
    log.set_config(LogConfig {
        retention: Some(most(0)),
        ..log.config().clone()
    });
    assert_eq!(
        (log.retention_start(0), log.retention_due()),
        (5, Some(i64::MIN))
    );
    log.set_config(LogConfig {
        retention: None,
        ..log.config().clone()
    });
    assert_eq!(
        (log.retention_start(i64::MAX), log.retention_due()),
        (0, None)
    );
}

#[test]
fn an_open_transaction_and_what_is_not_durable_stay() {
    let each = Rolling { bytes: 1, ms: 1 };
    let mut log = retained(Retention { ms: 0, bytes: -1 }, each);
    record(&mut log, 10);
    append(&mut log, &Client::anonymous().timestamp(11));
    assert_eq!(log.retention_start(1_000), 1);
    log.durable_to(2);
    append(&mut log, &Client::new(7).transactional().timestamp(12));
    record(&mut log, 13);
    assert_eq!(log.retention_start(1_000), 2);
    let marker = Marker {
        producer_id: 7,
        producer_epoch: 1,
        commit: false,
        coordinator_epoch: 0,
        transaction_version: 2,
        ordinal: 0,
    };
    assert!(matches!(
        log.append_marker(now(14), marker),
        Ok(MarkerOutcome::Appended(_))
    ));
    log.durable_to(5);
    assert_eq!(log.retention_start(1_000), 5);
}

#[test]
fn records_without_a_time_do_not_expire_by_it() {
    let each = Rolling { bytes: 1, ms: 1 };
    let mut log = retained(Retention { ms: 0, bytes: -1 }, each);
    record(&mut log, -1);
    assert_eq!(
        (log.retention_start(i64::MAX), log.retention_due()),
        (0, None)
    );
}

#[test]
fn segments_outlive_a_restart_and_their_number_is_bounded() {
    let each = Rolling { bytes: 1, ms: 1 };
    let mut log = retained(Retention { ms: 0, bytes: -1 }, each);
    let mut stored: Vec<StoredBatch> = Vec::new();
    for time in 0..1_500 {
        stored.push(as_stored(&record(&mut log, time)));
    }
    assert_eq!(log.segments().len(), 1024);
    assert_eq!(log.bytes(), 1_500 * size());
    let (at, state) = log.checkpoint();
    log.trim(100);
    stored.push(as_stored(&record(&mut log, 2_000)));
    let loaded = LoadedLog {
        start: 100,
        end: 1_501,
        cleaned: false,
        checkpoint: Some(StoredCheckpoint { at, state }),
        batches: stored.split_off(1_500),
    };
    let recovered =
        PartitionLog::recover(ID, log.config().clone(), &loaded).expect("it was stored");
    assert!(recovered.segments().eq(log.segments()));
    assert_eq!(recovered.bytes(), log.bytes());
    assert_eq!(recovered.retention_start(3_000), 1_501);
}
