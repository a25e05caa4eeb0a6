use super::*;

fn ending(partitions: &[(&str, i32)]) -> (World, Pair, u64) {
    let mut w = World::new();
    let p = w.init("t").unwrap();
    for (topic, partition) in partitions {
        w.produce("t", p, topic, *partition);
    }
    let slot = w.end("t", p, 5, true);
    (w, p, slot)
}

#[test]
fn answers_may_come_in_any_order_and_twice() {
    let all = [("a", 0), ("a", 1), (SHARE, 2)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let (mut w, p, slot) = ending(&all);
        let markers = core::mem::take(&mut w.sent);
        assert_eq!(markers.len(), 3);
        for (n, index) in order.into_iter().enumerate() {
            w.answer(&markers[index], ErrorCode::NONE);
            w.answer(&markers[index], ErrorCode::NONE);
            assert_eq!(w.state("t") == TxnState::CompleteCommit, n == 2);
        }
        assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
    }
}

#[test]
fn an_answer_to_the_last_transaction_does_not_end_the_next() {
    let (mut w, p, _) = ending(&[("a", 0)]);
    let old = w.sent[0].clone();
    w.write_markers();
    w.produce("t", (p.0, 1), "a", 0);
    w.end("t", (p.0, 1), 5, false);
    w.answer(&old, ErrorCode::NONE);
    assert_eq!(w.state("t"), TxnState::PrepareAbort);
    // Nor does it after a restart.
    w.restart();
    w.answer(&old, ErrorCode::NONE);
    assert_eq!(w.state("t"), TxnState::PrepareAbort);
    w.write_markers();
    assert_eq!(w.state("t"), TxnState::CompleteAbort);
}

#[test]
fn unanswered_and_refused_markers_are_sent_again() {
    let (mut w, p, slot) = ending(&[("a", 0), ("a", 1), ("b", 0)]);
    let first = core::mem::take(&mut w.sent);
    w.answer(&first[0], ErrorCode::NONE);
    w.answer(&first[1], ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let at = w.tc.next_deadline().unwrap();
        assert_eq!(at.reason, ackord_machine::DeadlineReason::Retry);
        let wait = at.at.since(w.now.mono).as_millis() as i64;
        w.advance(wait - 1);
        assert!(w.sent.is_empty());
        w.advance(1);
        assert_eq!(w.sent, first[1..]);
        w.sent.clear();
        waits.push(wait);
    }
    assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
    w.answer(&first[1], ErrorCode::INVALID_PRODUCER_EPOCH);
    w.answer(&first[2], ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(w.state("t"), TxnState::PrepareCommit);
    // Late answers to any copy count.
    w.answer(&first[1], ErrorCode::NONE);
    w.answer(&first[2], ErrorCode::NONE);
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
    assert_eq!(w.tc.next_deadline(), None);
}

#[test]
fn deleted_topics_count_as_told() {
    // At once.
    let mut w = World::new();
    let p = w.init("t").unwrap();
    w.produce("t", p, "a", 0);
    w.gone.0.insert("a");
    assert_eq!(w.end_now("t", p, 5, true), Ok((p.0, 1)));
    // By the leader's word, or between two copies.
    let (mut w, p, slot) = ending(&[("a", 0), ("b", 0)]);
    let sent = core::mem::take(&mut w.sent);
    w.answer(&sent[0], ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    w.gone.0.insert("b");
    w.advance(100);
    assert!(w.sent.is_empty());
    assert_eq!(w.ended(slot), Some(Ok((p.0, 1))));
}

#[test]
fn answers_about_something_else_are_ignored() {
    let (mut w, _, _) = ending(&[("a", 0)]);
    let mut other = w.sent[0].clone();
    if let Body::WriteTxnMarkers { request, .. } = &mut other.body {
        request.markers[0].topics[0].partition_indexes = vec![1];
    }
    w.answer(&other, ErrorCode::NONE);
    let mut other = w.sent[0].clone();
    if let Body::WriteTxnMarkers { request, .. } = &mut other.body {
        request.markers[0].topics[0].name = "b".into();
    }
    w.answer(&other, ErrorCode::NONE);
    let mut other = w.sent[0].clone();
    if let Body::WriteTxnMarkers { request, .. } = &mut other.body {
        request.markers[0].producer_id = 4;
    }
    w.answer(&other, ErrorCode::NONE);
    let mut other = w.sent[0].clone();
    other.correlation += 1;
    w.answer(&other, ErrorCode::NONE);
    assert_eq!(w.state("t"), TxnState::PrepareCommit);
}

#[test]
fn transactions_of_several_ids_end_apart() {
    let mut w = World::new();
    let (p, q) = (w.init("t").unwrap(), w.init("u").unwrap());
    w.produce("t", p, "a", 0);
    w.produce("u", q, "a", 0);
    let t = w.end("t", p, 5, true);
    let u = w.end("u", q, 5, false);
    let sent = core::mem::take(&mut w.sent);
    w.answer(&sent[1], ErrorCode::NONE);
    assert_eq!((w.ended(t), w.ended(u)), (None, Some(Ok((q.0, 1)))));
    w.answer(&sent[0], ErrorCode::NONE);
    assert_eq!(w.ended(t), Some(Ok((p.0, 1))));
}
