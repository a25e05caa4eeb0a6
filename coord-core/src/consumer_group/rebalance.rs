//! From one generation of a classic group to the next.

use alloc::vec::Vec;

use ackord_machine::{Now, Timers};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{JoinGroupResponse, SyncGroupResponse};
use ackord_proto::str::Str;
use bytes::Bytes;

use super::classic_group::{ClassicGroup, GroupState, InitialDelay};
use super::coordinator::{ClassicReply, GroupCoordinatorConfig, Timer};
use super::member::Awaits;
use crate::outbox::Ticket;

/// Answers to those who waited, in order.
pub(super) type Replies = Vec<(Ticket, ClassicReply)>;

/// A group that acts, and what it asks for.
pub(super) struct Turn<'a> {
    pub(super) now: Now,
    pub(super) id: &'a Str,
    pub(super) group: &'a mut ClassicGroup,
    pub(super) timers: &'a mut Timers<Timer>,
    pub(super) config: &'a GroupCoordinatorConfig,
    pub(super) replies: Replies,
    /// The group is to be stored as it is after the turn; the answers wait for that.
    pub(super) store: bool,
}

impl Turn<'_> {
    pub(super) fn arm(&mut self, timer: Timer, millis: i32) {
        let at = self.now.mono.plus_millis(i64::from(millis.max(0)));
        self.timers.arm(timer, at);
    }

    fn now_ms(&self) -> i64 {
        self.now.wall.as_millis()
    }

    /// Gives a member its session timeout to show up again.
    pub(super) fn extend_session(&mut self, member: &Str) {
        if let Some(found) = self.group.members.get(member) {
            let timeout_ms = found.session_timeout_ms;
            self.arm(Timer::Session(self.id.clone(), member.clone()), timeout_ms);
        }
    }

    pub(super) fn cancel_session(&mut self, member: &Str) {
        let timer = Timer::Session(self.id.clone(), member.clone());
        self.timers.cancel(&timer);
    }

    /// Answers a request that waited with an error.
    pub(super) fn end_wait(&mut self, awaits: Awaits, member: &Str, error_code: ErrorCode) {
        match awaits {
            Awaits::Join(ticket) => {
                let reply = JoinGroupResponse {
                    member_id: member.clone(),
                    error_code,
                    ..JoinGroupResponse::default()
                };
                self.replies.push((ticket, ClassicReply::Join(reply)));
            }
            Awaits::Nothing => {}
            Awaits::Sync(ticket) => {
                let reply = SyncGroupResponse {
                    error_code,
                    ..SyncGroupResponse::default()
                };
                self.replies.push((ticket, ClassicReply::Sync(reply)));
            }
        }
    }

    /// Takes a member out; what it waited for ends with UNKNOWN_MEMBER_ID, so that a client that is
    /// still there joins again.
    pub(super) fn remove_member(&mut self, member: &Str) {
        self.cancel_session(member);
        if let Some(awaits) = self.group.remove(member) {
            let unknown = match awaits {
                Awaits::Join(_) => Str::EMPTY,
                _ => member.clone(),
            };
            self.end_wait(awaits, &unknown, ErrorCode::UNKNOWN_MEMBER_ID);
        }
    }

    /// Someone came, left, or says something new.
    pub(super) fn rebalance(&mut self) {
        match self.group.state() {
            GroupState::PreparingRebalance => self.complete_join_if_all_joined(),
            _ => self.prepare_rebalance(),
        }
    }

    /// Has all members join again.
    pub(super) fn prepare_rebalance(&mut self) {
        if self.group.state() == GroupState::CompletingRebalance {
            self.reset_assignments();
        }
        self.end_pending_sync();
        let initial = self.group.state() == GroupState::Empty;
        self.group
            .enter(GroupState::PreparingRebalance, self.now_ms());
        if initial {
            let delay_ms = self.config.initial_rebalance_delay_ms;
            let timeout_ms = self.group.rebalance_timeout_ms();
            self.group.initial_delay = Some(InitialDelay {
                delay_ms,
                remaining_ms: timeout_ms.saturating_sub(delay_ms).max(0),
                new_member: false,
            });
            if delay_ms == 0 {
                return self.join_time_is_over();
            }
            return self.arm(Timer::Join(self.id.clone()), delay_ms);
        }
        if self.group.all_joined() {
            return self.complete_join();
        }
        let timeout_ms = self.group.rebalance_timeout_ms();
        self.arm(Timer::Join(self.id.clone()), timeout_ms);
    }

    /// Whoever waits for an assignment of this generation is to join the next.
    fn reset_assignments(&mut self) {
        let mut ended = Vec::new();
        for (id, member) in &mut self.group.members {
            member.assignment = Bytes::new();
            if let Awaits::Sync(_) = member.awaits {
                ended.push((id.clone(), member.awaits));
                member.awaits = Awaits::Nothing;
            }
        }
        for (id, awaits) in ended {
            self.end_wait(awaits, &id, ErrorCode::REBALANCE_IN_PROGRESS);
            self.extend_session(&id);
        }
    }

    pub(super) fn end_pending_sync(&mut self) {
        self.group.pending_sync.clear();
        self.timers.cancel(&Timer::Sync(self.id.clone()));
    }

    /// A first rebalance ends by its delay only.
    pub(super) fn complete_join_if_all_joined(&mut self) {
        let preparing = self.group.state() == GroupState::PreparingRebalance;
        if preparing && self.group.initial_delay.is_none() && self.group.all_joined() {
            self.complete_join();
        }
    }

    /// The delay of a first rebalance, or the time that members have to join, is over.
    pub(super) fn join_time_is_over(&mut self) {
        if self.group.state() != GroupState::PreparingRebalance {
            return;
        }
        let most_ms = self.config.initial_rebalance_delay_ms;
        match &mut self.group.initial_delay {
            Some(delay) if delay.new_member && delay.remaining_ms > 0 => {
                let next_ms = most_ms.min(delay.remaining_ms);
                *delay = InitialDelay {
                    remaining_ms: delay.remaining_ms.saturating_sub(delay.delay_ms).max(0),
                    delay_ms: next_ms,
                    new_member: false,
                };
                self.arm(Timer::Join(self.id.clone()), next_ms);
            }
            _ => self.complete_join(),
        }
    }

    /// Begins the next generation with those who joined. Static members keep their place without
    /// joining.
    pub(super) fn complete_join(&mut self) {
        self.timers.cancel(&Timer::Join(self.id.clone()));
        let members = self.group.members.iter();
        let absent = members.filter(|(_, member)| !member.awaits_join() && !member.is_static());
        let absent: Vec<Str> = absent.map(|(id, _)| id.clone()).collect();
        for member in absent {
            self.remove_member(&member);
        }
        if !self.group.members.is_empty() && !self.group.elect_joined_leader() {
            // Static members only, and none of them is here: their sessions decide.
            self.group.initial_delay = None;
            let timeout_ms = self.group.rebalance_timeout_ms();
            return self.arm(Timer::Join(self.id.clone()), timeout_ms);
        }
        self.group.next_generation(self.now_ms());
        if self.group.state() == GroupState::Empty {
            self.store = true;
            return;
        }
        let ids: Vec<Str> = self.group.members.keys().cloned().collect();
        for id in &ids {
            let reply = self.joined(id);
            if let Some(member) = self.group.members.get_mut(id) {
                member.is_new = false;
                if let Awaits::Join(ticket) = member.awaits {
                    member.awaits = Awaits::Nothing;
                    self.replies.push((ticket, ClassicReply::Join(reply)));
                }
            }
            self.extend_session(id);
        }
        self.group.pending_sync = ids.into_iter().collect();
        let timeout_ms = self.group.rebalance_timeout_ms();
        self.arm(Timer::Sync(self.id.clone()), timeout_ms);
    }

    /// What a member of the generation is told; the leader gets all the others too.
    pub(super) fn joined(&self, member: &Str) -> JoinGroupResponse {
        let group = &*self.group;
        JoinGroupResponse {
            generation_id: group.generation,
            protocol_type: group.protocol_type.clone(),
            protocol_name: group.protocol.clone(),
            leader: group.leader.clone().unwrap_or_default(),
            member_id: member.clone(),
            members: match group.is_leader(member) {
                true => group.joined(),
                false => Vec::new(),
            },
            ..JoinGroupResponse::default()
        }
    }

    /// Members that have not sent SyncGroup in time are out.
    pub(super) fn sync_time_is_over(&mut self) {
        let absent = core::mem::take(&mut self.group.pending_sync);
        if absent.is_empty() {
            return;
        }
        for member in &absent {
            self.remove_member(member);
        }
        self.prepare_rebalance();
    }

    /// A member has not been heard of for its session timeout.
    pub(super) fn session_ended(&mut self, member: &Str) {
        if self.group.pending_members.remove(member) {
            return self.complete_join_if_all_joined();
        }
        let Some(found) = self.group.members.get(member) else {
            return;
        };
        if found.is_excused() {
            return;
        }
        self.remove_member(member);
        match self.group.state() {
            GroupState::PreparingRebalance => self.complete_join_if_all_joined(),
            GroupState::CompletingRebalance | GroupState::Stable => self.prepare_rebalance(),
            GroupState::Empty => {}
        }
    }
}
