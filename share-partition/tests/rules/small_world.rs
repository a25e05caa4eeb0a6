//! A share partition over a few records, with what a share coordinator has stored of it.

use ackord_machine::{MonoTime, PendingAck, StageVerdict, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{
    AckRange, AcquireMode, Change, Config, LogBatch, RecordState, SharePartition, Span, StateBatch,
    TxnOutcome,
};

use crate::common::{REJECT, at, staged};

const TICK_MS: u64 = 100;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Acknowledge {
        member: usize,
        first: i64,
        last: i64,
        kind: i8,
    },
    End {
        producer: i64,
        marker: i16,
        commit: bool,
        queue_open: bool,
    },
    Fetch {
        member: usize,
        max: i32,
        strict: bool,
    },
    Hole {
        first: i64,
        last: i64,
    },
    Leave(usize),
    LogStart(i64),
    /// The leader forgets and reads what is stored.
    Reload,
    Stage {
        member: Option<usize>,
        owner: TxnOwner,
        first: i64,
        last: i64,
        kind: i8,
    },
    /// Time passes, and locks end.
    Tick,
    Unstage(TxnOwner),
    Written {
        first: i64,
        last: i64,
    },
}

/// What is known of one offset, with times from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    state: RecordState,
    count: i16,
    member: Option<usize>,
    deadline: Option<u64>,
    owner: Option<(TxnOwner, i8)>,
}

#[derive(Clone, Debug)]
pub(crate) struct SmallWorld {
    partition: SharePartition,
    config: Config,
    log: Vec<LogBatch>,
    log_start: i64,
    now: MonoTime,
    /// Deadline of the lock that a stage has stopped, by offset.
    stopped: Vec<MonoTime>,
    /// What a share coordinator has, by offset.
    stored: Vec<(RecordState, i16)>,
    stored_start: i64,
    /// A stage may be undone, so the lock that it has stopped counts.
    unstages: bool,
    members: [Str; 2],
}

impl SmallWorld {
    pub(crate) fn new(config: Config, log: &[(i64, i64)], lock_ticks: u64) -> Self {
        let config = Config {
            record_lock_ms: (lock_ticks * TICK_MS) as i64,
            ..config
        };
        let log: Vec<LogBatch> = log
            .iter()
            .map(|(base, last)| LogBatch {
                base: *base,
                last: *last,
            })
            .collect();
        let size = log.last().map_or(0, |batch| batch.last + 1) as usize;
        SmallWorld {
            partition: SharePartition::new(config.clone(), 0),
            config,
            log,
            log_start: 0,
            now: at(0),
            stopped: vec![at(0); size],
            stored: vec![(RecordState::Available, 0); size],
            stored_start: 0,
            unstages: true,
            members: ["m0".into(), "m1".into()],
        }
    }

    /// No stage is ever undone here.
    pub(crate) fn without_unstage(self) -> Self {
        SmallWorld {
            unstages: false,
            ..self
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.partition.start_offset() == self.stored.len() as i64
    }

    fn size(&self) -> i64 {
        self.stored.len() as i64
    }

    fn ticks(&self, deadline: MonoTime) -> u64 {
        deadline
            .as_micros()
            .saturating_sub(self.now.as_micros())
            .div_ceil(TICK_MS * 1000)
    }

    /// Each offset: below the start done, behind the end unknown.
    fn seen(&self) -> Vec<Option<Seen>> {
        let mut all = vec![None; self.stored.len()];
        for range in self.partition.ranges() {
            for offset in range.first..=range.last.min(self.size() - 1) {
                let name = |own: &Str| self.members.iter().position(|member| member == own);
                all[offset as usize] = Some(Seen {
                    state: range.state,
                    count: range.delivery_count,
                    member: range.member.and_then(name),
                    deadline: range.deadline.map(|deadline| self.ticks(deadline)),
                    owner: range.owner.zip(range.acknowledge_type),
                });
            }
        }
        all
    }

    /// Equal for worlds that behave alike.
    pub(crate) fn key(&self) -> Vec<u8> {
        let mut key = vec![
            self.partition.start_offset() as u8,
            self.partition.end_offset() as u8,
            self.log_start as u8,
            self.stored_start as u8,
        ];
        let seen = self.seen();
        for (offset, seen) in seen.iter().enumerate() {
            let Some(seen) = seen else {
                key.push(255);
                continue;
            };
            let pending = seen.owner.is_some();
            let member = seen.member.filter(|_| self.unstages || !pending);
            let deadline = match seen.deadline {
                Some(deadline) => deadline,
                None if pending && member.is_some() => self.ticks(self.stopped[offset]),
                None => 0,
            };
            let owner = seen.owner.map_or(0, |(owner, kind)| {
                1 + owner.producer_id * 100 + i64::from(owner.producer_epoch) * 10 + i64::from(kind)
            });
            let member = member.map_or(0, |member| member + 1);
            let (state, count) = (seen.state.id() as u8, seen.count as u8);
            key.extend([state, count, member as u8, deadline as u8]);
            key.extend((owner as u16).to_be_bytes());
        }
        for letter in self.partition.dead_letters() {
            key.extend([letter.span.first as u8, letter.cause as u8]);
        }
        for (offset, (state, count)) in self.stored.iter().enumerate() {
            if offset as i64 >= self.stored_start {
                key.extend([state.id() as u8, *count as u8]);
            }
        }
        key
    }

    /// Does `event` and checks what must hold; `before` is the world as it was.
    pub(crate) fn step(&mut self, before: &SmallWorld, event: &Event) {
        let refused = self.apply(event);
        if refused {
            assert_eq!(
                self.key(),
                before.key(),
                "{event:?}: a refusal changes nothing (V7)"
            );
            return;
        }
        self.check(before, event);
        self.check_repetition(event);
    }

    /// `true`: the event was refused.
    fn apply(&mut self, event: &Event) -> bool {
        let change = match *event {
            Event::Acknowledge {
                member,
                first,
                last,
                kind,
            } => match self.acknowledge(member, first, last, kind) {
                Some(change) => change,
                None => return true,
            },
            Event::End {
                producer,
                marker,
                commit,
                queue_open,
            } => {
                let outcome = if commit {
                    TxnOutcome::Commit
                } else {
                    TxnOutcome::Abort { queue_open }
                };
                self.partition.resolve(producer, marker, true, outcome)
            }
            Event::Fetch {
                member,
                max,
                strict,
            } => {
                self.fetch(member, max, strict);
                return false;
            }
            Event::Hole { first, last } => self.partition.archive_range(first, last),
            Event::Leave(member) => {
                let member = self.members[member].clone();
                self.partition.release_member(self.now, &member)
            }
            Event::LogStart(offset) => {
                self.log_start = self.log_start.max(offset);
                self.partition.archive_below(offset)
            }
            Event::Reload => {
                self.reload();
                return false;
            }
            Event::Stage {
                member,
                owner,
                first,
                last,
                kind,
            } => return self.stage(member, owner, first, last, kind),
            Event::Tick => {
                self.now = MonoTime::from_micros(self.now.as_micros() + TICK_MS * 1000);
                self.partition.expire(self.now)
            }
            Event::Unstage(owner) => {
                let held = self.pending(Some(owner));
                self.partition.unstage(self.now, owner, &held)
            }
            Event::Written { first, last } => {
                let span = Span::new(first, last);
                self.partition.dead_letters_written(&[span])
            }
        };
        self.store(&change);
        false
    }

    fn acknowledge(&mut self, member: usize, first: i64, last: i64, kind: i8) -> Option<Change> {
        let range = AckRange {
            first,
            last,
            types: vec![kind],
        };
        let member = self.members[member].clone();
        let answer = self.partition.acknowledge(self.now, &member, &[range]);
        answer.ok()
    }

    /// `true`: refused.
    fn stage(
        &mut self,
        member: Option<usize>,
        owner: TxnOwner,
        first: i64,
        last: i64,
        kind: i8,
    ) -> bool {
        let member = member.map(|member| self.members[member].clone());
        let deadlines = self.deadlines();
        let ranges = [staged(first, last, kind)];
        let partition = &mut self.partition;
        match partition.stage(self.now, member.as_ref(), owner, ErrorCode::NONE, &ranges) {
            StageVerdict::Refused { .. } => true,
            StageVerdict::Repeated => false,
            StageVerdict::Staged(held) => {
                let offsets = held
                    .iter()
                    .flat_map(|ack| ack.first_offset..=ack.last_offset);
                for offset in offsets {
                    self.stopped[offset as usize] = deadlines[offset as usize];
                }
                false
            }
        }
    }

    fn deadlines(&self) -> Vec<MonoTime> {
        let mut all = self.stopped.clone();
        for range in self.partition.ranges() {
            for offset in range.first..=range.last.min(self.size() - 1) {
                all[offset as usize] = range.deadline.unwrap_or(self.now);
            }
        }
        all
    }

    fn fetch(&mut self, member: usize, max: i32, strict: bool) {
        let from = self.partition.next_fetch_offset().max(self.log_start);
        let log: Vec<LogBatch> = self
            .log
            .iter()
            .filter(|batch| batch.last >= from)
            .copied()
            .collect();
        let mode = match strict {
            true => AcquireMode::RecordLimit,
            false => AcquireMode::BatchOptimized,
        };
        let could = self.partition.can_acquire() && !log.is_empty();
        let got = self.partition.acquire(
            self.now,
            &self.members[member].clone(),
            &log,
            max,
            500,
            mode,
        );
        assert!(
            !could || !got.is_empty(),
            "a fetch gets what there is (V17)"
        );
    }

    fn store(&mut self, change: &Change) {
        for batch in &change.batches {
            for offset in batch.first..=batch.last.min(self.size() - 1) {
                self.stored[offset as usize] = (batch.state, batch.delivery_count);
            }
        }
        assert!(change.start_offset >= self.stored_start, "V3");
        self.stored_start = change.start_offset.min(self.size());
    }

    fn pending(&self, of: Option<TxnOwner>) -> Vec<PendingAck> {
        let pending = self.partition.ranges().filter_map(|range| {
            let owner = range.owner.filter(|own| of.is_none_or(|of| of == *own))?;
            let acknowledge_type = range.acknowledge_type?;
            Some(PendingAck {
                first_offset: range.first,
                last_offset: range.last,
                acknowledge_type,
                delivery_count: range.delivery_count,
                owner,
                dead_letter: self.config.dead_letters && acknowledge_type == REJECT,
            })
        });
        pending.collect()
    }

    /// What a leader loads from the share coordinator; staged ranges are in the coordinator's log.
    fn loaded(&self) -> SharePartition {
        let batches: Vec<StateBatch> = (self.stored_start..self.size())
            .map(|offset| {
                let (state, delivery_count) = self.stored[offset as usize];
                StateBatch {
                    first: offset,
                    last: offset,
                    state,
                    delivery_count,
                }
            })
            .filter(|batch| (batch.state, batch.delivery_count) != (RecordState::Available, 0))
            .collect();
        let pending = self.pending(None);
        SharePartition::load(self.config.clone(), self.stored_start, &batches, &pending)
    }

    fn reload(&mut self) {
        self.partition = self.loaded();
        let change = self.partition.archive_below(self.log_start);
        self.store(&change);
    }

    fn check(&self, before: &SmallWorld, event: &Event) {
        let (old, new) = (before.seen(), self.seen());
        let start = self.partition.start_offset();
        let reload = matches!(event, Event::Reload);
        assert!(
            start >= before.partition.start_offset() || reload,
            "{event:?}: V3"
        );
        let limit = self.config.delivery_count_limit;
        let mut held = [0_i64; 6];
        for (offset, (old, new)) in old.iter().zip(&new).enumerate() {
            let below = (offset as i64) < start;
            if let (Some(old), Some(new)) = (old, new) {
                let end = old.state.is_terminal();
                assert!(!end || old.state == new.state, "{event:?} {offset}: V2");
                // A count that was never stored may be lost with the leader.
                assert!(new.count >= old.count || reload, "{event:?} {offset}: V5");
            }
            let gone = (offset as i64) < before.partition.start_offset();
            assert!(!gone || below || reload, "{event:?} {offset}: V2");
            let Some(new) = new else { continue };
            held[new.state.id() as usize] += 1;
            assert!(new.count <= limit, "{event:?} {offset}: V5");
            let locked = new.state == RecordState::Acquired;
            assert_eq!(new.deadline.is_some(), locked, "{event:?} {offset}: V4");
            assert!(!locked || new.member.is_some(), "{event:?} {offset}: V1");
            assert!(
                new.deadline.is_none_or(|ticks| ticks > 0),
                "{event:?} {offset}: V4"
            );
            let pending = new.state == RecordState::TxPending;
            assert_eq!(new.owner.is_some(), pending, "{event:?} {offset}");
            let back = old
                .as_ref()
                .is_some_and(|old| old.state == RecordState::Acquired);
            let available = new.state == RecordState::Available;
            assert!(
                !(back && available && new.count >= limit) || reload,
                "{event:?} {offset}: V5"
            );
        }
        let in_flight =
            held[RecordState::Acquired as usize] + held[RecordState::TxPending as usize];
        assert_eq!(self.partition.in_flight(), in_flight, "{event:?}: V6");
        let earliest = new.iter().flatten().filter_map(|seen| seen.deadline).min();
        let own = self.partition.next_expiry().map(|at| self.ticks(at));
        assert_eq!(own, earliest, "{event:?}: V4");
        if let Event::Leave(member) = *event {
            let his = |seen: &Seen| seen.deadline.is_some() && seen.member == Some(member);
            assert!(!new.iter().flatten().any(his), "{event:?}: V18");
        }
        self.check_stored(&new, event);
    }

    /// What is loaded equals what lives, but for locks: those are in memory only (V8).
    fn check_stored(&self, live: &[Option<Seen>], event: &Event) {
        let mut copy = self.clone();
        copy.reload();
        for (offset, (live, loaded)) in live.iter().zip(copy.seen()).enumerate() {
            let loaded = loaded.map(|seen| (seen.state, seen.count, seen.owner));
            let done = |own: Option<RecordState>| own.is_none_or(RecordState::is_terminal);
            match live {
                // Nothing is stored before the first outcome.
                Some(live) if live.state == RecordState::Acquired => {
                    let state = loaded.map(|(state, ..)| state);
                    let trimmed = (offset as i64) < self.log_start && done(state);
                    let again = state.is_none_or(|state| state == RecordState::Available);
                    assert!(again || trimmed, "{event:?} {offset}: V8, {loaded:?}");
                }
                Some(live) if live.state == RecordState::Available && live.count == 0 => {}
                Some(live) if done(Some(live.state)) => {
                    // A hole behind what a fetch has read is found again by the next one.
                    let hole = live.count == 0;
                    assert!(
                        hole || done(loaded.map(|own| own.0)),
                        "{event:?} {offset}: V8"
                    );
                }
                Some(live) => {
                    let live = Some((live.state, live.count, live.owner));
                    assert_eq!(loaded, live, "{event:?} {offset}: V8");
                }
                None => {}
            }
        }
    }

    /// Ends of transactions and stages may come twice (V14).
    fn check_repetition(&self, event: &Event) {
        if matches!(
            event,
            Event::End { .. } | Event::Stage { .. } | Event::Written { .. }
        ) {
            let mut twice = self.clone();
            let refused = twice.apply(event);
            assert!(!refused && twice.key() == self.key(), "{event:?}: V14");
        }
    }
}
