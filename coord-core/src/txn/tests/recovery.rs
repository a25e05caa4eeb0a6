use super::*;
use bytes::Bytes;

/// Transactions of every kind on three ids.
fn busy() -> World {
    let mut w = World::new();
    let mut p = w.init("t").unwrap();
    let q = w.init("u").unwrap();
    let r = super::epochs::at_epoch(&mut w, "v", 32766);
    w.produce("t", p, "a", 0);
    w.add_acks("t", p, &[1, 2]);
    w.add("u", q, &[("a", 0), ("b", 1)]);
    p = w.end_now("t", p, 5, true).unwrap();
    w.produce("v", r, "a", 0);
    w.end_now("v", r, 5, true).unwrap();
    w.produce("t", p, "b", 0);
    w.advance(60_000);
    w.write_markers();
    let _ = w.end_now("u", q, 3, true);
    let q = w.init("u").unwrap();
    w.add("u", q, &[("a", 1)]);
    let _ = w.init("u");
    w.write_markers();
    w.init("u").unwrap();
    w
}

#[test]
fn a_crash_after_any_record_ends_well() {
    let records = busy().log.len();
    assert!(records > 15);
    for cut in 0..=records {
        let mut w = busy();
        let before = w.log.clone();
        w.restart_at(cut);
        // Nothing is decided anew: what was prepared completes with its outcome, by the old record.
        let prepared: Vec<_> =
            w.tc.transactions()
                .filter(|t| t.state.is_prepared())
                .map(|t| (Str::from(t.transactional_id), t.state.outcome()))
                .collect();
        assert_eq!(w.log, before[..cut]);
        w.write_markers();
        for (id, outcome) in prepared {
            assert!(!w.state(&id).is_prepared());
            assert_eq!(w.state(&id).outcome(), outcome);
        }
        // Everything ends in time, by itself.
        w.advance(60_000);
        w.write_markers();
        assert!(
            w.tc.transactions()
                .all(|t| !w.tc.is_under_way(t.producer_id))
        );
        assert_eq!(w.tc.next_deadline(), None);
    }
}

#[test]
fn prepared_transactions_resume_with_the_same_markers() {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    w.add_acks("t", p, &[3]);
    w.end("t", p, 5, true);
    let sent: Vec<_> = w
        .sent
        .iter()
        .map(|e| (e.to.clone(), marker_of(e)))
        .collect();
    w.restart();
    let again: Vec<_> = w
        .sent
        .iter()
        .map(|e| (e.to.clone(), marker_of(e)))
        .collect();
    assert_eq!(sent, again);
    // The client asks again and waits for the end.
    let slot = w.end("t", p, 5, true);
    assert_eq!(w.ended(slot), None);
    w.write_markers();
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
}

#[test]
fn a_snapshot_stands_for_the_log() {
    let w = busy();
    let mut from_snapshot = TxnCoordinator::new(7, LOG, TxnConfig::default());
    for record in w.tc.snapshot() {
        from_snapshot.apply(&record).unwrap();
    }
    assert_same(&w.tc, &from_snapshot);
    let mut from_log = TxnCoordinator::new(7, LOG, TxnConfig::default());
    for record in &w.log {
        from_log.apply(record).unwrap();
    }
    assert_same(&w.tc, &from_log);
}

#[test]
fn tombstones_forget_and_unknown_types_are_skipped() {
    let mut w = World::new();
    w.init("t").unwrap();
    let record = StateRecord {
        key: Bytes::from_static(&[0, 9, 1]),
        value: None,
    };
    assert_eq!(w.tc.apply(&record), Ok(()));
    assert!(w.tc.transaction("t").is_some());
    let record = StateRecord {
        key: w.log[0].key.clone(),
        value: None,
    };
    assert_eq!(w.tc.apply(&record), Ok(()));
    assert!(w.tc.transaction("t").is_none() && w.tc.id_of_producer(1001).is_none());
}

#[test]
fn records_that_cannot_be_used_change_nothing() {
    let mut w = World::new();
    w.init("t").unwrap();
    let good = w.log[0].clone();
    let value = good.value.clone().unwrap();
    for len in 0..value.len() {
        let record = StateRecord {
            value: Some(value.slice(..len)),
            ..good.clone()
        };
        assert!(w.tc.apply(&record).is_err(), "{len} bytes");
    }
    // Producer id, epoch and timeout take 14 bytes behind the version; the state follows.
    for state in [6, 7, 8, 0xff] {
        let mut bytes = value.to_vec();
        bytes[16] = state;
        let record = StateRecord {
            value: Some(bytes.into()),
            ..good.clone()
        };
        let error = w.tc.apply(&record).unwrap_err();
        assert_eq!(error.reason, "a state that is never stored");
    }
    assert_same(&w.tc, &w.replica);
}

#[test]
fn version_zero_values_are_read() {
    // As Kafka's own class writes them: producer 7, epoch 2, 1 s, Ongoing, topic "a" 0 and 5.
    let value = b"\x00\x00\0\0\0\0\0\0\0\x07\0\x02\0\0\x03\xe8\x01\0\0\0\x01\0\x01a\0\0\0\x02\
        \0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x08";
    let mut w = World::new();
    w.log.push(StateRecord {
        key: Bytes::from_static(b"\0\0\0\x01t"),
        value: Some(Bytes::from_static(value)),
    });
    w.restart();
    assert!(w.tc.holds(7, "a", 0) && w.tc.holds(7, "a", 5));
    assert_eq!(w.end_now("t", (7, 2), 3, true), Ok((7, 2)));
}
