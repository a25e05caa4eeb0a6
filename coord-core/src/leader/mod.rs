//! The leader of a partition for share groups: the delivery state of its records in memory, kept in
//! step with the share coordinator (KIP-932, KIP-1289).

mod persist;
mod share;
mod transaction;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_machine::{Body, Deadline, DeadlineReason, Envelope, LogId, MonoTime, Now, Role};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_share_partition::{AckRange, Change, Config, SharePartition, Span};

use crate::group::state_partition_for;
use crate::metadata::ShareGroupSettings;
use crate::outbox::{Outbox, Ticket};

use share::Share;
pub use share::ShareLoad;

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
    shares: BTreeMap<Str, Share>,
    writes: BTreeMap<u64, persist::Write>,
    last_correlation: u64,
}

impl Leader {
    /// Without any share partition yet.
    pub fn new(log: LogId) -> Self {
        Leader {
            log,
            shares: BTreeMap::new(),
            writes: BTreeMap::new(),
            last_correlation: 0,
        }
    }

    /// Groups that use the partition.
    pub fn groups(&self) -> impl Iterator<Item = &Str> {
        self.shares.keys()
    }

    /// The share partition of a group, if it is loaded.
    pub fn share_partition(&self, group: &str) -> Option<&SharePartition> {
        self.shares.get(group).and_then(Share::ready)
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
            let share = Share::reading(correlation, persist::retry_at(ctx.now));
            self.shares.insert(group.clone(), share);
            out.send(self.read_request(ctx.state_partitions, group, correlation));
        }
        match self.shares.get_mut(group) {
            Some(share) => share.load(),
            None => ShareLoad::Reading,
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
        let Some(partition) = self.shares.get_mut(group).and_then(Share::ready_mut) else {
            let message = "no record of this partition is acquired by the member";
            let code = ErrorCode::INVALID_RECORD_STATE;
            out.reply(
                ticket,
                LeaderReply::Acknowledged {
                    code,
                    message: Some(Str::from(message)),
                },
            );
            return false;
        };
        match partition.acknowledge(ctx.now.mono, member, ranges) {
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

    /// Forgets the share partition of a group; the next use loads it again. Writes that are not
    /// answered are given up: whether they are stored shows when the state is read.
    pub fn forget(&mut self, group: &str, out: &mut Outbox<LeaderReply>) {
        if let Some(share) = self.shares.remove(group) {
            self.refuse_stages(share.stages, ErrorCode::COORDINATOR_NOT_AVAILABLE, out);
        }
        let given_up: Vec<u64> = self
            .writes
            .iter()
            .filter(|(_, write)| *write.group == *group)
            .map(|(correlation, _)| *correlation)
            .collect();
        for write in given_up
            .iter()
            .filter_map(|correlation| self.writes.remove(correlation))
        {
            if let Some(ticket) = write.ticket {
                let code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
                out.reply(
                    ticket,
                    LeaderReply::Acknowledged {
                        code,
                        message: None,
                    },
                );
            }
        }
    }

    /// The group's lock that ends first, or the next repetition of an unanswered request.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let locks = self.shares.values().filter_map(Share::next_lock);
        let locks = locks.map(|at| Deadline {
            at,
            reason: DeadlineReason::AcquisitionLock,
        });
        let reads = self.shares.values().filter_map(Share::retry_at);
        let writes = self.writes.values().map(|write| write.retry_at);
        let retries = reads.chain(writes).map(|at| Deadline {
            at,
            reason: DeadlineReason::Retry,
        });
        locks.chain(retries).min()
    }

    /// Groups with a lock that has run out by `now`.
    pub fn expired_groups(&self, now: MonoTime) -> Vec<Str> {
        let expired = |share: &Share| share.next_lock().is_some_and(|at| at <= now);
        self.shares
            .iter()
            .filter(|(_, share)| expired(share))
            .map(|(group, _)| group.clone())
            .collect()
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
                out.reply(ticket, persist::acknowledged(refusal));
            }
            return false;
        }
        let available = change.available_again;
        let correlation = self.next_correlation();
        let request = self.write_request(group, &change);
        let envelope = self.envelope(ctx.state_partitions, group, correlation, request);
        let retry_at = persist::retry_at(ctx.now);
        let group = group.clone();
        let write = persist::Write {
            group,
            ticket,
            refusal,
            envelope: envelope.clone(),
            retry_at,
        };
        self.writes.insert(correlation, write);
        out.send(envelope);
        available
    }
}
