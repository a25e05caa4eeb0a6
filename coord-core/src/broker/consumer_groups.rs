//! The group coordinators: one for each `__consumer_offsets` partition.

use ackord_machine::{LogId, OpId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{JoinGroupResponse, ShareGroupHeartbeatResponse, SyncGroupResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::format;
use alloc::vec::Vec;

use super::Broker;
use super::gather::Gather;
use super::journal::later;
use crate::authorizer::{Actor, Operation, ResourceType, StandardAuthorizer};
use crate::consumer_group::{
    Assignor, ClassicReply, Client, ClusterView, ConsumerGroupConfig, GroupCoordinator,
    GroupCoordinatorConfig, GroupCtx,
};
use crate::group::{TopicInfo, Topics, partition_for_id};
use crate::metadata::{
    BrokerConfig, Metadata, OFFSETS_TOPIC, Topic, consumer_assignors, consumer_group_config,
};
use crate::outbox::{Outbox, Ticket};

/// From this version on a JoinGroup without a protocol has none, not an empty one.
const PROTOCOL_MAY_BE_NULL: i16 = 7;

/// What group coordinators look up.
#[derive(Debug)]
struct Surroundings<'a> {
    metadata: &'a Metadata,
    config: &'a BrokerConfig,
    /// Who asks, where not everybody may see every topic.
    viewer: Option<Viewer<'a>>,
}

/// Who asks a coordinator something, and who decides what they may see.
#[derive(Clone, Copy, Debug)]
struct Viewer<'a> {
    authorizer: &'a StandardAuthorizer,
    actor: Actor<'a>,
}

impl Surroundings<'_> {
    fn is_seen(&self, topic: &str) -> bool {
        let topic = (ResourceType::Topic, topic);
        self.viewer.is_none_or(|Viewer { authorizer, actor }| {
            authorizer.allows(self.metadata.acls(), actor, Operation::Describe, topic)
        })
    }
}

impl ClusterView for Surroundings<'_> {
    fn consumer_group(&self, group: &str) -> ConsumerGroupConfig {
        consumer_group_config(self.config, self.metadata, group)
    }

    fn topic(&self, name: &str) -> Option<TopicInfo> {
        let topic = self.metadata.topic(name)?;
        Some(TopicInfo {
            id: topic.id,
            partitions: topic.partitions,
        })
    }

    fn topic_name(&self, id: Uuid) -> Option<Str> {
        let topic = self.metadata.topic_by_id(id)?;
        Some(topic.name.clone())
    }

    fn topic_names(&self) -> Vec<Str> {
        let names = self.metadata.topics().map(|topic| &topic.name);
        names.filter(|name| self.is_seen(name)).cloned().collect()
    }

    fn version(&self) -> u64 {
        Topics::version(self.metadata)
    }
}

impl Broker {
    /// Partitions of `__consumer_offsets`, which may not exist yet.
    pub(super) fn offsets_partitions(&self) -> i32 {
        let configured = || self.config.int("offsets.topic.num.partitions");
        self.metadata
            .topic(OFFSETS_TOPIC)
            .map_or_else(configured, |topic| topic.partitions)
    }

    /// Creates the topic of the group coordinators on first use.
    pub(super) fn ensure_offsets_topic(&mut self) {
        if self.metadata.topic(OFFSETS_TOPIC).is_none() {
            let partitions = self.offsets_partitions();
            self.create_topic(&Str::from(OFFSETS_TOPIC), partitions, &[]);
        }
    }

    pub(super) fn new_gc(&self, log: LogId) -> GroupCoordinator {
        let config = &self.config;
        let minute_ms = 60_000;
        GroupCoordinator::new(
            log,
            GroupCoordinatorConfig {
                initial_rebalance_delay_ms: config.int("group.initial.rebalance.delay.ms"),
                min_session_timeout_ms: config.int("group.min.session.timeout.ms"),
                max_session_timeout_ms: config.int("group.max.session.timeout.ms"),
                max_size: config.size("group.max.size"),
                metadata_max_bytes: config.size("offset.metadata.max.bytes"),
                retention_ms: config.number("offsets.retention.minutes") * minute_ms,
                retention_check_ms: config.number("offsets.retention.check.interval.ms"),
            },
        )
    }

    /// The coordinator that a log belongs to.
    pub(super) fn gc_of(&self, log: LogId) -> Option<&GroupCoordinator> {
        (self.metadata.topic(OFFSETS_TOPIC)?.id == log.topic)
            .then(|| self.gcs.get(&log.partition))
            .flatten()
    }

    /// Whether a coordinator's state is being read back.
    pub(super) fn is_gc_frozen(&self, partition: i32) -> bool {
        let log = self.metadata.log(OFFSETS_TOPIC, partition);
        log.is_some_and(|log| self.frozen.contains(&log))
    }

    /// The coordinator of a group, which has its topic from now on.
    ///
    /// # Errors
    /// COORDINATOR_LOAD_IN_PROGRESS while it is read back.
    pub(super) fn coordinator_of_group(&mut self, group: &str) -> Result<i32, ErrorCode> {
        self.ensure_offsets_topic();
        let partition = partition_for_id(group, self.offsets_partitions());
        match self.is_gc_frozen(partition) || !self.gcs.contains_key(&partition) {
            true => Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
            false => Ok(partition),
        }
    }

    /// The coordinator of a group that is only looked at; `None` where no group has ever been.
    ///
    /// # Errors
    /// COORDINATOR_LOAD_IN_PROGRESS while it is read back.
    pub(super) fn existing_coordinator(&self, group: &str) -> Result<Option<i32>, ErrorCode> {
        let partition = partition_for_id(group, self.offsets_partitions());
        match self.is_gc_frozen(partition) {
            true => Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
            false => Ok(self.gcs.contains_key(&partition).then_some(partition)),
        }
    }

    /// What an answer of a coordinator depends on.
    pub(super) fn gc_gate(&self, partition: i32) -> Option<OpId> {
        let log = self.metadata.log(OFFSETS_TOPIC, partition);
        let own = log.and_then(|log| self.journal.newest(log));
        later(own, self.cluster_gate())
    }

    /// Runs something on a group coordinator and carries out what it asks for.
    pub(super) fn with_gc<T>(
        &mut self,
        partition: i32,
        run: impl FnOnce(&mut GroupCoordinator, &mut GroupCtx<'_>, &mut Outbox<ClassicReply>) -> T,
    ) -> Option<T> {
        self.with_gc_for(None, partition, run)
    }

    /// [`Broker::with_gc`] for a request: patterns of topics match what who sent it may see, as in
    /// Kafka.
    pub(super) fn with_gc_for<T>(
        &mut self,
        slot: Option<u64>,
        partition: i32,
        run: impl FnOnce(&mut GroupCoordinator, &mut GroupCtx<'_>, &mut Outbox<ClassicReply>) -> T,
    ) -> Option<T> {
        let gc = self.gcs.get_mut(&partition)?;
        let mut out = Outbox::new();
        let cluster = Surroundings {
            metadata: &self.metadata,
            config: &self.config,
            viewer: slot.and_then(|slot| {
                Some(Viewer {
                    authorizer: self.authorizer.as_ref()?,
                    actor: self.connections.actor(slot)?,
                })
            }),
        };
        let mut ctx = GroupCtx {
            now: self.now,
            chance: &mut self.chance,
            cluster: &cluster,
        };
        let done = run(gc, &mut ctx, &mut out);
        let gate = self.gc_gate(partition);
        self.carry_out(out, gate, Broker::classic_reply);
        self.arm_gc(partition);
        Some(done)
    }

    fn classic_reply(&mut self, ticket: Ticket, reply: ClassicReply, gate: Option<OpId>) {
        let slot = ticket.slot;
        // The client may be gone, or have been told to try again.
        if self.gathers.remove(&slot).is_none() {
            return;
        }
        match reply {
            ClassicReply::Join(response) => self.respond_join(slot, response, gate),
            ClassicReply::Sync(response) => self.respond(slot, response, gate),
        }
    }

    pub(super) fn respond_join(
        &mut self,
        slot: u64,
        mut response: JoinGroupResponse,
        gate: Option<OpId>,
    ) {
        if response.error_code.is_error() {
            response.protocol_name = None;
        }
        if self.version(slot) < PROTOCOL_MAY_BE_NULL {
            response.protocol_name.get_or_insert_default();
        }
        self.respond(slot, response, gate);
    }

    /// A request of a member that waits for a coordinator whose state is read back gets no other
    /// answer.
    pub(super) fn abandon_member(&mut self, slot: u64, gather: Gather) {
        let error_code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
        match gather {
            Gather::JoinGroup(partition) if self.is_gc_frozen(partition) => {
                let response = JoinGroupResponse {
                    error_code,
                    ..Default::default()
                };
                self.respond_join(slot, response, None);
            }
            Gather::SyncGroup(partition) if self.is_gc_frozen(partition) => {
                let response = SyncGroupResponse {
                    error_code,
                    ..Default::default()
                };
                self.respond(slot, response, None);
            }
            Gather::ShareGroupHeartbeat(partition) if self.is_gc_frozen(partition) => {
                let response = ShareGroupHeartbeatResponse {
                    error_code,
                    ..Default::default()
                };
                self.respond(slot, response, None);
            }
            kept => {
                self.gathers.insert(slot, kept);
            }
        }
    }

    /// Whether the id is that of a share group. One without members since a restart is known by what
    /// it has acknowledged.
    pub(super) fn is_share_group(&self, group: &str) -> bool {
        self.groups.contains_key(group)
            || (self.check_not_classic(group).is_ok() && self.share_group_exists(group))
    }

    /// An id belongs to one type of group: GROUP_ID_NOT_FOUND where it is that of a classic or a
    /// consumer group, as in Kafka.
    pub(super) fn check_not_classic(&self, group: &str) -> Result<(), ErrorCode> {
        let partition = self.existing_coordinator(group)?;
        let gc = partition.and_then(|partition| self.gcs.get(&partition));
        match gc.is_some_and(|gc| gc.has_group(group)) {
            true => Err(ErrorCode::GROUP_ID_NOT_FOUND),
            false => Ok(()),
        }
    }

    /// Whether there is a group of this id, of whatever type; unknown ones of a coordinator that is
    /// read back are none.
    pub(super) fn has_any_group(&self, id: &str) -> bool {
        self.check_not_classic(id) == Err(ErrorCode::GROUP_ID_NOT_FOUND)
            || self.groups.contains_key(id)
    }

    /// What `group.consumer.assignors` allows, the default first.
    pub(super) fn consumer_assignors(&self) -> Vec<Assignor> {
        consumer_assignors(&self.config)
    }

    pub(super) fn client_of(&self, slot: u64) -> Client {
        let Some(meta) = self.connections.request(slot) else {
            return Client::default();
        };
        Client {
            id: meta.client_id.clone(),
            host: Str::from(format!("/{}", self.connections.host(meta.conn))),
        }
    }

    /// Offsets of a deleted topic mean nothing any more.
    pub(super) fn delete_offsets_of(&mut self, topic: &Topic) {
        let partitions: Vec<i32> = self.gcs.keys().copied().collect();
        for partition in partitions {
            if !self.is_gc_frozen(partition) {
                self.with_gc(partition, |gc, _, out| gc.topic_deleted(&topic.name, out));
            }
        }
    }
}
