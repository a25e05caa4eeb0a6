//! The scripts again, each with a fault at one of its appends: what the steps say does not hold any
//! more, but what a transaction promises does.
//!
//! Clients behave as real ones then: who is refused or hears nothing aborts, and who hears nothing
//! of the end of a transaction asks again. At the end all transactions have timed out, and of each
//! either everything counts or nothing: nothing both visible and unacknowledged, nothing
//! acknowledged and invisible.

mod participants;

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::error_code::ErrorCode;

use crate::answers::Codes;
use crate::consumer_groups::ConsumerVerb;
use crate::core_arm::CoreArm;
use crate::dead_letter;
use crate::memory_store::Plan;
use crate::offset_acks::OffsetAcks;
use crate::script::{
    AckSpans, Expected, GroupAdmin, Script, Step, StorageStep, TopicPartition, Verb,
};
use crate::steps::{DEAD_LETTER_TOPIC, Session};

/// Longer than any transaction, lock and session of the scripts.
const UNTIL_ALL_IS_OVER_MS: u64 = 20 * 60 * 1000;
/// How often a client asks for the end of its transaction again.
const END_ATTEMPTS: usize = 5;
/// And how long it waits before.
const END_PAUSE_MS: u64 = 1000;

/// What goes wrong at one append.
pub type Fault = Plan;

/// What became of a script with a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultRun {
    /// Whether the script has so many appends.
    pub reached: bool,
    /// Broken promises.
    pub problems: Vec<String>,
    /// Transactions whose outputs are visible.
    pub visible: usize,
    /// Records that a transaction acknowledged, as far as outputs tell.
    pub acknowledged: usize,
    /// Records with a dead letter.
    pub dead_letters: usize,
}

/// A record of a share group.
type ShareRecord = (String, TopicPartition, i64);

/// A partition of a consumer group.
type OffsetKey = (String, TopicPartition);

#[derive(Debug, Default)]
struct Transaction {
    /// Something was refused or lost, so the client aborts.
    doomed: bool,
    outputs: Vec<(TopicPartition, String)>,
    staged: Vec<ShareRecord>,
    offsets: Vec<(OffsetKey, i64)>,
}

/// What clients did, as far as they were told that it worked.
#[derive(Debug, Default)]
struct Account {
    transactions: Vec<Transaction>,
    /// The transaction that each client is in.
    current: BTreeMap<String, usize>,
    /// Requests without an answer yet.
    awaited: BTreeMap<String, Verb>,
    /// Records that were acknowledged outside of transactions.
    plain: BTreeSet<ShareRecord>,
    /// Offsets that were committed outside of transactions.
    plain_offsets: BTreeSet<OffsetKey>,
    /// Share group of each member.
    groups: BTreeMap<String, String>,
    /// Partitions of each topic that is a dead letter queue.
    queues: BTreeMap<String, i32>,
    /// Groups whose only dead letter queue was such a topic; `None` where it was another one.
    queued: BTreeMap<String, Option<String>>,
    /// Records for which some acknowledgement was other than reject or release.
    settled: BTreeSet<ShareRecord>,
    /// Topics and groups whose records may end in other ways.
    excluded: BTreeSet<String>,
    /// Transactional ids of producers in two-phase commit.
    participants: BTreeSet<String>,
}

/// Runs a script with `fault` at its append number `n`, from 0.
pub fn with_fault(script: &Script, n: usize, fault: Fault) -> FaultRun {
    let mut arm = CoreArm::default();
    arm.store().plan(n, fault);
    let mut run = audit(script, &mut arm);
    run.reached = !arm.store().has_plan();
    run
}

/// Runs a script as [`with_fault`] does, but without a fault.
pub fn without_fault(script: &Script) -> FaultRun {
    audit(script, &mut CoreArm::default())
}

fn audit(script: &Script, arm: &mut CoreArm) -> FaultRun {
    let mut account = Account::default();
    let mut run = FaultRun::default();
    let mut session = Session::new(arm);
    for line in &script.lines {
        if let Err(error) = account.step(&mut session, &line.step) {
            run.problems
                .push(format!("line {}, `{}`: {error}", line.number, line.text));
            break;
        }
    }
    if let Err(error) = account.settle(&mut session, &mut run) {
        run.problems.push(format!("at the end: {error}"));
    }
    run
}

impl Account {
    /// Carries out a step as far as the fault lets it. Only what no fault excuses is an error.
    fn step(&mut self, session: &mut Session<'_>, step: &Step) -> Result<(), String> {
        match step {
            Step::Client {
                client,
                verb,
                expected,
            } => {
                self.client_step(session, client, verb, expected)?;
            }
            Step::Expect(_) => {}
            Step::DeleteTopic { name: topic, .. } => {
                self.excluded.insert(topic.clone());
                let _ = session.step(step);
            }
            Step::Group { name, configs } => {
                if configs
                    .iter()
                    .any(|(own, _)| own == "share.delivery.count.limit")
                {
                    self.excluded.insert(name.clone());
                }
                for (_, topic) in configs.iter().filter(|(own, _)| own == DEAD_LETTER_TOPIC) {
                    self.note_queue(name, topic);
                }
                self.insist(session, step)?;
            }
            Step::Topic {
                name,
                partitions,
                configs,
            } => {
                let queue = ("errors.deadletterqueue.group.enable", "true");
                if configs
                    .iter()
                    .any(|(own, value)| (own.as_str(), value.as_str()) == queue)
                {
                    self.queues.insert(name.clone(), *partitions);
                }
                // Its outputs end with their time.
                if configs.iter().any(|(own, _)| own.starts_with("retention.")) {
                    self.excluded.insert(name.clone());
                }
                self.insist(session, step)?;
            }
            Step::Restart { .. } | Step::Crash(_) => session.step(step)?,
            Step::Advance { .. } => session.step(step)?,
            Step::Broker(_) | Step::Limits(_) | Step::Storage(_) => drop(session.step(step)),
        }
        if !matches!(step, Step::Crash(_)) {
            self.revive(session)?;
        }
        Ok(())
    }

    /// Starts a broker again that a planned crash has ended.
    fn revive(&mut self, session: &mut Session<'_>) -> Result<(), String> {
        if !session.arm.is_down() {
            return Ok(());
        }
        session.connections_lost();
        session.arm.restart(0)
    }

    /// The world of the script has to be there, whatever it takes.
    fn insist(&mut self, session: &mut Session<'_>, step: &Step) -> Result<(), String> {
        for _ in 0..END_ATTEMPTS {
            if session.step(step).is_ok() {
                return Ok(());
            }
            self.revive(session)?;
            session.arm.advance(END_PAUSE_MS)?;
            // A topic that was created although nobody was told cannot be created again.
            if let Step::Topic { name, .. } = step {
                let _ = session.step(&Step::DeleteTopic {
                    name: name.clone(),
                    code: ErrorCode::NONE,
                });
                self.revive(session)?;
            }
        }
        session.step(step)
    }

    fn client_step(
        &mut self,
        session: &mut Session<'_>,
        client: &str,
        verb: &Verb,
        expected: &Expected,
    ) -> Result<(), String> {
        if *verb != Verb::Answer {
            session.drain(client);
        }
        let mut verb = self.prepare(client, verb);
        if let (Verb::Fetch { max_wait_ms, .. }, Expected::Acquired(_)) = (&mut verb, expected) {
            *max_wait_ms = session.arm.patience_ms();
        }
        let lenient = match expected {
            Expected::Waiting => Expected::Waiting,
            _ => Expected::Anything,
        };
        let step = |verb: &Verb, expected: &Expected| Step::Client {
            client: client.to_string(),
            verb: verb.clone(),
            expected: expected.clone(),
        };
        let _ = session.step(&step(&verb, &lenient));
        if *expected == Expected::Waiting && session.answered.is_none() {
            self.awaited.insert(client.to_string(), verb);
            return Ok(());
        }
        if matches!(verb, Verb::Fetch { .. }) && session.answered.is_none() {
            // Nothing came; the fetch ends when its time is up.
            self.revive(session)?;
            session.arm.advance(END_PAUSE_MS)?;
            let _ = session.step(&step(&Verb::Answer, &Expected::Anything));
        }
        let verb = match verb {
            Verb::Answer => self.awaited.remove(client).unwrap_or(Verb::Answer),
            verb => verb,
        };
        if matches!(verb, Verb::EndTxn { .. }) && *expected == Expected::Success {
            self.insist_on_the_end(session, client)?;
        }
        let codes = session.answered.take();
        self.note(
            client,
            &verb,
            *expected == Expected::Success,
            codes.as_ref(),
        );
        Ok(())
    }

    /// Asks again until the end of a transaction is known.
    fn insist_on_the_end(&mut self, session: &mut Session<'_>, client: &str) -> Result<(), String> {
        for _ in 0..END_ATTEMPTS {
            if session.answered.as_ref().is_some_and(Codes::is_success) {
                return Ok(());
            }
            self.revive(session)?;
            session.arm.advance(END_PAUSE_MS)?;
            session.drain(client);
            let (verb, expected) = (Verb::Repeat, Expected::Anything);
            let _ = session.step(&Step::Client {
                client: client.to_string(),
                verb,
                expected,
            });
        }
        Ok(())
    }

    /// What a careful client does in place of what the script says.
    fn prepare(&mut self, client: &str, verb: &Verb) -> Verb {
        let current = self.current.get(client).copied();
        self.note_participant(verb);
        match verb {
            Verb::Begin => {
                self.current
                    .insert(client.to_string(), self.transactions.len());
                self.transactions.push(Transaction::default());
            }
            Verb::Copy(from) => {
                if let Some(index) = self.current.get(from).copied() {
                    self.current.insert(client.to_string(), index);
                }
            }
            // Deleted records count as done, whoever held them.
            Verb::DeleteRecords { partition, .. } => {
                self.excluded.insert(partition.topic.clone());
            }
            Verb::Join { group, .. } => {
                self.groups.insert(client.to_string(), group.clone());
            }
            _ => {}
        }
        let doomed = current.is_some_and(|index| self.transactions[index].doomed);
        let mut verb = verb.clone();
        match &mut verb {
            Verb::EndTxn { commit, .. } => *commit &= !doomed,
            // Each output tells its transaction.
            Verb::Send { values, .. } => {
                let number = current.map_or("none".to_string(), |index| index.to_string());
                values
                    .iter_mut()
                    .for_each(|value| *value = format!("{value}~{number}"));
            }
            _ => {}
        }
        verb
    }

    /// Enters what a client was told.
    fn note(&mut self, client: &str, verb: &Verb, had_to_work: bool, codes: Option<&Codes>) {
        let well = codes.is_some_and(Codes::is_success);
        match verb {
            Verb::Consumer(ConsumerVerb::Commit { group, offsets, .. }) => {
                let keys = offsets.iter().map(|(own, _)| (group.clone(), own.clone()));
                self.plain_offsets.extend(keys);
                return;
            }
            Verb::Consumer(verb) if verb.is_transactional() => {}
            Verb::Ack(acks) => self.note_plain(client, acks),
            Verb::Fetch { acks, .. } => self.note_plain(client, acks),
            Verb::Send { .. }
            | Verb::OffsetAcks(_)
            | Verb::Stage { .. }
            | Verb::AddShareAcks { .. }
            | Verb::AddPartitions { .. } => {}
            Verb::GroupAdmin(admin) => return self.note_admin(admin, codes),
            _ => return,
        }
        let Some(index) = self.current.get(client).copied() else {
            return;
        };
        let transaction = &mut self.transactions[index];
        if matches!(verb, Verb::Ack(_) | Verb::Fetch { .. }) {
            return;
        }
        transaction.doomed |= had_to_work && !well;
        match verb {
            Verb::Send {
                partition, values, ..
            } if well => {
                let outputs = values
                    .iter()
                    .map(|value| (partition.clone(), value.clone()));
                transaction.outputs.extend(outputs);
            }
            Verb::Consumer(ConsumerVerb::TxnOffsets { group, offsets, .. }) if well => {
                let own = offsets.iter();
                let own = own.map(|(own, offset)| ((group.clone(), own.clone()), *offset));
                transaction.offsets.extend(own);
            }
            Verb::OffsetAcks(OffsetAcks { group, acks, .. }) | Verb::Stage { group, acks, .. } => {
                self.settled.extend(settled_by(group, acks));
                for (partition, spans) in acks {
                    if codes.is_some_and(|codes| took(codes, partition)) {
                        let offsets = spans.iter().flat_map(|span| span.first..=span.last);
                        let record = |offset| (group.clone(), partition.clone(), offset);
                        transaction.staged.extend(offsets.map(record));
                    }
                }
            }
            _ => {}
        }
    }

    /// Whoever changes a group from outside decides over its records, unless refused because the
    /// group is in use.
    fn note_admin(&mut self, admin: &GroupAdmin, codes: Option<&Codes>) {
        let refusal = ErrorCode::NON_EMPTY_GROUP;
        let refused = codes.is_some_and(|codes| {
            codes.top == Some(refusal) || codes.parts.iter().any(|(_, code)| *code == refusal)
        });
        if refused {
            return;
        }
        match admin {
            GroupAdmin::AlterOffsets { group, .. } | GroupAdmin::DeleteOffsets { group, .. } => {
                self.excluded.insert(group.clone());
            }
            GroupAdmin::DeleteGroups(groups) => self.excluded.extend(groups.iter().cloned()),
            GroupAdmin::DescribeClassic(_)
            | GroupAdmin::DescribeGroups(_)
            | GroupAdmin::DescribeOffsets { .. }
            | GroupAdmin::ListGroups { .. } => {}
        }
    }

    fn note_plain(&mut self, client: &str, acks: &AckSpans) {
        let group = self.groups.get(client).cloned().unwrap_or_default();
        self.settled.extend(settled_by(&group, acks));
        for (partition, spans) in acks {
            let ending = spans
                .iter()
                .filter(|span| span.types.iter().any(|t| *t != 2 && *t != 4));
            for offset in ending.flat_map(|span| span.first..=span.last) {
                self.plain
                    .insert((group.clone(), partition.clone(), offset));
            }
        }
    }

    fn note_queue(&mut self, group: &str, topic: &str) {
        let good = self.queues.contains_key(topic) && topic.starts_with("dlq.");
        let queue = good.then(|| topic.to_string());
        let known = self.queued.entry(group.to_string());
        let known = known.or_insert_with(|| queue.clone());
        if *known != queue {
            *known = None;
        }
    }

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
                let values = session.visible(&TopicPartition { topic, partition })?;
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
            if self.settled.contains(record)
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
    fn settle(&mut self, session: &mut Session<'_>, run: &mut FaultRun) -> Result<(), String> {
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
                let visible = session.visible(partition)?;
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

/// Whether a stage took the ranges of a partition.
fn took(codes: &Codes, partition: &TopicPartition) -> bool {
    let label = partition.to_string();
    let mut own = codes
        .parts
        .iter()
        .filter(|(name, _)| *name == label)
        .peekable();
    codes.top == Some(ErrorCode::NONE)
        && own.peek().is_some()
        && own.all(|(_, code)| *code == ErrorCode::NONE)
}

/// Records of an acknowledgement that is other than reject or release.
fn settled_by(group: &str, acks: &AckSpans) -> Vec<ShareRecord> {
    let mut records = Vec::new();
    for (partition, spans) in acks {
        let other = spans
            .iter()
            .filter(|span| span.types.iter().any(|kind| matches!(kind, 0 | 1)));
        for offset in other.flat_map(|span| span.first..=span.last) {
            records.push((group.to_string(), partition.clone(), offset));
        }
    }
    records
}
