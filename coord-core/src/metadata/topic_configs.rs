//! Configurations of a topic by their Kafka names: one line for each.

use super::config_def::{ConfigDef, TIMESTAMP_TYPES, def};
use super::config_kind::{BIG, ConfigKind, INT};

/// Configurations of a topic (Kafka 4.4).
pub const TOPIC_CONFIGS: &[ConfigDef] = &[
    def("cleanup.policy", "delete", ConfigKind::List),
    def("compression.gzip.level", "-1", ConfigKind::Int(-1, 9)),
    def("compression.lz4.level", "9", ConfigKind::Int(1, 17)),
    def(
        "compression.type",
        "producer",
        ConfigKind::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]),
    ),
    def("compression.zstd.level", "3", ConfigKind::Int(-131_072, 22)),
    def("delete.retention.ms", "86400000", ConfigKind::Long(0, BIG)),
    def(
        "errors.deadletterqueue.group.enable",
        "false",
        ConfigKind::Boolean,
    ),
    def("file.delete.delay.ms", "60000", ConfigKind::Long(0, BIG)),
    def(
        "flush.messages",
        "9223372036854775807",
        ConfigKind::Long(1, BIG),
    ),
    def("flush.ms", "9223372036854775807", ConfigKind::Long(0, BIG)),
    def(
        "follower.replication.throttled.replicas",
        "",
        ConfigKind::List,
    ),
    def("index.interval.bytes", "4096", ConfigKind::Int(0, INT)),
    def(
        "leader.replication.throttled.replicas",
        "",
        ConfigKind::List,
    ),
    def("local.retention.bytes", "-2", ConfigKind::Long(-2, BIG)),
    def("local.retention.ms", "-2", ConfigKind::Long(-2, BIG)),
    def(
        "max.compaction.lag.ms",
        "9223372036854775807",
        ConfigKind::Long(1, BIG),
    ),
    def(
        "max.decompressed.message.bytes",
        "2147483639",
        ConfigKind::Int(0, INT),
    ),
    def("max.message.bytes", "1048588", ConfigKind::Int(0, INT)),
    def(
        "message.timestamp.after.max.ms",
        "3600000",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "message.timestamp.before.max.ms",
        "9223372036854775807",
        ConfigKind::Long(0, BIG),
    ),
    def(
        "message.timestamp.type",
        "CreateTime",
        ConfigKind::OneOf(TIMESTAMP_TYPES),
    ),
    def("min.cleanable.dirty.ratio", "0.5", ConfigKind::Fraction),
    def("min.compaction.lag.ms", "0", ConfigKind::Long(0, BIG)),
    def("min.insync.replicas", "1", ConfigKind::Int(1, INT)),
    def("preallocate", "false", ConfigKind::Boolean),
    def("remote.copy.lag.bytes", "-1", ConfigKind::Long(-1, BIG)),
    def("remote.copy.lag.ms", "0", ConfigKind::Long(-1, BIG)),
    def("remote.log.copy.disable", "false", ConfigKind::Boolean),
    def("remote.log.delete.on.disable", "false", ConfigKind::Boolean),
    def("remote.storage.enable", "false", ConfigKind::Boolean),
    def("retention.bytes", "-1", ConfigKind::Long(-1, BIG)),
    def("retention.ms", "604800000", ConfigKind::Long(-1, BIG)),
    def(
        "segment.bytes",
        "1073741824",
        ConfigKind::Int(1_048_576, INT),
    ),
    def("segment.index.bytes", "10485760", ConfigKind::Int(4, INT)),
    def("segment.jitter.ms", "0", ConfigKind::Long(0, BIG)),
    def("segment.ms", "604800000", ConfigKind::Long(1, BIG)),
    def(
        "unclean.leader.election.enable",
        "false",
        ConfigKind::Boolean,
    ),
];
