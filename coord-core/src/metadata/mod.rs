//! Topics, configurations, producer ids and ACLs: what a cluster knows of itself.

mod acls;
mod broker_config;
mod broker_configs;
mod cluster;
pub mod config_def;
pub mod config_kind;
mod consumer_configs;
mod coordinator_configs;
mod duration;
mod group_configs;
mod records;
mod settings;
#[cfg(test)]
mod tests_config_def;
mod topic_configs;
mod topic_name;
mod topic_settings;

pub use broker_config::BrokerConfig;
pub use cluster::{CLUSTER_LOG, ClusterParticipants, CorruptMetadata, Metadata, Topic};
pub use consumer_configs::{consumer_assignors, consumer_group_config};
pub use coordinator_configs::{internal_topic_configs, is_internal};
pub use group_configs::{
    GROUP_CONFIGS, OffsetReset, check_group_config, documentation, inherited_name,
};
pub use settings::{GroupBounds, ShareGroupSettings, value_of};
pub use topic_name::check_topic_name;
pub use topic_settings::{broker_name, topic_value};

/// Committed offsets and groups.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// States of transactions.
pub const TXN_STATE_TOPIC: &str = "__transaction_state";
/// States of share partitions.
pub const SHARE_STATE_TOPIC: &str = "__share_group_state";

/// The topics that coordinators write.
pub const INTERNAL_TOPICS: [&str; 3] = [OFFSETS_TOPIC, SHARE_STATE_TOPIC, TXN_STATE_TOPIC];

/// Resource types of DescribeConfigs and IncrementalAlterConfigs.
pub mod resource {
    /// A topic.
    pub const TOPIC: i8 = 2;
    /// A broker.
    pub const BROKER: i8 = 4;
    /// A group.
    pub const GROUP: i8 = 32;
}
