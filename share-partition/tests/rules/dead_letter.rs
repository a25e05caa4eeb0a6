//! The dead letter queue: what is given up waits for its copy (KIP-1191).

use crate::common::{
    ABORT, ACCEPT, Bench, GAP, REJECT, RELEASE, ack, at, batches, owner, pending_of, show, staged,
};
use ackord_machine::StageVerdict;
use ackord_share_partition::{
    Config, DeadLetter, DeadLetterCause, RecordState, SharePartition, Span, StateBatch, TxnOutcome,
};

fn config() -> Config {
    Config {
        dead_letters: true,
        delivery_count_limit: 2,
        ..Config::default()
    }
}

fn letters(partition: &SharePartition) -> Vec<(i64, i64, i16, DeadLetterCause)> {
    let one = |letter: DeadLetter| {
        let DeadLetter {
            span,
            delivery_count,
            cause,
        } = letter;
        (span.first, span.last, delivery_count, cause)
    };
    partition.dead_letters().map(one).collect()
}

#[test]
fn a_reject_waits_for_its_copy_and_a_gap_has_none() {
    let mut bench = Bench::acquired(config(), "m", 4);
    let change = bench
        .ack("m", &[ack(0, 4, &[REJECT, REJECT, GAP, ACCEPT, REJECT])])
        .unwrap();
    assert_eq!(
        batches(&change.batches),
        "0-1 ARCHIVING x1; 2-2 ARCHIVED x1; 3-3 ACKNOWLEDGED x1; 4-4 ARCHIVING x1"
    );
    assert_eq!(
        (change.start_offset, change.delivery_complete_count),
        (0, 2)
    );
    let rejected = DeadLetterCause::Rejected;
    assert_eq!(
        letters(&bench.partition),
        [(0, 1, 1, rejected), (4, 4, 1, rejected)]
    );
    let change = bench.partition.dead_letters_written(&[Span::new(0, 0)]);
    assert_eq!(
        (batches(&change.batches).as_str(), change.start_offset),
        ("0-0 ARCHIVED x1", 1)
    );
    let change = bench.partition.dead_letters_written(&[Span::new(0, 4)]);
    assert_eq!(
        (change.start_offset, bench.partition.archiving_count()),
        (5, 0)
    );
    assert!(
        bench
            .partition
            .dead_letters_written(&[Span::new(0, 9)])
            .is_empty()
    );
}

#[test]
fn a_record_that_comes_back_at_the_limit_waits_for_its_copy() {
    let mut bench = Bench::acquired(config(), "m", 2);
    bench.ack("m", &[ack(0, 2, &[RELEASE])]).unwrap();
    for offset in 0..3 {
        // The throttle hands them out one by one.
        while bench.partition.next_fetch_offset() == offset {
            bench.acquire("m", 0, 2);
        }
    }
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).unwrap();
    bench.ack("m", &[ack(1, 1, &[REJECT])]).unwrap();
    bench.partition.release_member(at(0), &"m".into());
    let (limit, rejected) = (DeadLetterCause::LimitReached, DeadLetterCause::Rejected);
    assert_eq!(
        letters(&bench.partition),
        [(0, 0, 2, limit), (1, 1, 2, rejected), (2, 2, 2, limit)]
    );
}

#[test]
fn a_committed_reject_waits_for_its_copy_as_its_stage_said() {
    for dead_letters in [true, false] {
        let mut bench = Bench::acquired(
            Config {
                dead_letters,
                ..config()
            },
            "m",
            1,
        );
        let verdict = bench.stage(
            "m",
            owner(7, 0),
            &[staged(0, 0, REJECT), staged(1, 1, ACCEPT)],
        );
        let StageVerdict::Staged(held) = verdict else {
            panic!("it has to be staged");
        };
        assert_eq!(
            held.iter().map(|ack| ack.dead_letter).collect::<Vec<_>>(),
            [dead_letters, false]
        );
        // What the coordinator has stored decides, not what the group says now.
        bench.partition.set_config(Config {
            dead_letters: !dead_letters,
            ..config()
        });
        let mut loaded = SharePartition::load(config(), 0, &[], &held);
        for partition in [&mut bench.partition, &mut loaded] {
            partition.resolve_ranges(&held, TxnOutcome::Commit);
            assert_eq!(partition.archiving_count(), i64::from(dead_letters));
        }
    }
}

#[test]
fn an_abort_at_the_limit_goes_to_the_queue_where_that_can_be_written() {
    for queue_open in [true, false] {
        let mut bench = Bench::acquired(config(), "m", 0);
        bench.ack("m", &[ack(0, 0, &[RELEASE])]).unwrap();
        bench.acquire("m", 0, 0);
        bench.stage("m", owner(7, 0), &[staged(0, 0, ACCEPT)]);
        let held = pending_of(&bench.partition, 7, 1);
        let outcome = TxnOutcome::Abort { queue_open };
        let change = bench.partition.resolve_ranges(&held, outcome);
        let expected = if queue_open {
            "0-0 ARCHIVING x2"
        } else {
            "0-0 AVAILABLE x2"
        };
        assert_eq!(batches(&change.batches), expected);
        assert_eq!(change.available_again, !queue_open);
    }
    let mut below = Bench::acquired(config(), "m", 0);
    below.stage("m", owner(7, 0), &[staged(0, 0, ACCEPT)]);
    let held = pending_of(&below.partition, 7, 1);
    let outcome = TxnOutcome::Abort { queue_open: true };
    let change = below.partition.resolve_ranges(&held, outcome);
    assert_eq!(batches(&change.batches), "0-0 AVAILABLE x1");
    assert_ne!(ABORT, TxnOutcome::Commit);
}

#[test]
fn in_transactional_mode_the_limit_sends_nothing_to_the_queue() {
    let config = Config {
        transactional: true,
        ..config()
    };
    let mut bench = Bench::acquired(config, "m", 0);
    bench.ack("m", &[ack(0, 0, &[RELEASE])]).unwrap();
    bench.acquire("m", 0, 0);
    bench.partition.release_member(at(0), &"m".into());
    assert_eq!(show(&bench.partition), "0-0 AVAILABLE x2");
}

#[test]
fn a_loaded_record_waits_on_with_the_cause_that_its_count_tells() {
    let stored = [(0, 1), (1, 2)].map(|(offset, delivery_count)| StateBatch {
        first: offset,
        last: offset,
        state: RecordState::Archiving,
        delivery_count,
    });
    let loaded = SharePartition::load(config(), 0, &stored, &[]);
    assert_eq!(
        letters(&loaded),
        [
            (0, 0, 1, DeadLetterCause::Rejected),
            (1, 1, 2, DeadLetterCause::LimitReached)
        ]
    );
    assert_eq!(
        DeadLetterCause::LimitReached.message(),
        "Offset delivery count exceeded the threshold."
    );
}
