//! Logs and what is kept in them.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use ackord_machine::{LogAppend, LogId, OpId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Broker;
use super::journal::Gated;
use crate::log::{LogConfig, PartitionLog, Retention, Rolling};
use crate::metadata::{
    CLUSTER_LOG, Metadata, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TXN_STATE_TOPIC, Topic, resource,
    topic_value,
};
use crate::outbox::StateRecord;
use crate::share::{ShareCoordinator, ShareCoordinatorConfig};
use crate::txn::{TxnConfig, TxnCoordinator};

/// Less than this in memory would send every reader to the store.
const LEAST_TAIL_BYTES: usize = 4096;

impl Broker {
    /// Puts a part into the append of this step.
    pub(super) fn append_part(&mut self, part: LogAppend) -> OpId {
        let log = part.log;
        self.count_append(log);
        self.plan_retention(log);
        self.counters.appended(&part);
        self.journal.append(part)
    }

    /// Takes records into the metadata and appends them to the cluster's log.
    pub(super) fn append_cluster(&mut self, records: &[StateRecord]) -> Option<OpId> {
        for record in records {
            let applied = self.metadata.apply(record);
            debug_assert!(applied.is_ok(), "own records decode");
        }
        let now = self.now;
        let part = self
            .logs
            .get_mut(&CLUSTER_LOG)?
            .append_records(now, records, None);
        Some(self.append_part(part))
    }

    /// The newest change of the cluster that is not durable yet.
    pub(super) fn cluster_gate(&self) -> Option<OpId> {
        self.journal.newest(CLUSTER_LOG)
    }

    /// What an answer depends on that tells of a transaction coordinator's state.
    pub(super) fn tc_gate(&self, partition: i32) -> Option<OpId> {
        let log = self.metadata.log(TXN_STATE_TOPIC, partition)?;
        self.journal.newest(log)
    }

    /// Partitions of `__share_group_state`, which may not exist yet.
    pub(super) fn share_state_partitions(&self) -> i32 {
        let configured = || {
            self.config
                .int("share.coordinator.state.topic.num.partitions")
        };
        self.metadata
            .topic(SHARE_STATE_TOPIC)
            .map_or_else(configured, |topic| topic.partitions)
    }

    /// Partitions of `__transaction_state`, which may not exist yet.
    pub(super) fn transaction_partitions(&self) -> i32 {
        let configured = || self.config.int("transaction.state.log.num.partitions");
        self.metadata
            .topic(TXN_STATE_TOPIC)
            .map_or_else(configured, |topic| topic.partitions)
    }

    /// Creates the topic of the transaction coordinators on first use.
    pub(super) fn ensure_transaction_topic(&mut self) {
        if self.metadata.topic(TXN_STATE_TOPIC).is_none() {
            self.create_topic(
                &Str::from(TXN_STATE_TOPIC),
                self.transaction_partitions(),
                &[],
            );
        }
    }

    /// Creates the topic of the share coordinators on first use.
    pub(super) fn ensure_share_state_topic(&mut self) {
        if self.metadata.topic(SHARE_STATE_TOPIC).is_none() {
            self.create_topic(
                &Str::from(SHARE_STATE_TOPIC),
                self.share_state_partitions(),
                &[],
            );
        }
    }

    /// Equal seeds draw equal ids: an id that a topic has is passed over.
    fn unused_topic_id(&mut self) -> Uuid {
        loop {
            let id = self.chance.uuid();
            if self.metadata.topic_by_id(id).is_none() {
                return id;
            }
        }
    }

    /// Creates a topic whose name and number of partitions have been checked.
    pub(super) fn create_topic(&mut self, name: &Str, partitions: i32, configs: &[(Str, Str)]) {
        self.dead_letters.retry();
        let id = self.unused_topic_id();
        let mut records = Vec::with_capacity(1 + configs.len());
        records.push(Metadata::create_topic(name, id, partitions));
        records.extend(configs.iter().map(|(config, value)| {
            Metadata::set_config(resource::TOPIC, name, config, Some(value))
        }));
        let tail = self.tail_bytes();
        self.append_cluster(&records);
        if let Some(topic) = self.metadata.topic(name).cloned() {
            self.open_topic(&topic);
        }
        if self.tail_bytes() != tail {
            self.configure_logs();
        }
        self.metadata_changed();
    }

    /// Gives a topic more partitions; their number has been checked.
    pub(super) fn grow_topic(&mut self, topic: &Topic, partitions: i32) {
        let tail = self.tail_bytes();
        self.append_cluster(&[Metadata::create_topic(&topic.name, topic.id, partitions)]);
        if let Some(topic) = self.metadata.topic(&topic.name).cloned() {
            self.open_topic(&topic);
        }
        if self.tail_bytes() != tail {
            self.configure_logs();
        }
        self.metadata_changed();
    }

    /// Makes the logs and coordinators of a topic that has none yet.
    pub(super) fn open_topic(&mut self, topic: &Topic) {
        let config = self.log_config(&topic.name);
        for log in topic.logs() {
            self.logs
                .entry(log)
                .or_insert_with(|| PartitionLog::new(log, config.clone()));
            match &*topic.name {
                OFFSETS_TOPIC => {
                    let gc = self.new_gc(log);
                    self.gcs.entry(log.partition).or_insert(gc);
                }
                TXN_STATE_TOPIC => {
                    let tc = self.new_tc(log);
                    self.tcs.entry(log.partition).or_insert(tc);
                }
                SHARE_STATE_TOPIC => {
                    let sgc = self.new_sgc(log);
                    self.sgcs.entry(log.partition).or_insert(sgc);
                }
                _ => {}
            }
        }
    }

    pub(super) fn new_tc(&self, log: LogId) -> TxnCoordinator {
        let max_timeout_ms = self.config.int("transaction.max.timeout.ms");
        TxnCoordinator::new(
            log.partition,
            log,
            TxnConfig {
                max_timeout_ms,
                two_phase_commit: self.config.boolean("transaction.two.phase.commit.enable"),
                ..Default::default()
            },
        )
    }

    pub(super) fn new_sgc(&self, log: LogId) -> ShareCoordinator {
        let config = ShareCoordinatorConfig {
            updates_per_snapshot: self
                .config
                .size("share.coordinator.snapshot.update.records.per.snapshot"),
            transaction_partitions: self.transaction_partitions(),
        };
        ShareCoordinator::new(log.partition, log, config)
    }

    pub(super) fn log_config(&self, topic: &str) -> LogConfig {
        let text = |name: &str| self.topic_config(topic, name);
        let number = |name: &str| text(name).parse().unwrap_or(i64::MAX);
        let policy = text("cleanup.policy");
        let cleanup = |wanted: &str| policy.split(',').any(|word| word.trim() == wanted);
        // What coordinators have written they forget by themselves.
        let internal = matches!(topic, "" | SHARE_STATE_TOPIC | TXN_STATE_TOPIC);
        let retention = (cleanup("delete") && !internal).then(|| Retention {
            ms: number("retention.ms"),
            bytes: number("retention.bytes"),
        });
        LogConfig {
            max_message_bytes: text("max.message.bytes").parse().unwrap_or(i32::MAX),
            max_decompressed_bytes: text("max.decompressed.message.bytes")
                .parse()
                .unwrap_or(usize::MAX),
            tail_bytes: self.tail_bytes(),
            producer_id_expiration_ms: self.config.number("producer.id.expiration.ms"),
            timestamp_type_append: text("message.timestamp.type") == "LogAppendTime",
            timestamp_after_max_ms: number("message.timestamp.after.max.ms"),
            timestamp_before_max_ms: number("message.timestamp.before.max.ms"),
            keys_required: cleanup("compact"),
            retention,
            rolling: Rolling {
                bytes: number("segment.bytes"),
                ms: number("segment.ms"),
            },
        }
    }

    /// Bytes of its newest batches that each log keeps in memory: its share of the total.
    fn tail_bytes(&self) -> usize {
        let share = self.limits.tail_bytes / self.metadata.partitions().max(1);
        share
            .max(LEAST_TAIL_BYTES)
            .min(self.limits.tail_bytes_per_log)
    }

    /// Gives every log its configuration again.
    fn configure_logs(&mut self) {
        let topics: Vec<Topic> = self.metadata.topics().cloned().collect();
        for topic in topics {
            let config = self.log_config(&topic.name);
            for log in topic.logs() {
                if let Some(log) = self.logs.get_mut(&log) {
                    log.set_config(config.clone());
                }
            }
        }
    }

    /// The value of a topic's configuration in force.
    pub(super) fn topic_config(&self, topic: &str, name: &str) -> Cow<'_, str> {
        let own = self.metadata.configs(resource::TOPIC, topic);
        topic_value(&self.config, own, name)
    }

    /// Deletes a topic with everything that belongs to it. What transactions hold of it is dropped;
    /// their markers find nothing then.
    pub(super) fn delete_topic(&mut self, topic: &Topic) {
        let gate = self.append_cluster(&[Metadata::delete_topic(&topic.name)]);
        if let Some(gate) = gate {
            self.journal.hold(gate, Gated::Drop(topic.logs().collect()));
        }
        for log in topic.logs() {
            self.logs.remove(&log);
            self.frozen.remove(&log);
            self.since_checkpoint.remove(&log);
            self.delete_share_states(log);
            self.leaders.remove(&log);
            self.arm_leader(log);
            self.wake_log(log);
        }
        self.delete_offsets_of(topic);
        self.share_sessions.forget_topic(topic.id);
        self.counters.forget_topic(topic.id);
        self.share_counters.forget_topic(topic.id);
        self.metadata_changed();
    }

    fn delete_share_states(&mut self, log: LogId) {
        let partitions: Vec<i32> = self.sgcs.keys().copied().collect();
        for partition in partitions {
            self.with_sgc(partition, None, |sgc, _, out| sgc.delete_topic(log, out));
        }
    }

    /// Tells groups that topics changed.
    fn metadata_changed(&mut self) {
        let groups: Vec<Str> = self.groups.keys().cloned().collect();
        for id in groups {
            self.with_group(&id, None, |group, now, metadata, out| {
                group.metadata_changed(now, metadata, out);
            });
        }
    }

    /// Finds a partition's log for a client.
    pub(super) fn readable_log(&self, log: LogId) -> Result<&PartitionLog, ErrorCode> {
        if self.frozen.contains(&log) {
            return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        }
        self.logs
            .get(&log)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }

    /// Whether another topic of `partitions` partitions fits.
    pub(super) fn check_room(&self, partitions: i32) -> Result<(), alloc::string::String> {
        let wanted = self.metadata.partitions() + usize::try_from(partitions).unwrap_or_default();
        if wanted > self.limits.partitions {
            return Err(format!(
                "the broker holds at most {} partitions",
                self.limits.partitions
            ));
        }
        Ok(())
    }
}
