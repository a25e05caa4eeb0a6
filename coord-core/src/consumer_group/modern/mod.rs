//! Groups of the consumer protocol (KIP-848): the coordinator assigns, and each member moves to what
//! it is to have by heartbeats alone.
//!
//! * [`ConsumerGroup`]: all of it is stored, so it outlives a restart with its members. It changes
//!   through its `apply` only, live and in replay; what a heartbeat changes is one append.
//! * The group epoch counts what changed (members, subscriptions, topics), the assignment epoch says
//!   for which of them the target assignment was made, and each member's epoch how far it is.
//! * A partition belongs to a member from the append that assigns it until the member has said that
//!   it gave it up, left, or was taken out: nobody else gets it before that.

mod assignor;
mod change;
mod classic_members;
mod describe;
mod group;
mod heartbeat;
mod leave;
mod member;
mod migration;
mod offsets;
mod reconcile;
mod records;
mod regex;
mod timeouts;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

pub use assignor::Assignor;
pub use group::{ConsumerGroup, ConsumerGroupState};
pub use migration::MigrationPolicy;
pub(super) use records::{ConsumerRecord, decode, encode};

use crate::group::TopicInfo;

/// Partitions by topic id.
pub(super) type Assigned = BTreeMap<Uuid, BTreeSet<i32>>;

/// What the coordinator looks up of the cluster while it handles a request.
pub trait ClusterView: fmt::Debug {
    /// Settings of a consumer group, its own configuration included.
    fn consumer_group(&self, group: &str) -> ConsumerGroupConfig;

    /// The topic of this name.
    fn topic(&self, name: &str) -> Option<TopicInfo>;

    /// The name of the topic of this id.
    fn topic_name(&self, id: Uuid) -> Option<Str>;

    /// Names of the topics that a pattern may match.
    fn topic_names(&self) -> Vec<Str>;

    /// Another number whenever a topic was created, deleted or got partitions.
    fn version(&self) -> u64;
}

/// Settings of one consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroupConfig {
    /// `consumer.assignment.interval.ms`: the least time between two assignments.
    pub assignment_interval_ms: i32,
    /// `group.consumer.assignors`: what members may ask for; the first one is used where they do not.
    pub assignors: Vec<Assignor>,
    /// `consumer.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// `group.consumer.max.size`.
    pub max_size: usize,
    /// `group.consumer.migration.policy`.
    pub migration_policy: MigrationPolicy,
    /// `consumer.session.timeout.ms`.
    pub session_timeout_ms: i32,
}

impl Default for ConsumerGroupConfig {
    fn default() -> Self {
        ConsumerGroupConfig {
            assignment_interval_ms: 1000,
            assignors: Vec::from([Assignor::Uniform, Assignor::Range]),
            heartbeat_interval_ms: 5000,
            max_size: 0x7fff_ffff,
            migration_policy: MigrationPolicy::Bidirectional,
            session_timeout_ms: 45_000,
        }
    }
}
