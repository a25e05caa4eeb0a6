//! The scripts again, each with a fault at one of its storage operations: what the steps say does not
//! hold any more, but what a transaction promises does.
//!
//! Clients behave as real ones then: who is refused or hears nothing aborts, and who hears nothing
//! of the end of a transaction asks again. At the end all transactions have timed out, and of each
//! either everything counts or nothing: nothing both visible and unacknowledged, nothing
//! acknowledged and invisible.

mod participants;
mod reckoning;

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::error_code::ErrorCode;

use crate::answers::Codes;
use crate::consumer_groups::ConsumerVerb;
use crate::core_arm::CoreArm;
use crate::memory_store::Plan;
use crate::offset_acks::OffsetAcks;
use crate::script::{AckSpans, Expected, GroupAdmin, Script, Step, TopicPartition, Verb};
use crate::steps::{DEAD_LETTER_TOPIC, Session};

/// How often a client asks for the end of its transaction again.
const END_ATTEMPTS: usize = 5;
/// And how long it waits before.
const END_PAUSE_MS: u64 = 1000;

/// What goes wrong at one operation.
pub type Fault = Plan;

/// What became of a script with a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultRun {
    /// Whether the script has so many appends, or other operations.
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

/// Runs a script with `fault` at its append, or other operation, number `n`, from 0.
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
            | GroupAdmin::DescribeConsumer(_)
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
