//! Describe, Alter and DeleteShareGroupOffsets (KIP-932, KIP-1226).

use ackord_machine::{LogId, OpId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse, DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse, DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse, alter_share_group_offsets as alter,
    delete_share_group_offsets as delete, describe_share_group_offsets as describe,
    initialize_share_group_state as initialize,
};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use super::super::Broker;
use super::super::access::{self, sentence};
use super::super::journal::later;
use super::list_offsets::{Answer, settle};
use super::once::once_by;
use super::topic_creation::Refusal;
use crate::authorizer::ResourceType;
use crate::group::{TopicInfo, state_partition_for};
use crate::metadata::SHARE_STATE_TOPIC;
use crate::share::ShareKey;

const NOT_HOSTED: &str = "This server does not host this topic-partition.";
const NOTHING_TO_DELETE: &str = "There is no offset information to delete.";
const INVALID_ID: &str = "The group id is invalid.";
/// The start offset of a share partition before its first fetch.
const NOT_BEGUN: i64 = -1;

type DescribedPartition = describe::DescribeShareGroupOffsetsResponsePartition;
type DescribedTopic = describe::DescribeShareGroupOffsetsResponseTopic;

impl Broker {
    /// Start offset and lag of share partitions. Before a share partition has begun it says where
    /// it would begin now.
    pub(in crate::broker) fn describe_share_group_offsets(
        &mut self,
        slot: u64,
        request: DescribeShareGroupOffsetsRequest,
    ) {
        let mut gate = self.cluster_gate();
        let mut groups = Vec::new();
        for asked in once_by(request.groups, |asked| asked.group_id.clone()) {
            let group = asked.group_id;
            if let Err(error_code) = self.check_group(slot, &group) {
                groups.push(describe::DescribeShareGroupOffsetsResponseGroup {
                    group_id: group,
                    error_code,
                    error_message: Some(Str::from(sentence(error_code))),
                    ..Default::default()
                });
                continue;
            }
            let by_name = asked.topics.is_some();
            let partitions = match asked.topics {
                Some(topics) => self.asked_partitions(topics),
                None => self.known_partitions(&group),
            };
            let mut topics: Vec<DescribedTopic> = Vec::new();
            for (topic_name, topic_id, indexes) in partitions {
                // All that the group has is cut to what may be seen.
                let refused = match by_name {
                    true => self.check_topic(slot, &topic_name).err(),
                    false => None,
                };
                let topic_id = if refused.is_some() {
                    Uuid::ZERO
                } else {
                    topic_id
                };
                let described = indexes.into_iter().map(|index| match refused {
                    Some(code) => refused_partition(index, (code, sentence(code))),
                    None => self.described_partition(&group, topic_id, index, &mut gate),
                });
                topics.push(DescribedTopic {
                    topic_name,
                    topic_id,
                    partitions: described.collect(),
                    ..Default::default()
                });
            }
            groups.push(describe::DescribeShareGroupOffsetsResponseGroup {
                group_id: group,
                topics,
                ..Default::default()
            });
        }
        let response = DescribeShareGroupOffsetsResponse {
            groups,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn asked_partitions(
        &self,
        topics: Vec<describe::DescribeShareGroupOffsetsRequestTopic>,
    ) -> Vec<(Str, Uuid, Vec<i32>)> {
        let id = |name: &Str| {
            self.metadata
                .topic(name)
                .map_or(Uuid::ZERO, |topic| topic.id)
        };
        let topics = topics.into_iter();
        topics
            .map(|topic| {
                let id = id(&topic.topic_name);
                (topic.topic_name, id, topic.partitions)
            })
            .collect()
    }

    /// Everything of the group that has a state.
    fn known_partitions(&self, group: &str) -> Vec<(Str, Uuid, Vec<i32>)> {
        let mut by_topic: BTreeMap<Str, (Uuid, Vec<i32>)> = BTreeMap::new();
        for key in self.share_keys(group) {
            if let Some(topic) = self.metadata.topic_by_id(key.topic) {
                let entry = by_topic.entry(topic.name.clone());
                entry
                    .or_insert((topic.id, Vec::new()))
                    .1
                    .push(key.partition);
            }
        }
        let topics = by_topic.into_iter().map(|(name, (id, mut partitions))| {
            partitions.sort_unstable();
            (name, id, partitions)
        });
        topics.collect()
    }

    /// The share partitions of a group that have a state.
    pub(super) fn share_keys(&self, group: &str) -> Vec<ShareKey> {
        let keys = self.sgcs.values().flat_map(|sgc| sgc.keys_of(group));
        keys.cloned().collect()
    }

    fn described_partition(
        &mut self,
        group: &Str,
        topic: Uuid,
        partition: i32,
        gate: &mut Option<OpId>,
    ) -> DescribedPartition {
        let unknown = DescribedPartition {
            partition_index: partition,
            start_offset: -1,
            lag: -1,
            ..Default::default()
        };
        let refused = |refusal| refused_partition(partition, refusal);
        let log = LogId { topic, partition };
        if !self.logs.contains_key(&log) {
            return refused((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED));
        }
        if self.is_sgc_frozen(group, log) {
            let why = "The coordinator reads its log.";
            return refused((ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, why));
        }
        let key = ShareKey {
            group: group.clone(),
            topic,
            partition,
        };
        let own = state_partition_for(group, topic, partition, self.share_state_partitions());
        let state = self.sgcs.get(&own).and_then(|sgc| sgc.state(&key));
        let Some((stored, done)) =
            state.map(|state| (state.start_offset, state.deliveries.terminal_count()))
        else {
            return unknown;
        };
        let state_log = self.metadata.log(SHARE_STATE_TOPIC, own);
        *gate = later(*gate, state_log.and_then(|log| self.journal.newest(log)));
        let start = match stored {
            0.. => stored,
            _ => self.place_of(log, group),
        };
        let data = self.logs.get(&log);
        let (first, end) = data.map_or((0, 0), |log| (log.start_offset(), log.high_watermark()));
        let start = start.max(first);
        DescribedPartition {
            start_offset: start,
            lag: (end - start - i64::from(done)).max(0),
            ..unknown
        }
    }

    /// Where a share partition would begin. Where only the store could tell, at the beginning.
    fn place_of(&mut self, log: LogId, group: &Str) -> i64 {
        match settle(self.start_of(log, group), |search| search) {
            Answer::At { offset, .. } => offset,
            Answer::Stored(search) => search.from,
            _ => 0,
        }
    }

    /// Whether the offsets of a group may be changed from outside: it has no members, and no
    /// transaction holds records of it.
    pub(super) fn check_unused(&self, slot: u64, group: &str) -> Result<(), Refusal> {
        if let Err(code) = self.existing_coordinator(group) {
            return Err((code, "The coordinator reads its log.".to_string()));
        }
        let occupied = |why: String| Err((ErrorCode::NON_EMPTY_GROUP, why));
        if self
            .groups
            .get(group)
            .is_some_and(|group| !group.is_empty())
        {
            return occupied("The group is not empty.".to_string());
        }
        let owner = self.sgcs.values().find_map(|sgc| sgc.pending_owner(group));
        let owner = owner.filter(|_| !ackord_machine::planted!("row-48-reset-forgets-pending"));
        let Some(owner) = owner else {
            return Ok(());
        };
        let of_producer = |tc: &crate::txn::TxnCoordinator| {
            let mut all = tc.transactions();
            let own = all.find(|txn| txn.producer_id == owner.producer_id)?;
            Some(own.transactional_id.to_string())
        };
        let id = self.tcs.values().find_map(of_producer);
        let id = id.unwrap_or_default();
        occupied(
            match self.is_shown(slot, ResourceType::TransactionalId, &id) {
                true => alloc::format!(
                    "Transaction {id} (producer id {}) holds records of the group; end it first.",
                    owner.producer_id
                ),
                false => "A transaction holds records of the group; end it first.".to_string(),
            },
        )
    }

    pub(in crate::broker) fn alter_share_group_offsets(
        &mut self,
        slot: u64,
        request: AlterShareGroupOffsetsRequest,
    ) {
        let group = request.group_id;
        let checked = match group.is_empty() {
            true => Err((ErrorCode::INVALID_GROUP_ID, INVALID_ID.to_string())),
            false => self
                .share_group_coordinator(&group)
                .and_then(|_| self.check_unused(slot, &group))
                .and_then(|()| self.check_sgcs()),
        };
        if let Err((error_code, why)) = checked {
            let response = AlterShareGroupOffsetsResponse {
                error_code,
                error_message: Some(Str::from(why)),
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let epoch = self.next_state_epoch(&group);
        let mut gate = None;
        let mut responses = Vec::with_capacity(request.topics.len());
        for topic in request.topics {
            let allowed = self.check_topic(slot, &topic.topic_name);
            let found = self.metadata.topic(&topic.topic_name);
            // Who may not read it learns nothing of it.
            let found = found.filter(|_| allowed.is_ok());
            let id = found.map_or(Uuid::ZERO, |own| own.id);
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in topic.partitions {
                let key = ShareKey {
                    group: group.clone(),
                    topic: id,
                    partition: asked.partition_index,
                };
                let altered = allowed
                    .map_err(access::told)
                    .and_then(|()| self.alter_offset(&key, epoch, asked.start_offset, &mut gate));
                let (error_code, error_message) = told(altered);
                partitions.push(alter::AlterShareGroupOffsetsResponsePartition {
                    partition_index: asked.partition_index,
                    error_code,
                    error_message,
                    ..Default::default()
                });
            }
            responses.push(alter::AlterShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name,
                topic_id: id,
                partitions,
                ..Default::default()
            });
        }
        let response = AlterShareGroupOffsetsResponse {
            responses,
            ..Default::default()
        };
        self.respond(slot, response, later(gate, self.cluster_gate()));
    }

    /// Above everything that any leader of the group has written under, so that what an older one
    /// still writes is fenced.
    fn next_state_epoch(&self, group: &str) -> i32 {
        let own = self.groups.get(group).map_or(0, |group| group.epoch());
        let states = self.sgcs.values().flat_map(|sgc| sgc.states_of(group));
        let stored = states.map(|(_, state)| state.state_epoch).max();
        own.max(stored.unwrap_or(0)).saturating_add(1)
    }

    fn alter_offset(
        &mut self,
        key: &ShareKey,
        epoch: i32,
        start_offset: i64,
        gate: &mut Option<OpId>,
    ) -> Result<(), Refusal> {
        let (topic, partition) = (key.topic, key.partition);
        let known = self.metadata.topic_by_id(topic).cloned();
        let known = known
            .filter(|topic| (0..topic.partitions).contains(&partition) && !topic.is_internal());
        let Some(known) = known else {
            let why = NOT_HOSTED.to_string();
            return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why));
        };
        let data = initialize::PartitionData {
            partition,
            state_epoch: epoch,
            start_offset: altered_start(start_offset),
            ..Default::default()
        };
        let mut done = None;
        self.change_share_state(key, gate, |sgc, now, out| {
            done = Some(sgc.initialize(now, key, &data, out));
        })
        .map_err(|(code, why)| (code, why.to_string()))?;
        if let Some(result) = done.filter(|result| result.error_code != ErrorCode::NONE) {
            let why = result.error_message.unwrap_or_default().to_string();
            return Err((result.error_code, why));
        }
        self.ensure_group(&key.group);
        let info = TopicInfo {
            id: topic,
            partitions: known.partitions,
        };
        self.with_group(&key.group, None, |group, _, _, _| {
            group.begun(&known.name, info, partition, epoch);
        });
        Ok(())
    }

    pub(in crate::broker) fn delete_share_group_offsets(
        &mut self,
        slot: u64,
        request: DeleteShareGroupOffsetsRequest,
    ) {
        let group = request.group_id;
        let checked = match group.is_empty() {
            true => Err((ErrorCode::INVALID_GROUP_ID, INVALID_ID.to_string())),
            false if !self.groups.contains_key(&group) => {
                let why = alloc::format!("Group {group} not found.");
                Err((ErrorCode::GROUP_ID_NOT_FOUND, why))
            }
            false => self
                .check_unused(slot, &group)
                .and_then(|()| self.check_sgcs()),
        };
        if let Err((error_code, why)) = checked {
            let response = DeleteShareGroupOffsetsResponse {
                error_code,
                error_message: Some(Str::from(why)),
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        let mut gate = None;
        let mut responses = Vec::with_capacity(request.topics.len());
        for topic in request.topics {
            let allowed = self.check_topic(slot, &topic.topic_name);
            let deleted = allowed
                .map_err(access::told)
                .and_then(|()| self.delete_offsets(&group, &topic.topic_name, &mut gate));
            let topic_id = deleted.as_ref().copied().unwrap_or(Uuid::ZERO);
            let (error_code, error_message) = told(deleted.map(|_| ()));
            responses.push(delete::DeleteShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name,
                topic_id,
                error_code,
                error_message,
                ..Default::default()
            });
        }
        let response = DeleteShareGroupOffsetsResponse {
            responses,
            ..Default::default()
        };
        self.respond(slot, response, gate);
    }

    fn delete_offsets(
        &mut self,
        group: &Str,
        topic: &str,
        gate: &mut Option<OpId>,
    ) -> Result<Uuid, Refusal> {
        let refuse = |why: &str| Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, why.to_string()));
        let Some(id) = self.metadata.topic(topic).map(|topic| topic.id) else {
            return refuse(NOT_HOSTED);
        };
        let mut keys = self.share_keys(group);
        keys.retain(|key| key.topic == id);
        if keys.is_empty() {
            return refuse(NOTHING_TO_DELETE);
        }
        self.delete_share_keys(&keys, gate)?;
        self.with_group(group, None, |group, _, _, _| group.forget_topic(id));
        Ok(id)
    }

    /// Deletes states of share partitions; their leaders forget what they have of them.
    pub(super) fn delete_share_keys(
        &mut self,
        keys: &[ShareKey],
        gate: &mut Option<OpId>,
    ) -> Result<(), Refusal> {
        for key in keys {
            self.change_share_state(key, gate, |sgc, _, out| {
                mem::drop(sgc.delete(key, key.partition, out));
            })
            .map_err(|(code, why)| (code, why.to_string()))?;
        }
        Ok(())
    }

    /// All share coordinators are needed to know what a group has.
    pub(super) fn check_sgcs(&self) -> Result<(), Refusal> {
        let loading = self.frozen.iter().any(|log| self.sgc_of(*log).is_some());
        match loading {
            true => Err((
                ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                "The coordinator reads its log.".to_string(),
            )),
            false => Ok(()),
        }
    }
}

/// Where a share partition begins that is to begin at `asked`. As in Kafka, -1 takes the state back to
/// before the first fetch, which begins where the group's configuration says, and any other negative
/// offset is before everything that the log has.
fn altered_start(asked: i64) -> i64 {
    match asked {
        NOT_BEGUN => NOT_BEGUN,
        asked => asked.max(0),
    }
}

fn refused_partition(
    partition_index: i32,
    (error_code, why): (ErrorCode, &str),
) -> DescribedPartition {
    DescribedPartition {
        partition_index,
        start_offset: -1,
        lag: -1,
        error_code,
        error_message: Some(Str::from(why)),
        ..Default::default()
    }
}

fn told(outcome: Result<(), Refusal>) -> (ErrorCode, Option<Str>) {
    match outcome {
        Ok(()) => (ErrorCode::NONE, None),
        Err((code, why)) => (code, Some(Str::from(why))),
    }
}
