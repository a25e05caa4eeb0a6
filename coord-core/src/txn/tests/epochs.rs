//! Around the last epoch of a producer id: 32765, 32766 (the last one given to clients), 32767
//! (markers only).

use super::super::entry::Entry;
use super::super::log_record::encode;
use super::*;

/// A known id without a transaction, its producer at `epoch`.
pub(super) fn at_epoch(w: &mut World, id: &str, epoch: i16) -> Pair {
    let entry = Entry {
        producer_epoch: epoch,
        ..Entry::new(500, 60_000, w.now)
    };
    w.log.push(encode(&id.into(), &entry).unwrap());
    w.restart();
    (500, epoch)
}

#[test]
fn each_end_at_each_epoch() {
    for epoch in [32764, 32765] {
        for committed in [true, false] {
            let mut w = World::new();
            let p = at_epoch(&mut w, "t", epoch);
            w.produce("t", p, "a", 0);
            assert_eq!(w.end_now("t", p, 5, committed), Ok((500, epoch + 1)));
        }
    }
    for committed in [true, false] {
        let mut w = World::new();
        let p = at_epoch(&mut w, "t", 32766);
        w.produce("t", p, "a", 0);
        let slot = w.end("t", p, 5, committed);
        let marker = marker_of(&w.sent[0]);
        assert_eq!((marker.0, marker.1, marker.2), (500, 32767, committed));
        assert!(w.tc.is_under_way(500) && !w.tc.is_under_way(1001));
        // The new producer id survives a crash in between.
        w.replies.remove(&slot);
        w.restart();
        assert_eq!(marker_of(&w.sent[0]), marker);
        w.write_markers();
        assert_eq!(w.pair("t"), (1001, 0));
        assert!(!w.tc.is_under_way(500));
        assert_eq!(w.end_now("t", p, 5, committed), Ok((1001, 0)), "a repeat");
        assert_eq!(
            w.end_now("t", p, 5, !committed),
            Err(ErrorCode::INVALID_TXN_STATE)
        );
        let stranger = Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        assert_eq!(w.end_now("t", (500, 32765), 5, committed), stranger);
        assert_eq!(w.end_now("t", (500, 32767), 5, committed), stranger);
        assert_eq!(w.init_as("t", p, 5), Ok((1001, 0)), "its answer was lost");
        w.produce("t", (1001, 0), "a", 0);
        assert_eq!(w.end_now("t", p, 5, committed), stranger);
        assert_eq!(w.end_now("t", (1001, 0), 5, true), Ok((1001, 1)));
    }
}

#[test]
fn an_empty_abort_at_the_last_epoch_takes_a_new_producer_id() {
    let mut w = World::new();
    let p = at_epoch(&mut w, "t", 32766);
    w.ids.dry = true;
    assert_eq!(
        w.end_now("t", p, 5, false),
        Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
    );
    assert_eq!(w.pair("t"), p);
    w.ids.dry = false;
    assert_eq!(w.end_now("t", p, 5, false), Ok((1001, 0)));
}

#[test]
fn five_transactions_cross_the_end() {
    let mut w = World::new();
    let mut p = at_epoch(&mut w, "t", 32764);
    let mut seen = vec![p];
    for committed in [true, false, true, true, false] {
        w.produce("t", p, "a", 0);
        p = w.end_now("t", p, 5, committed).unwrap();
        seen.push(p);
    }
    let expected = [
        (500, 32764),
        (500, 32765),
        (500, 32766),
        (1001, 0),
        (1001, 1),
        (1001, 2),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn version_one_reuses_the_last_epoch_until_a_new_producer_starts() {
    let mut w = World::new();
    let p = at_epoch(&mut w, "t", 32766);
    for _ in 0..2 {
        w.add("t", p, &[("a", 0)]);
        assert_eq!(w.end_now("t", p, 3, true), Ok(p));
    }
    assert_eq!(w.init("t"), Ok((1001, 0)));
    assert_eq!(w.init_as("t", p, 5), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn initialising_at_each_epoch() {
    for (epoch, next) in [
        (32764, (500, 32765)),
        (32765, (500, 32766)),
        (32766, (1001, 0)),
    ] {
        let mut w = World::new();
        let p = at_epoch(&mut w, "t", epoch);
        assert_eq!(w.init_as("t", p, 5), Ok(next));
        assert_eq!(w.init_as("t", p, 5), Ok(next), "its answer was lost");
        w.restart();
        assert_eq!(w.init_as("t", p, 5), Ok(next), "after a restart");
    }
}

#[test]
fn fencing_at_each_epoch() {
    // Timeout, then the old producer's own abort; and InitProducerId over an ongoing transaction.
    for (epoch, after) in [
        (32764, (500, 32765)),
        (32765, (500, 32766)),
        (32766, (1001, 0)),
    ] {
        let mut w = World::new();
        let p = at_epoch(&mut w, "t", epoch);
        w.add("t", p, &[("a", 0)]);
        w.advance(60_000);
        assert_eq!(marker_of(&w.sent[0]).1, epoch + 1);
        w.write_markers();
        assert_eq!(w.end_now("t", p, 5, false), Ok(after));

        let mut w = World::new();
        let p = at_epoch(&mut w, "t", epoch);
        w.add("t", p, &[("a", 0)]);
        assert_eq!(w.init("t"), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
        w.write_markers();
        let held = w.init("t").unwrap();
        assert!(held.1 < 32767 && held.1 >= 0);
        assert_eq!(w.tc.check_producer("t", held.0, held.1), Ok(()));
        assert!(w.end_now("t", p, 5, false).is_err());
    }
}

#[test]
fn an_epoch_beyond_the_last_is_replaced() {
    // Kafka's log may hold it: a fence that used up the epochs.
    let mut w = World::new();
    at_epoch(&mut w, "t", 32767);
    assert_eq!(w.init("t"), Ok((1001, 0)));
}
