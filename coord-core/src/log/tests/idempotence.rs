//! Epochs and sequence numbers.

use super::*;

#[test]
fn a_batch_that_comes_again_is_a_duplicate() {
    let mut log = log();
    let first = Client::new(7).records(3);
    assert_eq!(produced(&mut log, &first), (0, 2));
    let second = Client::new(7).sequence(3).records(1);
    assert_eq!(produced(&mut log, &second), (3, 3));
    let again = log.append_client(now(9), &first.build(), TxnCheck::Unverified);
    assert_eq!(again, Ok(Produced::Duplicate { base: 0, last: 2 }));
    assert_eq!(log.end_offset(), 4);
}

#[test]
fn five_batches_are_remembered() {
    let mut log = log();
    let batches: Vec<_> = (0..6).map(|n| Client::new(7).sequence(n)).collect();
    for batch in &batches {
        produced(&mut log, batch);
    }
    assert_eq!(
        refused(&mut log, &batches[0]),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
    );
    let again = log.append_client(now(9), &batches[1].build(), TxnCheck::Unverified);
    assert_eq!(again, Ok(Produced::Duplicate { base: 1, last: 1 }));
}

#[test]
fn a_batch_that_overlaps_the_last_is_no_duplicate() {
    let mut log = log();
    produced(&mut log, &Client::new(7).records(3));
    let longer = Client::new(7).records(4);
    assert_eq!(
        refused(&mut log, &longer),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
    );
}

#[test]
fn a_gap_in_the_sequence_is_refused_and_changes_nothing() {
    let mut log = log();
    produced(&mut log, &Client::new(7).records(3));
    let gap = Client::new(7).sequence(4);
    assert_eq!(
        refused(&mut log, &gap),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
    );
    assert_eq!(log.end_offset(), 3);
    assert_eq!(produced(&mut log, &Client::new(7).sequence(3)), (3, 3));
}

#[test]
fn an_old_epoch_is_refused_and_a_new_one_starts_at_zero() {
    let mut log = log();
    produced(&mut log, &Client::new(7).epoch(4));
    let old = Client::new(7).epoch(3).sequence(1);
    assert_eq!(refused(&mut log, &old), ErrorCode::INVALID_PRODUCER_EPOCH);
    let middle = Client::new(7).epoch(5).sequence(1);
    assert_eq!(
        refused(&mut log, &middle),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
    );
    assert_eq!(produced(&mut log, &Client::new(7).epoch(5)), (1, 1));
    assert_eq!(
        refused(&mut log, &Client::new(7).epoch(4)),
        ErrorCode::INVALID_PRODUCER_EPOCH
    );
}

#[test]
fn an_unknown_producer_may_start_anywhere_unless_its_transaction_has_version_2() {
    let mut log = log();
    produced(&mut log, &Client::new(7).sequence(40));
    let transactional = Client::new(8).sequence(40).transactional();
    let refusal = log.append_client(now(1), &transactional.build(), TxnCheck::Version2);
    assert_eq!(
        refusal.unwrap_err().code,
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
    );
    assert!(
        log.append_client(now(1), &transactional.build(), TxnCheck::Version1)
            .is_ok()
    );
}

#[test]
fn zero_follows_the_largest_sequence_number() {
    let mut log = log();
    produced(&mut log, &Client::new(7).sequence(i32::MAX - 1).records(2));
    assert_eq!(
        produced(&mut log, &Client::new(7).sequence(0).records(1)),
        (2, 2)
    );

    let across = Client::new(8).sequence(i32::MAX - 1).records(4);
    assert_eq!(produced(&mut log, &across), (3, 6));
    let again = log.append_client(now(9), &across.build(), TxnCheck::Unverified);
    assert_eq!(again, Ok(Produced::Duplicate { base: 3, last: 6 }));
    assert_eq!(produced(&mut log, &Client::new(8).sequence(2)), (7, 7));
}

#[test]
fn a_batch_without_producer_is_never_a_duplicate() {
    let mut log = log();
    let plain = Client::anonymous();
    assert_eq!(produced(&mut log, &plain), (0, 0));
    assert_eq!(produced(&mut log, &plain), (1, 1));
    assert_eq!(log.producers().count(), 0);
}

#[test]
fn silent_producers_are_forgotten_but_not_those_with_an_open_transaction() {
    let mut log = log();
    produced(&mut log, &Client::new(7).timestamp(1_000));
    produced(&mut log, &Client::new(8).timestamp(1_000).transactional());
    produced(&mut log, &Client::new(9).timestamp(2_000));
    log.expire_producers(1_500 + log.config().producer_id_expiration_ms);
    let known: Vec<_> = log
        .producers()
        .map(|producer| producer.producer_id)
        .collect();
    assert_eq!(known, [8, 9]);
    // Known again as new: any sequence number will do.
    produced(&mut log, &Client::new(7).sequence(50));
}

#[test]
fn damaged_and_foreign_batches_are_refused() {
    let mut log = log();
    let good = Client::new(7).build();
    let mut flipped = good.to_vec();
    flipped[22] ^= 1;
    let code = |log: &mut PartitionLog, bytes: &[u8]| {
        log.append_client(now(1), &Bytes::copy_from_slice(bytes), TxnCheck::Unverified)
            .map_err(|refusal| refusal.code)
            .map(|_| ())
    };
    assert_eq!(code(&mut log, &flipped), Err(ErrorCode::CORRUPT_MESSAGE));
    let twice = [&good[..], &good[..]].concat();
    assert_eq!(code(&mut log, &twice), Err(ErrorCode::INVALID_RECORD));
    for cut in 0..good.len() {
        assert!(code(&mut log, &good[..cut]).is_err());
    }
    let orphan = Client::anonymous().transactional();
    assert_eq!(refused(&mut log, &orphan), ErrorCode::INVALID_RECORD);
    let unnumbered = Client::new(7).sequence(-1);
    assert_eq!(refused(&mut log, &unnumbered), ErrorCode::INVALID_RECORD);
    assert_eq!(log.end_offset(), 0);
}

#[test]
fn a_batch_beyond_the_limit_is_too_large() {
    let batch = Client::new(7).records(9);
    let size = batch.build().len() as i32;
    let mut log = PartitionLog::new(
        ID,
        LogConfig {
            max_message_bytes: size - 1,
            ..config()
        },
    );
    assert_eq!(refused(&mut log, &batch), ErrorCode::MESSAGE_TOO_LARGE);
    log.set_config(LogConfig {
        max_message_bytes: size,
        ..config()
    });
    produced(&mut log, &batch);
}

#[test]
fn coordinators_number_their_batches_from_zero_in_each_epoch() {
    let mut log = log();
    let mut sequence_under = |epoch| {
        log.append_records(now(1), &records(2), Some(ProducerEpoch { id: 7, epoch }));
        log.producers().next().unwrap().last_sequence
    };
    assert_eq!([0, 0, 1].map(&mut sequence_under), [1, 3, 1]);
}
