//! Beginning the state of share partitions.
//!
//! A share partition is assigned only once its share coordinator has a state for it, else a member
//! would fetch from a partition whose leader cannot load it. Every request is sent again until it
//! is answered with success, byte for byte the same for a partition, and a share coordinator keeps
//! a state that it has.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{Body, Envelope, MonoTime, Role};
use ackord_proto::coordinator_records::{
    ShareGroupStatePartitionMetadataValue, share_group::TopicPartitionsInfo,
};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::initialize_share_group_state::{InitializeStateData, PartitionData};
use ackord_proto::messages::{InitializeShareGroupStateRequest, InitializeShareGroupStateResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::java_hash::state_partition_for;
use super::share_group::{TopicInfo, Topics};

/// Time until a request without a good answer is sent again.
const RETRY_MS: i64 = 1000;

/// The start of a share partition is not known yet: its leader takes it from
/// `share.auto.offset.reset` (KIP-932).
const UNINITIALISED_OFFSET: i64 = -1;

/// Who asks, and how many share coordinators there are to ask.
pub(super) struct Asker<'a> {
    pub(super) group: &'a Str,
    pub(super) group_epoch: i32,
    pub(super) state_partitions: i32,
}

/// The share partitions of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct ShareStates {
    topics: BTreeMap<Uuid, TopicStates>,
    /// Requests without any answer.
    outstanding: BTreeSet<u64>,
    correlation: u64,
    retry_at: Option<MonoTime>,
}

#[derive(Clone, Debug)]
struct TopicStates {
    name: Str,
    /// Partitions that the topic had when the group came to know it.
    known: i32,
    partitions: BTreeMap<i32, PartitionState>,
}

#[derive(Clone, Copy, Debug)]
struct PartitionState {
    /// Group epoch of the first request.
    state_epoch: i32,
    start_offset: i64,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Asked,
    Initialised,
}

type BySgc = BTreeMap<i32, BTreeMap<Uuid, Vec<PartitionData>>>;

impl ShareStates {
    /// What the log has, of a group with this epoch.
    pub(super) fn restored(
        stored: Option<&ShareGroupStatePartitionMetadataValue>,
        group_epoch: i32,
    ) -> Self {
        let mut topics: BTreeMap<Uuid, TopicStates> = BTreeMap::new();
        let kinds = stored.into_iter().flat_map(|stored| {
            [
                (&stored.initialized_topics, Progress::Initialised),
                (&stored.initializing_topics, Progress::Asked),
            ]
        });
        for (infos, progress) in kinds {
            for info in infos {
                let states = topics.entry(info.topic_id).or_insert_with(|| TopicStates {
                    name: info.topic_name.clone(),
                    // What is not initialised although others are came to a topic that was known.
                    known: info.partitions.iter().max().map_or(0, |last| last + 1),
                    partitions: BTreeMap::new(),
                });
                for &partition in &info.partitions {
                    let state = PartitionState {
                        state_epoch: group_epoch,
                        start_offset: states.first_offset(partition),
                        progress,
                    };
                    states.partitions.insert(partition, state);
                }
            }
        }
        ShareStates {
            topics,
            ..ShareStates::default()
        }
    }

    /// The record of all share partitions; none where there are none.
    pub(super) fn to_store(&self) -> Option<ShareGroupStatePartitionMetadataValue> {
        let of = |progress: Progress| {
            let infos = self.topics.iter().map(|(id, states)| TopicPartitionsInfo {
                topic_id: *id,
                topic_name: states.name.clone(),
                partitions: states.at(progress).collect(),
                ..TopicPartitionsInfo::default()
            });
            let some = infos.filter(|info| !info.partitions.is_empty());
            some.collect::<Vec<_>>()
        };
        let value = ShareGroupStatePartitionMetadataValue {
            initializing_topics: of(Progress::Asked),
            initialized_topics: of(Progress::Initialised),
            ..ShareGroupStatePartitionMetadataValue::default()
        };
        (value != ShareGroupStatePartitionMetadataValue::default()).then_some(value)
    }

    /// Forgets topics that were deleted, also where a new one has their name.
    pub(super) fn forget_deleted(&mut self, topics: &dyn Topics) {
        self.topics
            .retain(|id, states| topics.topic(&states.name).is_some_and(|now| now.id == *id));
    }

    /// A share partition has a state by another way.
    pub(super) fn begun(&mut self, name: &Str, topic: TopicInfo, partition: i32, epoch: i32) {
        let states = self.topics.entry(topic.id).or_insert_with(|| TopicStates {
            name: name.clone(),
            known: topic.partitions,
            partitions: BTreeMap::new(),
        });
        let state = PartitionState {
            state_epoch: epoch,
            start_offset: UNINITIALISED_OFFSET,
            progress: Progress::Initialised,
        };
        states.partitions.insert(partition, state);
    }

    /// A topic without states is one that the group does not know.
    pub(super) fn forget_topic(&mut self, topic: Uuid) {
        self.topics.remove(&topic);
    }

    /// Requests for all `wanted` partitions that were never asked for and, where a retry is due,
    /// for those without success so far.
    pub(super) fn ask(
        &mut self,
        now: MonoTime,
        asker: &Asker<'_>,
        wanted: &BTreeMap<Str, TopicInfo>,
    ) -> Vec<Envelope> {
        let due = self.retry_at.is_none_or(|at| at <= now);
        let mut requests = BySgc::new();
        let mut lacking = false;
        for (name, info) in wanted {
            let states = self.topics.entry(info.id).or_insert_with(|| TopicStates {
                name: name.clone(),
                known: info.partitions,
                partitions: BTreeMap::new(),
            });
            let added = states.add(info.partitions, asker.group_epoch);
            for (partition, state) in states.lacking() {
                lacking = true;
                if due || added.contains(&partition) {
                    let sgc = state_partition_for(
                        asker.group,
                        info.id,
                        partition,
                        asker.state_partitions,
                    );
                    let of_topic = requests.entry(sgc).or_default().entry(info.id).or_default();
                    of_topic.push(state.request(partition));
                }
            }
        }
        self.plan_retry(now, due, lacking);
        requests
            .into_iter()
            .map(|(sgc, topics)| self.envelope(asker, sgc, topics))
            .collect()
    }

    fn plan_retry(&mut self, now: MonoTime, due: bool, lacking: bool) {
        if !lacking {
            self.retry_at = None;
        } else if due {
            self.retry_at = Some(now.plus_millis(RETRY_MS));
        }
        if due || !lacking {
            self.outstanding.clear();
        }
    }

    fn envelope(
        &mut self,
        asker: &Asker<'_>,
        sgc: i32,
        topics: BTreeMap<Uuid, Vec<PartitionData>>,
    ) -> Envelope {
        self.correlation += 1;
        self.outstanding.insert(self.correlation);
        let topics = topics
            .into_iter()
            .map(|(topic_id, partitions)| InitializeStateData {
                topic_id,
                partitions,
                ..InitializeStateData::default()
            });
        Envelope {
            from: Role::Group(asker.group.clone()),
            to: Role::Sgc(sgc),
            correlation: self.correlation,
            body: Body::InitializeShareGroupState(InitializeShareGroupStateRequest {
                group_id: asker.group.clone(),
                topics: topics.collect(),
                ..InitializeShareGroupStateRequest::default()
            }),
        }
    }

    /// Takes an answer. `true`: no other answer is to come before the next retry.
    pub(super) fn answered(
        &mut self,
        correlation: u64,
        response: &InitializeShareGroupStateResponse,
    ) -> bool {
        self.outstanding.remove(&correlation);
        for topic in &response.results {
            let Some(states) = self.topics.get_mut(&topic.topic_id) else {
                continue;
            };
            for partition in &topic.partitions {
                // Fenced: there is a state already, of a higher epoch.
                let exists = matches!(
                    partition.error_code,
                    ErrorCode::NONE | ErrorCode::FENCED_STATE_EPOCH
                );
                if let Some(state) = states
                    .partitions
                    .get_mut(&partition.partition)
                    .filter(|_| exists)
                {
                    state.progress = Progress::Initialised;
                }
            }
        }
        self.outstanding.is_empty()
    }

    /// Partitions of the topic that have a state.
    pub(super) fn initialised(&self, topic: Uuid) -> BTreeSet<i32> {
        let states = self
            .topics
            .get(&topic)
            .into_iter()
            .flat_map(|states| &states.partitions);
        states
            .filter(|(_, state)| state.progress == Progress::Initialised)
            .map(|(partition, _)| *partition)
            .collect()
    }

    /// All topics with a state, and their partitions that have one.
    pub(super) fn all_initialised(&self) -> BTreeMap<Uuid, BTreeSet<i32>> {
        let all = self
            .topics
            .keys()
            .map(|topic| (*topic, self.initialised(*topic)));
        all.filter(|(_, partitions)| !partitions.is_empty())
            .collect()
    }

    /// Whether a partition of the topic has no state yet.
    pub(super) fn lacks(&self, topic: Uuid) -> bool {
        self.topics
            .get(&topic)
            .is_some_and(|states| states.lacking().next().is_some())
    }

    /// When to call [`ask`](Self::ask) again.
    pub(super) fn retry_at(&self) -> Option<MonoTime> {
        self.retry_at
    }
}

impl TopicStates {
    fn at(&self, progress: Progress) -> impl Iterator<Item = i32> {
        let all = self.partitions.iter();
        let own = all.filter(move |(_, state)| state.progress == progress);
        own.map(|(partition, _)| *partition)
    }

    /// A partition that comes to a topic the group knows starts at its beginning: its records came
    /// after the group did (KIP-932).
    fn first_offset(&self, partition: i32) -> i64 {
        if partition < self.known {
            UNINITIALISED_OFFSET
        } else {
            0
        }
    }

    /// Adds what is new of `count` partitions, and returns it.
    fn add(&mut self, count: i32, group_epoch: i32) -> BTreeSet<i32> {
        let added: BTreeSet<i32> = (0..count)
            .filter(|partition| !self.partitions.contains_key(partition))
            .collect();
        for partition in &added {
            let state = PartitionState {
                state_epoch: group_epoch,
                start_offset: self.first_offset(*partition),
                progress: Progress::Asked,
            };
            self.partitions.insert(*partition, state);
        }
        added
    }

    fn lacking(&self) -> impl Iterator<Item = (i32, PartitionState)> {
        let all = self
            .partitions
            .iter()
            .map(|(partition, state)| (*partition, *state));
        all.filter(|(_, state)| state.progress == Progress::Asked)
    }
}

impl PartitionState {
    fn request(&self, partition: i32) -> PartitionData {
        PartitionData {
            partition,
            state_epoch: self.state_epoch,
            start_offset: self.start_offset,
            ..PartitionData::default()
        }
    }
}
