//! Ways in which a record ends without an acknowledgement: its topic is deleted, its log starts behind
//! it or is compacted, or it was delivered as often as it may be.

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::{Account, ShareRecord};
use crate::script::{Pairs, TopicPartition};
use crate::steps::Session;

/// Kafka's `group.share.delivery.count.limit`.
const DEFAULT_LIMIT: i16 = 5;

/// How often records of a group may be delivered: the smallest limit that it had.
#[derive(Debug)]
pub(super) struct DeliveryLimits {
    of_all: i16,
    of_groups: BTreeMap<String, i16>,
    /// Groups in transactional mode (KIP-1289), where the limit ends nothing.
    without: BTreeSet<String>,
}

impl Default for DeliveryLimits {
    fn default() -> Self {
        DeliveryLimits {
            of_all: DEFAULT_LIMIT,
            of_groups: BTreeMap::new(),
            without: BTreeSet::new(),
        }
    }
}

impl DeliveryLimits {
    pub(super) fn configure_broker(&mut self, configs: &Pairs) {
        let mut own = configs
            .iter()
            .filter(|(name, _)| name == "group.share.delivery.count.limit");
        if let Some(limit) = own.next_back().and_then(|(_, text)| text.parse().ok()) {
            self.of_all = limit;
        }
    }

    pub(super) fn configure(&mut self, group: &str, configs: &Pairs) {
        for (name, value) in configs {
            match (name.as_str(), value.as_str(), value.parse::<i16>()) {
                ("share.delivery.count.limit", _, Ok(limit)) => {
                    let own = self.of_groups.entry(group.to_string()).or_insert(limit);
                    *own = limit.min(*own);
                }
                ("share.acknowledgement.mode", "transactional", _) => {
                    self.without.insert(group.to_string());
                }
                _ => {}
            }
        }
    }

    fn of(&self, group: &str) -> Option<i16> {
        if self.without.contains(group) {
            return None;
        }
        Some(self.of_groups.get(group).copied().unwrap_or(self.of_all))
    }
}

/// How a record ended without an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was delivered as often as it may be.
    Limit,
    /// Its log starts behind it, or was compacted.
    Removed,
}

impl Account {
    /// A topic was deleted, or nobody knows whether.
    pub(super) fn note_deletion(&mut self, name: &str, id: Uuid, deleted: bool) {
        self.deleted.insert(name.to_string());
        if !deleted {
            self.doubtful.insert(name.to_string(), id);
            return;
        }
        self.doubtful.remove(name);
        self.gone.insert(id, name.to_string());
        let mut removed = 0;
        let mut stays = |own: &TopicPartition| {
            let stays = own.topic != *name;
            removed += usize::from(!stays);
            stays
        };
        for transaction in &mut self.transactions {
            transaction.outputs.retain(|(own, ..)| stays(own));
            transaction.staged.retain(|(_, own, _)| stays(own));
            transaction.offsets.retain(|((_, own), _)| stays(own));
        }
        self.plain.retain(|(_, own, _)| own.topic != *name);
        self.settled.retain(|(_, own, _)| own.topic != *name);
        self.removed += removed;
    }

    /// What is gone has to stay so, and of what is in doubt it is seen now.
    pub(super) fn judge_deletions(&mut self, session: &Session<'_>) -> Vec<String> {
        for (name, id) in std::mem::take(&mut self.doubtful) {
            if session.arm.log_start(id, 0).is_none() {
                self.note_deletion(&name, id, true);
            }
        }
        let back = |(id, _): &(&Uuid, &String)| session.arm.log_start(**id, 0).is_some();
        let back = self.gone.iter().filter(back);
        back.map(|(_, name)| format!("the deleted topic {name} is back"))
            .collect()
    }

    /// Where a log starts; the end of everything where there is none.
    pub(super) fn start_of(&self, session: &Session<'_>, partition: &TopicPartition) -> i64 {
        let id = session.clients.topic_id(&partition.topic);
        let start = session.arm.log_start(id, partition.partition);
        start.unwrap_or(i64::MAX)
    }

    /// Records of a log are compacted away.
    pub(super) fn note_compaction(&mut self, partition: &TopicPartition, gone: &[(i64, i64)]) {
        let compacted = self.compacted.entry(partition.clone()).or_default();
        compacted.extend_from_slice(gone);
    }

    pub(super) fn is_compacted(&self, partition: &TopicPartition, offset: i64) -> bool {
        let mut gone = self.compacted.get(partition).into_iter().flatten();
        gone.any(|(first, last)| (*first..=*last).contains(&offset))
    }

    /// How a record may have ended by itself.
    pub(super) fn ended(&self, session: &Session<'_>, record: &ShareRecord) -> Option<Ended> {
        let (group, partition, offset) = record;
        if *offset < self.start_of(session, partition) || self.is_compacted(partition, *offset) {
            return Some(Ended::Removed);
        }
        let limit = self.limits.of(group)?;
        let id = session.clients.topic_id(&partition.topic);
        let key = (Str::from(group.as_str()), id, partition.partition);
        let counts = session.arm.traffic()?.delivered().get(&key)?;
        (counts.get(offset)? >= &limit).then_some(Ended::Limit)
    }

    /// Records that were sent to a member, of topics that are there.
    pub(super) fn delivered(&self, session: &Session<'_>) -> BTreeSet<ShareRecord> {
        let mut records = BTreeSet::new();
        let Some(traffic) = session.arm.traffic() else {
            return records;
        };
        for ((group, id, partition), counts) in traffic.delivered() {
            let Some(name) = session.clients.topic_name(*id) else {
                continue;
            };
            let partition = TopicPartition {
                topic: name.to_string(),
                partition: *partition,
            };
            let record = |offset: &i64| (group.to_string(), partition.clone(), *offset);
            records.extend(counts.keys().map(record));
        }
        records
    }
}
