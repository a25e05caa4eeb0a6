//! What ShareFetch and ShareAcknowledge have in common.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{LogId, OpId};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use ackord_share_partition::AckRange;

use super::super::Broker;
use super::super::share_sessions::Existence;
use crate::group::state_partition_for;
use crate::metadata::{SHARE_STATE_TOPIC, TXN_STATE_TOPIC};

/// The acknowledgements of one partition in a request.
#[derive(Debug)]
pub(super) struct PartitionAcks {
    pub(super) id: LogId,
    pub(super) ranges: Vec<AckRange>,
}

/// The acknowledgements of a ShareFetch or a ShareAcknowledge request, by partition. Their topics
/// are types of their own in each message, of one shape.
macro_rules! acks_of {
    ($topics:expr) => {
        $topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(move |partition| {
                $crate::broker::api::share_common::PartitionAcks {
                    id: ackord_machine::LogId {
                        topic: topic.topic_id,
                        partition: partition.partition_index,
                    },
                    ranges: partition
                        .acknowledgement_batches
                        .iter()
                        .map(|batch| ackord_share_partition::AckRange {
                            first: batch.first_offset,
                            last: batch.last_offset,
                            types: batch.acknowledge_types.clone(),
                        })
                        .collect(),
                }
            })
        })
    };
}

pub(super) use acks_of;

/// The acknowledgements of each partition. A partition that comes again goes on with its ranges, so
/// that it is answered once and for all of them. (In Kafka only the last ones count.)
pub(super) fn of_each_partition(named: impl Iterator<Item = PartitionAcks>) -> Vec<PartitionAcks> {
    let mut all: Vec<PartitionAcks> = Vec::new();
    let mut places: BTreeMap<LogId, usize> = BTreeMap::new();
    for acks in named {
        let place = *places.entry(acks.id).or_insert(all.len());
        match all.get_mut(place) {
            Some(own) => own.ranges.extend(acks.ranges),
            None => all.push(acks),
        }
    }
    all
}

/// Group and member of a request; both have to be there.
pub(super) fn group_and_member(
    group: Option<&Str>,
    member: Option<&Str>,
) -> Result<(Str, Str), ErrorCode> {
    match (group, member) {
        (Some(group), Some(member)) if !group.is_empty() && !member.is_empty() => {
            Ok((group.clone(), member.clone()))
        }
        _ => Err(ErrorCode::INVALID_REQUEST),
    }
}

/// Whether a request may contain these acknowledge types: RENEW exists from version 2 on, and only
/// where the request says so (KIP-1222).
pub(super) fn check_types(ranges: &[AckRange], version: i16, renew: bool) -> Result<(), ErrorCode> {
    let most = if version >= 2 && renew { 4 } else { 3 };
    let fits = ranges
        .iter()
        .flat_map(|range| &range.types)
        .all(|kind| (0..=most).contains(kind));
    if fits {
        Ok(())
    } else {
        Err(ErrorCode::INVALID_REQUEST)
    }
}

impl Broker {
    pub(in crate::broker) fn version(&self, slot: u64) -> i16 {
        self.connections
            .request(slot)
            .map_or(0, |meta| meta.version)
    }

    /// Whether a transaction coordinator's state is being read back.
    pub(in crate::broker) fn is_tc_frozen(&self, partition: i32) -> bool {
        let log = self.metadata.log(TXN_STATE_TOPIC, partition);
        log.is_some_and(|log| self.frozen.contains(&log))
    }

    /// The partitions of `__share_group_state` that have what `logs` are to a group, each once.
    pub(super) fn state_partitions_of(
        &self,
        group: &str,
        logs: impl Iterator<Item = LogId>,
    ) -> Vec<(Str, i32)> {
        let count = self.share_state_partitions();
        let partitions: BTreeSet<i32> = logs
            .map(|log| state_partition_for(group, log.topic, log.partition, count))
            .collect();
        let topic = Str::from(SHARE_STATE_TOPIC);
        let all = partitions.into_iter();
        all.map(|index| (topic.clone(), index)).collect()
    }

    /// The newest append that the states of these share partitions depend on, unless all is durable.
    ///
    /// What a leader answers without an append of its own may follow from one under way: a record
    /// that was released, a start offset that has passed. It is told when that is durable.
    pub(super) fn share_state_gate(
        &self,
        group: &str,
        shares: impl Iterator<Item = LogId>,
    ) -> Option<OpId> {
        let appends = shares.filter_map(|id| self.journal.newest(self.share_state_log(group, id)?));
        appends.max()
    }

    /// The partition of `__share_group_state` that has what a log is to a group.
    fn share_state_log(&self, group: &str, id: LogId) -> Option<LogId> {
        let count = self.share_state_partitions();
        let own = state_partition_for(group, id.topic, id.partition, count);
        self.metadata.log(SHARE_STATE_TOPIC, own)
    }

    /// Whether the state of a share partition is being read back.
    pub(in crate::broker) fn is_sgc_frozen(&self, group: &str, id: LogId) -> bool {
        let log = self.share_state_log(group, id);
        log.is_some_and(|log| self.frozen.contains(&log))
    }

    pub(super) fn existence(&self, id: LogId) -> Existence {
        match self.metadata.topic_by_id(id.topic) {
            None => Existence::NoTopic,
            Some(topic) if topic.is_internal() => Existence::NoPartition,
            Some(topic) if (0..topic.partitions).contains(&id.partition) => Existence::Exists,
            Some(_) => Existence::NoPartition,
        }
    }

    /// What is wrong with a partition that a share request names.
    pub(super) fn check_share_partition(&self, id: LogId) -> Result<(), ErrorCode> {
        self.existence(id).check()?;
        self.readable_log(id).map(|_| ())
    }

    /// Has everything that waits for a log look again.
    pub(in crate::broker) fn wake_log(&mut self, log: LogId) {
        self.woken.extend(self.waits.on(log));
    }

    /// Has the waiting ShareFetches of a group on a partition look again.
    pub(in crate::broker) fn wake_share_fetches(&mut self, log: LogId, group: &str) {
        self.woken.extend(self.waits.share_fetches(log, group));
    }

    /// The share partitions whose states a log holds are unknown now: they are read again.
    pub(in crate::broker) fn forget_shares_of(&mut self, state_log: LogId) {
        if self.sgc_of(state_log).is_none() {
            return;
        }
        let count = self.share_state_partitions();
        let shares = self
            .leaders
            .iter()
            .flat_map(|(log, leader)| leader.groups().map(move |group| (*log, group.clone())));
        let lost: Vec<(LogId, Str)> = shares
            .filter(|(log, group)| {
                state_partition_for(group, log.topic, log.partition, count) == state_log.partition
            })
            .collect();
        for (log, group) in lost {
            self.with_leader(log, &group, None, |leader, _, out| {
                leader.forget(&group, out)
            });
            self.wake_share_fetches(log, &group);
        }
    }

    /// Renews what follows from a changed configuration of a topic or group.
    pub(in crate::broker) fn apply_config_change(&mut self, resource_type: i8, name: &str) {
        self.dead_letters.retry();
        if resource_type == crate::metadata::resource::GROUP {
            self.settings.remove(name);
            let config = self.group_config(name);
            if let Some(group) = self.groups.get_mut(name) {
                group.set_config(config);
            }
            let settings = self.share_settings(name).partition_config();
            for leader in self.leaders.values_mut() {
                leader.set_config(name, &settings);
            }
        } else if let Some(topic) = self.metadata.topic(name) {
            let logs: Vec<LogId> = topic.logs().collect();
            let config = self.log_config(name);
            for id in logs {
                if let Some(log) = self.logs.get_mut(&id) {
                    log.set_config(config.clone());
                }
                self.plan_retention(id);
            }
        }
    }
}

/// Groups results by topic, keeping the order in which topics first came.
pub(super) fn by_topic<T>(results: Vec<(Uuid, T)>) -> Vec<(Uuid, Vec<T>)> {
    let mut topics: Vec<(Uuid, Vec<T>)> = Vec::new();
    let mut places: BTreeMap<Uuid, usize> = BTreeMap::new();
    for (topic, result) in results {
        let place = *places.entry(topic).or_insert_with(|| {
            topics.push((topic, Vec::new()));
            topics.len() - 1
        });
        if let Some((_, list)) = topics.get_mut(place) {
            list.push(result);
        }
    }
    topics
}
