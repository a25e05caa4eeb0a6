//! OffsetFetch (key 9).

use ackord_machine::OpId;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponseGroup,
    OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use ackord_proto::messages::{OffsetFetchRequest, OffsetFetchResponse};
use ackord_proto::str::Str;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Broker;
use super::super::journal::later;
use crate::consumer_group::{FetchedOffset, OffsetSelection};

/// A topic and what is known of its partitions.
type TopicOffsets = (Str, Vec<FetchedOffset>);

/// From this version on several groups are asked for at once (KIP-709).
const FIRST_BATCHED: i16 = 8;
/// From this version on topics are named by their ids (KIP-848).
const FIRST_WITH_IDS: i16 = 10;
/// From this version on there is a code for the whole request.
const FIRST_WITH_TOP_LEVEL: i16 = 2;

impl Broker {
    pub(super) fn offset_fetch(&mut self, slot: u64, request: OffsetFetchRequest) {
        let version = self.version(slot);
        let require_stable = request.require_stable;
        let groups = match version {
            FIRST_BATCHED.. => request.groups,
            _ => vec![one_group(request)],
        };
        let mut gate = None;
        let answers = groups.into_iter();
        let answers: Vec<OffsetFetchResponseGroup> = answers
            .map(|group| self.fetch_group((slot, version), group, require_stable, &mut gate))
            .collect();
        let response = match version {
            FIRST_BATCHED.. => OffsetFetchResponse {
                groups: answers,
                ..Default::default()
            },
            _ => unbatched(version, answers),
        };
        self.respond(slot, response, gate);
    }

    fn fetch_group(
        &self,
        (slot, version): (u64, i16),
        group: OffsetFetchRequestGroup,
        require_stable: bool,
        gate: &mut Option<OpId>,
    ) -> OffsetFetchResponseGroup {
        let mut response = OffsetFetchResponseGroup {
            group_id: group.group_id,
            ..Default::default()
        };
        if let Err(code) = self.check_group(slot, &response.group_id) {
            response.error_code = code;
            if version < FIRST_WITH_TOP_LEVEL {
                let topics = group.topics.unwrap_or_default();
                let refused = topics.iter().map(|topic| refused(topic, code));
                response.topics = refused.collect();
            }
            return response;
        }
        let partition = match self.existing_coordinator(&response.group_id) {
            Ok(partition) => partition,
            Err(code) => {
                response.error_code = code;
                // Version 1 can say it at partitions only.
                let topics = group.topics.unwrap_or_default();
                let failed = topics.iter().map(|topic| refused(topic, code));
                response.topics = failed.collect();
                return response;
            }
        };
        let by_id = version >= FIRST_WITH_IDS;
        let coordinator = partition.and_then(|partition| self.gcs.get(&partition));
        *gate = later(
            *gate,
            partition.and_then(|partition| self.gc_gate(partition)),
        );
        let (member, epoch) = (group.member_id.as_ref(), group.member_epoch);
        let checked = coordinator.map(|gc| gc.check_fetch(&response.group_id, member, epoch));
        if let Some(Err(code)) = checked {
            response.error_code = code;
            return response;
        }
        let fetch = |selection| match coordinator {
            Some(gc) => gc.fetch_offsets(&response.group_id, &selection, require_stable),
            None => nothing(selection),
        };
        response.topics = match group.topics {
            None => self.all_offsets(by_id, fetch(OffsetSelection::All)),
            Some(topics) => topics
                .into_iter()
                .map(|topic| self.topic_offsets((slot, by_id), topic, fetch))
                .collect(),
        };
        response
    }

    fn all_offsets(&self, by_id: bool, all: Vec<TopicOffsets>) -> Vec<OffsetFetchResponseTopics> {
        let topics = all.into_iter().filter_map(|(name, offsets)| {
            let id = self.metadata.topic(&name).map(|topic| topic.id);
            // A topic without an id cannot be named.
            (!by_id || id.is_some()).then(|| OffsetFetchResponseTopics {
                topic_id: id.unwrap_or_default(),
                name,
                partitions: offsets.into_iter().map(answer).collect(),
                ..Default::default()
            })
        });
        topics.collect()
    }

    fn topic_offsets(
        &self,
        (slot, by_id): (u64, bool),
        topic: OffsetFetchRequestTopics,
        fetch: impl Fn(OffsetSelection) -> Vec<TopicOffsets>,
    ) -> OffsetFetchResponseTopics {
        let checked = match by_id {
            true => self.check_topic_id(slot, topic.topic_id),
            false => self.check_topic(slot, &topic.name),
        };
        if let Err(code) = checked {
            return refused(&topic, code);
        }
        let name = match by_id {
            false => topic.name.clone(),
            true => match self.metadata.topic_by_id(topic.topic_id) {
                Some(found) => found.name.clone(),
                None => return refused(&topic, ErrorCode::UNKNOWN_TOPIC_ID),
            },
        };
        let these = vec![(name, topic.partition_indexes)];
        let fetched = fetch(OffsetSelection::These(these)).into_iter();
        let offsets = fetched.flat_map(|(_, offsets)| offsets);
        OffsetFetchResponseTopics {
            name: topic.name,
            topic_id: topic.topic_id,
            partitions: offsets.map(answer).collect(),
            ..Default::default()
        }
    }
}

fn one_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup {
    let topics = request.topics.map(|topics| {
        let topics = topics.into_iter().map(|topic| OffsetFetchRequestTopics {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            ..Default::default()
        });
        topics.collect()
    });
    OffsetFetchRequestGroup {
        group_id: request.group_id,
        topics,
        ..Default::default()
    }
}

/// The form of versions that know one group.
fn unbatched(version: i16, answers: Vec<OffsetFetchResponseGroup>) -> OffsetFetchResponse {
    let mut response = OffsetFetchResponse::default();
    for group in answers {
        if version >= FIRST_WITH_TOP_LEVEL {
            response.error_code = group.error_code;
        }
        let topics = group.topics.into_iter();
        let topics = topics.map(|topic| OffsetFetchResponseTopic {
            name: topic.name,
            partitions: topic
                .partitions
                .into_iter()
                .map(unbatched_partition)
                .collect(),
            ..Default::default()
        });
        response.topics.extend(topics);
    }
    response
}

fn unbatched_partition(partition: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition {
    OffsetFetchResponsePartition {
        partition_index: partition.partition_index,
        committed_offset: partition.committed_offset,
        committed_leader_epoch: partition.committed_leader_epoch,
        metadata: partition.metadata,
        error_code: partition.error_code,
        ..Default::default()
    }
}

/// No group has ever been.
fn nothing(selection: OffsetSelection) -> Vec<TopicOffsets> {
    let OffsetSelection::These(topics) = selection else {
        return Vec::new();
    };
    let topics = topics.into_iter().map(|(topic, partitions)| {
        let none = partitions.into_iter().map(|partition| FetchedOffset {
            partition,
            offset: Ok(None),
        });
        (topic, none.collect())
    });
    topics.collect()
}

fn answer(fetched: FetchedOffset) -> OffsetFetchResponsePartitions {
    let none = OffsetFetchResponsePartitions {
        partition_index: fetched.partition,
        committed_offset: -1,
        metadata: Some(Str::EMPTY),
        ..Default::default()
    };
    match fetched.offset {
        Ok(None) => none,
        Ok(Some(committed)) => OffsetFetchResponsePartitions {
            committed_offset: committed.offset,
            committed_leader_epoch: committed.leader_epoch,
            metadata: Some(committed.metadata),
            ..none
        },
        Err(error_code) => OffsetFetchResponsePartitions { error_code, ..none },
    }
}

fn refused(topic: &OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics {
    let partitions = topic.partition_indexes.iter().map(|&partition| {
        answer(FetchedOffset {
            partition,
            offset: Err(code),
        })
    });
    OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: partitions.collect(),
        ..Default::default()
    }
}
