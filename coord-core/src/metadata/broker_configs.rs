//! Configurations of the broker by their Kafka names: one line for each.

use super::config_def::{ConfigDef, TIMESTAMP_TYPES, def};
use super::config_kind::{BIG, ConfigKind, INT};

/// Configurations of the broker that have an effect, and those of coordinators that cannot have one on
/// a single node.
pub const BROKER_CONFIGS: &[ConfigDef] = &[
    def("advertised.listeners", "", ConfigKind::Text),
    def(
        "allow.everyone.if.no.acl.found",
        "false",
        ConfigKind::Boolean,
    ),
    def("authorizer.class.name", "", ConfigKind::Text),
    def("auto.create.topics.enable", "true", ConfigKind::Boolean),
    def("broker.id", "1", ConfigKind::Int(0, INT)),
    def(
        "connections.max.idle.ms",
        "600000",
        ConfigKind::Long(i64::MIN, BIG),
    ),
    def(
        "errors.deadletterqueue.auto.create.topics.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def(
        "errors.deadletterqueue.topic.name.prefix",
        "dlq.",
        ConfigKind::Text,
    ),
    def("fetch.max.bytes", "57671680", ConfigKind::Int(1024, INT)),
    def(
        "group.consumer.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.consumer.assignor.offload.enable",
        "true",
        ConfigKind::Boolean,
    ),
    def(
        "group.consumer.assignors",
        "uniform,range",
        ConfigKind::List,
    ),
    def(
        "group.consumer.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.max.assignment.interval.ms",
        "15000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.consumer.max.heartbeat.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.max.session.timeout.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.max.size",
        "2147483647",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.migration.policy",
        "bidirectional",
        ConfigKind::Text,
    ),
    def(
        "group.consumer.min.assignment.interval.ms",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.consumer.min.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.min.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.consumer.regex.refresh.interval.ms",
        "600000",
        ConfigKind::Int(10_000, INT),
    ),
    def(
        "group.consumer.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.coordinator.append.linger.ms",
        "-1",
        ConfigKind::Int(-1, INT),
    ),
    def(
        "group.coordinator.background.threads",
        "2",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.coordinator.cached.buffer.max.bytes",
        "1048588",
        ConfigKind::Int(524_288, INT),
    ),
    def(
        "group.coordinator.rebalance.protocols",
        "classic,consumer",
        ConfigKind::List,
    ),
    def("group.coordinator.threads", "4", ConfigKind::Int(1, INT)),
    def(
        "group.initial.rebalance.delay.ms",
        "3000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.max.session.timeout.ms",
        "1800000",
        ConfigKind::Int(1, INT),
    ),
    def("group.max.size", "2147483647", ConfigKind::Int(1, INT)),
    def(
        "group.min.session.timeout.ms",
        "6000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.share.assignor.offload.enable",
        "true",
        ConfigKind::Boolean,
    ),
    def("group.share.assignors", "simple", ConfigKind::List),
    def(
        "group.share.delivery.count.limit",
        "5",
        ConfigKind::Int(2, 10),
    ),
    def(
        "group.share.dlq.manager.class.name",
        "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager",
        ConfigKind::OneOf(&["org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"]),
    ),
    def(
        "group.share.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.initialize.retry.interval.ms",
        "30000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.max.assignment.interval.ms",
        "15000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.share.max.delivery.count.limit",
        "10",
        ConfigKind::Int(5, 25),
    ),
    def(
        "group.share.max.heartbeat.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.max.partition.max.record.locks",
        "4000",
        ConfigKind::Int(100, 10_000),
    ),
    def(
        "group.share.max.record.lock.duration.ms",
        "60000",
        ConfigKind::Int(1000, 3_600_000),
    ),
    def(
        "group.share.max.session.timeout.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.max.share.sessions",
        "2000",
        ConfigKind::Int(1, INT),
    ),
    def("group.share.max.size", "200", ConfigKind::Int(1, 1000)),
    def(
        "group.share.min.assignment.interval.ms",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.share.min.delivery.count.limit",
        "2",
        ConfigKind::Int(2, 10),
    ),
    def(
        "group.share.min.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.min.partition.max.record.locks",
        "100",
        ConfigKind::Int(100, 10_000),
    ),
    def(
        "group.share.min.record.lock.duration.ms",
        "15000",
        ConfigKind::Int(1000, 30_000),
    ),
    def(
        "group.share.min.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.share.partition.max.record.locks",
        "2000",
        ConfigKind::Int(100, 10_000),
    ),
    def(
        "group.share.persister.class.name",
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        ConfigKind::OneOf(&["org.apache.kafka.server.share.persister.DefaultStatePersister"]),
    ),
    def(
        "group.share.record.lock.duration.ms",
        "30000",
        ConfigKind::Int(1000, 3_600_000),
    ),
    def(
        "group.share.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.acceptable.recovery.lag",
        "10000",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "group.streams.assignment.interval.ms",
        "1000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.assignor.offload.enable",
        "true",
        ConfigKind::Boolean,
    ),
    def("group.streams.assignors", "sticky", ConfigKind::List),
    def(
        "group.streams.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.initial.rebalance.delay.ms",
        "3000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.max.assignment.interval.ms",
        "15000",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.max.heartbeat.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.max.session.timeout.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.max.size",
        "2147483647",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.max.standby.replicas",
        "2",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.max.warmup.replicas",
        "20",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.min.assignment.interval.ms",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.min.heartbeat.interval.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.min.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.min.task.offset.interval.ms",
        "15000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.num.standby.replicas",
        "0",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.num.warmup.replicas",
        "2",
        ConfigKind::Int(0, INT),
    ),
    def(
        "group.streams.rack.aware.assignment.tags",
        "",
        ConfigKind::List,
    ),
    def(
        "group.streams.session.timeout.ms",
        "45000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "group.streams.task.offset.interval.ms",
        "60000",
        ConfigKind::Int(1, INT),
    ),
    def("log.cleanup.policy", "delete", ConfigKind::List),
    def(
        "log.message.timestamp.after.max.ms",
        "3600000",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "log.message.timestamp.before.max.ms",
        "9223372036854775807",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "log.message.timestamp.type",
        "CreateTime",
        ConfigKind::OneOf(TIMESTAMP_TYPES),
    ),
    def("log.remote.copy.lag.bytes", "-1", ConfigKind::Long(-1, BIG)),
    def("log.remote.copy.lag.ms", "0", ConfigKind::Long(-1, BIG)),
    def("log.retention.bytes", "-1", ConfigKind::Long(-1, BIG)),
    def(
        "log.retention.check.interval.ms",
        "300000",
        ConfigKind::Long(1, BIG),
    ),
    def("log.retention.hours", "168", ConfigKind::Int(-1, INT)),
    def("log.retention.minutes", "", ConfigKind::Int(-1, INT)),
    def("log.retention.ms", "", ConfigKind::Long(-1, BIG)),
    def("log.roll.hours", "168", ConfigKind::Int(1, INT)),
    def("log.roll.ms", "", ConfigKind::Long(1, BIG)),
    def(
        "log.segment.bytes",
        "1073741824",
        ConfigKind::Int(1_048_576, INT),
    ),
    def("max.connections", "20000", ConfigKind::Int(0, INT)),
    def(
        "max.decompressed.message.bytes",
        "2147483639",
        ConfigKind::Int(0, INT),
    ),
    def("message.max.bytes", "1048588", ConfigKind::Int(0, INT)),
    def("node.id", "1", ConfigKind::Int(0, INT)),
    def("num.partitions", "1", ConfigKind::Int(1, INT)),
    def("offset.metadata.max.bytes", "4096", ConfigKind::Int(0, INT)),
    def("offsets.commit.timeout.ms", "5000", ConfigKind::Int(1, INT)),
    def(
        "offsets.load.buffer.size",
        "5242880",
        ConfigKind::Int(1, INT),
    ),
    def(
        "offsets.retention.check.interval.ms",
        "600000",
        ConfigKind::Long(1, BIG),
    ),
    def(
        "offsets.retention.minutes",
        "10080",
        ConfigKind::Int(1, INT),
    ),
    def(
        "offsets.topic.compression.codec",
        "0",
        ConfigKind::Int(0, 4),
    ),
    def(
        "offsets.topic.num.partitions",
        "50",
        ConfigKind::Int(1, INT),
    ),
    def(
        "offsets.topic.replication.factor",
        "3",
        ConfigKind::Int(1, 32_767),
    ),
    def(
        "offsets.topic.segment.bytes",
        "104857600",
        ConfigKind::Int(1, INT),
    ),
    def(
        "producer.id.expiration.ms",
        "86400000",
        ConfigKind::Int(1, INT),
    ),
    // Kafka has no bound unless one is set: -1.
    def(
        "queued.max.request.bytes",
        "536870912",
        ConfigKind::Long(-1, BIG),
    ),
    def(
        "share.coordinator.append.linger.ms",
        "-1",
        ConfigKind::Int(-1, INT),
    ),
    def(
        "share.coordinator.cached.buffer.max.bytes",
        "1048588",
        ConfigKind::Int(524_288, INT),
    ),
    def(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "300000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.load.buffer.size",
        "5242880",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.snapshot.update.records.per.snapshot",
        "500",
        ConfigKind::Int(0, 500),
    ),
    def(
        "share.coordinator.state.topic.compression.codec",
        "0",
        ConfigKind::Int(0, 4),
    ),
    def(
        "share.coordinator.state.topic.min.isr",
        "2",
        ConfigKind::Int(1, 32_767),
    ),
    def(
        "share.coordinator.state.topic.num.partitions",
        "50",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.state.topic.prune.interval.ms",
        "300000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.coordinator.state.topic.replication.factor",
        "3",
        ConfigKind::Int(1, 32_767),
    ),
    def(
        "share.coordinator.state.topic.segment.bytes",
        "104857600",
        ConfigKind::Int(1, INT),
    ),
    def("share.coordinator.threads", "1", ConfigKind::Int(1, INT)),
    def(
        "share.coordinator.write.timeout.ms",
        "5000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "share.fetch.purgatory.purge.interval.requests",
        "1000",
        ConfigKind::Int(-2_147_483_648, INT),
    ),
    def(
        "socket.request.max.bytes",
        "104857600",
        ConfigKind::Int(1, INT),
    ),
    def("super.users", "", ConfigKind::Text),
    def(
        "transaction.max.timeout.ms",
        "900000",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.state.log.load.buffer.size",
        "5242880",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.state.log.min.isr",
        "2",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.state.log.num.partitions",
        "50",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.state.log.replication.factor",
        "3",
        ConfigKind::Int(1, 32_767),
    ),
    def(
        "transaction.state.log.segment.bytes",
        "104857600",
        ConfigKind::Int(1, INT),
    ),
    def(
        "transaction.two.phase.commit.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def(
        "transactional.id.expiration.ms",
        "604800000",
        ConfigKind::Int(1, INT),
    ),
    // Here: the draft of TxnShareAcknowledge (key 95).
    def("unstable.api.versions.enable", "false", ConfigKind::Boolean),
];
