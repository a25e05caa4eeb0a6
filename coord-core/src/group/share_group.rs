//! One share group.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{Body, Deadline, DeadlineReason, Envelope, LogId, Now, Timers};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::ShareGroupHeartbeatResponse;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::assignor::{Claim, assign};
use super::initialise::{Asker, ShareStates};
use super::member::{Assigned, Member, MemberView};
use super::stored::StoredGroup;
use crate::assignment_interval::wait_ms;
use crate::outbox::Outbox;

/// Settings of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Least time between two assignments (`share.assignment.interval.ms`).
    pub assignment_interval_ms: i32,
    /// Time without a heartbeat after which a member is removed (`share.session.timeout.ms`).
    pub session_timeout_ms: i32,
    /// Time between heartbeats that members are told to keep (`share.heartbeat.interval.ms`).
    pub heartbeat_interval_ms: i32,
    /// Most members (`group.share.max.size`).
    pub max_size: usize,
    /// Partitions of `__share_group_state` (`share.coordinator.state.topic.num.partitions`).
    pub state_partitions: i32,
}

impl Default for GroupConfig {
    fn default() -> Self {
        GroupConfig {
            assignment_interval_ms: 1000,
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5000,
            max_size: 200,
            state_partitions: 50,
        }
    }
}

/// A topic as the cluster metadata has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Topic id.
    pub id: Uuid,
    /// Number of partitions.
    pub partitions: i32,
}

/// The cluster metadata.
pub trait Topics {
    /// The topic of this name, if there is one.
    fn topic(&self, name: &str) -> Option<TopicInfo>;

    /// Another number whenever a topic was created, deleted or got partitions.
    fn version(&self) -> u64;
}

/// What a group answers to a client.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupReply {
    /// To a ShareGroupHeartbeat.
    Heartbeat(ShareGroupHeartbeatResponse),
}

/// A share group: its members, and who gets which partitions (KIP-932).
///
/// The group epoch grows with every change of members, subscriptions, subscribed topics or
/// assignment; the assignment always is the one of the group epoch. A member learns both with its
/// next heartbeat. Whatever comes within `share.assignment.interval.ms` of an assignment is assigned
/// together at its end.
#[derive(Clone, Debug)]
pub struct ShareGroup {
    pub(super) id: Str,
    pub(super) config: GroupConfig,
    pub(super) epoch: i32,
    pub(super) members: BTreeMap<Str, Member>,
    /// Subscribed topics that exist.
    pub(super) topics: BTreeMap<Str, TopicInfo>,
    pub(super) topics_version: Option<u64>,
    pub(super) states: ShareStates,
    /// Wall clock of the last assignment, in milliseconds; 0 where there was none.
    pub(super) assigned_at: i64,
    pub(super) timers: Timers<Timer>,
    pub(super) departed: Vec<Str>,
    /// What members have lost since the last call of `take_unassigned`.
    pub(super) unassigned: BTreeSet<LogId>,
    /// What the log has.
    pub(super) stored: StoredGroup,
    /// Something may differ from what the log has.
    pub(super) changed: bool,
}

/// What a group waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A parked heartbeat is answered with what there is.
    Answer(Str),
    /// The next assignment may be computed.
    Assign,
    /// Share states are asked for again.
    Initialise,
    /// A member is removed.
    Session(Str),
}

/// Partitions one by one.
pub(super) fn logs(assigned: &Assigned) -> impl Iterator<Item = LogId> {
    assigned.iter().flat_map(|(topic, partitions)| {
        let topic = *topic;
        partitions
            .iter()
            .map(move |&partition| LogId { topic, partition })
    })
}

impl ShareGroup {
    /// A group without members.
    pub fn new(id: Str, config: GroupConfig) -> Self {
        ShareGroup {
            id,
            config,
            epoch: 0,
            members: BTreeMap::new(),
            topics: BTreeMap::new(),
            topics_version: None,
            states: ShareStates::default(),
            assigned_at: 0,
            timers: Timers::new(),
            departed: Vec::new(),
            unassigned: BTreeSet::new(),
            stored: StoredGroup::default(),
            changed: false,
        }
    }

    /// Group id.
    pub fn id(&self) -> &Str {
        &self.id
    }

    /// The group epoch, which is the epoch of the assignment too.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// `Empty` or `Stable`, as ShareGroupDescribe names them.
    pub fn state(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else {
            "Stable"
        }
    }

    /// The settings in force.
    pub fn config(&self) -> &GroupConfig {
        &self.config
    }

    /// New settings (IncrementalAlterConfigs on the group). Sessions that run keep their end until
    /// the next heartbeat.
    pub fn set_config(&mut self, config: GroupConfig) {
        self.config = config;
    }

    /// Whether the group has this member.
    pub fn is_member(&self, member_id: &str) -> bool {
        self.members.contains_key(member_id)
    }

    /// Members in the order of their ids.
    pub fn members(&self) -> impl Iterator<Item = MemberView<'_>> {
        self.members.iter().map(|(id, member)| member.view(id))
    }

    /// All share partitions with a state, also of topics to which nobody subscribes now.
    pub fn share_partitions(&self) -> Assigned {
        self.states.all_initialised()
    }

    /// A share partition was begun from outside (AlterShareGroupOffsets), under a state epoch that
    /// becomes the group's.
    pub fn begun(&mut self, name: &Str, topic: TopicInfo, partition: i32, state_epoch: i32) {
        self.epoch = self.epoch.max(state_epoch);
        self.states.begun(name, topic, partition, state_epoch);
        self.changed = true;
    }

    /// The states of a topic were deleted from outside (DeleteShareGroupOffsets).
    pub fn forget_topic(&mut self, topic: Uuid) {
        self.states.forget_topic(topic);
        self.changed = true;
    }

    /// The member's right to acknowledge under `member_epoch` (KIP-1289, TxnShareAcknowledge v1):
    /// NONE for its current and its previous epoch, UNKNOWN_MEMBER_ID, else STALE_MEMBER_EPOCH.
    pub fn check_member(&self, member_id: &str, member_epoch: i32) -> ErrorCode {
        match self.members.get(member_id) {
            Some(member) => member.check(member_epoch),
            None => ErrorCode::UNKNOWN_MEMBER_ID,
        }
    }

    /// Members that left by themselves since the last call. What they hold is to be released.
    pub fn take_departed(&mut self) -> Vec<Str> {
        core::mem::take(&mut self.departed)
    }

    /// Partitions that members have lost since the last call and that none is to have now.
    pub fn take_unassigned(&mut self) -> BTreeSet<LogId> {
        let mut lost = core::mem::take(&mut self.unassigned);
        if !lost.is_empty() {
            for member in self.members.values() {
                for log in logs(&member.target) {
                    lost.remove(&log);
                }
            }
        }
        lost
    }

    /// Whether a member is to have the partition.
    pub fn is_assigned(&self, log: LogId) -> bool {
        let mut members = self.members.values();
        members.any(|member| {
            let own = member.target.get(&log.topic);
            own.is_some_and(|own| own.contains(&log.partition))
        })
    }

    /// An answer of a share coordinator. Anything else is ignored.
    pub fn handle_envelope(
        &mut self,
        now: Now,
        envelope: Envelope,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) {
        if let Body::InitializeShareGroupStateReply(response) = envelope.body {
            self.changed = true;
            if self.states.answered(envelope.correlation, &response) {
                self.refresh(now, self.epoch, topics, out);
            }
        }
    }

    /// A topic was created, deleted or got partitions.
    pub fn metadata_changed(
        &mut self,
        now: Now,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) {
        if self.topics_version != Some(topics.version()) {
            self.refresh(now, self.epoch, topics, out);
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn next_deadline(&self) -> Option<Deadline> {
        let (at, timer) = self.timers.next()?;
        let reason = match timer {
            Timer::Answer(_) | Timer::Initialise => DeadlineReason::Retry,
            Timer::Assign => DeadlineReason::Rebalance,
            Timer::Session(_) => DeadlineReason::MemberSession,
        };
        Some(Deadline { at, reason })
    }

    /// Does what is due and returns the members whose sessions have ended. What they hold is to be
    /// released.
    pub fn handle_timeout(
        &mut self,
        now: Now,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) -> Vec<Str> {
        let before = self.epoch;
        let mut due = Vec::new();
        while let Some(timer) = self.timers.pop_due(now.mono) {
            due.push(timer);
        }
        let mut removed = Vec::new();
        for timer in &due {
            if let Timer::Session(member_id) = timer {
                self.remove(member_id, before, out);
                removed.push(member_id.clone());
            }
        }
        if !due.is_empty() {
            self.refresh(now, before, topics, out);
        }
        for timer in &due {
            if let Timer::Answer(member_id) = timer {
                self.answer_parked(now, member_id, out);
            }
        }
        removed
    }

    /// One step of the group epoch for one input, however much it changes.
    pub(super) fn bump(&mut self, before: i32) {
        self.epoch = before.checked_add(1).unwrap_or(1);
    }

    /// Brings topics, share states and assignment up to date. `before` is the group epoch before
    /// the input that is being handled.
    pub(super) fn refresh(
        &mut self,
        now: Now,
        before: i32,
        topics: &dyn Topics,
        out: &mut Outbox<GroupReply>,
    ) {
        self.changed = true;
        self.topics_version = Some(topics.version());
        let existing = self.existing_topics(topics);
        if existing != self.topics {
            self.topics = existing;
            self.bump(before);
        }
        self.states.forget_deleted(topics);
        let asker = Asker {
            group: &self.id,
            group_epoch: self.epoch,
            state_partitions: self.config.state_partitions,
        };
        for envelope in self.states.ask(now.mono, &asker, &self.topics) {
            out.send(envelope);
        }
        self.timers.set(Timer::Initialise, self.states.retry_at());
        self.assign_in_time(now, before);
        self.answer_complete(now, out);
    }

    fn assign_in_time(&mut self, now: Now, before: i32) {
        let interval_ms = self.config.assignment_interval_ms;
        let wait_ms = wait_ms(self.assigned_at, interval_ms, now.wall);
        let waits = wait_ms > 0;
        let at = now.mono.plus_millis(wait_ms);
        self.timers.set(Timer::Assign, waits.then_some(at));
        // One that changes nothing, or is made of the part that has a state yet, begins no interval.
        if !waits && self.assign(before) && self.states.retry_at().is_none() {
            self.assigned_at = now.wall.as_millis();
        }
    }

    /// Returns whether a member gets another assignment.
    fn assign(&mut self, before: i32) -> bool {
        let claims = self.members.iter().map(|(id, member)| {
            let topics = self.subscribed_topics(member).collect();
            (
                id.clone(),
                Claim {
                    topics,
                    current: &member.target,
                },
            )
        });
        let claims: BTreeMap<Str, Claim<'_>> = claims.collect();
        let partitions = self
            .topics
            .values()
            .map(|info| (info.id, self.states.initialised(info.id)));
        let targets = assign(&claims, &partitions.collect());
        let mut changed = false;
        for (member, target) in self.members.values_mut().zip(targets.into_values()) {
            if member.target != target {
                changed = true;
                let old = core::mem::replace(&mut member.target, target);
                let lost = logs(&old).filter(|log| {
                    let kept = member.target.get(&log.topic);
                    !kept.is_some_and(|kept| kept.contains(&log.partition))
                });
                self.unassigned.extend(lost);
            }
        }
        if changed {
            self.bump(before);
        }
        changed
    }

    fn subscribed_topics(&self, member: &Member) -> impl Iterator<Item = Uuid> {
        member
            .subscribed
            .iter()
            .filter_map(|name| Some(self.topics.get(name)?.id))
    }

    /// Whether a partition to which the member subscribes has no state yet.
    pub(super) fn is_to_wait(&self, member: &Member) -> bool {
        self.subscribed_topics(member)
            .any(|topic| self.states.lacks(topic))
    }

    fn answer_complete(&mut self, now: Now, out: &mut Outbox<GroupReply>) {
        let parked = self
            .members
            .iter()
            .filter(|(_, member)| member.parked.is_some());
        let complete: Vec<Str> = parked
            .filter(|(_, member)| !self.is_to_wait(member))
            .map(|(member_id, _)| member_id.clone())
            .collect();
        for member_id in complete {
            self.answer_parked(now, &member_id, out);
        }
    }
}
