//! The machine: groups and offsets of one `__consumer_offsets` partition.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use ackord_machine::{Deadline, DeadlineReason, Entropy, LogId, Now, Timers};
use ackord_proto::coordinator_records::GroupMetadataValue;
use ackord_proto::messages::{JoinGroupResponse, SyncGroupResponse};
use ackord_proto::str::Str;

use super::classic_group::ClassicGroup;
use super::modern::{self, ClusterView, ConsumerGroup, ConsumerRecord};
use super::offsets::{GroupOffsets, Placed};
use super::rebalance::Turn;
use super::records::{self, CorruptGroupRecord, GroupRecord, OffsetKey};
use crate::outbox::{Outbox, ProducerEpoch, StateRecord};

/// Settings of a group coordinator, by the names of Kafka's configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCoordinatorConfig {
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
    /// `group.min.session.timeout.ms`.
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub max_session_timeout_ms: i32,
    /// `group.max.size`.
    pub max_size: usize,
    /// `offset.metadata.max.bytes`.
    pub metadata_max_bytes: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_ms: i64,
}

impl Default for GroupCoordinatorConfig {
    fn default() -> Self {
        GroupCoordinatorConfig {
            initial_rebalance_delay_ms: 3000,
            min_session_timeout_ms: 6000,
            max_session_timeout_ms: 1_800_000,
            max_size: 0x7fff_ffff,
            metadata_max_bytes: 4096,
            retention_ms: 10_080 * 60 * 1000,
            retention_check_ms: 600_000,
        }
    }
}

/// What a call may need from outside.
#[derive(Debug)]
pub struct GroupCtx<'a> {
    /// The moment of the call.
    pub now: Now,
    /// Source of member ids.
    pub chance: &'a mut Entropy,
    /// Topics and settings.
    pub cluster: &'a dyn ClusterView,
}

/// The client behind a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Client id of the request.
    pub id: Str,
    /// Address of the connection, as Kafka prints it.
    pub host: Str,
}

/// An answer that waited.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassicReply {
    /// To a JoinGroup.
    Join(JoinGroupResponse),
    /// To a SyncGroup.
    Sync(SyncGroupResponse),
}

/// A group: what is stored, and who is there now.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Its last stored generation.
    pub(super) stored: Option<GroupMetadataValue>,
    pub(super) classic: ClassicGroup,
    /// What it is instead where it is one of the consumer protocol.
    pub(super) consumer: Option<ConsumerGroup>,
    /// The version of the cluster metadata that the consumer group follows.
    pub(super) seen_metadata: Option<u64>,
    pub(super) offsets: GroupOffsets,
}

/// What a deadline is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Those who have not joined are out.
    Join(Str),
    /// Offsets and groups that nobody uses are looked for.
    Retention,
    /// The member of a consumer group has not done what it is to do: give something up; a classic
    /// one join, or ask for its assignment.
    Revocation(Str, Str),
    /// The member has not been heard of.
    Session(Str, Str),
    /// Those who have not asked for their assignment are out.
    Sync(Str),
}

/// The group coordinator of one `__consumer_offsets` partition.
#[derive(Clone, Debug)]
pub struct GroupCoordinator {
    pub(super) log: LogId,
    pub(super) config: GroupCoordinatorConfig,
    pub(super) groups: BTreeMap<Str, Group>,
    /// Groups in which a producer has offsets waiting.
    pub(super) by_producer: BTreeMap<i64, BTreeSet<Str>>,
    pub(super) timers: Timers<Timer>,
    /// [`Timer::Retention`] runs.
    pub(super) checks_retention: bool,
    /// Records applied.
    applied: u64,
}

impl GroupCoordinator {
    /// Without any state; `log` is its partition of `__consumer_offsets`.
    pub fn new(log: LogId, config: GroupCoordinatorConfig) -> Self {
        GroupCoordinator {
            log,
            config,
            groups: BTreeMap::new(),
            by_producer: BTreeMap::new(),
            timers: Timers::new(),
            checks_retention: false,
            applied: 0,
        }
    }

    /// The group, where it is a classic one.
    pub fn group(&self, id: &str) -> Option<&ClassicGroup> {
        let group = self.groups.get(id)?;
        group.consumer.is_none().then_some(&group.classic)
    }

    /// The group, where it is one of the consumer protocol.
    pub fn consumer_group(&self, id: &str) -> Option<&ConsumerGroup> {
        self.groups.get(id)?.consumer.as_ref()
    }

    /// Whether there is a group of this id, of whichever protocol.
    pub fn has_group(&self, id: &str) -> bool {
        self.groups.contains_key(id)
    }

    /// Ids of all groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = &Str> {
        self.groups.keys()
    }

    /// Producers with offsets that wait.
    pub fn pending_producers(&self) -> impl Iterator<Item = i64> + '_ {
        self.by_producer.keys().copied()
    }

    /// Takes a record into the stored state: the only way in which that changes, live and in replay.
    /// `producer` is that of the record's batch where the batch is transactional. Groups with members
    /// come to life in [`recovered`](Self::recovered).
    ///
    /// # Errors
    /// The record cannot be decoded; nothing changed.
    pub fn apply(
        &mut self,
        record: &StateRecord,
        producer: Option<ProducerEpoch>,
    ) -> Result<(), CorruptGroupRecord> {
        let record = records::decode(record)?;
        self.applied += 1;
        match record {
            GroupRecord::Group(id, Some(value)) => self.group_mut(&id).stored = Some(value),
            GroupRecord::Group(id, None) => {
                if let Some(group) = self.groups.get_mut(&id) {
                    group.stored = None;
                }
            }
            GroupRecord::Consumer(id, record) => self.apply_consumer(&id, record),
            GroupRecord::Offset(key, Some(offset)) => match producer {
                Some(producer) => self.put_pending(producer.id, key, offset),
                None => {
                    let place = self.applied;
                    let offsets = &mut self.group_mut(&key.group).offsets;
                    offsets.commit(key.topic, key.partition, Placed { place, offset });
                }
            },
            GroupRecord::Offset(key, None) => {
                if let Some(group) = self.groups.get_mut(&key.group) {
                    group.offsets.delete(&key.topic, key.partition);
                }
            }
            GroupRecord::Pending(producer_id, key, offset) => {
                self.put_pending(producer_id, key, offset);
            }
            GroupRecord::Other => {}
        }
        Ok(())
    }

    /// What is deleted needs no group; the last record of one deletes it whole.
    fn apply_consumer(&mut self, id: &Str, record: ConsumerRecord) {
        if record == ConsumerRecord::Group(None) {
            if let Some(group) = self.groups.get_mut(id) {
                group.consumer = None;
            }
        } else if record.is_deletion() {
            let group = self.groups.get_mut(id);
            if let Some(consumer) = group.and_then(|group| group.consumer.as_mut()) {
                consumer.apply(record);
            }
        } else {
            let consumer = &mut self.group_mut(id).consumer;
            consumer.get_or_insert_default().apply(record);
        }
    }

    fn put_pending(&mut self, producer_id: i64, key: OffsetKey, offset: super::CommittedOffset) {
        let place = self.applied;
        let placed = Placed { place, offset };
        let offsets = &mut self.group_mut(&key.group).offsets;
        offsets.stage(producer_id, key.topic, key.partition, placed);
        let groups = self.by_producer.entry(producer_id).or_default();
        groups.insert(key.group);
    }

    /// The group of this id; a new one has neither members nor offsets.
    pub(super) fn group_mut(&mut self, id: &Str) -> &mut Group {
        self.groups.entry(id.clone()).or_insert_with(|| Group {
            stored: None,
            classic: ClassicGroup::new(0),
            consumer: None,
            seen_metadata: None,
            offsets: GroupOffsets::default(),
        })
    }

    /// Records that give equal stored state when applied to an empty coordinator, offsets in the
    /// order in which they were committed.
    pub fn snapshot(&self) -> Vec<StateRecord> {
        let groups = self.groups.iter();
        let stored = groups.filter_map(|(id, group)| records::group(id, group.stored.as_ref()?));
        let mut all: Vec<StateRecord> = stored.collect();
        let mut offsets: BTreeMap<u64, StateRecord> = BTreeMap::new();
        for (id, group) in &self.groups {
            let consumer = group.consumer.iter().flat_map(ConsumerGroup::records);
            all.extend(consumer.filter_map(|record| modern::encode(id, &record)));
            let pending = group.offsets.pending.iter();
            let pending = pending.map(|(producer, offsets)| (Some(*producer), offsets));
            let pending = pending
                .filter(|_| !ackord_machine::planted!("row-34-snapshot-without-staged-offsets"));
            let committed = [(None, &group.offsets.committed)];
            for (producer, by_topic) in committed.into_iter().chain(pending) {
                for (topic, partitions) in by_topic {
                    for (&partition, placed) in partitions {
                        let key = OffsetKey {
                            group: id.clone(),
                            topic: topic.clone(),
                            partition,
                        };
                        let record = match producer {
                            Some(producer) => records::pending(producer, &key, &placed.offset),
                            None => records::offset(&key, &placed.offset),
                        };
                        offsets.extend(record.map(|record| (placed.place, record)));
                    }
                }
            }
        }
        all.extend(offsets.into_values());
        all
    }

    /// After a replay: groups come to life as they were when their last generation became stable,
    /// and each member has its session to show that it is still there.
    pub fn recovered(&mut self, ctx: &GroupCtx<'_>) {
        let now = ctx.now;
        self.timers = Timers::new();
        let now_ms = now.wall.as_millis();
        self.groups.retain(|_, group| {
            group.stored.is_some() || group.consumer.is_some() || !group.offsets.is_empty()
        });
        for (id, group) in &mut self.groups {
            group.seen_metadata = None;
            group.classic = match &group.stored {
                Some(stored) => ClassicGroup::restored(stored, now_ms),
                None => ClassicGroup::new(now_ms),
            };
            for (member_id, member) in &group.classic.members {
                let at = now.mono.plus_millis(i64::from(member.session_timeout_ms));
                let timer = Timer::Session(id.clone(), member_id.clone());
                self.timers.arm(timer, at);
            }
        }
        self.rearm_consumer_groups(now, ctx.cluster);
        self.checks_retention = false;
        self.check_retention(now);
    }

    /// Appends records that are applied already.
    pub(super) fn append_applied(
        &mut self,
        records: Vec<StateRecord>,
        out: &mut Outbox<ClassicReply>,
    ) {
        self.applied += u64::try_from(records.len()).unwrap_or_default();
        out.append(self.log, records, None);
    }

    /// Applies records and appends them.
    pub(super) fn append(
        &mut self,
        records: Vec<StateRecord>,
        producer: Option<ProducerEpoch>,
        out: &mut Outbox<ClassicReply>,
    ) {
        for record in &records {
            let applied = self.apply(record, producer);
            debug_assert!(applied.is_ok(), "own records decode");
        }
        out.append(self.log, records, producer);
    }

    /// Lets a group act, stores it where it has to be, and passes its answers on behind that.
    pub(super) fn turn<T>(
        &mut self,
        now: Now,
        id: &Str,
        out: &mut Outbox<ClassicReply>,
        run: impl FnOnce(&mut Turn<'_>) -> T,
    ) -> Option<T> {
        let group = self.groups.get_mut(id)?;
        if group.consumer.is_some() {
            return None;
        }
        let mut turn = Turn {
            now,
            id,
            group: &mut group.classic,
            timers: &mut self.timers,
            config: &self.config,
            replies: Vec::new(),
            store: false,
        };
        let done = run(&mut turn);
        let (replies, store) = (turn.replies, turn.store);
        if store {
            let record = records::group(id, &group.classic.stored());
            self.append(record.into_iter().collect(), None, out);
        }
        for (ticket, reply) in replies {
            out.reply(ticket, reply);
        }
        self.forget_unused(id);
        Some(done)
    }

    /// Forgets a group of which nothing is stored and in which nobody is.
    pub(super) fn forget_unused(&mut self, id: &str) {
        let unused = self.groups.get(id).is_some_and(|group| {
            group.stored.is_none()
                && group.consumer.is_none()
                && group.offsets.is_empty()
                && group.classic.is_deserted()
        });
        if unused {
            self.groups.remove(id);
            self.timers.cancel(&Timer::Join(Str::from(id)));
        }
    }

    /// An id for a new member: what the client is called, and chance. It is new to the group.
    pub(super) fn new_member_id(&self, group: &str, name: &str, chance: &mut Entropy) -> Str {
        loop {
            let bits = u128::from_be_bytes(chance.uuid().to_bytes());
            let [a, b, c, d] = [bits >> 96, bits >> 80, bits >> 64, bits >> 48];
            let id = Str::from(format!(
                "{name}-{a:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                b & 0xffff,
                c & 0xffff,
                d & 0xffff,
                bits & 0xffff_ffff_ffff
            ));
            let known = self.groups.get(group).is_some_and(|group| {
                let group = &group.classic;
                group.members.contains_key(&id) || group.pending_members.contains(&id)
            });
            let consumers = self.consumer_group(group);
            let known = known || consumers.is_some_and(|group| group.has_member(&id));
            if !known {
                return id;
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn next_deadline(&self) -> Option<Deadline> {
        let (at, timer) = self.timers.next()?;
        let reason = match timer {
            Timer::Join(_) | Timer::Revocation(..) | Timer::Sync(_) => DeadlineReason::Rebalance,
            Timer::Retention => DeadlineReason::Expiry,
            Timer::Session(..) => DeadlineReason::MemberSession,
        };
        Some(Deadline { at, reason })
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, ctx: &GroupCtx<'_>, out: &mut Outbox<ClassicReply>) {
        let (now, cluster) = (ctx.now, ctx.cluster);
        let mut due = Vec::new();
        while let Some(timer) = self.timers.pop_due(now.mono) {
            due.push(timer);
        }
        for timer in due {
            match timer {
                Timer::Join(id) => {
                    self.turn(now, &id, out, |turn| turn.join_time_is_over());
                }
                Timer::Retention => self.expire(now, out),
                Timer::Revocation(id, member) => {
                    self.consumer_member_timed_out(now, &id, &member, cluster, out);
                }
                Timer::Session(id, member) if self.consumer_group(&id).is_some() => {
                    self.consumer_member_timed_out(now, &id, &member, cluster, out);
                }
                Timer::Session(id, member) => {
                    self.turn(now, &id, out, |turn| turn.session_ended(&member));
                }
                Timer::Sync(id) => {
                    self.turn(now, &id, out, |turn| turn.sync_time_is_over());
                }
            }
        }
    }
}
