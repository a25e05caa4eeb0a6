//! Random operations against the model.

mod acknowledge;
mod check;

use std::collections::BTreeMap;

use ackord_machine::{MonoTime, PendingAck, StageVerdict, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{
    AcquireMode, Acquired, Config, LogBatch, RecordState, SharePartition, Span, TxnOutcome,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::{ACCEPT, GAP, REJECT, RELEASE, RENEW, at};
use crate::model::{Entry, Model};
use crate::operations::{LOCK_MS, Op, configs, is_record, ops, read};

/// The type of each offset of a stage, or the error of form.
fn each(ranges: &[(i64, i64, Vec<i8>)]) -> Option<Vec<(i64, i8)>> {
    let mut all: Vec<(i64, i8)> = Vec::new();
    for (first, last, types) in ranges {
        let size = usize::try_from(last - first + 1)
            .ok()
            .filter(|size| *size > 0)?;
        if all.last().is_some_and(|(before, _)| before >= first)
            || types.iter().any(|kind| !(GAP..=RENEW).contains(kind))
            || (types.len() != 1 && types.len() != size)
        {
            return None;
        }
        for (at, offset) in (*first..=*last).enumerate() {
            all.push((offset, types[at.min(types.len() - 1)]));
        }
    }
    Some(all)
}

struct World {
    sut: SharePartition,
    model: Model,
    now: MonoTime,
    /// Behind the last log batch that a fetch took records of.
    fetched_end: i64,
    /// News of ends so far.
    told: Vec<Vec<PendingAck>>,
}

fn member(number: u8) -> Str {
    Str::from(format!("m{number}"))
}

impl World {
    fn new(config: Config) -> Self {
        World {
            sut: SharePartition::new(config.clone(), 0),
            model: Model {
                config,
                start: 0,
                log_start: 0,
                entries: BTreeMap::new(),
                stored: BTreeMap::new(),
                stored_start: 0,
                was_available: Vec::new(),
            },
            now: at(0),
            fetched_end: 0,
            told: Vec::new(),
        }
    }

    fn run(&mut self, op: &Op) {
        let before = self.sut.start_offset();
        let available = |entry: &Entry| entry.state == RecordState::Available;
        self.model.was_available = self.model.matching(available);
        match op {
            Op::Acquire {
                member: who,
                batches,
                max,
                size,
                strict,
            } => {
                self.acquire(&member(*who), *batches, *max, *size, *strict);
            }
            Op::Acknowledge {
                member: who,
                ranges,
            } => {
                let ranges: Vec<_> = ranges
                    .iter()
                    .map(|(first, last, types)| (first + before, last + before, types.clone()))
                    .collect();
                self.acknowledge(&member(*who), &ranges);
            }
            Op::Stage {
                member: who,
                who: owner,
                ranges,
                fails,
            } => {
                let ranges: Vec<_> = ranges
                    .iter()
                    .map(|(first, last, kind, count)| {
                        (first + before, last + before, *kind, *count)
                    })
                    .collect();
                self.stage(who.map(member).as_ref(), *owner, &ranges, *fails);
            }
            Op::Resolve {
                producer_id,
                epoch,
                wide,
                outcome,
            } => {
                let news = self.news(*producer_id, *epoch, *wide);
                self.resolve(&news, *outcome);
                self.told.push(news);
            }
            Op::Late { back, outcome } => {
                let news = self.told.iter().rev().nth(*back).cloned();
                self.resolve(&news.unwrap_or_default(), *outcome);
            }
            Op::Sleep { millis, expire } => {
                self.now = MonoTime::from_micros(self.now.as_micros() + millis * 1000);
                if *expire {
                    let change = self.sut.expire(self.now);
                    self.model.expire(self.now);
                    self.model.store(&change);
                }
            }
            Op::Leave { member: who } => self.leave(&member(*who)),
            Op::LogStart { offset } => self.log_start(before + offset),
            Op::Written { first, len } => self.written(before + first, before + first + len),
            Op::Hole { first, len } => self.archive(before + first, before + first + len),
            Op::Reload => {
                self.model.reload(&mut self.sut);
                self.fetched_end = self.model.stored_start;
                // What the coordinator has never heard may come back, so the start may too.
                self.check();
                return;
            }
        }
        self.model.settle();
        assert!(
            self.sut.start_offset() >= before,
            "the start offset never moves back"
        );
        self.check();
    }

    fn leave(&mut self, who: &Str) {
        let change = self.sut.release_member(self.now, who);
        let his = |entry: &Entry| entry.lock.as_ref().is_some_and(|(member, _)| member == who);
        for offset in self.model.matching(his) {
            let entry = self.model.entries.get_mut(&offset).expect("just found");
            entry.lock = None;
            if entry.state == RecordState::Acquired {
                self.model.free(offset, true);
            }
        }
        self.model.store(&change);
    }

    fn archive(&mut self, first: i64, last: i64) {
        let change = self.sut.archive_range(first, last);
        (first..=last).for_each(|offset| self.hole(offset));
        let open = self.model.entries.iter().find(|(_, entry)| !entry.done());
        let locks = self.model.config.max_record_locks as i64;
        let limit = open.map_or(i64::MAX, |(open, _)| open + locks);
        if first <= self.model.end() {
            self.model.extend((last + 1).min(limit));
        }
        self.model.store(&change);
    }

    fn written(&mut self, first: i64, last: i64) {
        let change = self.sut.dead_letters_written(&[Span::new(first, last)]);
        for offset in first..=last {
            if let Some(entry) = self.model.entries.get_mut(&offset)
                && entry.state == RecordState::Archiving
            {
                entry.state = RecordState::Archived;
            }
        }
        self.model.store(&change);
    }

    fn hole(&mut self, offset: i64) {
        if let Some(entry) = self.model.entries.get_mut(&offset)
            && entry.state == RecordState::Available
        {
            entry.state = RecordState::Archived;
        }
    }

    fn acquire(&mut self, who: &Str, batches: usize, max: i32, size: i32, strict: bool) {
        let from = self.sut.next_fetch_offset();
        let log = read(from, batches);
        // The reader knows what it asked for.
        if let Some(first) = log.first() {
            let change = self.sut.archive_range(from, first.base - 1);
            for offset in from..first.base {
                self.hole(offset);
            }
            self.model.extend(self.sut.end_offset().min(first.base));
            self.model.store(&change);
            self.model.settle();
        }
        let mode = if strict {
            AcquireMode::RecordLimit
        } else {
            AcquireMode::BatchOptimized
        };
        let could = self.sut.can_acquire();
        let got = self.sut.acquire(self.now, who, &log, max, size, mode);
        if strict {
            let total: i64 = got.iter().map(|range| range.last - range.first + 1).sum();
            assert!(total <= i64::from(max));
        }
        if max > 0 && could {
            assert!(
                !got.is_empty()
                    || self.sut.next_fetch_offset() > from
                    || self.blocked_by_hole(&log),
                "a fetch gets something or reads on"
            );
        }
        self.took(who, &got, &log);
        let window = self.sut.end_offset() - self.sut.start_offset();
        let limit = self.model.config.max_record_locks as i64;
        assert!(got.is_empty() || window <= limit.max(self.model.end() - self.model.start));
    }

    /// A hole longer than the room that is left stops a fetch until the start offset moves.
    fn blocked_by_hole(&self, log: &[LogBatch]) -> bool {
        let limit = self.sut.start_offset() + self.model.config.max_record_locks as i64;
        log.iter().any(|batch| batch.base >= limit)
    }

    fn took(&mut self, who: &Str, got: &[Acquired], log: &[LogBatch]) {
        let deadline = self.now.plus_millis(LOCK_MS);
        let limit = self.model.config.delivery_count_limit;
        let room = self.model.start + self.model.config.max_record_locks as i64;
        let end = self.model.end();
        let mut last = -1;
        for range in got {
            assert!(range.first > last && range.first <= range.last, "ascending");
            last = range.last;
            for offset in range.first..=range.last {
                assert!(offset >= self.model.start && offset >= self.model.log_start);
                assert!(
                    log.iter()
                        .any(|batch| (batch.base..=batch.last).contains(&offset))
                );
                let before = match self.model.entries.get(&offset) {
                    Some(entry) => {
                        assert_eq!(entry.state, RecordState::Available, "{offset}");
                        entry.count
                    }
                    None => {
                        // Nothing held back may be more than the window away; a finished one moved.
                        let held = self.model.entries.values().any(|entry| !entry.done());
                        assert!(offset < room || !held, "{offset} is outside of the window");
                        0
                    }
                };
                assert_eq!(range.delivery_count, (before + 1).min(limit).max(before));
            }
        }
        // Offsets between log batches: archived as far as the fetch came.
        for offset in self.model.start..self.sut.end_offset() {
            let in_log = is_record(offset);
            let new = offset >= self.model.end();
            if new {
                assert!(
                    !in_log
                        || got
                            .iter()
                            .any(|range| (range.first..=range.last).contains(&offset))
                );
                self.model
                    .entries
                    .insert(offset, Entry::free(RecordState::Archived, 0));
            } else if !in_log && self.state_of(offset) == Some(RecordState::Archived) {
                self.hole(offset);
            }
        }
        for range in got {
            for offset in range.first..=range.last {
                if offset >= end {
                    let batch = log.iter().find(|batch| batch.last >= offset);
                    self.fetched_end = batch.expect("it was read").last + 1;
                }
                let entry = Entry {
                    state: RecordState::Acquired,
                    count: range.delivery_count,
                    lock: Some((who.clone(), deadline)),
                    txn: None,
                };
                self.model.entries.insert(offset, entry);
            }
        }
    }

    fn state_of(&self, offset: i64) -> Option<RecordState> {
        self.sut
            .ranges()
            .find(|range| (range.first..=range.last).contains(&offset))
            .map(|range| range.state)
            // Below the start everything is done.
            .or((offset < self.sut.start_offset()).then_some(RecordState::Archived))
    }

    fn stage(
        &mut self,
        who: Option<&Str>,
        owner: TxnOwner,
        ranges: &[(i64, i64, i8, Option<i16>)],
        fails: bool,
    ) {
        let request: Vec<StagedRange> = ranges
            .iter()
            .map(
                |(first_offset, last_offset, acknowledge_type, delivery_count)| StagedRange {
                    first_offset: *first_offset,
                    last_offset: *last_offset,
                    acknowledge_type: *acknowledge_type,
                    delivery_count: *delivery_count,
                },
            )
            .collect();
        let verdict = self
            .sut
            .stage(self.now, who, owner, ErrorCode::NONE, &request);
        let typed: Vec<_> = ranges
            .iter()
            .map(|(first, last, kind, _)| (*first, *last, vec![*kind]))
            .collect();
        let formed = each(&typed).filter(|all| all.iter().all(|(_, kind)| *kind != RELEASE));
        let Some(offsets) = formed else {
            let StageVerdict::Refused {
                code: ErrorCode::INVALID_REQUEST,
                ..
            } = verdict
            else {
                panic!("bad form, got {verdict:?}");
            };
            return;
        };
        let count_of = |offset: i64| {
            let range = ranges
                .iter()
                .find(|range| (range.0..=range.1).contains(&offset));
            range.and_then(|range| range.3)
        };
        let mut new = Vec::new();
        let mut good = true;
        for (offset, kind) in offsets {
            let entry = self.model.entries.get(&offset);
            if entry.is_some_and(|entry| entry.txn == Some((owner, kind))) {
                continue;
            }
            good &= entry.is_some_and(|entry| {
                entry.held(who, self.now)
                    && count_of(offset).is_none_or(|count| count == entry.count)
            });
            new.push((offset, kind));
        }
        let held = match verdict {
            StageVerdict::Staged(held) if good && !new.is_empty() => held,
            StageVerdict::Repeated if new.is_empty() => return,
            StageVerdict::Refused {
                code: ErrorCode::INVALID_RECORD_STATE,
                ..
            } if !good => return,
            verdict => panic!("good: {good}, new: {new:?}, got {verdict:?}"),
        };
        let told: Vec<(i64, i8)> = held
            .iter()
            .flat_map(|ack| {
                (ack.first_offset..=ack.last_offset).map(|offset| (offset, ack.acknowledge_type))
            })
            .collect();
        assert_eq!(told, new);
        for (offset, kind) in new {
            let entry = self.model.entries.get_mut(&offset).expect("it was held");
            entry.state = RecordState::TxPending;
            entry.txn = Some((owner, kind));
        }
        if fails {
            self.check();
            let change = self.sut.unstage(self.now, owner, &held);
            for (offset, _) in told {
                let entry = self.model.entries.get_mut(&offset).expect("it is pending");
                entry.state = RecordState::Acquired;
                entry.txn = None;
            }
            self.model.expire(self.now);
            self.model.store(&change);
        }
    }

    /// What a share coordinator tells of the producer's transactions under epochs below `marker`.
    fn news(&self, producer_id: i64, marker: i16, wide: bool) -> Vec<PendingAck> {
        let more = i64::from(wide);
        let of_it = |(offset, entry): (&i64, &Entry)| {
            let (owner, acknowledge_type) = entry.txn?;
            let ended = owner.producer_id == producer_id && owner.producer_epoch < marker;
            ended.then_some(PendingAck {
                first_offset: offset - more,
                last_offset: offset + more,
                acknowledge_type,
                delivery_count: entry.count,
                owner,
                dead_letter: false,
            })
        };
        self.model.entries.iter().filter_map(of_it).collect()
    }

    fn resolve(&mut self, news: &[PendingAck], outcome: TxnOutcome) {
        let change = self.sut.resolve_ranges(news, outcome);
        let config = self.model.config.clone();
        let queue_open = outcome == TxnOutcome::Abort { queue_open: true };
        let commit = outcome == TxnOutcome::Commit;
        let ended = |offset: &i64, owner: TxnOwner| {
            news.iter().any(|range| {
                range.owner == owner && (range.first_offset..=range.last_offset).contains(offset)
            })
        };
        let entries = self.model.entries.iter();
        let ended: Vec<i64> = entries
            .filter(|(offset, entry)| entry.txn.is_some_and(|(owner, _)| ended(offset, owner)))
            .map(|(offset, _)| *offset)
            .collect();
        for offset in ended {
            let below = offset < self.model.log_start;
            let entry = self.model.entries.get_mut(&offset).expect("just found");
            let kind = entry.txn.map(|(_, kind)| kind);
            let at_limit = !config.transactional && entry.count >= config.delivery_count_limit;
            match (commit, kind) {
                (false, _) if queue_open && config.dead_letters && at_limit && !below => {
                    *entry = Entry::free(RecordState::Archiving, entry.count);
                }
                (true, Some(REJECT)) if config.dead_letters => {
                    *entry = Entry::free(RecordState::Archiving, entry.count);
                }
                (false, _) => self.model.free(offset, false),
                (true, Some(ACCEPT)) if !below => {
                    *entry = Entry::free(RecordState::Acknowledged, entry.count);
                }
                (true, _) => *entry = Entry::free(RecordState::Archived, entry.count),
            }
        }
        self.model.store(&change);
    }

    fn log_start(&mut self, offset: i64) {
        let change = self.sut.archive_below(offset);
        self.model.log_start = self.model.log_start.max(offset);
        for below in self.model.start..self.model.log_start {
            self.hole(below);
        }
        self.model.extend(self.model.log_start);
        self.model.store(&change);
    }
}

/// Runs: 1,000 each day, as many as `PROPTEST_CASES` says where it is set.
fn cases() -> u32 {
    match ProptestConfig::default().cases {
        256 => 1000,
        cases => cases,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_one_entry_for_each_offset(
        config in configs(),
        ops in prop::collection::vec(ops(), 1..80),
    ) {
        let mut world = World::new(config);
        for op in &ops {
            world.run(op);
        }
    }
}
