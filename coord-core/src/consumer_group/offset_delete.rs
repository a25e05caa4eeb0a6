//! OffsetDelete (key 47), DeleteGroups (key 42), and offsets of topics that are deleted.

use alloc::vec::Vec;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::classic_group::GroupState;
use super::coordinator::{ClassicReply, Group, GroupCoordinator, Timer};
use super::modern;
use super::offsets::get;
use super::records::{self, OffsetKey};
use super::subscription::CONSUMER;
use crate::outbox::{Outbox, StateRecord};

impl GroupCoordinator {
    /// Deletes offsets of a group; one code for each: NONE, also where there was none, or
    /// GROUP_SUBSCRIBED_TO_TOPIC.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND; NON_EMPTY_GROUP for a group with members that are no consumers.
    pub fn delete_offsets(
        &mut self,
        group: &Str,
        partitions: &[(Str, i32)],
        out: &mut Outbox<ClassicReply>,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        let found = self.groups.get(group);
        let found = found.ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
        let classic = &found.classic;
        if found.consumer.is_none()
            && classic.state() != GroupState::Empty
            && classic.protocol_type() != CONSUMER
        {
            return Err(ErrorCode::NON_EMPTY_GROUP);
        }
        let mut codes = Vec::with_capacity(partitions.len());
        let mut deleted = Vec::new();
        for (topic, partition) in partitions {
            if found.subscribes(topic) {
                codes.push(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
                continue;
            }
            codes.push(ErrorCode::NONE);
            if found.has_offset(topic, *partition) {
                deleted.extend(tombstone(group, topic, *partition));
            }
        }
        self.append(deleted, None, out);
        Ok(codes)
    }

    /// Deletes a group without members, with its offsets.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    pub fn delete_group(
        &mut self,
        id: &Str,
        out: &mut Outbox<ClassicReply>,
    ) -> Result<(), ErrorCode> {
        let group = self.groups.get(id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
        if group.has_members() {
            return Err(ErrorCode::NON_EMPTY_GROUP);
        }
        let mut tombstones = group.offset_tombstones(id, |_| true);
        tombstones.extend(group.group_tombstones(id));
        self.append(tombstones, None, out);
        self.drop_group(id);
        Ok(())
    }

    /// Forgets a group that has no offsets any more.
    pub(super) fn drop_group(&mut self, id: &Str) {
        let Some(group) = self.groups.remove(id) else {
            return;
        };
        for member in group.classic.pending_members {
            self.timers.cancel(&Timer::Session(id.clone(), member));
        }
        self.timers.cancel(&Timer::Join(id.clone()));
        self.by_producer.retain(|_, groups| {
            groups.remove(id);
            !groups.is_empty()
        });
    }

    /// A topic was deleted: offsets of it mean nothing to one that gets its name.
    pub fn topic_deleted(&mut self, topic: &str, out: &mut Outbox<ClassicReply>) {
        let groups = self.groups.iter();
        let tombstones =
            groups.flat_map(|(id, group)| group.offset_tombstones(id, |own| own == topic));
        let tombstones: Vec<StateRecord> = tombstones.collect();
        self.append(tombstones, None, out);
    }
}

impl Group {
    /// Whether a member subscribes to the topic, as far as it can be told.
    pub(super) fn subscribes(&self, topic: &str) -> bool {
        match &self.consumer {
            Some(group) => group.subscribes(topic),
            None => self.classic.subscribes(topic),
        }
    }

    /// Whether anybody is in it.
    pub(super) fn has_members(&self) -> bool {
        match &self.consumer {
            Some(group) => !group.is_empty(),
            None => self.classic.state() != GroupState::Empty,
        }
    }

    /// What deletes the group, offsets aside.
    pub(super) fn group_tombstones(&self, id: &Str) -> Vec<StateRecord> {
        match &self.consumer {
            Some(group) => {
                let records = group.tombstones();
                let records = records.iter();
                records
                    .filter_map(|record| modern::encode(id, record))
                    .collect()
            }
            None => records::group_tombstone(id).into_iter().collect(),
        }
    }

    fn has_offset(&self, topic: &str, partition: i32) -> bool {
        get(&self.offsets.committed, topic, partition).is_some()
            || self.offsets.is_pending(topic, partition)
    }

    /// Tombstones for all offsets of the topics for which `wanted` says so, waiting ones too.
    pub(super) fn offset_tombstones(
        &self,
        id: &Str,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<StateRecord> {
        let offsets = &self.offsets;
        let all = [&offsets.committed]
            .into_iter()
            .chain(offsets.pending.values());
        let topics = all.flatten().filter(|(topic, _)| wanted(topic));
        let partitions = topics
            .flat_map(|(topic, partitions)| partitions.keys().map(move |index| (topic, *index)));
        let unique: alloc::collections::BTreeSet<(&Str, i32)> = partitions.collect();
        let tombstones = unique.into_iter();
        tombstones
            .filter_map(|(topic, partition)| tombstone(id, topic, partition))
            .collect()
    }
}

pub(super) fn tombstone(group: &Str, topic: &Str, partition: i32) -> Option<StateRecord> {
    records::offset_tombstone(&OffsetKey {
        group: group.clone(),
        topic: topic.clone(),
        partition,
    })
}
