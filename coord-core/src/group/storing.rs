//! A share group and what is stored of it: the one becomes the other after each input, and comes
//! back out of it after a start. Sessions begin anew then; epochs go on.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{Now, Timers};
use ackord_proto::coordinator_records::{
    ConsumerOffsetsRecord, ShareGroupMemberMetadataValue, ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberValue, ShareGroupTargetAssignmentMetadataValue,
};
use ackord_proto::str::Str;

use super::initialise::ShareStates;
use super::member::{Member, to_stored};
use super::share_group::{GroupConfig, GroupReply, ShareGroup, TopicInfo, Topics};
use super::stored::StoredGroup;
use crate::fnv::fnv1a;
use crate::outbox::{Outbox, StateRecord};

impl ShareGroup {
    /// The group that the log has, before it does anything: see [`recovered`](Self::recovered).
    pub fn restored(id: Str, config: GroupConfig, stored: StoredGroup) -> Self {
        let epoch = stored.group.as_ref().map_or(0, |group| group.epoch);
        let members = stored.members.iter().map(|(member_id, metadata)| {
            let current = stored.current.get(member_id);
            let target = stored.targets.get(member_id);
            (
                member_id.clone(),
                Member::restored(metadata, current, target),
            )
        });
        ShareGroup {
            epoch,
            members: members.collect(),
            states: ShareStates::restored(stored.states.as_ref(), epoch),
            assigned_at: stored
                .assignment
                .as_ref()
                .map_or(0, |assignment| assignment.assignment_timestamp),
            stored,
            timers: Timers::new(),
            ..ShareGroup::new(id, config)
        }
    }

    /// After a replay: each member has a whole session to show that it is still there, and what
    /// changed in the cluster meanwhile is caught up with.
    pub fn recovered(&mut self, now: Now, topics: &dyn Topics, out: &mut Outbox<GroupReply>) {
        let known = self.stored.group.as_ref().map(|group| group.metadata_hash);
        let topics_now = self.existing_topics(topics);
        if known == Some(hash(&topics_now)) {
            self.topics = topics_now;
        }
        let members: Vec<Str> = self.members.keys().cloned().collect();
        for member_id in members {
            self.arm_session(now, &member_id);
        }
        self.refresh(now, self.epoch, topics, out);
    }

    /// Whether the log has something of it.
    pub fn is_stored(&self) -> bool {
        self.stored != StoredGroup::default()
    }

    /// The group is deleted: nothing of it is left, nor will be stored.
    pub fn delete(&mut self) {
        *self = ShareGroup {
            stored: core::mem::take(&mut self.stored),
            changed: true,
            ..ShareGroup::new(self.id.clone(), self.config.clone())
        };
    }

    /// What is not in the log yet, as records; from now on it counts as stored.
    pub fn unstored(&mut self) -> Vec<StateRecord> {
        if !core::mem::take(&mut self.changed) {
            return Vec::new();
        }
        let records = self.stored.changes(&self.id, &self.to_store());
        for record in &records {
            let decoded = ConsumerOffsetsRecord::decode(&record.key, record.value.as_ref());
            debug_assert!(decoded.is_ok(), "own records decode");
            if let Ok(decoded) = decoded {
                self.stored.apply(decoded);
            }
        }
        records
    }

    /// Records that give what is stored when applied to nothing.
    pub fn snapshot(&self) -> Vec<StateRecord> {
        StoredGroup::default().changes(&self.id, &self.stored)
    }

    fn to_store(&self) -> StoredGroup {
        let mut wanted = StoredGroup {
            states: self.states.to_store(),
            ..StoredGroup::default()
        };
        if self.epoch == 0 {
            return wanted;
        }
        wanted.group = Some(ShareGroupMetadataValue {
            epoch: self.epoch,
            metadata_hash: hash(&self.topics),
            ..ShareGroupMetadataValue::default()
        });
        wanted.assignment = Some(ShareGroupTargetAssignmentMetadataValue {
            assignment_epoch: self.epoch,
            assignment_timestamp: self.assigned_at,
            ..ShareGroupTargetAssignmentMetadataValue::default()
        });
        for (member_id, member) in &self.members {
            let metadata = ShareGroupMemberMetadataValue {
                rack_id: member.rack_id.clone(),
                client_id: member.client.client_id.clone(),
                client_host: member.client.host.clone(),
                subscribed_topic_names: member.subscribed.iter().cloned().collect(),
                ..ShareGroupMemberMetadataValue::default()
            };
            wanted.members.insert(member_id.clone(), metadata);
            let target = ShareGroupTargetAssignmentMemberValue {
                topic_partitions: to_stored(&member.target),
                ..ShareGroupTargetAssignmentMemberValue::default()
            };
            wanted.targets.insert(member_id.clone(), target);
            if let Some(current) = member.current_to_store() {
                wanted.current.insert(member_id.clone(), current);
            }
        }
        wanted
    }

    /// Subscribed topics that exist.
    pub(super) fn existing_topics(&self, topics: &dyn Topics) -> BTreeMap<Str, TopicInfo> {
        let names: BTreeSet<&Str> = self
            .members
            .values()
            .flat_map(|member| &member.subscribed)
            .collect();
        let existing = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), topics.topic(name)?)));
        existing.collect()
    }
}

/// Another number for other topics: names, ids and numbers of partitions.
fn hash(topics: &BTreeMap<Str, TopicInfo>) -> i64 {
    let bytes = topics.iter().flat_map(|(name, info)| {
        let name = name.as_bytes().iter().chain(&[0]).copied();
        let id = info.id.to_bytes();
        name.chain(id).chain(info.partitions.to_be_bytes())
    });
    fnv1a(bytes).cast_signed()
}
