//! Share groups after a start, or after their log was read back: as the log has them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Broker;
use crate::group::{ShareGroup, StoredGroups, TopicInfo, partition_for_id};
use crate::outbox::StateRecord;

impl Broker {
    /// The groups of one partition of `__consumer_offsets`, as its log has them.
    pub(super) fn put_share_groups(&mut self, partition: i32, stored: StoredGroups) {
        for id in self.share_groups_of(partition) {
            self.groups.remove(&id);
            self.arm_group(&id);
        }
        for (id, stored) in stored.into_groups() {
            let group = ShareGroup::restored(id.clone(), self.group_config(&id), stored);
            self.groups.insert(id, group);
        }
    }

    /// Lets the groups of a partition go on.
    pub(super) fn share_groups_recovered(&mut self, partition: i32) {
        for id in self.share_groups_of(partition) {
            self.with_group(&id, None, |group, now, metadata, out| {
                group.recovered(now, metadata, out);
            });
        }
    }

    /// What the log of a partition has of its groups, as records.
    pub(super) fn share_group_snapshot(&self, partition: i32) -> Vec<StateRecord> {
        let of_partition = self.share_groups_of(partition);
        let groups = of_partition.iter().filter_map(|id| self.groups.get(id));
        groups.flat_map(ShareGroup::snapshot).collect()
    }

    fn share_groups_of(&self, partition: i32) -> Vec<Str> {
        let count = self.offsets_partitions();
        let groups = self.groups.keys();
        let own = groups.filter(|id| partition_for_id(id, count) == partition);
        own.cloned().collect()
    }

    /// What the share coordinators have is initialised, whether or not the group heard of it.
    pub(super) fn recover_groups(&mut self) {
        // State epochs by partition.
        let mut found: BTreeMap<(Str, Uuid), Vec<(i32, i32)>> = BTreeMap::new();
        for (key, state) in self.sgcs.values().flat_map(|sgc| sgc.states()) {
            let of_topic = found.entry((key.group.clone(), key.topic)).or_default();
            of_topic.push((key.partition, state.state_epoch));
        }
        for ((id, topic), states) in found {
            let Some(topic) = self.metadata.topic_by_id(topic).cloned() else {
                continue;
            };
            // Whatever the topic has beyond that came after the group had looked.
            let known = states.iter().map(|(partition, _)| partition + 1).max();
            let info = TopicInfo {
                id: topic.id,
                partitions: known.unwrap_or_default(),
            };
            self.ensure_group(&id);
            if let Some(group) = self.groups.get_mut(&id) {
                for (partition, epoch) in states {
                    group.begun(&topic.name, info, partition, epoch);
                }
            }
        }
    }
}
