//! Share groups after a start: those that have states of share partitions are there again, without
//! members, which join again by themselves.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::Broker;
use crate::group::TopicInfo;

impl Broker {
    /// Makes the groups out of what the share coordinators have read back.
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
