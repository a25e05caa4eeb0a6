//! Random operations. Offsets count from the start offset of the moment.

use ackord_machine::TxnOwner;
use ackord_share_partition::{Config, LogBatch, TxnOutcome};
use proptest::prelude::*;

use crate::common::{ACCEPT, GAP, REJECT, RELEASE, RENEW, owner};

/// Log batches with holes between them, again and again.
pub(crate) const LOG: [(i64, i64); 7] = [
    (0, 3),
    (4, 4),
    (5, 9),
    (12, 15),
    (16, 16),
    (20, 23),
    (24, 30),
];
pub(crate) const PERIOD: i64 = 33;
pub(crate) const LOCK_MS: i64 = 100;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Acquire {
        member: u8,
        batches: usize,
        max: i32,
        size: i32,
        strict: bool,
    },
    Acknowledge {
        member: u8,
        ranges: Vec<(i64, i64, Vec<i8>)>,
    },
    Stage {
        member: Option<u8>,
        who: TxnOwner,
        ranges: Vec<(i64, i64, i8, Option<i16>)>,
        fails: bool,
    },
    /// A marker of the producer, and the news of it at once.
    Resolve {
        producer_id: i64,
        epoch: i16,
        /// The news name neighbours too, which are not theirs.
        wide: bool,
        outcome: TxnOutcome,
    },
    /// News of before arrive once more, late.
    Late {
        back: usize,
        outcome: TxnOutcome,
    },
    Sleep {
        millis: u64,
        expire: bool,
    },
    Leave {
        member: u8,
    },
    LogStart {
        offset: i64,
    },
    Hole {
        first: i64,
        len: i64,
    },
    Reload,
    Written {
        first: i64,
        len: i64,
    },
}

pub(crate) fn owners() -> impl Strategy<Value = TxnOwner> {
    (1..3i64, 0..3i16).prop_map(|(id, epoch)| owner(id, epoch))
}

/// Mostly good ranges near the start, sometimes bad ones.
pub(crate) fn spans() -> impl Strategy<Value = (i64, i64)> {
    (-1..12i64, -1..5i64).prop_map(|(first, more)| (first, first + more))
}

pub(crate) fn ops() -> impl Strategy<Value = Op> {
    let types = prop_oneof![
        4 => (GAP..=RENEW).prop_map(|kind| vec![kind]),
        2 => prop::collection::vec(GAP..=RENEW, 1..5),
        1 => prop::collection::vec(-1..=5i8, 0..3),
    ];
    let acks = prop::collection::vec((spans(), types), 0..3).prop_map(|mut ranges| {
        ranges.sort_unstable_by_key(|(span, _)| *span);
        ranges
            .into_iter()
            .map(|((first, last), types)| (first, last, types))
            .collect()
    });
    let staged = (
        spans(),
        prop_oneof![
            Just(GAP),
            Just(ACCEPT),
            Just(ACCEPT),
            Just(REJECT),
            Just(RELEASE)
        ],
    );
    let staged = (staged, prop::option::weighted(0.2, 1..3i16))
        .prop_map(|(((first, last), kind), count)| (first, last, kind, count));
    let staged = prop::collection::vec(staged, 0..3).prop_map(|mut ranges| {
        ranges.sort_unstable();
        ranges
    });
    prop_oneof![
        6 => (0..3u8, 1..5usize, 0..9i32, 0..6i32, any::<bool>()).prop_map(
            |(member, batches, max, size, strict)| Op::Acquire { member, batches, max, size, strict }
        ),
        6 => (0..3u8, acks).prop_map(|(member, ranges)| Op::Acknowledge { member, ranges }),
        6 => (prop::option::weighted(0.7, 0..3u8), owners(), staged, prop::bool::weighted(0.2))
            .prop_map(|(member, who, ranges, fails)| Op::Stage { member, who, ranges, fails }),
        3 => (1..3i64, 0..4i16, any::<bool>(), outcomes()).prop_map(
            |(producer_id, epoch, wide, outcome)| Op::Resolve { producer_id, epoch, wide, outcome }
        ),
        1 => (0..4usize, outcomes()).prop_map(|(back, outcome)| Op::Late { back, outcome }),
        3 => (0..80u64, any::<bool>()).prop_map(|(millis, expire)| Op::Sleep { millis, expire }),
        1 => (0..3u8).prop_map(|member| Op::Leave { member }),
        1 => (-2..9i64).prop_map(|offset| Op::LogStart { offset }),
        1 => (-1..20i64, 0..4i64).prop_map(|(first, len)| Op::Hole { first, len }),
        1 => Just(Op::Reload),
        2 => (-1..9i64, 0..4i64).prop_map(|(first, len)| Op::Written { first, len }),
    ]
}

fn outcomes() -> impl Strategy<Value = TxnOutcome> {
    prop_oneof![
        Just(TxnOutcome::Commit),
        any::<bool>().prop_map(|queue_open| TxnOutcome::Abort { queue_open }),
    ]
}

pub(crate) fn configs() -> impl Strategy<Value = Config> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (5..30usize, 1..4i16, switches).prop_map(
        |(max_record_locks, delivery_count_limit, (renew_enabled, transactional, dead_letters))| {
            Config {
                max_record_locks,
                delivery_count_limit,
                record_lock_ms: LOCK_MS,
                renew_enabled,
                dead_letters,
                transactional,
            }
        },
    )
}

/// `count` log batches from the one that contains `from`.
pub(crate) fn read(from: i64, count: usize) -> Vec<LogBatch> {
    (from.div_euclid(PERIOD)..)
        .flat_map(|round| LOG.map(|(base, last)| (base + round * PERIOD, last + round * PERIOD)))
        .filter(|(_, last)| *last >= from)
        .take(count)
        .map(|(base, last)| LogBatch { base, last })
        .collect()
}

pub(crate) fn is_record(offset: i64) -> bool {
    let at = offset.rem_euclid(PERIOD);
    LOG.iter().any(|(base, last)| (*base..=*last).contains(&at))
}
