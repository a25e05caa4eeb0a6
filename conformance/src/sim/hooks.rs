//! Questions to the machines at the moment of an answer: what it says has to be true then.

use std::collections::BTreeMap;

use ackord_coord_core::Broker;
use ackord_coord_core::share::{ShareKey, ShareState};
use ackord_machine::LogId;
use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_share_partition::RecordState;

use super::ledger::Ledger;
use super::wire;

/// What was seen when a request arrived, for the moment of its answer.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Partitions of which a transaction held records just before.
    pending: Vec<i32>,
    /// State epochs just before.
    epochs: BTreeMap<i32, i32>,
    /// Partitions whose offsets it changed, as they were just after.
    changed: BTreeMap<i32, Changed>,
}

/// A share partition just after its offset was altered.
#[derive(Clone, Copy, Debug)]
struct Changed {
    /// Where its state starts.
    stored: i64,
    /// Where the log starts.
    log_start: i64,
    /// Where its leader starts; none where nobody has fetched yet.
    leader: Option<i64>,
}

impl Changed {
    /// What is wrong with it. A fetch that waited may have gone on in the same moment; else nobody
    /// has acquired anything, and it starts where it was told, or where the log does.
    fn judge(&self, asked: i64) -> Option<String> {
        let wanted = asked.max(self.log_start);
        let wrong = match self.leader {
            None => self.stored != asked,
            Some(start) => start < wanted || self.stored < asked,
        };
        wrong.then(|| format!("altered to {asked}, but it is {self:?}"))
    }
}

/// Group, topic, and the partitions with the start offsets that they shall get.
type Target = (String, String, Vec<(i32, i64)>);

fn target(request: &Request) -> Option<Target> {
    match request {
        Request::AlterShareGroupOffsets(own) => {
            let topic = own.topics.first()?;
            let parts = topic.partitions.iter();
            let parts = parts.map(|part| (part.partition_index, part.start_offset));
            Some((
                own.group_id.to_string(),
                topic.topic_name.to_string(),
                parts.collect(),
            ))
        }
        Request::DeleteShareGroupOffsets(own) => {
            let topic = own.topics.first()?;
            let parts = vec![(0, -1), (1, -1)];
            Some((
                own.group_id.to_string(),
                topic.topic_name.to_string(),
                parts,
            ))
        }
        _ => None,
    }
}

/// Before a request is carried out.
pub fn before(broker: &Broker, ledger: &Ledger, request: &Request) -> Option<Seen> {
    let (group, topic, parts) = target(request)?;
    let is_pending = |partition: i32| {
        let key = ShareKey {
            group: group.as_str().into(),
            topic: ledger.id(&topic),
            partition,
        };
        broker.share_coordinators().any(|own| own.has_pending(&key))
    };
    let numbers = parts.iter().map(|own| own.0);
    let pending = numbers.clone().filter(|own| is_pending(*own));
    let epochs = numbers.filter_map(|own| {
        Some((
            own,
            stored(broker, ledger, &group, &topic, own)?.state_epoch,
        ))
    });
    Some(Seen {
        pending: pending.collect(),
        epochs: epochs.collect(),
        changed: BTreeMap::new(),
    })
}

fn stored<'b>(
    broker: &'b Broker,
    ledger: &Ledger,
    group: &str,
    topic: &str,
    partition: i32,
) -> Option<&'b ShareState> {
    let key = ShareKey {
        group: group.into(),
        topic: ledger.id(topic),
        partition,
    };
    let mut coordinators = broker.share_coordinators();
    coordinators.find_map(|own| own.state(&key))
}

/// Just after it.
pub fn after(broker: &Broker, ledger: &Ledger, request: &Request, seen: &mut Seen) {
    let Some((group, topic, parts)) = target(request) else {
        return;
    };
    for (partition, _) in parts {
        let log = LogId {
            topic: ledger.id(&topic),
            partition,
        };
        let Some(state) = stored(broker, ledger, &group, &topic, partition) else {
            continue;
        };
        // A request that has to wait for the cluster's log is carried out later.
        if seen.epochs.get(&partition) == Some(&state.state_epoch) {
            continue;
        }
        let leader = broker.leader(log);
        let loaded = leader.and_then(|leader| leader.share_partition(&group));
        let changed = Changed {
            stored: state.start_offset,
            log_start: broker.log(log).map_or(0, |log| log.start_offset()),
            leader: loaded.map(|own| own.start_offset()),
        };
        seen.changed.insert(partition, changed);
    }
}

/// What is wrong with an answer.
pub fn judge(
    broker: &Broker,
    ledger: &Ledger,
    conn: u64,
    request: &Request,
    response: &Response,
    seen: Option<&Seen>,
) -> Option<String> {
    match (request, response) {
        (Request::AlterShareGroupOffsets(own), Response::AlterShareGroupOffsets(answer)) => {
            let (seen, topic) = (seen?, answer.responses.first()?);
            let asked = own.topics.first()?;
            for (part, asked) in topic.partitions.iter().zip(&asked.partitions) {
                if part.error_code != ErrorCode::NONE || answer.error_code != ErrorCode::NONE {
                    continue;
                }
                let changed = seen.changed.get(&part.partition_index);
                let problem = changed.and_then(|own| own.judge(asked.start_offset));
                if problem.is_some() {
                    return problem;
                }
            }
            refuses_pending(
                seen,
                topic
                    .partitions
                    .iter()
                    .map(|part| (part.partition_index, part.error_code)),
            )
        }
        (_, Response::DeleteShareGroupOffsets(answer)) => {
            let topic = answer.responses.first()?;
            let both = [0, 1].map(|partition| (partition, topic.error_code));
            refuses_pending(seen?, both.into_iter())
        }
        (_, Response::ShareAcknowledge(_) | Response::ShareFetch(_)) => {
            let (member, closes) = wire::share_member(request)?;
            let code = match response {
                Response::ShareAcknowledge(own) => own.error_code,
                Response::ShareFetch(own) => own.error_code,
                _ => return None,
            };
            if !closes || code != ErrorCode::NONE || ledger.sessions.may_have(&member, conn) {
                return None;
            }
            let logs = broker.cluster().topics().flat_map(|topic| topic.logs());
            let mut partitions =
                logs.filter_map(|log| broker.leader(log)?.share_partition(&member.0));
            let holds = |range: ackord_share_partition::RangeView<'_>| {
                range.state == RecordState::Acquired
                    && range.member.is_some_and(|own| *own == *member.1)
            };
            let held = partitions.any(|own| own.ranges().any(holds));
            held.then(|| format!("{member:?} closed its session and still holds records"))
        }
        _ => None,
    }
}

fn refuses_pending(
    seen: &Seen,
    mut answers: impl Iterator<Item = (i32, ErrorCode)>,
) -> Option<String> {
    let done = answers
        .find(|(partition, code)| *code == ErrorCode::NONE && seen.pending.contains(partition));
    done.map(|(partition, _)| {
        format!("offsets of partition {partition} were changed while a transaction held records")
    })
}

/// A ShareFetch that waits although there is something for it, while nothing else is under way.
pub fn waits_for_nothing(broker: &Broker, ledger: &Ledger, request: &Request) -> Option<String> {
    let Request::ShareFetch(own) = request else {
        return None;
    };
    if own.max_records <= 0 || own.max_bytes <= 0 || own.share_session_epoch < 0 {
        return None;
    }
    let group = own.group_id.as_ref()?;
    for (topic, part) in own
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(move |part| (topic, part)))
    {
        let log = LogId {
            topic: topic.topic_id,
            partition: part.partition_index,
        };
        let (Some(data), Some(leader)) = (broker.log(log), broker.leader(log)) else {
            continue;
        };
        let Some(share) = leader.share_partition(group) else {
            continue;
        };
        let end = match ledger.reads_committed {
            true => data.last_stable_offset(),
            false => data.high_watermark(),
        };
        let mut ranges = share.ranges();
        let again = ranges.any(|range| range.state == RecordState::Available && range.first < end);
        let fresh = share.end_offset() < end && share.can_acquire();
        if again || fresh {
            let member = own.member_id.as_ref().map_or("", |member| member.as_str());
            return Some(format!(
                "{member} waits although there are records, partition {}",
                part.partition_index
            ));
        }
    }
    None
}
