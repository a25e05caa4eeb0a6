//! What share groups and the share coordinator count, under the names and labels of Kafka's
//! `ShareGroupMetrics`, `BrokerTopicMetrics` and `share-coordinator-metrics`. None of it falls when a
//! share partition leaves memory.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;
use ackord_share_partition::{RecordEvent, SharePartition};

use super::Broker;
use super::figures::saturated;
use crate::metadata::SHARE_STATE_TOPIC;
use crate::metrics::MetricFamily;
use crate::metrics::MetricKind::{Counter, Gauge};

/// Acknowledge types by the name that Kafka's metric has for them; gaps are not among them.
const TYPES: [(&str, RecordEvent); 4] = [
    ("Accept", RecordEvent::Accept),
    ("Reject", RecordEvent::Reject),
    ("Release", RecordEvent::Release),
    ("Renew", RecordEvent::Renew),
];

/// How many records of each type a share partition has met.
pub(super) type Acknowledged = [u64; TYPES.len()];

/// See [`Acknowledged`].
pub(super) fn acknowledged(partition: &SharePartition) -> Acknowledged {
    TYPES.map(|(_, event)| partition.records_met(event))
}

/// Partitions in requests, and those of them that were refused.
#[derive(Clone, Copy, Debug, Default)]
struct Requests {
    all: u64,
    failed: u64,
}

/// Dead letters of one group.
#[derive(Clone, Copy, Debug, Default)]
struct DeadLetters {
    records: u64,
    writes: u64,
    failed: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ShareCounters {
    acknowledged: Acknowledged,
    fetches: BTreeMap<Uuid, Requests>,
    acknowledgements: BTreeMap<Uuid, Requests>,
    dead_letters: BTreeMap<Str, DeadLetters>,
    state_writes: u64,
}

impl ShareCounters {
    /// What an acknowledgement has changed.
    pub(super) fn acknowledged(&mut self, before: Acknowledged, after: Acknowledged) {
        for (count, (before, after)) in self
            .acknowledged
            .iter_mut()
            .zip(before.into_iter().zip(after))
        {
            *count += after.saturating_sub(before);
        }
    }

    pub(super) fn fetched(&mut self, topic: Uuid, failed: bool) {
        self.fetches.entry(topic).or_default().add(failed);
    }

    pub(super) fn acknowledgement(&mut self, topic: Uuid, failed: bool) {
        self.acknowledgements.entry(topic).or_default().add(failed);
    }

    /// A batch of so many copies was appended to the queue of a group.
    pub(super) fn dead_letters_written(&mut self, group: &Str, records: u64) {
        let counts = self.dead_letters.entry(group.clone()).or_default();
        counts.records += records;
        counts.writes += 1;
    }

    /// The queue of a group could not be written.
    pub(super) fn dead_letters_failed(&mut self, group: &Str) {
        let counts = self.dead_letters.entry(group.clone()).or_default();
        counts.writes += 1;
        counts.failed += 1;
    }

    /// States of so many share partitions were written.
    pub(super) fn state_written(&mut self, partitions: usize) {
        self.state_writes += partitions as u64;
    }

    pub(super) fn forget_topic(&mut self, topic: Uuid) {
        self.fetches.remove(&topic);
        self.acknowledgements.remove(&topic);
    }

    pub(super) fn forget_group(&mut self, group: &str) {
        self.dead_letters.remove(group);
    }
}

impl Requests {
    fn add(&mut self, failed: bool) {
        self.all += 1;
        self.failed += u64::from(failed);
    }
}

impl Broker {
    /// What share groups count.
    pub(super) fn share_counter_figures(&self) -> Vec<MetricFamily> {
        let counts = &self.share_counters;
        let mut acknowledged = MetricFamily::new(
            Counter,
            "kafka_server_sharegroupmetrics_recordacknowledgements_total",
            "Records by the type with which members acknowledged them outside of transactions.",
        );
        for ((name, _), count) in TYPES.iter().zip(counts.acknowledged) {
            acknowledged.push(vec![("ackType", name.to_string())], saturated(count));
        }
        let mut families = vec![acknowledged];
        families.extend(self.share_request_figures());
        families.extend(self.dead_letter_figures());
        families
    }

    fn share_request_figures(&self) -> Vec<MetricFamily> {
        let family = |name, help| MetricFamily::new(Counter, name, help);
        let mut families = vec![
            family(
                "kafka_server_brokertopicmetrics_totalsharefetchrequests_total",
                "Partitions in ShareFetch requests.",
            ),
            family(
                "kafka_server_brokertopicmetrics_failedsharefetchrequests_total",
                "Partitions in ShareFetch requests that were refused.",
            ),
            family(
                "kafka_server_brokertopicmetrics_totalshareacknowledgementrequests_total",
                "Partitions in ShareAcknowledge requests.",
            ),
            family(
                "kafka_server_brokertopicmetrics_failedshareacknowledgementrequests_total",
                "Partitions in ShareAcknowledge requests that were refused.",
            ),
        ];
        for topic in self.metadata.topics() {
            let of = |requests: &BTreeMap<Uuid, Requests>| {
                requests.get(&topic.id).copied().unwrap_or_default()
            };
            let counts = &self.share_counters;
            let (fetches, acks) = (of(&counts.fetches), of(&counts.acknowledgements));
            let figures = [fetches.all, fetches.failed, acks.all, acks.failed];
            for (family, figure) in families.iter_mut().zip(figures) {
                family.push(vec![("topic", topic.name.to_string())], saturated(figure));
            }
        }
        families
    }

    fn dead_letter_figures(&self) -> Vec<MetricFamily> {
        let family = |name, help| MetricFamily::new(Counter, name, help);
        let mut families = vec![
            family(
                "kafka_server_sharegroupmetrics_deadletterqueuerecordcount_count",
                "Copies of records that were appended to the dead letter queue of a group.",
            ),
            family(
                "kafka_server_sharegroupmetrics_deadletterqueuetotalproducerequests_total",
                "Batches of copies for the dead letter queue of a group.",
            ),
            family(
                "kafka_server_sharegroupmetrics_deadletterqueuefailedproducerequests_total",
                "Batches of copies that the dead letter queue of a group did not take.",
            ),
        ];
        for (group, letters) in &self.share_counters.dead_letters {
            let figures = [letters.records, letters.writes, letters.failed];
            for (family, figure) in families.iter_mut().zip(figures) {
                family.push(vec![("group", group.to_string())], saturated(figure));
            }
        }
        families
    }

    /// What the share coordinator counts, and where its logs stand.
    pub(super) fn share_coordinator_figures(&self) -> Vec<MetricFamily> {
        let writes = MetricFamily::new(
            Counter,
            "kafka_server_share_coordinator_metrics_write_total",
            "Writes of the state of a share partition.",
        )
        .single(saturated(self.share_counters.state_writes));
        let mut partitions = MetricFamily::new(
            Gauge,
            "kafka_server_share_coordinator_metrics_num_partitions",
            "Partitions of __share_group_state by the state of their coordinator.",
        );
        let mut pruned = MetricFamily::new(
            Gauge,
            "kafka_server_share_coordinator_metrics_last_pruned_offset",
            "Offset up to which a partition of __share_group_state was pruned.",
        );
        let (mut loading, mut active) = (0, 0);
        let logs = self.metadata.topic(SHARE_STATE_TOPIC).into_iter();
        for log in logs.flat_map(|topic| topic.logs()) {
            match self.frozen.contains(&log) {
                true => loading += 1,
                false => active += 1,
            }
            let start = self.logs.get(&log).map_or(0, |log| log.start_offset());
            if start > 0 {
                let labels = vec![
                    ("topic", SHARE_STATE_TOPIC.to_string()),
                    ("partition", log.partition.to_string()),
                ];
                pruned.push(labels, start);
            }
        }
        for (state, count) in [("loading", loading), ("active", active), ("failed", 0)] {
            partitions.push(vec![("state", state.to_string())], count);
        }
        vec![writes, partitions, pruned]
    }
}
