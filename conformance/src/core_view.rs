//! Looking into the cores: delivery states and what is open.

use ackord_coord_core::Broker;
use ackord_coord_core::metrics::SampleValue;
use ackord_coord_core::share::{ShareKey, ShareState};
use ackord_coord_core::txn::TxnState;
use ackord_machine::{LogId, Now};

use crate::arm::{ShareView, StateRange};

/// A share partition: as its leader has it, or as it is stored where no leader has loaded it.
pub fn share_view(broker: &Broker, group: &str, log: LogId) -> ShareView {
    let loaded = broker
        .leader(log)
        .and_then(|leader| leader.share_partition(group));
    if let Some(partition) = loaded {
        let ranges = partition.ranges().map(|range| StateRange {
            first: range.first,
            last: range.last,
            state: range.state.to_string(),
            delivery_count: range.delivery_count,
        });
        let start = partition.start_offset();
        return ShareView {
            start,
            ranges: ranges.collect(),
            shows_held: true,
        };
    }
    let key = ShareKey {
        group: group.into(),
        topic: log.topic,
        partition: log.partition,
    };
    let stored = broker
        .share_coordinators()
        .find_map(|coordinator| coordinator.state(&key));
    match stored {
        Some(state) => stored_view(state),
        None => ShareView {
            start: 0,
            ranges: Vec::new(),
            shows_held: true,
        },
    }
}

fn stored_view(state: &ShareState) -> ShareView {
    let pending = state.pending.iter().map(|pending| StateRange {
        first: pending.first_offset,
        last: pending.last_offset,
        state: "TX_PENDING".to_string(),
        delivery_count: pending.delivery_count,
    });
    let mut ranges: Vec<StateRange> = pending.collect();
    for (first, last, delivery) in state.deliveries.iter() {
        let range = StateRange {
            first,
            last,
            state: state_name(delivery.state).to_string(),
            delivery_count: delivery.count,
        };
        // What a transaction holds is told by the transaction, not by the older state below it.
        if !ranges
            .iter()
            .any(|own| own.first <= first && last <= own.last)
        {
            ranges.push(range);
        }
    }
    ranges.sort_by_key(|range| range.first);
    ShareView {
        start: state.start_offset,
        ranges,
        shows_held: true,
    }
}

/// Kafka's name of a stored delivery state.
pub fn state_name(id: i8) -> &'static str {
    match id {
        0 => "AVAILABLE",
        1 => "ACQUIRED",
        2 => "ACKNOWLEDGED",
        3 => "ARCHIVING",
        4 => "ARCHIVED",
        5 => "TX_PENDING",
        _ => "UNKNOWN",
    }
}

/// Kafka's name of the state of a transactional id; `none` where nobody knows the id.
pub fn transaction_state(broker: &Broker, transactional_id: &str) -> String {
    let mut found = broker
        .transaction_coordinators()
        .filter_map(|coordinator| coordinator.transaction(transactional_id));
    let name = found.next().map_or("none", |txn| txn.state.name());
    name.to_string()
}

/// The sum of a metric's figures that have all of `labels`; of distributions, how much they hold.
pub fn metric(broker: &Broker, now: Now, name: &str, labels: &[(String, String)]) -> i64 {
    let families = broker.metrics(now);
    let samples = families.iter().filter(|family| family.name == name);
    samples
        .flat_map(|family| &family.samples)
        .filter(|sample| {
            let has = |(name, value): &(String, String)| {
                let mut own = sample.labels.iter();
                own.any(|own| own.0 == name.as_str() && own.1 == *value)
            };
            labels.iter().all(has)
        })
        .map(|sample| match &sample.value {
            SampleValue::Number(number) => *number,
            SampleValue::Distribution(histogram) => {
                i64::try_from(histogram.count()).unwrap_or(i64::MAX)
            }
        })
        .sum()
}

/// Transactions that are not at their end, and acknowledgements that wait for one.
pub fn open_items(broker: &Broker) -> Vec<String> {
    let mut open = Vec::new();
    for coordinator in broker.transaction_coordinators() {
        for txn in coordinator.transactions() {
            if txn.state == TxnState::Ongoing || txn.state.is_prepared() {
                open.push(format!("{} is {}", txn.transactional_id, txn.state.name()));
            }
        }
    }
    for coordinator in broker.share_coordinators() {
        for (key, state) in coordinator.states() {
            for pending in &state.pending {
                open.push(format!(
                    "group {} offsets {}-{} are pending for {}",
                    key.group, pending.first_offset, pending.last_offset, pending.owner
                ));
            }
        }
    }
    for topic in broker.cluster().topics() {
        for log in topic.logs() {
            let Some(leader) = broker.leader(log) else {
                continue;
            };
            for group in leader.groups() {
                let partition = leader.share_partition(group);
                let count = partition.map_or(0, |partition| partition.pending_count());
                if count > 0 {
                    let name = &topic.name;
                    open.push(format!(
                        "{count} records of {name} are pending in group {group}"
                    ));
                }
            }
            let Some(log_state) = broker.log(log) else {
                continue;
            };
            if log_state.last_stable_offset() < log_state.high_watermark() {
                open.push(format!(
                    "{}-{} has an open transaction",
                    topic.name, log.partition
                ));
            }
        }
    }
    open
}
