//! The reckoning at the end of a script with a fault: everything that can be seen, against what clients
//! were told.

use std::collections::{BTreeMap, BTreeSet};

use super::{Account, END_ATTEMPTS, FaultRun, OffsetKey, ShareRecord};
use crate::dead_letter;
use crate::script::{StorageStep, TopicPartition};
use crate::steps::Session;

/// Longer than any transaction, lock and session of the scripts.
const UNTIL_ALL_IS_OVER_MS: u64 = 20 * 60 * 1000;

/// What a reader sees who tries again where the store could not be read.
fn visible(session: &mut Session<'_>, partition: &TopicPartition) -> Result<Vec<String>, String> {
    let mut seen = session.visible(partition);
    for _ in 1..END_ATTEMPTS {
        if seen.is_ok() {
            break;
        }
        seen = session.visible(partition);
    }
    seen
}

impl Account {
    /// A record has at most one dead letter, and exactly one where it is done and nobody accepted it.
    fn count_dead_letters(
        &self,
        session: &mut Session<'_>,
        run: &mut FaultRun,
    ) -> Result<(), String> {
        let mut letters: BTreeMap<(String, String, i64), usize> = BTreeMap::new();
        for (topic, partitions) in &self.queues {
            for partition in (0..*partitions).filter(|_| !self.excluded.contains(topic)) {
                let topic = topic.clone();
                let values = visible(session, &TopicPartition { topic, partition })?;
                for origin in values.iter().filter_map(|text| dead_letter::origin(text)) {
                    *letters.entry(origin).or_default() += 1;
                }
            }
        }
        for (origin, times) in letters.iter().filter(|(_, times)| **times > 1) {
            run.problems
                .push(format!("{origin:?} has {times} dead letters"));
        }
        run.dead_letters = letters.len();
        let staged = self.transactions.iter().flat_map(|own| &own.staged);
        for record in self.plain.iter().chain(staged) {
            let (group, partition, offset) = record;
            let queue = self.queued.get(group).and_then(Option::as_ref);
            let open = queue.is_some_and(|topic| !self.excluded.contains(topic));
            // What came back after it was deleted is archived without one.
            let deleted = self.excluded.contains(&partition.topic);
            if self.settled.contains(record)
                || deleted
                || !open
                || !session.share_view(group, partition)?.is_done(*offset)
            {
                continue;
            }
            let origin = (group.clone(), partition.to_string(), *offset);
            if !letters.contains_key(&origin) {
                run.problems.push(format!("{origin:?} has no dead letter"));
            }
        }
        Ok(())
    }

    /// Lets everything end and compares.
    pub(super) fn settle(
        &mut self,
        session: &mut Session<'_>,
        run: &mut FaultRun,
    ) -> Result<(), String> {
        self.revive(session)?;
        session.arm.storage(&StorageStep::Release)?;
        self.revive(session)?;
        self.free_participants(session)?;
        session.arm.advance(UNTIL_ALL_IS_OVER_MS)?;
        self.revive(session)?;
        session.arm.advance(UNTIL_ALL_IS_OVER_MS)?;
        let open = session.arm.open_items().unwrap_or_default();
        run.problems
            .extend(open.into_iter().map(|what| format!("still {what}")));
        let mut committed = Vec::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            let mut seen = Vec::new();
            for (partition, value) in &transaction.outputs {
                if self.excluded.contains(&partition.topic) {
                    continue;
                }
                let visible = visible(session, partition)?;
                let times = visible.iter().filter(|own| *own == value).count();
                if times > 1 {
                    run.problems
                        .push(format!("{value} is visible {times} times"));
                }
                seen.push(times > 0);
            }
            if seen.contains(&true) && seen.contains(&false) {
                run.problems
                    .push(format!("transaction {number} is visible in part"));
            }
            run.visible += usize::from(seen.contains(&true));
            committed.push(seen.first().copied());
        }
        self.count_dead_letters(session, run)?;
        self.compare_offsets(session, &committed, run)?;
        self.compare(session, committed, run)
    }

    /// Offsets against outputs: that of the last transaction whose outputs are visible, or none.
    fn compare_offsets(
        &self,
        session: &mut Session<'_>,
        committed: &[Option<bool>],
        run: &mut FaultRun,
    ) -> Result<(), String> {
        let mut wanted: BTreeMap<&OffsetKey, Option<i64>> = BTreeMap::new();
        for (transaction, committed) in self.transactions.iter().zip(committed) {
            for (key, offset) in &transaction.offsets {
                let own = wanted.entry(key).or_insert(Some(-1));
                match committed {
                    Some(true) => *own = own.map(|_| *offset),
                    Some(false) => {}
                    None => *own = None,
                }
            }
        }
        for (key, offset) in wanted {
            let (group, partition) = key;
            let other =
                self.plain_offsets.contains(key) || self.excluded.contains(&partition.topic);
            let Some(offset) = offset.filter(|_| !other) else {
                continue;
            };
            let got = session.committed_offset(group, partition)?;
            if got != offset {
                run.problems.push(format!(
                    "group {group} has offset {got} of {partition}, not {offset}"
                ));
            }
        }
        Ok(())
    }

    /// Whether only transactions decide over a record.
    fn is_audited(&self, record: &ShareRecord) -> bool {
        let (group, partition, _) = record;
        let other = self.excluded.contains(group) || self.excluded.contains(&partition.topic);
        !other && !self.plain.contains(record)
    }

    /// Outputs against acknowledgements, record by record. Where a transaction has no outputs, the
    /// first record that it alone staged tells for the others.
    fn compare(
        &self,
        session: &mut Session<'_>,
        mut committed: Vec<Option<bool>>,
        run: &mut FaultRun,
    ) -> Result<(), String> {
        let mut by_record: BTreeMap<&ShareRecord, BTreeSet<usize>> = BTreeMap::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            for record in transaction.staged.iter().filter(|own| self.is_audited(own)) {
                by_record.entry(record).or_default().insert(number);
            }
        }
        let mut judged = Vec::new();
        for (record, owners) in by_record {
            let (group, partition, offset) = record;
            let done = session.share_view(group, partition)?.is_done(*offset);
            if let (Some(owner), 1) = (owners.first(), owners.len()) {
                committed[*owner].get_or_insert(done);
            }
            judged.push((record, owners, done));
        }
        for ((group, partition, offset), owners, done) in judged {
            let visible = owners
                .iter()
                .filter(|own| committed[**own] == Some(true))
                .count();
            let unknown = owners.iter().any(|own| committed[*own].is_none());
            let place = format!("offset {offset} of {partition} in group {group}");
            if visible > 1 {
                run.problems
                    .push(format!("{visible} visible transactions finished {place}"));
            }
            run.acknowledged += usize::from(visible > 0 && done);
            if visible > 0 && !done {
                run.problems
                    .push(format!("visible and not acknowledged: {place}"));
            }
            if visible == 0 && done && !unknown {
                run.problems
                    .push(format!("acknowledged and not visible: {place}"));
            }
        }
        Ok(())
    }
}
