//! A share partition over a few records, with what a share coordinator has stored of it.

mod check;

use ackord_machine::{MonoTime, PendingAck, StageVerdict, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{
    AckRange, AcquireMode, Change, Config, LogBatch, RecordState, SharePartition, Span, StateBatch,
    TxnOutcome,
};

use crate::common::{ACCEPT, at, staged};

const TICK_MS: u64 = 100;
/// Where the log has no record, as far as a leader knows.
const HOLES: [Span; 1] = [Span::new(1, 1)];

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Acknowledge {
        member: usize,
        first: i64,
        last: i64,
        kind: i8,
    },
    /// The group is deleted and begun anew.
    Delete,
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
    /// The share coordinator takes the marker of a producer: it stores the outcome and has news.
    Marker {
        producer: i64,
        marker: i16,
        commit: bool,
    },
    /// The news reach the leader, where they may have been before.
    News {
        queue_open: bool,
    },
    /// The share coordinator hears that its news have arrived, and no copy of them is left.
    NewsDone,
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
    /// Nobody uses the share partition: what is not stored is, and it is read again.
    Unused,
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
    /// What it has as pending, by offset.
    pending: Vec<Option<PendingAck>>,
    /// Ends of which it tells the leader, by offset: what was pending, and whether it committed.
    news: Vec<Option<(PendingAck, bool)>>,
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
            pending: vec![None; size],
            news: vec![None; size],
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
        for news in &self.news {
            let code = news.map_or(0, |(ack, commit)| {
                let owner = ack.owner;
                2 + owner.producer_id * 20 + i64::from(owner.producer_epoch) * 2 + i64::from(commit)
            });
            key.push(code as u8);
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
            Event::Delete => {
                self.delete();
                return false;
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
            Event::Marker {
                producer,
                marker,
                commit,
            } => {
                self.mark(producer, marker, commit);
                return false;
            }
            Event::News { queue_open } => {
                self.tell(queue_open);
                return false;
            }
            Event::NewsDone => {
                self.forget_news();
                return false;
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
                if self.has_ended(owner) {
                    return true;
                }
                let own = |ack: &PendingAck| ack.owner == owner;
                let held: Vec<PendingAck> =
                    self.pending.iter().flatten().copied().filter(own).collect();
                for pending in &mut self.pending {
                    pending.take_if(|ack| own(ack));
                }
                self.partition.unstage(self.now, owner, &held)
            }
            Event::Unused => return self.drop_unused(),
            Event::Written { first, last } => {
                let span = Span::new(first, last);
                self.partition.dead_letters_written(&[span])
            }
        };
        self.store(&change);
        false
    }

    /// `true`: somebody holds records of it.
    fn drop_unused(&mut self) -> bool {
        let partition = &mut self.partition;
        if partition.in_flight() > 0 || partition.archiving_count() > 0 {
            return true;
        }
        let change = partition.unstored();
        self.store(&change);
        self.reload();
        false
    }

    fn acknowledge(&mut self, member: usize, first: i64, last: i64, kind: i8) -> Option<Change> {
        let range = AckRange {
            first,
            last,
            types: vec![kind],
        };
        let member = self.members[member].clone();
        let partition = &mut self.partition;
        let answer = partition.acknowledge_with_holes(self.now, &member, &[range], &HOLES);
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
        if self.has_ended(owner) {
            // The transaction coordinator knows of no such transaction.
            return true;
        }
        let member = member.map(|member| self.members[member].clone());
        let deadlines = self.deadlines();
        let ranges = [staged(first, last, kind)];
        let partition = &mut self.partition;
        match partition.stage(self.now, member.as_ref(), owner, ErrorCode::NONE, &ranges) {
            StageVerdict::Refused { .. } => true,
            StageVerdict::Repeated => false,
            StageVerdict::Staged(held) => {
                for ack in held {
                    for offset in ack.first_offset..=ack.last_offset {
                        let place = offset as usize;
                        self.stopped[place] = deadlines[place];
                        self.pending[place] = Some(PendingAck {
                            first_offset: offset,
                            last_offset: offset,
                            ..ack
                        });
                    }
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
                self.merge(offset as usize, batch.state, batch.delivery_count);
            }
        }
        assert!(change.start_offset >= self.stored_start, "V3");
        self.stored_start = change.start_offset.min(self.size());
    }

    /// A share coordinator merges: the higher count wins, then the later state.
    fn merge(&mut self, offset: usize, state: RecordState, count: i16) {
        let (old, old_count) = self.stored[offset];
        if (count, state.id()) > (old_count, old.id()) {
            self.stored[offset] = (state, count);
        }
    }

    /// The transaction is over, and the share coordinator may still tell of it.
    fn has_ended(&self, owner: TxnOwner) -> bool {
        let mut news = self.news.iter().flatten();
        news.any(|(ack, _)| ack.owner == owner)
    }

    fn mark(&mut self, producer: i64, marker: i16, commit: bool) {
        for offset in 0..self.pending.len() {
            let ends = |ack: &mut PendingAck| {
                ack.owner.producer_id == producer && ack.owner.producer_epoch < marker
            };
            let Some(ack) = self.pending[offset].take_if(ends) else {
                continue;
            };
            let state = match (commit, ack.acknowledge_type) {
                (false, _) => RecordState::Available,
                (true, ACCEPT) => RecordState::Acknowledged,
                (true, _) if ack.dead_letter => RecordState::Archiving,
                (true, _) => RecordState::Archived,
            };
            self.merge(offset, state, ack.delivery_count);
            self.news[offset] = Some((ack, commit));
        }
    }

    fn tell(&mut self, queue_open: bool) {
        for (commit, outcome) in [
            (true, TxnOutcome::Commit),
            (false, TxnOutcome::Abort { queue_open }),
        ] {
            let news = self.news.iter().flatten();
            let news: Vec<PendingAck> = news
                .filter(|(_, own)| *own == commit)
                .map(|(ack, _)| *ack)
                .collect();
            let change = self.partition.resolve_ranges(&news, outcome);
            // The outcome is stored, but what the leader alone decides is not.
            for batch in change.batches.iter().filter(|_| !commit) {
                if batch.state == RecordState::Archiving {
                    for offset in batch.first..=batch.last {
                        self.merge(offset as usize, batch.state, batch.delivery_count);
                    }
                }
            }
        }
    }

    fn forget_news(&mut self) {
        let seen = self.seen();
        for (news, seen) in self.news.iter_mut().zip(seen) {
            let holder = seen.and_then(|seen| seen.owner).map(|(owner, _)| owner);
            news.take_if(|(ack, _)| holder != Some(ack.owner));
        }
    }

    fn delete(&mut self) {
        self.partition = SharePartition::new(self.config.clone(), self.log_start);
        self.stored.fill((RecordState::Available, 0));
        self.stored_start = self.log_start;
        self.pending.fill(None);
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
        let pending: Vec<PendingAck> = self.pending.iter().flatten().copied().collect();
        SharePartition::load(self.config.clone(), self.stored_start, &batches, &pending)
    }

    fn reload(&mut self) {
        self.partition = self.loaded();
        let change = self.partition.archive_below(self.log_start);
        self.store(&change);
    }
}
