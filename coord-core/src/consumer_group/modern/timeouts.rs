//! Members that are not heard of, or that do not give up in time what they are to give up.

use ackord_machine::Now;
use ackord_proto::str::Str;

use super::ClusterView;
use super::member::{Current, MemberState};
use crate::consumer_group::coordinator::{ClassicReply, GroupCoordinator, Timer};
use crate::outbox::Outbox;

impl GroupCoordinator {
    pub(super) fn arm_session(&mut self, now: Now, group: &Str, member: &Str, timeout_ms: i32) {
        let at = now.mono.plus_millis(i64::from(timeout_ms));
        let timer = Timer::Session(group.clone(), member.clone());
        self.timers.arm(timer, at);
    }

    /// The rebalance timeout of a member runs from when it is told to give something up until it has.
    pub(super) fn follow_revocation(
        &mut self,
        now: Now,
        group: &Str,
        member: &Str,
        before: &Current,
        after: &Current,
    ) {
        let timer = Timer::Revocation(group.clone(), member.clone());
        if after.state != MemberState::UnrevokedPartitions {
            self.timers.cancel(&timer);
        } else if before != after || !self.timers.is_armed(&timer) {
            let found = self.consumer_group(group);
            let found = found.and_then(|group| group.members.get(member));
            let timeout_ms = found.map_or(0, |member| member.said.rebalance_timeout_ms);
            let at = now.mono.plus_millis(i64::from(timeout_ms.max(0)));
            self.timers.arm(timer, at);
        }
    }

    pub(super) fn cancel_member_timers(&mut self, group: &Str, member: &Str) {
        let session = Timer::Session(group.clone(), member.clone());
        self.timers.cancel(&session);
        let revocation = Timer::Revocation(group.clone(), member.clone());
        self.timers.cancel(&revocation);
    }

    /// The session of a member of a consumer group ended, or its time to give something up.
    pub(in crate::consumer_group) fn consumer_member_timed_out(
        &mut self,
        now: Now,
        group: &Str,
        member: &Str,
        cluster: &dyn ClusterView,
        out: &mut Outbox<ClassicReply>,
    ) {
        let found = self.consumer_group(group);
        if found.is_some_and(|group| group.members.contains_key(member)) {
            self.fence_members(now, group, core::slice::from_ref(member), out);
            self.downgrade_if_classic(now, group, cluster, out);
        }
    }

    /// After a replay: each member has its session to show that it is still there, and the time to
    /// give up what it was to give up.
    pub(in crate::consumer_group) fn rearm_consumer_groups(
        &mut self,
        now: Now,
        cluster: &dyn ClusterView,
    ) {
        for (id, group) in &self.groups {
            let Some(consumer) = &group.consumer else {
                continue;
            };
            let session_ms = cluster.consumer_group(id).session_timeout_ms;
            for (member_id, member) in &consumer.members {
                let session_ms = match member.is_classic() {
                    true => super::classic_members::session_ms(member),
                    false => session_ms,
                };
                let at = now.mono.plus_millis(i64::from(session_ms));
                let timer = Timer::Session(id.clone(), member_id.clone());
                self.timers.arm(timer, at);
                if member.current.state == MemberState::UnrevokedPartitions {
                    let timeout_ms = member.said.rebalance_timeout_ms.max(0);
                    let at = now.mono.plus_millis(i64::from(timeout_ms));
                    let timer = Timer::Revocation(id.clone(), member_id.clone());
                    self.timers.arm(timer, at);
                }
            }
        }
    }
}
