//! Share sessions: one with each node that leads assigned partitions, bound to its connection.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::MonoTime;
use ackord_proto::kip1289::ACKNOWLEDGE_RENEW;
use ackord_proto::messages::share_acknowledge as acknowledge;
use ackord_proto::messages::share_fetch as fetch;
use ackord_proto::uuid::Uuid;

use crate::ranges::RangeMap;

/// Topic id and partition.
pub(super) type Key = (Uuid, i32);

/// Acknowledgements of one partition by offset.
pub(super) type Acks = RangeMap<i8>;

/// The epoch that ends a session.
pub(super) const FINAL_EPOCH: i32 = -1;

/// What is under way in a session; the epoch allows one request at a time.
#[derive(Debug)]
pub(super) enum UnderWay {
    Acknowledge(BTreeMap<Key, Acks>),
    Fetch(BTreeMap<Key, Acks>),
    /// The request that ends the session.
    Final(BTreeMap<Key, Acks>),
}

impl UnderWay {
    pub(super) fn into_acks(self) -> BTreeMap<Key, Acks> {
        match self {
            UnderWay::Acknowledge(acks) | UnderWay::Fetch(acks) | UnderWay::Final(acks) => acks,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Session {
    /// 0 where there is none.
    pub(super) epoch: i32,
    /// What the broker takes for our partitions.
    pub(super) known: BTreeSet<Key>,
    pub(super) acks: BTreeMap<Key, Acks>,
    pub(super) under_way: Option<UnderWay>,
    pub(super) quiet_until: MonoTime,
    pub(super) failures: u32,
}

impl Session {
    /// A request of the session succeeded.
    pub(super) fn step(&mut self) {
        // After the largest epoch comes 1; 0 would open a new session.
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
    }

    /// The session is gone, and with it what was acquired in it.
    pub(super) fn lose(&mut self) {
        self.epoch = 0;
        self.known.clear();
    }

    pub(super) fn acknowledge(&mut self, key: Key, first: i64, last: i64, kind: i8) {
        self.acks.entry(key).or_default().insert(first, last, kind);
    }

    /// A renewal cannot travel with a fetch.
    pub(super) fn has_renewals(&self) -> bool {
        has_renewals(&self.acks)
    }
}

pub(super) fn has_renewals(acks: &BTreeMap<Key, Acks>) -> bool {
    acks.values()
        .any(|acks| acks.iter().any(|(.., kind)| kind == ACKNOWLEDGE_RENEW))
}

/// The topics of a ShareFetch: partitions that are new to the session, and acknowledgements.
pub(super) fn fetch_topics(
    new: &BTreeSet<Key>,
    acks: &BTreeMap<Key, Acks>,
) -> Vec<fetch::FetchTopic> {
    let all: BTreeSet<Key> = new.iter().chain(acks.keys()).copied().collect();
    let mut topics: Vec<fetch::FetchTopic> = Vec::new();
    for (topic_id, partition_index) in all {
        let ranges = acks
            .get(&(topic_id, partition_index))
            .into_iter()
            .flat_map(RangeMap::iter);
        let acknowledgement_batches = ranges
            .map(
                |(first_offset, last_offset, kind)| fetch::AcknowledgementBatch {
                    first_offset,
                    last_offset,
                    acknowledge_types: [kind].into(),
                    ..Default::default()
                },
            )
            .collect();
        let partition = fetch::FetchPartition {
            partition_index,
            acknowledgement_batches,
            ..Default::default()
        };
        match topics.last_mut().filter(|last| last.topic_id == topic_id) {
            Some(last) => last.partitions.push(partition),
            None => topics.push(fetch::FetchTopic {
                topic_id,
                partitions: [partition].into(),
                ..Default::default()
            }),
        }
    }
    topics
}

/// Partitions that the session is to forget.
pub(super) fn forgotten_topics(gone: impl Iterator<Item = Key>) -> Vec<fetch::ForgottenTopic> {
    let mut topics: Vec<fetch::ForgottenTopic> = Vec::new();
    for (topic_id, partition) in gone {
        match topics.last_mut().filter(|last| last.topic_id == topic_id) {
            Some(last) => last.partitions.push(partition),
            None => topics.push(fetch::ForgottenTopic {
                topic_id,
                partitions: [partition].into(),
                ..Default::default()
            }),
        }
    }
    topics
}

/// The topics of a ShareAcknowledge.
pub(super) fn acknowledge_topics(acks: &BTreeMap<Key, Acks>) -> Vec<acknowledge::AcknowledgeTopic> {
    let mut topics: Vec<acknowledge::AcknowledgeTopic> = Vec::new();
    for ((topic_id, partition_index), acks) in acks {
        let acknowledgement_batches = acks
            .iter()
            .map(
                |(first_offset, last_offset, kind)| acknowledge::AcknowledgementBatch {
                    first_offset,
                    last_offset,
                    acknowledge_types: [kind].into(),
                    ..Default::default()
                },
            )
            .collect();
        let partition = acknowledge::AcknowledgePartition {
            partition_index: *partition_index,
            acknowledgement_batches,
            ..Default::default()
        };
        match topics.last_mut().filter(|last| last.topic_id == *topic_id) {
            Some(last) => last.partitions.push(partition),
            None => topics.push(acknowledge::AcknowledgeTopic {
                topic_id: *topic_id,
                partitions: [partition].into(),
                ..Default::default()
            }),
        }
    }
    topics
}
