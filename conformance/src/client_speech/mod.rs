//! Which scripts the client library can say, and what its handles are to be set to.
//!
//! A script speaks of named clients by requests. [`client_speech`] reads its steps as what
//! applications do with a producer, a share consumer, a fetcher and an admin client; what only raw
//! requests can say, the client never says.

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::error_code::ErrorCode;

use crate::script::{
    AckSpan, AckSpans, Expected, Fact, Identity, Line, Script, StageOptions, Step, TopicPartition,
    TwoPhase, Verb,
};

/// How the application of a member acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acknowledging {
    /// Each record by a call.
    Explicit,
    /// All of a poll by the next poll or commit; where all that a script acknowledges is of this kind.
    Implicit,
    /// By a producer.
    #[default]
    Transactional,
}

/// Settings of a share consumer, for all its polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polls {
    /// `max=`: records.
    pub max_records: i32,
    /// `exact`: never more than `max`.
    pub exact: bool,
    /// `wait=`: milliseconds of the broker's clock.
    pub max_wait_ms: i32,
}

/// A member of a share group as the script uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// Who acknowledges.
    pub acknowledging: Acknowledging,
    /// `None` where it never polls.
    pub polls: Option<Polls>,
}

/// A script that clients can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speech {
    /// Its members by name.
    pub readers: BTreeMap<String, Reader>,
}

/// Reads a script as what applications do.
///
/// # Errors
/// The first step that no application says by the API of the client, and why.
pub fn client_speech(script: &Script) -> Result<Speech, String> {
    let mut reading = Reading::default();
    reading.who_acknowledges(script);
    for line in &script.lines {
        reading.line(line).map_err(|why| {
            let Line { number, text, .. } = line;
            format!("line {number}, `{text}`: {why}")
        })?;
    }
    if reading.members.is_empty() && reading.producers.is_empty() {
        return Err("no producer and no member".to_string());
    }
    let unstaged = |own: &ProducerSeen| !own.registering.is_empty();
    if reading.producers.values().any(unstaged) {
        return Err(REGISTERS.to_string());
    }
    Ok(reading.speech)
}

/// EndTxn and Produce of transaction version 2.
const NEWEST_END_TXN: i16 = 5;
const NEWEST_PRODUCE: i16 = 12;

const REGISTERS: &str = "a client registers acknowledgements only where it stages them";

/// Where the transaction of a producer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    Open,
    /// Something was refused: an application aborts.
    Broken,
    /// Another instance took over.
    Fenced,
}

struct ProducerSeen {
    phase: Phase,
    /// Groups that are registered with the next stage.
    registering: BTreeSet<String>,
}

impl ProducerSeen {
    /// Whether an application calls this now, and where its transaction is afterwards.
    fn goes_on(&mut self, verb: &Verb, refused: Option<ErrorCode>) -> Said {
        let fences = refused.is_some_and(is_fencing);
        match (verb, self.phase) {
            (_, Phase::Fenced) if fences => {}
            (_, Phase::Fenced) => return Err("another producer has taken over"),
            (Verb::Begin, Phase::Ready) => self.phase = Phase::Open,
            (Verb::Begin, _) => return Err("a transaction is open"),
            (_, Phase::Ready) => return Err("a client begins its transactions"),
            (Verb::EndTxn { commit: false, .. }, _) => {
                self.phase = Phase::Ready;
                self.registering.clear();
            }
            (_, Phase::Broken) if !fences => return Err("after a refusal a client aborts"),
            (Verb::EndTxn { .. }, _) => self.phase = Phase::Ready,
            _ => {}
        }
        if matches!(verb, Verb::EndTxn { .. }) && !self.registering.is_empty() {
            return Err(REGISTERS);
        }
        if refused.is_some() {
            // Who has taken over is known to the coordinator only.
            let coordinator = matches!(verb, Verb::EndTxn { .. } | Verb::AddShareAcks { .. });
            self.phase = match self.phase {
                Phase::Fenced => Phase::Fenced,
                _ if fences && coordinator => Phase::Fenced,
                _ => Phase::Broken,
            };
        }
        Ok(())
    }
}

/// What a call of a producer is refused with.
fn refusal(expected: &Expected) -> Result<Option<ErrorCode>, &'static str> {
    let refused = match expected {
        Expected::Success => None,
        Expected::Code(code) => Some(*code),
        Expected::Parts(parts) => parts.iter().map(|(_, code)| *code).next(),
        Expected::Waiting => return Err("the answer is awaited in a call"),
        _ => return Err("no result of a call"),
    };
    match refused.is_some_and(ErrorCode::is_retriable) {
        true => Err("the client repeats this by itself"),
        false => Ok(refused),
    }
}

#[derive(Default)]
struct MemberSeen {
    group: String,
    topics: Vec<String>,
    /// What every poll reached the application with, in this life of the member.
    polled: BTreeSet<(TopicPartition, i64)>,
    /// What the application has not answered yet.
    held: BTreeSet<(TopicPartition, i64)>,
    /// What it asked for more time for.
    renewed: BTreeSet<(TopicPartition, i64)>,
    /// The broker that knew of it is gone.
    forgotten: bool,
    /// A poll that has not come back.
    waits: bool,
}

#[derive(Default)]
struct Reading {
    speech: Speech,
    partitions: BTreeMap<String, i32>,
    members: BTreeMap<String, MemberSeen>,
    producers: BTreeMap<String, ProducerSeen>,
}

type Said = Result<(), &'static str>;

impl Reading {
    /// Who answers for the records of each member. A consumer that nobody answers for leaves its
    /// records to their locks, as one whose producer never came to stage them.
    fn who_acknowledges(&mut self, script: &Script) {
        let mut staged = BTreeSet::new();
        for line in &script.lines {
            let Step::Client { client, verb, .. } = &line.step else {
                continue;
            };
            match verb {
                Verb::Join { .. } => drop(self.reader(client)),
                Verb::Ack(acks) | Verb::Fetch { acks, .. } if !acks.is_empty() => {
                    self.reader(client).acknowledging = Acknowledging::Implicit;
                }
                Verb::Stage { member, .. } => drop(staged.insert(member.as_str())),
                _ => {}
            }
        }
        for member in staged {
            self.reader(member).acknowledging = Acknowledging::Transactional;
        }
    }

    fn reader(&mut self, client: &str) -> &mut Reader {
        self.speech.readers.entry(client.to_string()).or_default()
    }

    fn line(&mut self, line: &Line) -> Said {
        match &line.step {
            Step::Client {
                client,
                verb,
                expected,
            } => {
                if self.members.get(client).is_some_and(|own| own.waits) && *verb != Verb::Answer {
                    return Err("a poll is under way");
                }
                self.client(client, verb, expected)
            }
            Step::Advance { .. }
            | Step::Expect(Fact::NothingOpen | Fact::Transaction { .. })
            | Step::Crash(_) => {
                let registers = |own: &ProducerSeen| !own.registering.is_empty();
                if self.producers.values().any(registers) {
                    return Err(REGISTERS);
                }
                if matches!(line.step, Step::Crash(_)) {
                    // Memberships end with the broker; the applications join again.
                    self.members
                        .values_mut()
                        .for_each(|own| own.forgotten = true);
                }
                Ok(())
            }
            Step::DeleteTopic { code, .. } if code.is_error() => {
                Err("the refusal of a deletion is for operators")
            }
            Step::Topic {
                name, partitions, ..
            } => {
                self.partitions.insert(name.clone(), *partitions);
                Ok(())
            }
            Step::Storage(_) => Err("the store of a server cannot be held or broken"),
            Step::Broker(_)
            | Step::DeleteTopic { .. }
            | Step::Expect(_)
            | Step::Group { .. }
            | Step::Limits(_)
            | Step::Restart { .. } => Ok(()),
        }
    }

    fn client(&mut self, client: &str, verb: &Verb, expected: &Expected) -> Said {
        match verb {
            Verb::Read { .. } if matches!(expected, Expected::Parts(_)) => {
                Err("a reader that is out of range goes on by itself")
            }
            Verb::Produce { .. } | Verb::Read { .. } if *expected != Expected::Waiting => Ok(()),
            Verb::Init { .. }
            | Verb::Begin
            | Verb::Send { .. }
            | Verb::AddShareAcks { .. }
            | Verb::Stage { .. }
            | Verb::EndTxn { .. } => self.producer(client, verb, expected),
            Verb::Join { .. }
            | Verb::Fetch { .. }
            | Verb::Ack(_)
            | Verb::Answer
            | Verb::Leave
            | Verb::Disconnect => self.member(client, verb, expected),
            Verb::CloseSession => Err("a consumer closes its session with its membership"),
            Verb::Consumer(_) => Err("the clients have no consumer groups"),
            Verb::Copy(_) => Err("a producer cannot be copied"),
            Verb::Heartbeat { .. } => Err("heartbeats are the client's own affair"),
            Verb::Repeat => Err("an application cannot repeat a request"),
            _ => Err("a request that the client library does not send"),
        }
    }

    fn producer(&mut self, client: &str, verb: &Verb, expected: &Expected) -> Said {
        if let Verb::Init { two_phase, .. } = verb {
            if *two_phase != TwoPhase::default() {
                return Err("a client takes a prepared transaction up by its state");
            }
            return self.init(client, expected);
        }
        let own = self.producers.get_mut(client).ok_or("init comes first")?;
        own.goes_on(verb, refusal(expected)?)?;
        match verb {
            Verb::AddShareAcks {
                group, identity, ..
            } => {
                own.registering.insert(group.clone());
                if matches!(expected, Expected::Parts(_)) {
                    return Err("a client registers what it has polled");
                }
                is_own(identity)
            }
            Verb::EndTxn {
                version, identity, ..
            } if *version == NEWEST_END_TXN => is_own(identity),
            Verb::Send {
                version, identity, ..
            } if *version == NEWEST_PRODUCE => is_own(identity),
            Verb::EndTxn { .. } | Verb::Send { .. } => {
                Err("the client asks in the newest version that the broker has")
            }
            Verb::Stage {
                group,
                member,
                acks,
                options,
                identity,
            } => {
                own.registering.remove(group);
                is_own(identity)?;
                self.stage(group, member, acks, options)
            }
            _ => Ok(()),
        }
    }

    fn init(&mut self, client: &str, expected: &Expected) -> Said {
        match expected {
            Expected::Success => {}
            // The client tries again by itself, or the application gives up.
            Expected::Code(_) => return Ok(()),
            _ => return Err("no result of a call"),
        }
        let fresh = ProducerSeen {
            phase: Phase::Ready,
            registering: BTreeSet::new(),
        };
        self.producers.insert(client.to_string(), fresh);
        Ok(())
    }

    fn stage(
        &mut self,
        group: &str,
        member: &str,
        acks: &AckSpans,
        options: &StageOptions,
    ) -> Said {
        if *options != StageOptions::default() {
            return Err("the client says who it is and what it has polled");
        }
        let own = self.members.get(member).ok_or("a member joins first")?;
        if own.group != group {
            return Err("acknowledgements go to the group that they were polled in");
        }
        let (mut last, mut partitions) = (BTreeMap::new(), BTreeSet::new());
        for (partition, spans) in acks {
            if !partitions.insert(partition) || spans.is_empty() {
                return Err("the client names each partition once, with its records");
            }
            for span in spans {
                let AckSpan {
                    first, last: end, ..
                } = span;
                if last
                    .insert(partition, *end)
                    .is_some_and(|last| last >= *first)
                {
                    return Err("the client sorts what it acknowledges");
                }
                if first > end || !fits(span) {
                    return Err("the client gives each record one type");
                }
                if span.types.iter().any(|kind| !matches!(kind, 1 | 3)) {
                    return Err("the client refuses such a type itself");
                }
                let polled = |offset| own.polled.contains(&(partition.clone(), offset));
                if !(*first..=*end).all(polled) {
                    return Err("a client acknowledges what it has polled");
                }
            }
        }
        Ok(())
    }

    fn member(&mut self, client: &str, verb: &Verb, expected: &Expected) -> Said {
        if let Verb::Join { group, topics } = verb {
            if self.members.get(client).is_some_and(|own| !own.forgotten) {
                return Err("it is a member already");
            }
            if !matches!(expected, Expected::Success | Expected::Code(_)) {
                return Err("no result of a call");
            }
            let seen = MemberSeen {
                group: group.clone(),
                topics: topics.clone(),
                ..Default::default()
            };
            self.members.insert(client.to_string(), seen);
            return Ok(());
        }
        if matches!(verb, Verb::Disconnect) && self.producers.contains_key(client) {
            return Err("an application cannot cut its connection");
        }
        if !self.members.contains_key(client) {
            return Err("a member joins first");
        }
        match verb {
            Verb::Leave | Verb::Disconnect => {
                drop(self.members.remove(client));
                Ok(())
            }
            Verb::Ack(acks) => {
                if !matches!(
                    expected,
                    Expected::Success | Expected::Parts(_) | Expected::Code(_)
                ) {
                    return Err("no result of a call");
                }
                self.acknowledge(client, acks)
            }
            Verb::Answer => {
                if let Some(own) = self.members.get_mut(client) {
                    own.waits = false;
                }
                self.polled(client, None, expected)
            }
            Verb::Fetch {
                partitions,
                acks,
                max_records,
                max_wait_ms,
                exact,
            } => {
                let polls = Polls {
                    max_records: *max_records,
                    exact: *exact,
                    max_wait_ms: *max_wait_ms,
                };
                if !acks.is_empty() {
                    self.acknowledge(client, acks)?;
                }
                self.poll(client, partitions, polls, expected)
            }
            _ => Ok(()),
        }
    }

    fn acknowledge(&mut self, client: &str, acks: &AckSpans) -> Said {
        let mut reader = self.reader(client).acknowledging;
        let own = self.members.get_mut(client).ok_or("a member joins first")?;
        let mut accepted = BTreeSet::new();
        for (partition, spans) in acks {
            for span in spans {
                if !fits(span) {
                    return Err("the client gives each record one type");
                }
                for (offset, kind) in (span.first..=span.last).zip(span.types.iter().cycle()) {
                    let key = (partition.clone(), offset);
                    if !own.held.contains(&key) && !own.renewed.contains(&key) {
                        return Err("a client acknowledges what it holds");
                    }
                    match (reader, kind) {
                        (_, 0) => return Err("the client answers gaps by itself"),
                        (Acknowledging::Transactional, 1 | 3) => {
                            return Err("a transaction acknowledges, or the member, not both");
                        }
                        (Acknowledging::Implicit, 1) => drop(accepted.insert(key)),
                        (Acknowledging::Implicit, 2..=4) => reader = Acknowledging::Explicit,
                        (_, 1..=4) => {}
                        _ => return Err("the client knows no such type"),
                    }
                }
            }
        }
        // Nothing but a call says what becomes of some of the records only.
        if reader == Acknowledging::Implicit && accepted != own.held {
            reader = Acknowledging::Explicit;
        }
        for (partition, spans) in acks {
            for span in spans {
                for (offset, kind) in (span.first..=span.last).zip(span.types.iter().cycle()) {
                    let key = (partition.clone(), offset);
                    own.held.remove(&key);
                    match kind {
                        4 => own.renewed.insert(key),
                        _ => own.renewed.remove(&key),
                    };
                }
            }
        }
        self.reader(client).acknowledging = reader;
        Ok(())
    }

    fn poll(
        &mut self,
        client: &str,
        partitions: &[TopicPartition],
        polls: Polls,
        expected: &Expected,
    ) -> Said {
        let reader = self.reader(client);
        if reader.polls.is_some_and(|own| own != polls) {
            return Err("all polls of a consumer have the same settings");
        }
        reader.polls = Some(polls);
        let acknowledging = reader.acknowledging;
        let own = self.members.get(client).ok_or("a member joins first")?;
        if acknowledging != Acknowledging::Transactional && !own.held.is_empty() {
            return Err("records are acknowledged before the next poll");
        }
        let count = |topic: &String| self.partitions.get(topic).copied().unwrap_or(0);
        let all: BTreeSet<_> = own
            .topics
            .iter()
            .flat_map(|topic| (0..count(topic)).map(move |partition| (topic.as_str(), partition)))
            .collect();
        let asked: BTreeSet<_> = partitions
            .iter()
            .map(|own| (own.topic.as_str(), own.partition))
            .collect();
        if all != asked {
            return Err("a consumer reads all its partitions");
        }
        let peers = self.members.values().filter(|peer| peer.group == own.group);
        if asked.len() > 1 && peers.count() > 1 {
            return Err("the group decides who reads which partition");
        }
        if *expected == Expected::Waiting {
            if let Some(own) = self.members.get_mut(client) {
                own.waits = true;
            }
            return Ok(());
        }
        let only = partitions.first().filter(|_| partitions.len() == 1);
        if polls.max_wait_ms > 0 && *expected == Expected::Nothing {
            return Err("a poll that ends with the broker's clock is one that waits");
        }
        self.polled(client, only, expected)
    }

    fn polled(&mut self, client: &str, only: Option<&TopicPartition>, expected: &Expected) -> Said {
        let own = self.members.get_mut(client).ok_or("a member joins first")?;
        let spans = match expected {
            Expected::Acquired(spans) => spans,
            Expected::Nothing => return Ok(()),
            _ => return Err("what a poll gives is records or nothing"),
        };
        let topic = own.topics.first().cloned().unwrap_or_default();
        let first = TopicPartition {
            topic,
            partition: 0,
        };
        for span in spans {
            let partition = span.partition.as_ref().or(only).unwrap_or(&first);
            for offset in span.first..=span.last {
                own.polled.insert((partition.clone(), offset));
                own.held.insert((partition.clone(), offset));
            }
        }
        Ok(())
    }
}

/// One type for all, or one for each.
fn fits(span: &AckSpan) -> bool {
    let records = usize::try_from(span.last - span.first + 1).unwrap_or(0);
    span.types.len() == 1 || span.types.len() == records
}

fn is_own(identity: &Identity) -> Said {
    match *identity == Identity::default() {
        true => Ok(()),
        false => Err("a producer speaks for itself"),
    }
}

/// Codes by which a producer learns that another took over.
pub fn is_fencing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH
    )
}

#[cfg(test)]
mod tests;
