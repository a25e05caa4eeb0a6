//! The leader of a partition for share groups: the delivery state of its records in memory, kept in
//! step with the share coordinator (KIP-932, KIP-1289).

mod persist;
mod share;
mod transaction;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{Body, Deadline, DeadlineReason, Envelope, LogId, Now, Role, Timers};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::kip1289::ACKNOWLEDGE_RELEASE;
use ackord_proto::str::Str;
use ackord_share_partition::{AckError, AckRange, Change, Config, SharePartition, Span};

use crate::group::state_partition_for;
use crate::metadata::ShareGroupSettings;
use crate::outbox::{Outbox, Ticket};

use share::Share;
pub use share::ShareLoad;

/// Milliseconds until a request to the share coordinator is sent again.
const RETRY_MS: i64 = 1000;

/// What a leader answers a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderReply {
    /// Acknowledgements of one partition.
    Acknowledged {
        /// NONE, or why not.
        code: ErrorCode,
        /// What to do about it.
        message: Option<Str>,
    },
}

/// What a leader has to be told on each call.
#[derive(Clone, Copy, Debug)]
pub struct LeaderContext<'a> {
    /// The time.
    pub now: Now,
    /// First offset of the log.
    pub log_start: i64,
    /// High watermark of the log.
    pub high_watermark: i64,
    /// Settings of the group in question.
    pub settings: &'a ShareGroupSettings,
    /// Partitions of `__share_group_state`.
    pub state_partitions: i32,
    /// The group has a dead letter queue and it can be written (KIP-1191).
    pub queue_open: bool,
}

/// The share partitions of one partition, by group.
#[derive(Clone, Debug)]
pub struct Leader {
    log: LogId,
    epoch: i32,
    shares: BTreeMap<Str, Share>,
    /// Empty ones with the figures of those that are not in memory now.
    given_up: BTreeMap<Str, SharePartition>,
    writes: BTreeMap<u64, persist::Write>,
    last_correlation: u64,
    timers: Timers<TimerKey>,
}

/// What a deadline is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimerKey {
    /// A lock of this group ends.
    Lock(Str),
    /// The state of this group is asked for again.
    Read(Str),
    /// A write without an answer is sent again.
    Write(u64),
}

impl Leader {
    /// Without any share partition yet.
    pub fn new(log: LogId) -> Self {
        Leader::with_epoch(log, 0)
    }

    /// The same under a leader epoch: it rises with each leader that the partition gets, and the
    /// share coordinator refuses what older ones still send.
    pub fn with_epoch(log: LogId, epoch: i32) -> Self {
        let from = u64::try_from(epoch).unwrap_or_default() << 32;
        Leader {
            log,
            epoch,
            shares: BTreeMap::new(),
            given_up: BTreeMap::new(),
            writes: BTreeMap::new(),
            // An answer to a leader of before matches nothing.
            last_correlation: from,
            timers: Timers::new(),
        }
    }

    /// Groups that use the partition.
    pub fn groups(&self) -> impl Iterator<Item = &Str> {
        self.shares.keys()
    }

    /// Whether the share partition of a group is loaded, or about to be.
    pub fn has(&self, group: &str) -> bool {
        self.shares.contains_key(group)
    }

    /// The share partition of a group, if it is loaded.
    pub fn share_partition(&self, group: &str) -> Option<&SharePartition> {
        self.shares.get(group).and_then(Share::ready)
    }

    /// The state epoch under which it writes for a group, if the share partition is loaded.
    pub fn state_epoch(&self, group: &str) -> Option<i32> {
        let share = self.shares.get(group)?;
        share.ready().map(|_| share.state_epoch())
    }

    /// The leader epoch.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Writes that the share coordinator has not answered.
    pub fn unanswered_writes(&self) -> impl Iterator<Item = &Envelope> {
        self.writes.values().map(|write| &write.envelope)
    }

    /// The correlation of a group's read that the share coordinator has not answered, and what the
    /// share coordinator has asked for since.
    pub fn reading(&self, group: &str) -> Option<(u64, &[Envelope])> {
        let share = self.shares.get(group)?;
        Some((share.read_under_way()?, &share.waiting))
    }

    /// The newest number of the share coordinator that was taken in for a group.
    pub fn newest_taken(&self, group: &str) -> u64 {
        self.shares.get(group).map_or(0, |share| share.newest)
    }

    /// The share partition of a group; begins to load it where that has not happened.
    pub fn load(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        out: &mut Outbox<LeaderReply>,
    ) -> ShareLoad<'_> {
        if !self.shares.contains_key(group) {
            let correlation = self.next_correlation();
            self.shares
                .insert(group.clone(), Share::reading(correlation));
            self.retry_later(ctx.now, TimerKey::Read(group.clone()));
            out.send(self.read_request(ctx.state_partitions, group, correlation));
        }
        match self.shares.get_mut(group) {
            Some(share) => share.load(),
            None => ShareLoad::Reading,
        }
    }

    /// As [`load`](Self::load), for a member that fetches: the share partition stays loaded until
    /// [`abandon`](Self::abandon).
    pub fn fetch(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        out: &mut Outbox<LeaderReply>,
    ) -> ShareLoad<'_> {
        self.load(ctx, group, out);
        match self.shares.get_mut(group) {
            Some(share) => {
                share.in_use = true;
                share.load()
            }
            None => ShareLoad::Reading,
        }
    }

    /// No member uses the share partition of a group any more.
    pub fn abandon(&mut self, group: &str) {
        if let Some(share) = self.shares.get_mut(group) {
            share.in_use = false;
        }
    }

    /// Drops the share partition of a group where nobody uses it and all of it is stored; the next
    /// use loads it again. What is not stored is written first, so it is to be called after anything
    /// that used the share partition, an answer to a write too.
    pub fn drop_unused(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        out: &mut Outbox<LeaderReply>,
    ) {
        let share = self.shares.get_mut(group);
        let Some(share) = share.filter(|share| !share.in_use && share.is_idle()) else {
            return;
        };
        if self.writes.values().any(|write| write.group == *group) {
            return;
        }
        let unstored = share.ready_mut().map(SharePartition::unstored);
        match unstored.filter(|change| !change.is_empty()) {
            Some(change) => drop(self.store(ctx, group, change, None, out)),
            None => drop(self.give_up(group)),
        }
    }

    /// Acknowledges records of `member` (ShareAcknowledge, or riding on a ShareFetch). Ends in a
    /// [`LeaderReply::Acknowledged`] for `ticket`, once the outcome is stored.
    pub fn acknowledge(
        &mut self,
        ctx: LeaderContext<'_>,
        ticket: Ticket,
        group: &Str,
        member: &Str,
        ranges: &[AckRange],
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let ready = self.shares.get_mut(group).and_then(Share::ready_with_holes);
        let Some((partition, holes)) = ready else {
            out.reply(
                ticket,
                persist::acknowledged(not_acquired(ctx.settings, ranges)),
            );
            return false;
        };
        match partition.acknowledge_with_holes(ctx.now.mono, member, ranges, holes) {
            Ok(change) => self.store(ctx, group, change, Some(ticket), out),
            Err(error) => {
                let message = Some(Str::from(error.message));
                out.reply(
                    ticket,
                    LeaderReply::Acknowledged {
                        code: error.code,
                        message,
                    },
                );
                false
            }
        }
    }

    /// Frees what a member has acquired: its session is closed or its connection lost. Returns
    /// whether records became available.
    pub fn release_member(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        member: &Str,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) else {
            return false;
        };
        let change = partition.release_member(ctx.now.mono, member);
        self.store(ctx, group, change, None, out)
    }

    /// Frees records whose lock has run out. Returns whether records became available.
    pub fn expire(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) else {
            return false;
        };
        let change = partition.expire(ctx.now.mono);
        self.store(ctx, group, change, None, out)
    }

    /// Notes offsets that were acquired although the log has a marker there and no record.
    pub fn note_holes(&mut self, group: &str, holes: &[Span]) {
        if let Some(share) = self.shares.get_mut(group) {
            share.note_holes(holes);
        }
    }

    /// Ends the delivery of records that hold aborted data.
    pub fn archive(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        first: i64,
        last: i64,
        out: &mut Outbox<LeaderReply>,
    ) {
        if let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) {
            let change = partition.archive_range(first, last);
            self.store(ctx, group, change, None, out);
        }
    }

    /// The copies of records are written to the dead letter queue together with this, or were given
    /// up. Returns whether records became available.
    pub fn dead_letters_written(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        spans: &[Span],
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) else {
            return false;
        };
        let change = partition.dead_letters_written(spans);
        self.store(ctx, group, change, None, out)
    }

    /// The log starts at `ctx.log_start` now (DeleteRecords, retention): what lies below is not
    /// delivered any more.
    pub fn log_start_moved(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        out: &mut Outbox<LeaderReply>,
    ) {
        if let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) {
            let change = partition.archive_below(ctx.log_start);
            self.store(ctx, group, change, None, out);
        }
    }

    /// Changes the settings of a group's share partition from now on.
    pub fn set_config(&mut self, group: &str, config: &Config) {
        if let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) {
            partition.set_config(config.clone());
        }
    }

    /// The group is deleted, and what was counted of it.
    pub fn forget_figures(&mut self, group: &str) {
        self.given_up.remove(group);
    }

    fn give_up(&mut self, group: &str) -> Option<Share> {
        let (group, share) = self.shares.remove_entry(group)?;
        if let Some(partition) = share.ready() {
            self.given_up.insert(group, partition.emptied());
        }
        Some(share)
    }

    /// Share partitions with their figures, by group; empty where they are not in memory now.
    pub fn figures(&self) -> impl Iterator<Item = (&Str, &SharePartition)> {
        let ready = self.shares.iter();
        let ready = ready.filter_map(|(group, share)| Some((group, share.ready()?)));
        ready.chain(&self.given_up)
    }

    /// Forgets the share partition of a group; the next use loads it again. Writes that are not
    /// answered are given up: whether they are stored shows when the state is read.
    pub fn forget(&mut self, group: &str, out: &mut Outbox<LeaderReply>) {
        if let Some(share) = self.give_up(group) {
            self.turn_away(share.waiting, ErrorCode::COORDINATOR_NOT_AVAILABLE, out);
        }
        let name = Str::from(group);
        self.timers.cancel(&TimerKey::Read(name.clone()));
        self.timers.cancel(&TimerKey::Lock(name));
        let given_up: Vec<u64> = self
            .writes
            .iter()
            .filter(|(_, write)| *write.group == *group)
            .map(|(correlation, _)| *correlation)
            .collect();
        for correlation in given_up {
            self.timers.cancel(&TimerKey::Write(correlation));
            if let Some(write) = self.writes.remove(&correlation) {
                write.fail(ErrorCode::COORDINATOR_NOT_AVAILABLE, None, out);
            }
        }
    }

    /// The lock that ends first, or the next repetition of an unanswered request.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let (at, key) = self.timers.next()?;
        let reason = match key {
            TimerKey::Lock(_) => DeadlineReason::AcquisitionLock,
            TimerKey::Read(_) | TimerKey::Write(_) => DeadlineReason::Retry,
        };
        Some(Deadline { at, reason })
    }

    /// Notes when the locks of a group end now. To be called after anything that used its share
    /// partition.
    pub fn arm(&mut self, group: &Str) {
        let lock = self.shares.get(group).and_then(Share::next_lock);
        self.timers.set(TimerKey::Lock(group.clone()), lock);
    }

    fn retry_later(&mut self, now: Now, key: TimerKey) {
        self.timers.arm(key, now.mono.plus_millis(RETRY_MS));
    }

    /// Sends again what was not answered in time. Returns the groups with a lock that has run out.
    pub fn handle_timeout(
        &mut self,
        now: Now,
        state_partitions: i32,
        out: &mut Outbox<LeaderReply>,
    ) -> Vec<Str> {
        let mut expired = Vec::new();
        while let Some(key) = self.timers.pop_due(now.mono) {
            match key {
                TimerKey::Lock(group) => expired.push(group),
                TimerKey::Read(group) => self.read_again(now, state_partitions, &group, out),
                TimerKey::Write(correlation) => self.write_again(now, correlation, out),
            }
        }
        expired
    }

    fn next_correlation(&mut self) -> u64 {
        self.last_correlation += 1;
        self.last_correlation
    }

    fn envelope(
        &self,
        state_partitions: i32,
        group: &Str,
        correlation: u64,
        body: Body,
    ) -> Envelope {
        let sgc = state_partition_for(group, self.log.topic, self.log.partition, state_partitions);
        Envelope {
            from: Role::Leader(self.log),
            to: Role::Sgc(sgc),
            correlation,
            body,
        }
    }

    /// Stores a change with the share coordinator; returns whether records became available.
    fn store(
        &mut self,
        ctx: LeaderContext<'_>,
        group: &Str,
        change: Change,
        ticket: Option<Ticket>,
        out: &mut Outbox<LeaderReply>,
    ) -> bool {
        let refusal = change.refused;
        if change.is_empty() {
            if let Some(ticket) = ticket {
                // What the request found may follow from a write under way.
                let mut writes = self.writes.values_mut().rev();
                match writes.find(|write| write.group == *group) {
                    Some(write) => write.tickets.push((ticket, refusal)),
                    None => out.reply(ticket, persist::acknowledged(refusal)),
                }
            }
            return false;
        }
        let available = change.available_again;
        let correlation = self.next_correlation();
        let request = self.write_request(group, &change);
        let envelope = self.envelope(ctx.state_partitions, group, correlation, request);
        let group = group.clone();
        let write = persist::Write {
            group,
            tickets: ticket.map(|ticket| (ticket, refusal)).into_iter().collect(),
            envelope: envelope.clone(),
        };
        self.retry_later(ctx.now, TimerKey::Write(correlation));
        self.writes.insert(correlation, write);
        out.send(envelope);
        available
    }
}

/// The answer to acknowledgements in a share partition that nobody has used since it was read. In
/// transactional mode a member may release what it does not hold.
fn not_acquired(settings: &ShareGroupSettings, ranges: &[AckRange]) -> Option<AckError> {
    let mut types = ranges.iter().flat_map(|range| &range.types);
    if settings.transactional && types.all(|kind| *kind == ACKNOWLEDGE_RELEASE) {
        return None;
    }
    Some(AckError {
        code: ErrorCode::INVALID_RECORD_STATE,
        message: "no record of this partition is acquired by the member",
    })
}
