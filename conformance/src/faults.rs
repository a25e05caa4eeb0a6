//! The scripts again, each with faults at its storage operations: what the steps say does not
//! hold any more, but what a transaction promises does.
//!
//! Clients behave as real ones then: who is refused or hears nothing aborts, and who hears nothing
//! of the end of a transaction asks again. At the end all transactions have timed out, and of each
//! either everything counts or nothing: nothing both visible and unacknowledged, nothing
//! acknowledged and invisible.

mod ended;
mod notes;
mod participants;
mod reckoning;
pub mod sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ackord_proto::error_code::ErrorCode;
use ackord_proto::uuid::Uuid;

use self::ended::DeliveryLimits;
use crate::answers::Codes;
use crate::arm::Arm;
use crate::core_arm::CoreArm;
use crate::memory_store::{Plan, Traced};
use crate::script::{Expected, Line, Script, Step, StorageStep, TopicPartition, TwoPhase, Verb};
use crate::steps::{ADMIN, DEAD_LETTER_TOPIC, READER, Session};
use crate::traffic::Traffic;

/// Who takes the account; scripts with ACLs that concern everybody have it as a super user.
const AUDITOR: &str = "User:auditor";
/// How often a client asks for the end of its transaction again.
const END_ATTEMPTS: usize = 5;
/// And how long it waits before.
const END_PAUSE_MS: u64 = 1000;

/// How often a broker is started again that cannot read what is stored.
const STARTS: usize = 4;

/// What became of a script with faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultRun {
    /// Whether all that was planned came about.
    pub reached: bool,
    /// The operations that were carried out.
    pub trace: Vec<Traced>,
    /// So many of them come before the end, where everything that is left is awaited.
    pub operations: usize,
    /// Those of each start.
    pub boots: Vec<Range<usize>>,
    /// Broken promises.
    pub problems: Vec<String>,
    /// Transactions whose outputs are visible.
    pub visible: usize,
    /// Records that a transaction acknowledged, as far as outputs tell.
    pub acknowledged: usize,
    /// Records with a dead letter.
    pub dead_letters: usize,
    /// Records that ended because they were delivered as often as they may be.
    pub limited: usize,
    /// Outputs and records that are gone with their topic or the start of their log.
    pub removed: usize,
}

/// A record of a share group.
type ShareRecord = (String, TopicPartition, i64);

/// A partition of a consumer group.
type OffsetKey = (String, TopicPartition);

#[derive(Debug, Default)]
struct Transaction {
    /// Something was refused or lost, so the client aborts.
    doomed: bool,
    /// With their offsets.
    outputs: Vec<(TopicPartition, String, i64)>,
    staged: Vec<ShareRecord>,
    offsets: Vec<(OffsetKey, i64)>,
}

/// What a client was told.
struct Told {
    /// Something did not work that the script wants to.
    failed: bool,
    /// `None`: nothing.
    codes: Option<Codes>,
    /// Of an output.
    base_offset: Option<i64>,
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
    /// Records that were staged without an answer so far.
    unheard: BTreeSet<ShareRecord>,
    /// Groups that somebody changed from outside.
    excluded: BTreeSet<String>,
    /// Topics that were deleted, dead letter queues among them.
    deleted: BTreeSet<String>,
    /// What is compacted away.
    compacted: BTreeMap<TopicPartition, Vec<(i64, i64)>>,
    /// Ids of topics of whose deletion nobody was told.
    doubtful: BTreeMap<String, Uuid>,
    /// Ids of topics that are deleted for good.
    gone: BTreeMap<Uuid, String>,
    limits: DeliveryLimits,
    /// Outputs and staged records that went with their topic.
    removed: usize,
    /// Transactional ids of producers in two-phase commit.
    participants: BTreeSet<String>,
}

/// Runs a script with what is planned for its operations, by their numbers.
pub fn with_faults(script: &Script, plans: &[(usize, Plan)]) -> FaultRun {
    let mut arm = CoreArm::silent();
    for (operation, plan) in plans {
        arm.store().plan(*operation, *plan);
    }
    audit(script, &mut arm)
}

/// Runs a script as [`with_faults`] does, but without any.
pub fn without_fault(script: &Script) -> FaultRun {
    with_faults(script, &[])
}

fn audit(script: &Script, arm: &mut CoreArm) -> FaultRun {
    let mut account = Account::default();
    let mut run = FaultRun::default();
    arm.store().record();
    // Whatever a script forbids to everybody, the account is taken of everything.
    let audited = |line: &Line| matches!(line.step, Step::Broker(_)) && line.text.contains(AUDITOR);
    if script.lines.iter().any(audited)
        && let Err(error) = arm.opens_as(READER, AUDITOR, None)
    {
        run.problems.push(error);
    }
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
    if let Err(error) = account.reckon(&mut session, &mut run) {
        run.problems.push(format!("of the reckoning: {error}"));
    }
    let unanswered = arm.traffic().map(Traffic::unanswered).unwrap_or_default();
    let hangs = unanswered
        .iter()
        .map(|what| format!("{what} has no answer"));
    run.problems.extend(hangs);
    run.problems.extend(arm.broken().iter().cloned());
    run.boots = arm.boots().to_vec();
    run.reached = !arm.store().has_plan();
    run.trace = arm.store().trace().to_vec();
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
            Step::DeleteTopic { name, code } => {
                session.drain(ADMIN);
                let id = session.clients.topic_id(name);
                let deleted = session.step(step).is_ok() && !code.is_error();
                self.note_deletion(name, id, deleted);
            }
            Step::Group { name, configs } => {
                self.limits.configure(name, configs);
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
                self.insist(session, step)?;
                // There is room for another one of its name.
                if let Some(id) = self.doubtful.remove(name) {
                    self.note_deletion(name, id, true);
                }
            }
            Step::Restart { .. } if !session.arm.is_down() => {}
            Step::Advance { .. } | Step::Crash(_) | Step::Restart { .. } => {
                let done = session.step(step);
                if !session.arm.is_down() {
                    done?;
                }
            }
            Step::Broker(configs) => {
                self.limits.configure_broker(configs);
                drop(session.step(step));
            }
            Step::Storage(StorageStep::Compact { partition, gone }) => {
                self.note_compaction(partition, gone);
                drop(session.step(step));
            }
            Step::Limits(_) | Step::Storage(_) => drop(session.step(step)),
        }
        if !matches!(step, Step::Crash(_)) {
            self.revive(session)?;
        }
        Ok(())
    }

    /// Starts a broker again that a planned crash has ended, or that could not read what is stored.
    fn revive(&mut self, session: &mut Session<'_>) -> Result<(), String> {
        let mut outcome = Ok(());
        for _ in 0..STARTS {
            if !session.arm.is_down() {
                return Ok(());
            }
            session.connections_lost();
            outcome = session.arm.restart(0);
        }
        if session.arm.is_down() {
            outcome.and(Err("the broker ends again and again".to_string()))
        } else {
            outcome
        }
    }

    /// The world of the script has to be there, whatever it takes.
    fn insist(&mut self, session: &mut Session<'_>, step: &Step) -> Result<(), String> {
        session.drain(ADMIN);
        for _ in 0..END_ATTEMPTS {
            if session.step(step).is_ok() {
                return Ok(());
            }
            self.revive(session)?;
            session.arm.advance(END_PAUSE_MS)?;
            // What was asked before may be answered only now.
            session.drain(ADMIN);
            // A topic that was created although nobody was told cannot be created again.
            if let Step::Topic { name, .. } = step {
                let _ = session.step(&Step::DeleteTopic {
                    name: name.clone(),
                    code: ErrorCode::NONE,
                });
                self.revive(session)?;
                session.arm.advance(END_PAUSE_MS)?;
                session.drain(ADMIN);
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
            self.note_awaited(&verb);
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
        let told = Told {
            failed: failed(expected, codes.as_ref()),
            codes,
            base_offset: session.base_offset.take(),
        };
        let doomed = self.is_doomed(client);
        self.note(client, &verb, &told);
        // Nobody knows which sequence numbers were used, and below version 5 the epoch stays.
        let keeps_epoch = matches!(verb, Verb::EndTxn { version: ..5, .. });
        if doomed && keeps_epoch && !self.current.contains_key(client) {
            self.take_new_epoch(session, client)?;
        }
        Ok(())
    }

    fn take_new_epoch(&mut self, session: &mut Session<'_>, client: &str) -> Result<(), String> {
        let own = &session.clients.client(client).producer;
        let verb = Verb::Init {
            transactional_id: own.transactional_id.clone(),
            timeout_ms: 60_000,
            two_phase: TwoPhase::default(),
        };
        for _ in 0..END_ATTEMPTS {
            self.revive(session)?;
            session.drain(client);
            let _ = session.step(&Step::Client {
                client: client.to_string(),
                verb: verb.clone(),
                expected: Expected::Success,
            });
            if session
                .answered
                .take()
                .is_some_and(|codes| codes.is_success())
            {
                break;
            }
            session.arm.advance(END_PAUSE_MS)?;
        }
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

    /// Whether something in the transaction of a client did not work.
    fn is_doomed(&self, client: &str) -> bool {
        let current = self.current.get(client);
        current.is_some_and(|index| self.transactions[*index].doomed)
    }

    /// What a careful client does in place of what the script says.
    fn prepare(&mut self, client: &str, verb: &Verb) -> Verb {
        let current = self.current.get(client).copied();
        self.note_participant(verb);
        self.note_acknowledgements(client, verb);
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
                if let Some(group) = self.groups.get(from).cloned() {
                    self.groups.insert(client.to_string(), group);
                }
            }
            Verb::Join { group, .. } => {
                self.groups.insert(client.to_string(), group.clone());
            }
            _ => {}
        }
        let doomed = self.is_doomed(client);
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
}

/// Whether something did not work that the script wants to: all, or all but what it names.
fn failed(expected: &Expected, codes: Option<&Codes>) -> bool {
    let named = match expected {
        Expected::Success => &[][..],
        Expected::Parts(parts) => parts,
        _ => return false,
    };
    let Some(codes) = codes else { return true };
    let unnamed = |label: &str| !named.iter().any(|(own, _)| own.to_string() == *label);
    let mut parts = codes.parts.iter();
    codes.top.is_some_and(ErrorCode::is_error)
        || parts.any(|(label, code)| code.is_error() && unnamed(label))
}
