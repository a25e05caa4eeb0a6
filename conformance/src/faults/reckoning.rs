//! The reckoning at the end of a script with a fault: everything that can be seen, against what clients
//! were told.

use std::collections::{BTreeMap, BTreeSet};

use super::ended::Ended;
use super::{Account, END_ATTEMPTS, FaultRun, OffsetKey, ShareRecord};
use crate::dead_letter;
use crate::script::{StorageStep, TopicPartition};
use crate::steps::Session;

/// Twice as long as this is longer than any transaction, lock, session and request of the scripts.
const UNTIL_ALL_IS_OVER_MS: u64 = 40 * 60 * 1000;

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
            for partition in (0..*partitions).filter(|_| !self.deleted.contains(topic)) {
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
        let mut records = self.delivered(session);
        records.extend(self.plain.iter().chain(staged).cloned());
        for record in records {
            let (group, partition, offset) = &record;
            let queue = self.queued.get(group).and_then(Option::as_ref);
            let open = queue.is_some_and(|topic| self.keeps_all(session, topic));
            // What came back after it was removed is archived without one.
            let removed = *offset < self.start_of(session, partition)
                || self.is_compacted(partition, *offset);
            if self.settled.contains(&record)
                || self.excluded.contains(group)
                || removed
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

    /// Whether a dead letter queue has all that was ever written to it.
    fn keeps_all(&self, session: &Session<'_>, topic: &str) -> bool {
        let partitions = self.queues.get(topic).copied().unwrap_or_default();
        let whole = |partition| {
            let topic = topic.to_string();
            self.start_of(session, &TopicPartition { topic, partition }) == 0
        };
        !self.deleted.contains(topic) && (0..partitions).all(whole)
    }

    /// Lets everything end.
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
        run.operations = session.arm.operations();
        self.revive(session)?;
        session.arm.advance(UNTIL_ALL_IS_OVER_MS)?;
        self.revive(session)
    }

    /// Compares.
    pub(super) fn reckon(
        &mut self,
        session: &mut Session<'_>,
        run: &mut FaultRun,
    ) -> Result<(), String> {
        run.problems.extend(self.judge_deletions(session));
        run.removed = self.removed;
        let open = session.arm.open_items().unwrap_or_default();
        run.problems
            .extend(open.into_iter().map(|what| format!("still {what}")));
        let mut committed = Vec::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            let mut seen = Vec::new();
            for (partition, value, offset) in &transaction.outputs {
                if *offset < self.start_of(session, partition) {
                    run.removed += 1;
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
            let other = self.plain_offsets.contains(key) || self.deleted.contains(&partition.topic);
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
        !self.excluded.contains(&record.0) && !self.plain.contains(record)
    }

    /// Outputs against acknowledgements, record by record. Where a transaction has no outputs, the
    /// first record that it alone staged, and that did not end by itself, tells for the others.
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
            if let (Some(owner), 1, None) =
                (owners.first(), owners.len(), self.ended(session, record))
            {
                committed[*owner].get_or_insert(done);
            }
            judged.push((record, owners, done));
        }
        for (record, owners, done) in &judged {
            let (group, partition, offset) = record;
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
            run.acknowledged += usize::from(visible > 0 && *done);
            if visible > 0 && !done {
                run.problems
                    .push(format!("visible and not acknowledged: {place}"));
            }
            if visible == 0 && *done && !unknown {
                match self.ended(session, record) {
                    Some(how) => run.ended(how),
                    None => run
                        .problems
                        .push(format!("acknowledged and not visible: {place}")),
                }
            }
        }
        let staged: BTreeSet<&ShareRecord> = judged.iter().map(|(record, ..)| *record).collect();
        self.compare_delivered(session, &staged, run)
    }

    /// A record that was delivered and that nobody has acknowledged is there, or ended by itself.
    fn compare_delivered(
        &self,
        session: &mut Session<'_>,
        staged: &BTreeSet<&ShareRecord>,
        run: &mut FaultRun,
    ) -> Result<(), String> {
        for record in self.delivered(session) {
            let known = staged.contains(&record) || self.unheard.contains(&record);
            if known || !self.is_audited(&record) {
                continue;
            }
            let (group, partition, offset) = &record;
            if !session.share_view(group, partition)?.is_done(*offset) {
                continue;
            }
            match self.ended(session, &record) {
                Some(how) => run.ended(how),
                None => run.problems.push(format!(
                    "nobody acknowledged offset {offset} of {partition} in group {group}, and it is done"
                )),
            }
        }
        Ok(())
    }
}

impl FaultRun {
    fn ended(&mut self, how: Ended) {
        match how {
            Ended::Limit => self.limited += 1,
            Ended::Removed => self.removed += 1,
        }
    }
}
