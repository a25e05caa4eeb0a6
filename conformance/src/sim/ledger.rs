//! What clients sent and what they were told: the oracle. It reads the wire at the broker, so it
//! knows of every answer, also of those that the network loses.

use std::collections::{BTreeMap, BTreeSet};

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{FetchRequest, FetchResponse, ProduceRequest, ProduceResponse};
use ackord_proto::uuid::Uuid;

use super::actors::QUEUE;
use super::dead_letters::Letters;
use super::deliveries::Deliveries;
use super::sessions::Sessions;
use super::stages::Stages;
use crate::log_reader;

/// A partition by its topic's name.
pub type Partition = (String, i32);

/// A record of a share group: group, partition, offset.
pub type ShareRecord = (String, Partition, i64);

/// Transactional id, producer id and epoch.
pub type Pair = (String, i64, i16);

/// One transaction of one client.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    /// Transactional id.
    pub tid: String,
    /// Producer.
    pub producer: (i64, i16),
    /// Whoever came back for it with two-phase commit (KIP-939).
    pub heirs: Vec<(i64, i16)>,
    /// Its client has stored the decision.
    pub stored: bool,
    /// Values sent to each partition.
    pub outputs: BTreeMap<Partition, Vec<String>>,
    /// Where its last batch is in each partition, as far as the broker has told.
    last_batches: BTreeMap<Partition, i64>,
    /// Records whose stage was answered with success, and their acknowledge types.
    pub staged: BTreeMap<ShareRecord, i8>,
    /// Offset of a consumer group for each partition.
    pub offsets: BTreeMap<(String, Partition), i64>,
    /// The client has asked for this outcome.
    pub decision: Option<bool>,
    /// The broker has confirmed it.
    pub answered: Option<bool>,
    /// When that was, in microseconds.
    answered_us: u64,
    /// A reader saw its outputs.
    pub seen: bool,
    /// When that was first, in microseconds.
    seen_us: u64,
}

/// An idempotent record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Produced {
    /// Its append was confirmed.
    pub acked: bool,
}

/// What a participant of two-phase commit has stored, beside the broker.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// Number of the transaction.
    pub txn: usize,
    /// The pair under which it was prepared.
    pub producer: (i64, i16),
    /// How it is to end, once that is decided.
    pub decision: Option<bool>,
    /// The broker was asked to end it.
    pub asked: bool,
}

/// The account of a run.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Topics by name.
    pub topics: BTreeMap<String, Uuid>,
    names: BTreeMap<Uuid, String>,
    /// Transactions, by number.
    pub txns: Vec<Txn>,
    /// Records outside of transactions, by value.
    pub produced: BTreeMap<String, Produced>,
    /// What share groups delivered and took back.
    pub deliveries: Deliveries,
    /// Share sessions.
    pub sessions: Sessions,
    /// Groups and topics that an administrator has changed: their records may end in other ways.
    pub reset: BTreeMap<(String, String), u32>,
    /// Topics whose records were deleted from the front.
    pub trimmed: BTreeSet<String>,
    /// Topics that are gone.
    pub deleted: BTreeSet<String>,
    /// Consumer group offsets by the transaction that asked for them last.
    next_value: u64,
    /// EndTxn of a producer that was confirmed: outcome, by transactional id, id and epoch.
    ended: BTreeMap<Pair, bool>,
    /// Acknowledgements in transactions.
    stages: Stages,
    /// What participants of two-phase commit have stored, by transactional id.
    pub prepared: BTreeMap<String, Prepared>,
    /// The dead letter queue, where groups have one: whether copies have values.
    pub queue: Option<bool>,
    /// What is in it, at the end.
    pub letters: Letters,
    /// Transactional ids whose producer changed since.
    renewed: BTreeSet<Pair>,
    problems: Vec<String>,
    /// Groups that read committed data only.
    pub reads_committed: bool,
    /// Counts commits that a client was told of.
    pub commits: u64,
    /// Offsets of the input topic with a record that was not aborted, as the end of the run saw it.
    pub present: BTreeMap<(i32, i64), String>,
}

impl Ledger {
    /// A group may pass the offset without delivering it.
    pub fn undelivered_is_right(&self, partition: i32, offset: i64) -> bool {
        !self.present.contains_key(&(partition, offset))
    }

    /// A broken promise.
    pub fn problem(&mut self, what: String) {
        if self.problems.len() < 20 {
            self.problems.push(what);
        }
    }

    /// Takes the broken promises.
    pub fn take_problems(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.problems);
        all.append(&mut self.deliveries.problems);
        all
    }

    /// A topic was created.
    pub fn learn(&mut self, name: &str, id: Uuid) {
        self.topics.insert(name.to_string(), id);
        self.names.insert(id, name.to_string());
    }

    /// The id of a topic.
    pub fn id(&self, topic: &str) -> Uuid {
        self.topics.get(topic).copied().unwrap_or(Uuid::ZERO)
    }

    /// The name of a topic.
    pub fn name(&self, id: Uuid) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    /// A value that was never used.
    pub fn fresh_value(&mut self) -> String {
        self.next_value += 1;
        let value = format!("r{}", self.next_value);
        self.produced.insert(value.clone(), Produced::default());
        value
    }

    /// A transaction begins at its client.
    pub fn begin(&mut self, tid: &str, producer: (i64, i16)) -> usize {
        self.txns.push(Txn {
            tid: tid.to_string(),
            producer,
            ..Txn::default()
        });
        self.txns.len() - 1
    }

    /// The value of an output.
    pub fn output(&mut self, txn: usize, partition: Partition, of: &str) -> String {
        let value = format!("T{txn}:{of}");
        let own = self.txns[txn].outputs.entry(partition).or_default();
        own.push(value.clone());
        value
    }

    /// The number of the transaction that wrote a value.
    pub fn txn_of(value: &str) -> Option<usize> {
        let number = value.strip_prefix('T')?.split(':').next()?;
        number.parse().ok()
    }

    /// A connection is gone, at the broker.
    pub fn closed(&mut self, now_us: u64, conn: u64) {
        self.deliveries.closed(now_us, conn);
        self.sessions.closed(conn);
    }

    /// A request has reached the broker.
    pub fn on_request(&mut self, now_us: u64, conn: u64, request: &Request) {
        self.sessions.on_request(conn, request);
        self.stages.on_request(request);
        match request {
            Request::ShareFetch(_)
            | Request::ShareAcknowledge(_)
            | Request::TxnOffsetCommit(_)
            | Request::TxnShareAcknowledge(_)
            | Request::TxnShareAcknowledgeDraft(_) => {
                let names = &self.names;
                self.deliveries.on_request(now_us, conn, request, names);
            }
            Request::ShareGroupHeartbeat(request) if request.member_epoch < 0 => {
                let member = (request.group_id.to_string(), request.member_id.to_string());
                self.deliveries.member_gone(now_us, &member);
                self.sessions.left(&member);
            }
            Request::InitProducerId(request) => {
                if let Some(tid) = &request.transactional_id {
                    self.renew(tid);
                }
            }
            Request::DeleteRecords(request) => {
                let names = request.topics.iter().map(|topic| topic.name.to_string());
                self.trimmed.extend(names);
            }
            Request::DeleteTopics(request) => {
                let names = request
                    .topics
                    .iter()
                    .filter_map(|topic| topic.name.as_ref());
                self.deleted.extend(names.map(|name| name.to_string()));
            }
            Request::AlterShareGroupOffsets(request) => {
                for topic in &request.topics {
                    self.reset_group(&request.group_id, &topic.topic_name);
                }
            }
            Request::DeleteShareGroupOffsets(request) => {
                for topic in &request.topics {
                    self.reset_group(&request.group_id, &topic.topic_name);
                }
            }
            _ => {}
        }
    }

    fn reset_group(&mut self, group: &str, topic: &str) {
        let key = (group.to_string(), topic.to_string());
        *self.reset.entry(key).or_default() += 1;
    }

    /// What was refused has changed nothing.
    fn not_reset(&mut self, group: &str, topic: &str) {
        let key = (group.to_string(), topic.to_string());
        if let Some(times) = self.reset.get_mut(&key) {
            *times -= 1;
            if *times == 0 {
                self.reset.remove(&key);
            }
        }
    }

    /// An administrator decides over the records of the group too.
    pub fn is_reset(&self, group: &str, topic: &str) -> bool {
        self.reset
            .contains_key(&(group.to_string(), topic.to_string()))
    }

    /// The broker has answered.
    pub fn on_response(
        &mut self,
        (arrived_us, now_us): (u64, u64),
        conn: u64,
        era: u64,
        request: &Request,
        version: i16,
        response: &Response,
    ) {
        if let Some(problem) = self.sessions.on_response(conn, request, response) {
            self.problem(problem);
        }
        let staged = self
            .stages
            .on_response(arrived_us, request, version, response);
        if let Some(problem) = staged {
            self.problem(problem);
        }
        match (request, response) {
            (Request::EndTxn(request), Response::EndTxn(response)) => {
                let key = (
                    request.transactional_id.to_string(),
                    request.producer_id,
                    request.producer_epoch,
                );
                if response.producer_epoch == i16::MAX {
                    self.problem(format!("{key:?} was given the last epoch of all"));
                }
                self.end_answered(now_us, key, request.committed, version, response.error_code);
            }
            (Request::InitProducerId(request), Response::InitProducerId(response)) => {
                if let Some(tid) = &request.transactional_id {
                    let given = (response.producer_id, response.producer_epoch);
                    self.init_answered(tid, given, response.error_code);
                }
            }
            (Request::Fetch(request), Response::Fetch(response))
                if request.isolation_level == 1 =>
            {
                self.read((arrived_us, now_us), request, response);
            }
            (Request::Produce(request), Response::Produce(response)) => {
                self.produce_answered(request, response);
            }
            (
                Request::AlterShareGroupOffsets(request),
                Response::AlterShareGroupOffsets(response),
            ) if response.error_code == ErrorCode::NON_EMPTY_GROUP => {
                for topic in &request.topics {
                    self.not_reset(&request.group_id, &topic.topic_name);
                }
            }
            (
                Request::DeleteShareGroupOffsets(request),
                Response::DeleteShareGroupOffsets(response),
            ) if response.error_code == ErrorCode::NON_EMPTY_GROUP => {
                for topic in &request.topics {
                    self.not_reset(&request.group_id, &topic.topic_name);
                }
            }
            (_, Response::ShareFetch(_) | Response::ShareAcknowledge(_)) => {
                self.deliveries.reset = self.reset.keys().cloned().collect();
                let names = &self.names;
                let aborted = self.deliveries.on_response(
                    (arrived_us, now_us),
                    conn,
                    era,
                    request,
                    response,
                    names,
                );
                self.given_uncommitted(aborted);
            }
            _ => {}
        }
    }

    fn produce_answered(&mut self, request: &ProduceRequest, response: &ProduceResponse) {
        for (topic, answer) in request.topic_data.iter().zip(&response.responses) {
            let parts = topic.partition_data.iter();
            for (part, answer) in parts.zip(&answer.partition_responses) {
                let bytes = part.records.as_ref().map(|records| records.to_bytes());
                if answer.error_code == ErrorCode::NONE {
                    let partition = (topic.name.to_string(), part.index);
                    let values = super::wire::values(&bytes.unwrap_or_default());
                    self.appended(&partition, answer.base_offset, &values);
                }
            }
        }
    }

    /// Groups were given these values of transactions.
    fn given_uncommitted(&mut self, given: Vec<(String, String)>) {
        if !self.reads_committed {
            return;
        }
        for (group, value) in given {
            let txn = Ledger::txn_of(&value).and_then(|txn| self.txns.get(txn));
            if txn.is_some_and(|txn| txn.decision != Some(true)) {
                self.problem(format!("{group} was given {value}, which is not committed"));
            }
        }
    }

    fn appended(&mut self, partition: &Partition, base: i64, values: &[(i64, String)]) {
        let first = values.first().and_then(|(_, value)| Ledger::txn_of(value));
        if let Some(txn) = first.and_then(|txn| self.txns.get_mut(txn)) {
            let last = txn.last_batches.entry(partition.clone()).or_insert(base);
            *last = (*last).max(base);
        }
        for (_, value) in values {
            if let Some(own) = self.produced.get_mut(value) {
                own.acked = true;
            }
        }
    }

    /// The newest transaction under a producer.
    fn txn_under(&mut self, key: &Pair) -> Option<usize> {
        self.txns.iter().rposition(|txn| {
            let own = (key.1, key.2);
            txn.tid == key.0 && (txn.producer == own || txn.heirs.contains(&own))
        })
    }

    /// A participant of two-phase commit stores how its prepared transaction is to end, unless it has
    /// done so; returns what is stored.
    pub fn decide(&mut self, tid: &str, commit: bool) -> bool {
        let Some(prepared) = self.prepared.get_mut(tid) else {
            return commit;
        };
        let decision = *prepared.decision.get_or_insert(commit);
        let txn = &mut self.txns[prepared.txn];
        txn.stored = true;
        txn.decision = Some(decision);
        decision
    }

    /// It is known that a transaction has ended as its client decided.
    pub fn resolved(&mut self, now_us: u64, number: usize) {
        if let Some(commit) = self.txns[number].decision {
            self.confirm(now_us, number, commit);
        }
    }

    fn confirm(&mut self, now_us: u64, number: usize, commit: bool) {
        let txn = &mut self.txns[number];
        if txn.answered.is_some_and(|own| own != commit) {
            self.problem(format!(
                "T{number} was confirmed both committed and aborted"
            ));
        } else if txn.answered.is_none() {
            txn.answered = Some(commit);
            txn.answered_us = now_us;
            self.commits += u64::from(commit);
            let staged = std::mem::take(&mut self.txns[number].staged);
            if commit {
                self.deliveries.committed(number, &staged);
            }
            self.txns[number].staged = staged;
        }
    }

    fn end_answered(
        &mut self,
        now_us: u64,
        key: Pair,
        commit: bool,
        version: i16,
        code: ErrorCode,
    ) {
        let newest = self.txns.iter().rposition(|txn| txn.tid == key.0);
        let txn = self.txn_under(&key);
        if code == ErrorCode::NONE {
            if let Some(problem) = self.stages.ended(now_us, &key, commit, version) {
                self.problem(problem);
            }
            if version >= 5 {
                self.ended.insert(key, commit);
            }
            let Some(number) = txn else { return };
            // Late copies of the end of an earlier transaction are answered like the first.
            if version >= 5 || self.txns[number].decision == Some(commit) {
                self.confirm(now_us, number, commit);
            }
            return;
        }
        let repeated = self.ended.get(&key) == Some(&commit)
            && !self.renewed.contains(&key)
            && newest.is_none_or(|newest| Some(newest) == txn);
        let broken = [
            ErrorCode::PRODUCER_FENCED,
            ErrorCode::INVALID_PRODUCER_EPOCH,
            ErrorCode::INVALID_TXN_STATE,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
        ];
        if repeated && broken.contains(&code) {
            self.problem(format!(
                "{key:?}: a repeated EndTxn was answered {code} after NONE"
            ));
        }
    }

    /// What has ended so far may be fenced from now on.
    fn renew(&mut self, tid: &str) {
        let ended = self.ended.keys().filter(|key| key.0 == tid);
        self.renewed.extend(ended.cloned());
    }

    fn init_answered(&mut self, tid: &str, given: (i64, i16), code: ErrorCode) {
        self.renew(tid);
        if code == ErrorCode::NONE && (given.0 < 0 || given.1 < 0 || given.1 == i16::MAX) {
            self.problem(format!("{tid} was given {given:?}"));
        }
    }

    /// A reader of committed data saw all of some partitions at one moment.
    fn read(
        &mut self,
        (arrived_us, now_us): (u64, u64),
        request: &FetchRequest,
        response: &FetchResponse,
    ) {
        let whole = request.topics.iter().flat_map(|topic| &topic.partitions);
        if whole.clone().any(|part| part.fetch_offset > 0) {
            return;
        }
        let mut seen: BTreeMap<usize, BTreeMap<Partition, Vec<String>>> = BTreeMap::new();
        let mut asked: BTreeMap<Partition, i64> = BTreeMap::new();
        for topic in &response.responses {
            for part in &topic.partitions {
                let name = topic.topic.to_string();
                if part.error_code != ErrorCode::NONE
                    || name == QUEUE
                    || self.trimmed.contains(&name)
                    || self.deleted.contains(&name)
                {
                    continue;
                }
                let partition = (name, part.partition_index);
                let Ok(committed) = log_reader::committed(part) else {
                    self.problem(format!("{partition:?} cannot be read"));
                    continue;
                };
                // What lies cold may fill an answer by itself; the rest is for the next one.
                let reached = committed.next_offset.unwrap_or(part.log_start_offset);
                if reached >= part.last_stable_offset {
                    asked.insert(partition.clone(), part.last_stable_offset);
                }
                for value in committed.values {
                    if let Some(txn) = Ledger::txn_of(&value) {
                        let own = seen.entry(txn).or_default();
                        own.entry(partition.clone()).or_default().push(value);
                    }
                }
            }
        }
        for number in 0..self.txns.len() {
            self.judge((arrived_us, now_us), number, seen.get(&number), &asked);
        }
    }

    fn judge(
        &mut self,
        (arrived_us, now_us): (u64, u64),
        number: usize,
        seen: Option<&BTreeMap<Partition, Vec<String>>>,
        asked: &BTreeMap<Partition, i64>,
    ) {
        let txn = &self.txns[number];
        let wanted: BTreeMap<&Partition, &Vec<String>> = txn
            .outputs
            .iter()
            .filter(|(partition, _)| {
                // Behind an open transaction nothing is visible yet.
                let last = txn.last_batches.get(*partition);
                let stable = asked.get(*partition);
                last.is_some_and(|last| stable.is_some_and(|stable| last < stable))
            })
            .collect();
        let all = txn.outputs.len() == wanted.len();
        let problem = match seen {
            Some(seen) if txn.decision != Some(true) => Some(format!(
                "{seen:?} is visible, and nobody committed T{number}"
            )),
            Some(_) if txn.answered == Some(false) => {
                Some(format!("T{number} is visible and was aborted"))
            }
            Some(seen)
                if !wanted
                    .iter()
                    .all(|(partition, values)| seen.get(*partition) == Some(*values)) =>
            {
                let outputs = &txn.outputs;
                Some(format!(
                    "T{number} is visible in part: {seen:?} of {outputs:?}"
                ))
            }
            None if !wanted.is_empty()
                && txn.answered == Some(true)
                && txn.answered_us < arrived_us =>
            {
                Some(format!("T{number} was committed and is not visible"))
            }
            None if all && !wanted.is_empty() && txn.seen && txn.seen_us < arrived_us => {
                Some(format!("T{number} was visible and is not any more"))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            self.problem(problem);
        }
        if seen.is_some() && !self.txns[number].seen {
            self.txns[number].seen = true;
            self.txns[number].seen_us = now_us;
        }
    }
}
