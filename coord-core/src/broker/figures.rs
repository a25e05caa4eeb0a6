//! The figures of a whole broker, put together when somebody asks.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use ackord_machine::{LogId, Now};
use ackord_share_partition::{RecordEvent, SharePartition};

use super::Broker;
use super::ack_refusals::RefusalKind;
use super::counters::{COUNTED, DURATIONS};
use crate::metadata::{SHARE_STATE_TOPIC, Topic};
use crate::metrics::{MetricFamily, MetricKind};
use crate::txn::TxnDescription;

use MetricKind::{Counter, Gauge, Histogram};

/// A figure of one share partition: its family, and how it is read.
type ShareFigure = (
    MetricKind,
    &'static str,
    &'static str,
    fn(&SharePartition, Now) -> i64,
);

const SHARE_FIGURES: [ShareFigure; 9] = [
    (
        Gauge,
        "kafka_server_sharepartitionmetrics_inflightmessagecount",
        "Records that members or transactions hold.",
        |partition, _| partition.in_flight(),
    ),
    (
        Gauge,
        "kafka_server_sharepartitionmetrics_inflightbatchcount",
        "Ranges of records that members or transactions hold.",
        |partition, _| number(partition.in_flight_ranges()),
    ),
    (
        Counter,
        "kafka_server_sharepartitionmetrics_acquisitionlocktimeout_total",
        "Records whose acquisition lock ran out.",
        |partition, _| count(partition, &[RecordEvent::LockExpired]),
    ),
    (
        Counter,
        "ackord_share_acquired_records_total",
        "Deliveries of records to members.",
        |partition, _| count(partition, &[RecordEvent::Acquire]),
    ),
    (
        Counter,
        "ackord_share_acknowledged_records_total",
        "Records accepted, plainly or by a transaction that committed.",
        |partition, _| {
            let events = [RecordEvent::Accept, RecordEvent::CommitAccept];
            count(partition, &events)
        },
    ),
    (
        Gauge,
        "ackord_share_dead_letters_waiting",
        "Records that wait for their copies in the dead letter queue.",
        |partition, _| partition.archiving_count(),
    ),
    (
        Gauge,
        "ackord_share_pending_records",
        "Records held by transactions that have not ended.",
        |partition, _| partition.pending_count(),
    ),
    (
        Gauge,
        "ackord_share_record_locks_limit",
        "The most records from the start offset on that members and transactions may hold.",
        |partition, _| number(partition.config().max_record_locks),
    ),
    (
        Gauge,
        "ackord_share_oldest_lock_age_ms",
        "How long the oldest acquisition lock has run.",
        |partition, now| partition.oldest_lock_ms(now.mono).unwrap_or(0),
    ),
];

/// Acknowledge types by the name that Kafka's metric has for them, and gaps.
const ACKNOWLEDGE_TYPES: [(&str, RecordEvent); 5] = [
    ("Accept", RecordEvent::Accept),
    ("Gap", RecordEvent::Gap),
    ("Reject", RecordEvent::Reject),
    ("Release", RecordEvent::Release),
    ("Renew", RecordEvent::Renew),
];

/// Ways in which a record ends without being accepted.
const ARCHIVED: [(&str, RecordEvent); 7] = [
    ("delivery_limit", RecordEvent::LimitReached),
    ("rejected", RecordEvent::Reject),
    ("rejected_in_transaction", RecordEvent::CommitReject),
    ("gap", RecordEvent::Gap),
    ("gap_in_transaction", RecordEvent::CommitGap),
    ("below_log_start", RecordEvent::BelowStart),
    ("dead_letter", RecordEvent::DeadLetterWritten),
];

impl Broker {
    /// All figures at `now`. Costs time with the number of partitions, so it is for a scrape now
    /// and then.
    pub fn metrics(&self, now: Now) -> Vec<MetricFamily> {
        let mut families = self.cluster_figures();
        families.extend(self.request_figures());
        families.extend(self.topic_figures());
        families.extend(self.group_figures());
        families.extend(self.share_figures(now));
        families.extend(self.share_counter_figures());
        families.extend(self.share_coordinator_figures());
        families.extend(self.transaction_figures(now));
        families
    }

    fn cluster_figures(&self) -> Vec<MetricFamily> {
        let single = |name, help, value| MetricFamily::new(Gauge, name, help).single(value);
        let counted =
            |name, help, value| MetricFamily::new(Counter, name, help).single(saturated(value));
        let letters = self.dead_letter_counts();
        vec![
            single(
                "kafka_controller_kafkacontroller_globaltopiccount",
                "Topics, internal ones too.",
                number(self.metadata.topics().count()),
            ),
            single(
                "kafka_server_replicamanager_partitioncount",
                "Partitions of all topics.",
                number(self.metadata.partitions()),
            ),
            single(
                "kafka_server_socket_server_metrics_connection_count",
                "Open connections.",
                number(self.connections.all().len()),
            ),
            single(
                "ackord_logs_read_back",
                "Logs that a failed write made unknown and that are being read back.",
                number(self.frozen.len()),
            ),
            counted(
                "ackord_share_dead_letters_written_total",
                "Copies of records that were appended to dead letter queues.",
                letters.written,
            ),
            counted(
                "ackord_share_dead_letters_failed_total",
                "Records that were archived without a copy: their group has no dead letter queue any more.",
                letters.failed,
            ),
        ]
    }

    fn request_figures(&self) -> Vec<MetricFamily> {
        let mut requests = MetricFamily::new(
            Counter,
            "kafka_network_requestmetrics_requests_total",
            "Requests by API and version.",
        );
        for (api, version, count) in self.counters.requests() {
            let labels = vec![
                ("request", api.name().to_string()),
                ("version", version.to_string()),
            ];
            requests.push(labels, saturated(count));
        }
        vec![requests]
    }

    fn topic_figures(&self) -> Vec<MetricFamily> {
        let mut families = [
            MetricFamily::new(
                Counter,
                "kafka_server_brokertopicmetrics_messagesin_total",
                "Records appended.",
            ),
            MetricFamily::new(
                Counter,
                "kafka_server_brokertopicmetrics_bytesin_total",
                "Bytes appended.",
            ),
            MetricFamily::new(
                Counter,
                "kafka_server_brokertopicmetrics_bytesout_total",
                "Bytes that consumers and share consumers were given.",
            ),
        ];
        for topic in self.metadata.topics() {
            let traffic = self.counters.traffic(topic.id);
            let figures = [traffic.records_in, traffic.bytes_in, traffic.bytes_out];
            for (family, figure) in families.iter_mut().zip(figures) {
                let labels = vec![("topic", topic.name.to_string())];
                family.push(labels, saturated(figure));
            }
        }
        families.into()
    }

    fn group_figures(&self) -> Vec<MetricFamily> {
        let mut groups = MetricFamily::new(
            Gauge,
            "kafka_server_group_coordinator_metrics_share_group_count",
            "Share groups by state.",
        );
        for state in ["Empty", "Stable", "Dead"] {
            let here = self.groups.values().filter(|group| group.state() == state);
            groups.push(vec![("state", state.to_string())], number(here.count()));
        }
        let mut protocols = MetricFamily::new(
            Gauge,
            "kafka_server_group_coordinator_metrics_group_count",
            "Groups by protocol.",
        );
        let labels = vec![("protocol", "share".to_string())];
        protocols.push(labels, number(self.groups.len()));
        let (sessions, partitions) = self.share_sessions.size();
        vec![
            groups,
            protocols,
            MetricFamily::new(
                Gauge,
                "kafka_server_sharesessioncache_sharesessionscount",
                "Open share sessions.",
            )
            .single(number(sessions)),
            MetricFamily::new(
                Gauge,
                "kafka_server_sharesessioncache_sharepartitionscount",
                "Partitions in open share sessions.",
            )
            .single(number(partitions)),
            MetricFamily::new(
                Gauge,
                "ackord_share_partitions_loaded",
                "Share partitions in memory.",
            )
            .single(number(
                self.leaders
                    .values()
                    .map(|leader| leader.groups().count())
                    .sum(),
            )),
        ]
    }

    fn share_figures(&self, now: Now) -> Vec<MetricFamily> {
        let mut families: Vec<MetricFamily> = SHARE_FIGURES
            .iter()
            .map(|(kind, name, help, _)| MetricFamily::new(*kind, name, help))
            .collect();
        let mut acknowledged = MetricFamily::new(
            Counter,
            "ackord_share_acknowledgements_total",
            "Records of a share partition by the type with which members acknowledged them outside of transactions.",
        );
        let mut archived = MetricFamily::new(
            Counter,
            "ackord_share_archived_records_total",
            "Records that ended without being accepted, by reason.",
        );
        for (log, topic) in self.topics_by_log() {
            let Some(leader) = self.leaders.get(&log) else {
                continue;
            };
            for (group, partition) in leader.figures() {
                let labels = || {
                    vec![
                        ("group", group.to_string()),
                        ("topic", topic.name.to_string()),
                        ("partition", log.partition.to_string()),
                    ]
                };
                for (family, (_, _, _, figure)) in families.iter_mut().zip(&SHARE_FIGURES) {
                    family.push(labels(), figure(partition, now));
                }
                let split = |family: &mut MetricFamily, label, parts: &[(&str, RecordEvent)]| {
                    for (value, event) in parts {
                        let records = count(partition, &[*event]);
                        let mut labels = labels();
                        labels.push((label, value.to_string()));
                        family.push(labels, records);
                    }
                };
                split(&mut acknowledged, "ackType", &ACKNOWLEDGE_TYPES);
                split(&mut archived, "reason", &ARCHIVED);
            }
        }
        families.extend([acknowledged, archived]);
        families
    }

    fn topics_by_log(&self) -> impl Iterator<Item = (LogId, &Topic)> {
        self.metadata
            .topics()
            .flat_map(|topic| topic.logs().map(move |log| (log, topic)))
    }

    fn transaction_figures(&self, now: Now) -> Vec<MetricFamily> {
        let started: Vec<i64> = self
            .tcs
            .values()
            .flat_map(|tc| tc.transactions())
            .filter(has_share_acks)
            .map(|transaction| transaction.start_ms)
            .collect();
        let oldest = started.iter().min();
        let age = oldest.map_or(0, |start| now.wall.as_millis().saturating_sub(*start));
        let mut families = vec![
            MetricFamily::new(
                Gauge,
                "share_transaction_active",
                "Transactions with share acknowledgements that have not ended.",
            )
            .single(number(started.len())),
            MetricFamily::new(
                Gauge,
                "ackord_share_oldest_pending_age_ms",
                "Age of the oldest transaction with share acknowledgements.",
            )
            .single(age.max(0)),
        ];
        for (duration, name, help) in DURATIONS {
            let histogram = self.counters.duration(duration);
            families.push(MetricFamily::new(Histogram, name, help).distribution(histogram));
        }
        for (counted, name, help) in COUNTED {
            let count = saturated(self.counters.counted(counted));
            families.push(MetricFamily::new(Counter, name, help).single(count));
        }
        let mut refused = MetricFamily::new(
            Counter,
            "ackord_share_offset_acks_refused_total",
            "TxnOffsetCommit requests whose acknowledgements were refused, whole or in part, by reason.",
        );
        for kind in RefusalKind::ALL {
            let labels = vec![("reason", kind.label().to_string())];
            refused.push(labels, saturated(self.ack_refusals.count(kind)));
        }
        families.push(refused);
        families
    }
}

fn has_share_acks(transaction: &TxnDescription<'_>) -> bool {
    transaction
        .partitions()
        .any(|(topic, _)| *topic == *SHARE_STATE_TOPIC)
}

fn count(partition: &SharePartition, events: &[RecordEvent]) -> i64 {
    let met = events.iter().map(|event| partition.records_met(*event));
    saturated(met.fold(0, u64::saturating_add))
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn saturated(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
