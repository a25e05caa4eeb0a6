//! Who is in a classic group, and in which state it is.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use ackord_proto::coordinator_records::GroupMetadataValue;
use ackord_proto::messages::join_group::{JoinGroupRequestProtocol, JoinGroupResponseMember};
use ackord_proto::str::Str;

use super::member::{Awaits, Member};
use super::subscription::{self, CONSUMER};

/// The state of a classic group, by Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// No members.
    Empty,
    /// Members are to join.
    PreparingRebalance,
    /// Members have joined; the leader is to assign.
    CompletingRebalance,
    /// Every member can have its assignment.
    Stable,
}

impl fmt::Display for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroupState::Empty => "Empty",
            GroupState::PreparingRebalance => "PreparingRebalance",
            GroupState::CompletingRebalance => "CompletingRebalance",
            GroupState::Stable => "Stable",
        })
    }
}

/// The first rebalance of a group waits a little for more members
/// (`group.initial.rebalance.delay.ms`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InitialDelay {
    /// The delay that runs, in milliseconds.
    pub(super) delay_ms: i32,
    /// What may be added to it.
    pub(super) remaining_ms: i32,
    /// Someone came while it ran.
    pub(super) new_member: bool,
}

/// A group of the classic protocol. One without a protocol type belongs to consumers that only
/// commit offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicGroup {
    state: GroupState,
    /// When it came into its state, in milliseconds since the Unix epoch.
    pub(super) state_since_ms: i64,
    pub(super) generation: i32,
    pub(super) protocol_type: Option<Str>,
    pub(super) protocol: Option<Str>,
    pub(super) leader: Option<Str>,
    pub(super) members: BTreeMap<Str, Member>,
    /// Member ids of static members, by `group.instance.id`.
    pub(super) static_members: BTreeMap<Str, Str>,
    /// Ids that were given to clients that have not come back with them.
    pub(super) pending_members: BTreeSet<Str>,
    /// Members that have not sent their SyncGroup.
    pub(super) pending_sync: BTreeSet<Str>,
    pub(super) initial_delay: Option<InitialDelay>,
    /// Topics that the generation subscribes to, where that can be known.
    subscribed: Option<BTreeSet<Str>>,
}

impl ClassicGroup {
    /// A group without members.
    pub(super) fn new(now_ms: i64) -> Self {
        ClassicGroup {
            state: GroupState::Empty,
            state_since_ms: now_ms,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending_members: BTreeSet::new(),
            pending_sync: BTreeSet::new(),
            initial_delay: None,
            subscribed: None,
        }
    }

    /// As its last stored generation has it.
    pub(super) fn restored(stored: &GroupMetadataValue, now_ms: i64) -> Self {
        let mut group = ClassicGroup::new(now_ms);
        if stored.current_state_timestamp >= 0 {
            group.state_since_ms = stored.current_state_timestamp;
        }
        group.generation = stored.generation;
        group.protocol_type = Some(stored.protocol_type.clone()).filter(|own| !own.is_empty());
        group.protocol = stored.protocol.clone();
        group.leader = stored.leader.clone();
        let protocol = stored.protocol.clone().unwrap_or_default();
        for member in &stored.members {
            let id = member.member_id.clone();
            if let Some(instance) = &member.group_instance_id {
                group.static_members.insert(instance.clone(), id.clone());
            }
            group
                .members
                .insert(id, Member::restored(member, &protocol));
        }
        if !group.members.is_empty() {
            group.state = GroupState::Stable;
        }
        group.subscribed = group.subscribed_topics();
        group
    }

    /// What is stored of it.
    pub(super) fn stored(&self) -> GroupMetadataValue {
        let protocol = self.protocol.clone().unwrap_or_default();
        GroupMetadataValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            current_state_timestamp: self.state_since_ms,
            members: self
                .members
                .iter()
                .map(|(id, member)| member.stored(id, &protocol))
                .collect(),
            ..GroupMetadataValue::default()
        }
    }

    /// Its state.
    pub fn state(&self) -> GroupState {
        self.state
    }

    /// The generation: how many rebalances there were.
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// The type of its protocol, such as `consumer`; empty for a group that only has offsets.
    pub fn protocol_type(&self) -> &str {
        self.protocol_type.as_deref().unwrap_or_default()
    }

    /// Ids of its members, in order.
    pub fn members(&self) -> impl Iterator<Item = &Str> {
        self.members.keys()
    }

    pub(super) fn enter(&mut self, state: GroupState, now_ms: i64) {
        self.state = state;
        self.state_since_ms = now_ms;
    }

    pub(super) fn is_leader(&self, member: &str) -> bool {
        self.leader.as_ref().is_some_and(|leader| leader == member)
    }

    pub(super) fn is_deserted(&self) -> bool {
        self.members.is_empty() && self.pending_members.is_empty()
    }

    /// Whether a member with these protocols can join.
    pub(super) fn supports(&self, kind: &str, asked: &[JoinGroupRequestProtocol]) -> bool {
        if self.state == GroupState::Empty {
            return !kind.is_empty() && !asked.is_empty();
        }
        self.protocol_type() == kind
            && asked.iter().any(|protocol| {
                let mut members = self.members.values();
                members.all(|member| member.supports(&protocol.name))
            })
    }

    /// Takes a member in; the first one leads and decides what the group is for.
    pub(super) fn add(&mut self, id: Str, kind: &Str, member: Member) {
        if self.members.is_empty() {
            self.protocol_type = Some(kind.clone());
        }
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.pending_members.remove(&id);
        self.members.insert(id, member);
    }

    /// Forgets a member, or an id that was given out. What the member waited for is returned.
    pub(super) fn remove(&mut self, id: &str) -> Option<Awaits> {
        self.pending_members.remove(id);
        self.pending_sync.remove(id);
        let member = self.members.remove(id)?;
        if let Some(instance) = &member.instance_id {
            self.static_members.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member.awaits)
    }

    pub(super) fn all_joined(&self) -> bool {
        self.pending_members.is_empty() && self.members.values().all(Member::awaits_join)
    }

    /// The longest that a member may take to join.
    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        let timeouts = self
            .members
            .values()
            .map(|member| member.rebalance_timeout_ms);
        timeouts.max().unwrap_or(0).max(0)
    }

    /// A leader that did not join is replaced by a member that did. `false`: nobody joined.
    pub(super) fn elect_joined_leader(&mut self) -> bool {
        let Some(leader) = &self.leader else {
            return false;
        };
        if self.members.get(leader).is_some_and(Member::awaits_join) {
            return true;
        }
        let joined = self.members.iter().find(|(_, member)| member.awaits_join());
        match joined {
            Some((id, _)) => {
                self.leader = Some(id.clone());
                true
            }
            None => false,
        }
    }

    /// Begins the next generation with those who joined.
    pub(super) fn next_generation(&mut self, now_ms: i64) {
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        self.pending_sync.clear();
        self.initial_delay = None;
        self.protocol = self.select_protocol();
        self.subscribed = self.subscribed_topics();
        let state = match self.members.is_empty() {
            true => GroupState::Empty,
            false => GroupState::CompletingRebalance,
        };
        self.enter(state, now_ms);
    }

    /// The protocol that all members support and most of them prefer.
    pub(super) fn select_protocol(&self) -> Option<Str> {
        let candidates = self.candidates();
        let mut votes: BTreeMap<&Str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let names = member.protocols.iter().map(|protocol| &protocol.name);
            let mut choices = names.filter(|name| candidates.contains(name));
            *votes.entry(choices.next()?).or_default() += 1;
        }
        let most = votes.values().copied().max()?;
        votes
            .into_iter()
            .find(|(_, count)| *count == most)
            .map(|(name, _)| name.clone())
    }

    /// Protocols that every member supports.
    fn candidates(&self) -> BTreeSet<&Str> {
        let first = self.members.values().next();
        let names = first.into_iter().flat_map(|member| &member.protocols);
        names
            .map(|protocol| &protocol.name)
            .filter(|name| self.members.values().all(|member| member.supports(name)))
            .collect()
    }

    fn subscribed_topics(&self) -> Option<BTreeSet<Str>> {
        if self.protocol_type() != CONSUMER {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol.as_ref()?;
        let mut all = BTreeSet::new();
        for member in self.members.values() {
            all.append(&mut subscription::topics(&member.metadata(protocol))?);
        }
        Some(all)
    }

    /// Whether its topics can be known and are.
    pub(super) fn knows_its_topics(&self) -> bool {
        self.subscribed.is_some()
    }

    /// Whether it subscribes to the topic, as far as it can be told; a consumer group whose
    /// subscriptions cannot be read may.
    pub(super) fn subscribes(&self, topic: &str) -> bool {
        match &self.subscribed {
            Some(topics) => topics.contains(topic),
            None => self.protocol_type() == CONSUMER,
        }
    }

    /// All members with what they say in the chosen protocol, for the leader.
    pub(super) fn joined(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol.clone().unwrap_or_default();
        self.members
            .iter()
            .map(|(id, member)| JoinGroupResponseMember {
                member_id: id.clone(),
                group_instance_id: member.instance_id.clone(),
                metadata: member.metadata(&protocol),
                ..JoinGroupResponseMember::default()
            })
            .collect()
    }
}
