//! The account at the end: every record once, every transaction whole or not at all.

use std::collections::BTreeMap;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{OffsetFetchRequest, offset_fetch};

use super::actors::{self, GROUPS, INPUT, MOVERS, Member, OUTPUT, Transactional};
use super::ctx::Ctx;
use super::dead_letters::Ending;
use super::ledger::{Ledger, Partition, ShareRecord};
use super::watcher;
use super::wire;
use super::world::World;
use crate::log_reader;
use crate::sim_call;

/// Accepts records of a group until there are none; in transactions, where the group takes nothing
/// else.
pub async fn drain(ctx: Ctx, group: String) {
    let mut member = Member::new(&ctx, &group);
    member.join().await;
    let mut producer = None;
    if ctx.ledger.borrow().deliveries.transactional {
        let own = producer.insert(Transactional::new(&ctx, &format!("drain-{group}")));
        own.init(false).await;
    }
    let mut empty = 0;
    while empty < 4 {
        let Ok(got) = member.fetch(2, &Vec::new(), 100, 200).await else {
            continue;
        };
        if got.is_empty() {
            empty += 1;
            member.stay().await;
            continue;
        }
        empty = 0;
        if let Some(producer) = &mut producer {
            actors::copy_nothing(&ctx, &mut member, producer, &got).await;
            continue;
        }
        let acks = got.iter().map(|own| {
            let kind = i8::from(own.value.is_some());
            (own.partition, own.offset, own.offset, kind)
        });
        let _ = member.acknowledge(&acks.collect()).await;
    }
    member.close_session(&Vec::new()).await;
    member.leave().await;
}

/// What is visible at the end, by partition; and committed offsets.
pub async fn read(ctx: Ctx, topics: Vec<(&'static str, i32)>) {
    let mut visible: BTreeMap<Partition, Vec<String>> = BTreeMap::new();
    for (topic, partitions) in topics {
        for partition in 0..partitions {
            let key = (topic.to_string(), partition);
            match read_partition(&ctx, &key).await {
                Ok(values) => drop(visible.insert(key, values)),
                Err(error) => ctx.ledger.borrow_mut().problem(format!("{key:?}: {error}")),
            }
        }
    }
    let tids: Vec<String> = {
        let ledger = ctx.ledger.borrow();
        let movers = ledger.txns.iter().flat_map(|txn| txn.offsets.keys());
        movers.map(|(tid, _)| tid.clone()).collect()
    };
    for tid in tids.into_iter().collect::<std::collections::BTreeSet<_>>() {
        let topic = offset_fetch::OffsetFetchRequestTopic {
            name: OUTPUT.into(),
            partition_indexes: vec![0],
            ..Default::default()
        };
        let request = OffsetFetchRequest {
            group_id: format!("{MOVERS}-{tid}").as_str().into(),
            topics: Some(vec![topic]),
            ..Default::default()
        };
        let mut offset = -1;
        if let Ok(response) = sim_call!(ctx, OffsetFetch v 7, request) {
            let part = response
                .topics
                .iter()
                .flat_map(|topic| &topic.partitions)
                .next();
            offset = part.map_or(-1, |part| part.committed_offset);
        }
        let mut ledger = ctx.ledger.borrow_mut();
        let problem = judge_offset(&ledger, &tid, offset, &visible);
        if let Some(problem) = problem {
            ledger.problem(problem);
        }
    }
    let mut ledger = ctx.ledger.borrow_mut();
    let problems = judge_values(&mut ledger, &visible);
    problems
        .into_iter()
        .for_each(|problem| ledger.problem(problem));
}

/// All committed values of a partition.
async fn read_partition(ctx: &Ctx, key: &Partition) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut from = -1;
    loop {
        let request = match from {
            -1 => wire::read_all(&[(&key.0, key.1 + 1)]),
            from => wire::read_from(&key.0, key.1, from),
        };
        let response = sim_call!(ctx, Fetch v 12, request);
        let response = response.map_err(|_| "nobody can read".to_string())?;
        let topic = response.responses.first();
        let part = topic.and_then(|topic| {
            topic
                .partitions
                .iter()
                .find(|own| own.partition_index == key.1)
        });
        let part = part.ok_or("no answer")?;
        if from == -1 {
            // Only now is it known where the log starts.
            from = part.log_start_offset.max(0);
            continue;
        }
        if part.error_code == ErrorCode::OFFSET_OUT_OF_RANGE && from < 10_000 {
            // Records were deleted from the front.
            from += 1;
            continue;
        }
        if part.error_code != ErrorCode::NONE {
            return Err(format!("{}", part.error_code));
        }
        let committed = log_reader::committed(part)?;
        if key.0 == INPUT {
            let bytes = part.records.as_ref().map(|records| records.to_bytes());
            let there = wire::values(&bytes.unwrap_or_default()).into_iter();
            let there = there.filter(|(_, value)| committed.values.contains(value));
            let offsets = there.map(|(offset, value)| ((key.1, offset), value));
            ctx.ledger.borrow_mut().present.extend(offsets);
        }
        all.extend(committed.values);
        match committed.next_offset.filter(|next| *next > from) {
            Some(next) => from = next,
            None if from >= part.last_stable_offset => return Ok(all),
            None => return Err(format!("nothing at {from} of {}", part.last_stable_offset)),
        }
    }
}

/// The offset of a mover is that of its last transaction that committed.
fn judge_offset(
    ledger: &Ledger,
    tid: &str,
    offset: i64,
    visible: &BTreeMap<Partition, Vec<String>>,
) -> Option<String> {
    let key = (tid.to_string(), (OUTPUT.to_string(), 0));
    let mut possible = Vec::from([-1]);
    for (number, txn) in ledger.txns.iter().enumerate() {
        if txn.tid != tid || txn.decision != Some(true) {
            continue;
        }
        let prefix = format!("T{number}:");
        let seen = !txn.outputs.is_empty()
            && visible
                .values()
                .flatten()
                .any(|value| value.starts_with(&prefix));
        let unseen = !txn.outputs.is_empty() && !seen;
        let own = i64::try_from(number).unwrap_or(-1);
        if !txn.offsets.contains_key(&key) || unseen {
            continue;
        }
        match seen || txn.answered == Some(true) {
            true => possible = Vec::from([own]),
            false => possible.push(own),
        }
    }
    (!possible.contains(&offset))
        .then(|| format!("{tid} has offset {offset}, not one of {possible:?}"))
}

fn judge_values(ledger: &mut Ledger, visible: &BTreeMap<Partition, Vec<String>>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut times: BTreeMap<&String, usize> = BTreeMap::new();
    for value in visible.values().flatten() {
        *times.entry(value).or_default() += 1;
    }
    for (value, times) in &times {
        if *times > 1 {
            problems.push(format!("{value} is there {times} times"));
        }
    }
    let there = |value: &String| times.contains_key(value);
    for number in 0..ledger.txns.len() {
        let txn = &ledger.txns[number];
        let trimmed = |partition: &Partition| ledger.trimmed.contains(&partition.0);
        let outputs = txn
            .outputs
            .iter()
            .filter(|(partition, _)| !trimmed(partition));
        let outputs: Vec<&String> = outputs.flat_map(|(_, values)| values).collect();
        let seen = outputs.iter().filter(|value| there(value)).count();
        let problem = match (seen, txn.answered) {
            (0, Some(true)) if !outputs.is_empty() => "was committed and is not there",
            (0, _) if !outputs.is_empty() && txn.stored && txn.decision == Some(true) => {
                "was decided to commit and is not there"
            }
            (1.., Some(false)) => "was aborted and is there",
            (1.., _) if txn.decision != Some(true) => "is there, and nobody committed it",
            (1.., _) if seen < outputs.len() => "is there in part",
            _ => "",
        };
        if !problem.is_empty() {
            problems.push(format!("T{number} {problem}: {outputs:?}"));
        }
        ledger.txns[number].seen |= seen > 0;
    }
    if ledger.trimmed.contains(INPUT) {
        return problems;
    }
    for (value, produced) in &ledger.produced {
        if produced.acked && !times.contains_key(value) {
            problems.push(format!("{value} was confirmed and is not there"));
        }
    }
    problems
}

/// A share group whose records were drained has nothing left.
pub fn reached_the_end(world: &World<'_>, group: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for broker in world.cluster.brokers() {
        let Some(topic) = broker.cluster().topic(INPUT) else {
            continue;
        };
        for log in topic.logs() {
            let end = broker.log(log).map_or(0, |log| log.high_watermark());
            let place = format!("{group} {INPUT}-{}", log.partition);
            match watcher::start_and_flight(broker, group, log) {
                Some((start, 0)) if start == end => {}
                // An operator may have asked for records that are yet to come.
                Some((start, 0)) if start > end && world.ledger.borrow().is_reset(group, INPUT) => {
                }
                Some((start, held)) => {
                    problems.push(format!(
                        "{place} starts at {start} of {end}, {held} in flight"
                    ));
                }
                None => problems.push(format!("{place} is not loaded")),
            }
        }
    }
    problems
}

/// How each record ended, by the transactions that acknowledged it.
fn endings(ledger: &Ledger, problems: &mut Vec<String>) -> BTreeMap<ShareRecord, Ending> {
    let mut endings: BTreeMap<ShareRecord, Ending> = BTreeMap::new();
    let mut copied: BTreeMap<&ShareRecord, Vec<usize>> = BTreeMap::new();
    for (number, txn) in ledger.txns.iter().enumerate() {
        let stored = txn.stored && txn.decision == Some(true);
        let committed = txn.seen || txn.answered == Some(true) || stored;
        // Nothing but acknowledgements, and nobody heard how it ended.
        let unknown =
            txn.decision == Some(true) && txn.answered.is_none() && txn.outputs.is_empty();
        for (key, kind) in &txn.staged {
            if committed {
                copied.entry(key).or_default().push(number);
                endings.entry(key.clone()).or_default().surely.insert(*kind);
            } else if unknown {
                let ending = endings.entry(key.clone()).or_default();
                ending.perhaps.insert(*kind);
            }
        }
    }
    for (key, txns) in copied {
        if txns.len() > 1 && !ledger.is_reset(&key.0, &key.1.0) {
            problems.push(format!("{key:?} was copied by {txns:?}"));
        }
    }
    endings
}

/// Records against what ended them.
pub fn account(world: &World<'_>) -> Vec<String> {
    let ledger = world.ledger.borrow();
    let mut problems = Vec::new();
    let mut endings = endings(&ledger, &mut problems);
    for broker in world.cluster.brokers() {
        let Some(topic) = broker.cluster().topic(INPUT) else {
            continue;
        };
        for log in topic.logs() {
            let end = broker.log(log).map_or(0, |log| log.high_watermark());
            for group in GROUPS {
                let used = watcher::start_and_flight(broker, group, log).is_some();
                let other = ledger.is_reset(group, INPUT) || ledger.trimmed.contains(INPUT);
                if !used || other {
                    continue;
                }
                for offset in 0..end {
                    let key = (
                        (*group).to_string(),
                        (INPUT.to_string(), log.partition),
                        offset,
                    );
                    let ending = endings.remove(&key).unwrap_or_default();
                    let problem = judge_record(&ledger, &key, ending);
                    problems.extend(problem.map(|what| format!("{key:?} {what}")));
                }
            }
        }
    }
    problems
}

/// What is wrong with a record that is done, with what clients did outside of transactions.
fn judge_record(ledger: &Ledger, key: &ShareRecord, mut ending: Ending) -> Option<String> {
    let deliveries = &ledger.deliveries;
    // There only transactions end anything.
    if !deliveries.transactional {
        ending.at_limit = deliveries.at_limit.contains(key);
        if let Some(record) = deliveries.records.get(key) {
            ending.surely.extend(record.settled);
            ending.perhaps.extend(&record.given);
        }
    }
    let value = ledger.present.get(&(key.1.1, key.2));
    match ledger.queue {
        Some(copies) => {
            let letters = ledger.letters.get(key).map_or(&[][..], Vec::as_slice);
            ending.judge(letters, value, copies)
        }
        None if value.is_some() && !ending.is_explained() => {
            Some("is done, and nobody finished it".to_string())
        }
        None => None,
    }
}
