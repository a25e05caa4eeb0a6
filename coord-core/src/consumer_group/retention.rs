//! Offsets that nobody uses expire (`offsets.retention.minutes`), and with them groups.

use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::str::Str;

use super::classic_group::GroupState;
use super::coordinator::{ClassicReply, Group, GroupCoordinator, Timer};
use super::offset_delete::tombstone;
use super::offsets::CommittedOffset;
use super::subscription::CONSUMER;
use crate::outbox::{Outbox, StateRecord};

/// From when on the retention of an offset runs.
#[derive(Clone, Copy)]
enum Since {
    /// Its commit.
    Commit,
    /// The moment at which the last member left, in milliseconds since the Unix epoch.
    Moment(i64),
}

impl GroupCoordinator {
    /// Looks for what expired every `offsets.retention.check.interval.ms`, while there is anything.
    /// Groups that come meanwhile do not put it off.
    pub(super) fn check_retention(&mut self, now: Now) {
        if self.groups.is_empty() || self.checks_retention {
            return;
        }
        let at = now.mono.plus_millis(self.config.retention_check_ms.max(1));
        self.timers.arm(Timer::Retention, at);
        self.checks_retention = true;
    }

    /// Deletes expired offsets, and groups that have neither members nor offsets left.
    pub(super) fn expire(&mut self, now: Now, out: &mut Outbox<ClassicReply>) {
        self.checks_retention = false;
        let now_ms = now.wall.as_millis();
        let mut tombstones = Vec::new();
        let mut unused: Vec<Str> = Vec::new();
        for (id, group) in &self.groups {
            let (expired, all) = group.expired(id, now_ms, self.config.retention_ms);
            tombstones.extend(expired);
            if all && group.offsets.pending.is_empty() && group.is_unused() {
                if group.stored.is_some() || group.consumer.is_some() {
                    tombstones.extend(group.group_tombstones(id));
                }
                unused.push(id.clone());
            }
        }
        self.append(tombstones, None, out);
        for id in unused {
            self.drop_group(&id);
        }
        self.check_retention(now);
    }
}

impl Group {
    fn is_unused(&self) -> bool {
        !self.has_members() && self.classic.is_deserted()
    }

    /// Tombstones of expired offsets, and whether no other offset is left.
    fn expired(&self, id: &Str, now_ms: i64, retention_ms: i64) -> (Vec<StateRecord>, bool) {
        let mut tombstones = Vec::new();
        let mut all = true;
        let since = self.retention();
        for (topic, partitions) in &self.offsets.committed {
            for (&partition, placed) in partitions {
                let expired = since.is_some_and(|since| {
                    !self.subscribes(topic)
                        && is_expired(&placed.offset, since, now_ms, retention_ms)
                        && !self.offsets.is_pending(topic, partition)
                });
                all &= expired;
                if expired {
                    tombstones.extend(tombstone(id, topic, partition));
                }
            }
        }
        (tombstones, all)
    }

    /// `None`: nothing expires. A group that only has offsets counts from each commit, an empty one
    /// from when its last member left, a stable one drops what its members do not subscribe to. One of
    /// the consumer protocol counts from each commit.
    fn retention(&self) -> Option<Since> {
        let classic = &self.classic;
        if self.consumer.is_some() {
            return Some(Since::Commit);
        }
        match classic.state() {
            _ if classic.protocol_type().is_empty() => Some(Since::Commit),
            GroupState::Empty => Some(Since::Moment(classic.state_since_ms)),
            GroupState::Stable
                if classic.protocol_type() == CONSUMER && classic.knows_its_topics() =>
            {
                Some(Since::Commit)
            }
            _ => None,
        }
    }
}

fn is_expired(offset: &CommittedOffset, since: Since, now_ms: i64, retention_ms: i64) -> bool {
    if offset.expire_ms >= 0 {
        return now_ms >= offset.expire_ms;
    }
    let since_ms = match since {
        Since::Commit => offset.commit_ms,
        Since::Moment(moment_ms) => moment_ms,
    };
    now_ms.saturating_sub(since_ms) >= retention_ms
}
