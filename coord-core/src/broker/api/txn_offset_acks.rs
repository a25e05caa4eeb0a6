//! TxnOffsetCommit that acknowledges records of a share group: the bridge for producers that do not
//! know TxnShareAcknowledge (KIP-1289).
//!
//! The metadata of each partition says what to acknowledge ([`acks_text`]). The broker registers the
//! state partitions itself, then stages as TxnShareAcknowledge does, all or nothing for each
//! partition. Codes are such that the client can always abort and go on.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ackord_machine::{LogId, OpId, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use ackord_proto::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use ackord_proto::str::Str;

use super::super::Broker;
use super::super::access::sentence;
use super::super::ack_refusals::RefusalKind;
use super::super::gather::{Gather, Missing};
use super::offset_commit::check_partition;
use super::txn_offset_commit::{
    ADDS_PARTITIONS, FIRST_WITH_IDS, KNOWS_ABORTABLE, older_client_code,
};
use crate::group::partition_for_id;
use crate::outbox::Ticket;
use crate::share::{ShareKey, ShareReply, StageCommand, acks_text};
use crate::txn::{AddKind, AddPartitions, OffsetContent};

/// From this version on clients take GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH for what they are
/// (KIP-848).
const KNOWS_MEMBER_EPOCHS: i16 = 6;

const NOT_ADDED: &str = "below version 5 a transaction takes acknowledgements only after \
                         AddOffsetsToTxn for the group, and none of before a restart";
const OTHER_CONTENT: &str =
    "below version 5 a transaction takes one TxnOffsetCommit content for a share group";

/// Why something is refused.
#[derive(Debug)]
struct Refusal {
    code: ErrorCode,
    kind: RefusalKind,
    reason: String,
}

impl Refusal {
    /// With the code that means: abort and go on.
    fn abortable(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Refusal::coded(ErrorCode::TRANSACTION_ABORTABLE, kind, reason)
    }

    fn coded(code: ErrorCode, kind: RefusalKind, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Refusal { code, kind, reason }
    }
}

/// A partition that goes on to its share coordinator.
#[derive(Debug)]
struct Accepted {
    part: usize,
    id: LogId,
    ranges: Vec<StagedRange>,
}

/// What is known of one partition of the request.
#[derive(Debug)]
struct Part {
    /// How people name it.
    label: String,
    /// NONE, or what the client is told before its version counts.
    code: ErrorCode,
}

/// A request with what became of its partitions.
#[derive(Debug)]
pub(in crate::broker) struct AcksGather {
    version: i16,
    request: TxnOffsetCommitRequest,
    parts: Vec<Part>,
    accepted: Vec<Accepted>,
    /// Only what is staged already may be repeated.
    repeats_only: bool,
    member_error: ErrorCode,
    /// What the whole request is refused with.
    whole: Option<ErrorCode>,
    /// The first refusal, which is the one that people hear of.
    refusal: Option<(RefusalKind, String)>,
    missing: Missing,
}

impl AcksGather {
    fn new(version: i16, request: TxnOffsetCommitRequest) -> Self {
        AcksGather {
            version,
            request,
            parts: Vec::new(),
            accepted: Vec::new(),
            repeats_only: false,
            member_error: ErrorCode::NONE,
            whole: None,
            refusal: None,
            missing: Missing::default(),
        }
    }

    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    fn refuse(&mut self, part: usize, refusal: Refusal) {
        if let Some(part) = self.parts.get_mut(part) {
            part.code = refusal.code;
            if is_refusal(answered(refusal.code, self.version)) {
                let reason = format!("{}: {}", part.label, refusal.reason);
                self.refusal.get_or_insert((refusal.kind, reason));
            }
        }
    }

    /// The whole request is refused.
    fn refuse_all(&mut self, refusal: Refusal) {
        self.whole = Some(refusal.code);
        if !is_refusal(answered(refusal.code, self.version)) {
            self.refusal = None;
            return;
        }
        self.refusal = Some((refusal.kind, refusal.reason));
    }

    /// Those that are under way have this outcome.
    fn end_open(&mut self, code: ErrorCode) {
        for accepted in core::mem::take(&mut self.accepted) {
            if let Some(part) = self.parts.get_mut(accepted.part) {
                part.code = code;
            }
        }
    }

    /// The outcome of one partition.
    pub(in crate::broker) fn arrived(&mut self, part: u32, reply: ShareReply, gate: Option<OpId>) {
        let ShareReply::Staged {
            code,
            message,
            whole_request,
        } = reply;
        self.missing.arrived(gate);
        if code == ErrorCode::NONE {
            return;
        }
        let reason = match (self.repeats_only, message) {
            (true, _) => NOT_ADDED.to_string(),
            (false, Some(message)) => message.to_string(),
            (false, None) => code.name().to_string(),
        };
        let refusal = Refusal::coded(code, kind_of(code, self.repeats_only), reason);
        match whole_request && !self.repeats_only {
            true => self.refuse_all(refusal),
            false => self.refuse(part as usize, refusal),
        }
    }

    fn response(&self) -> TxnOffsetCommitResponse {
        let mut codes = self
            .parts
            .iter()
            .map(|part| self.whole.unwrap_or(part.code));
        let topics = self.request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|asked| {
                let code = codes.next().unwrap_or_default();
                TxnOffsetCommitResponsePartition {
                    partition_index: asked.partition_index,
                    error_code: answered(code, self.version),
                    ..Default::default()
                }
            });
            TxnOffsetCommitResponseTopic {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partitions: partitions.collect(),
                ..Default::default()
            }
        });
        TxnOffsetCommitResponse {
            topics: topics.collect(),
            ..Default::default()
        }
    }
}

impl Broker {
    /// Whether a TxnOffsetCommit acknowledges records: a text says so, or the group takes nothing
    /// else.
    pub(super) fn acknowledges(&mut self, request: &TxnOffsetCommitRequest) -> bool {
        let mut partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
        partitions.any(|asked| text_of(asked).starts_with(acks_text::PREFIX))
            || (self.share_settings(&request.group_id).transactional
                && self.is_share_group(&request.group_id))
    }

    pub(super) fn txn_offset_acks(&mut self, slot: u64, request: TxnOffsetCommitRequest) {
        let mut gather = AcksGather::new(self.version(slot), request);
        let judged = self.judge_acks(slot, &mut gather);
        let checked = self.check_acks(&gather.request);
        let tc = match checked {
            Ok(tc) => tc,
            Err(refusal) => {
                gather.accepted.clear();
                gather.refuse_all(refusal);
                return self.end_acks(slot, gather);
            }
        };
        judged
            .into_iter()
            .for_each(|(part, refusal)| gather.refuse(part, refusal));
        if gather.accepted.is_empty() {
            return self.end_acks(slot, gather);
        }
        gather.member_error = self.check_stage_member(
            &gather.request.group_id,
            member_of(&gather.request),
            gather.request.generation_id_or_member_epoch,
        );
        if gather.version < ADDS_PARTITIONS
            && let Err(refusal) = self.take_content(tc, &mut gather)
        {
            gather.accepted.clear();
            gather.refuse_all(refusal);
            return self.end_acks(slot, gather);
        }
        gather.missing.one_more();
        if gather.repeats_only {
            return self.stage_acks(slot, gather, None);
        }
        let command = self.registration(&gather);
        self.gathers.insert(slot, Gather::OffsetAcks(gather));
        let ticket = Ticket { slot, part: 0 };
        self.with_tc(tc, None, |tc, ctx, out| {
            tc.add_partitions(ctx.now, ticket, command, out);
        });
    }

    /// Group, producer and form of the request; the transaction coordinator to ask.
    fn check_acks(&mut self, request: &TxnOffsetCommitRequest) -> Result<i32, Refusal> {
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            let reason = "the transaction coordinator reads its log";
            let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
            return Err(Refusal::coded(code, RefusalKind::Producer, reason));
        }
        self.check_acks_producer(tc, request)?;
        let group = &request.group_id;
        if !self.is_share_group(group) {
            let reason = "there is no share group of this name";
            let code = ErrorCode::GROUP_ID_NOT_FOUND;
            return Err(Refusal::coded(code, RefusalKind::Group, reason));
        }
        if !self.share_settings(group).transactional {
            let reason = "the group has not share.acknowledgement.mode=transactional";
            return Err(Refusal::abortable(RefusalKind::Mode, reason));
        }
        let names_member = !request.member_id.is_empty();
        if names_member != (request.generation_id_or_member_epoch >= 0) {
            let reason = "member id and generation come both or not at all";
            return Err(Refusal::abortable(RefusalKind::Member, reason));
        }
        Ok(tc)
    }

    fn check_acks_producer(
        &self,
        tc: i32,
        request: &TxnOffsetCommitRequest,
    ) -> Result<(), Refusal> {
        let (id, producer) = (&request.transactional_id, request.producer_id);
        let refused = |code, reason| Err(Refusal::coded(code, RefusalKind::Producer, reason));
        let Some(tc) = self.tcs.get(&tc) else {
            let reason = "nobody has this transactional id";
            return refused(ErrorCode::INVALID_PRODUCER_ID_MAPPING, reason);
        };
        match tc.check_producer(id, producer, request.producer_epoch) {
            Ok(()) => Ok(()),
            Err(_) if tc.has_ended(id, producer, request.producer_epoch) => {
                let reason = "the transaction of this producer epoch has ended";
                refused(ErrorCode::TRANSACTION_ABORTABLE, reason)
            }
            Err(code @ ErrorCode::INVALID_PRODUCER_EPOCH) => {
                refused(code, "a newer producer has this transactional id")
            }
            Err(code) => refused(code, "the transactional id is not that of the producer id"),
        }
    }

    /// Sorts the partitions into those that go on and those that are refused.
    fn judge_acks(&mut self, slot: u64, gather: &mut AcksGather) -> Vec<(usize, Refusal)> {
        let by_id = gather.version >= FIRST_WITH_IDS;
        let mut times: BTreeMap<LogId, usize> = BTreeMap::new();
        let mut refused = Vec::new();
        for topic in &gather.request.topics {
            let found = self.topic_of_offsets(slot, by_id, &topic.name, topic.topic_id);
            for asked in &topic.partitions {
                let index = asked.partition_index;
                let part = gather.parts.len();
                let label = match found {
                    Ok(found) => format!("{}-{index}", found.name),
                    Err(_) if by_id => format!("{}-{index}", topic.topic_id),
                    Err(_) => format!("{:?}-{index}", topic.name.as_str()),
                };
                let code = ErrorCode::NONE;
                gather.parts.push(Part { label, code });
                let (Ok(topic), ErrorCode::NONE) = (found, check_partition(found, index)) else {
                    // Kafka's code for the second would end the producer.
                    let reason = match found {
                        Err(code @ ErrorCode::TOPIC_AUTHORIZATION_FAILED) => sentence(code),
                        _ => "there is no such partition",
                    };
                    refused.push((part, Refusal::abortable(RefusalKind::Topic, reason)));
                    continue;
                };
                let id = LogId {
                    topic: topic.id,
                    partition: index,
                };
                *times.entry(id).or_default() += 1;
                let ranges = match read_acks(asked) {
                    _ if self.is_sgc_frozen(&gather.request.group_id, id) => {
                        let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
                        let reason = "the share coordinator reads its log";
                        Err(Refusal::coded(code, RefusalKind::Registration, reason))
                    }
                    read => read.map_err(|why| Refusal::abortable(RefusalKind::Text, why)),
                };
                match ranges {
                    Ok(ranges) => gather.accepted.push(Accepted { part, id, ranges }),
                    Err(refusal) => refused.push((part, refusal)),
                }
            }
        }
        // Two entries for one partition: neither counts.
        let twice = |accepted: &Accepted| times.get(&accepted.id).is_some_and(|times| *times > 1);
        for accepted in gather.accepted.extract_if(.., |accepted| twice(accepted)) {
            let refusal = Refusal::abortable(RefusalKind::Text, "the partition is listed twice");
            refused.push((accepted.part, refusal));
        }
        refused
    }

    /// Below version 5: one content for a group that was added to this transaction.
    fn take_content(&mut self, tc: i32, gather: &mut AcksGather) -> Result<(), Refusal> {
        let content = content_of(&gather.request);
        let (id, group) = (&gather.request.transactional_id, &gather.request.group_id);
        let tc = self.tcs.get_mut(&tc);
        match tc.map(|tc| tc.take_offset_content(id, group, &content)) {
            Some(OffsetContent::Taken) => Ok(()),
            Some(OffsetContent::Other) => {
                Err(Refusal::abortable(RefusalKind::Registration, OTHER_CONTENT))
            }
            Some(OffsetContent::NotAdded) | None => {
                gather.repeats_only = true;
                Ok(())
            }
        }
    }

    fn registration(&self, gather: &AcksGather) -> AddPartitions {
        let request = &gather.request;
        let adds = gather.version >= ADDS_PARTITIONS;
        let kind = match adds {
            true => AddKind::Offsets,
            false => AddKind::Partitions,
        };
        let logs = gather.accepted.iter().map(|accepted| accepted.id);
        AddPartitions {
            version: gather.version,
            kind,
            transactional_id: request.transactional_id.clone(),
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            partitions: self.state_partitions_of(&request.group_id, logs),
        }
    }

    /// The transaction coordinator has added the state partitions, or not.
    pub(in crate::broker) fn acks_registered(
        &mut self,
        slot: u64,
        mut gather: AcksGather,
        error: ErrorCode,
        gate: Option<OpId>,
    ) {
        if error == ErrorCode::NONE {
            return self.stage_acks(slot, gather, gate);
        }
        gather.missing.arrived(gate);
        gather.accepted.clear();
        let reason = "the transaction does not take the state partitions now";
        gather.refuse_all(Refusal::coded(error, kind_of(error, false), reason));
        self.end_acks(slot, gather);
    }

    fn stage_acks(&mut self, slot: u64, mut gather: AcksGather, gate: Option<OpId>) {
        let request = &gather.request;
        let owner = TxnOwner {
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            // The transaction coordinator says which.
            ordinal: 0,
        };
        let member = member_of(request);
        let member_error = match gather.repeats_only {
            true => ErrorCode::INVALID_TXN_STATE,
            false => gather.member_error,
        };
        let (transactional_id, group) = (&request.transactional_id, &request.group_id);
        let commands: Vec<(usize, StageCommand)> = gather
            .accepted
            .iter_mut()
            .map(|accepted| {
                let command = StageCommand {
                    key: ShareKey {
                        group: group.clone(),
                        topic: accepted.id.topic,
                        partition: accepted.id.partition,
                    },
                    transactional_id: transactional_id.clone(),
                    owner,
                    member: member.cloned(),
                    member_error,
                    any_version: true,
                    ranges: core::mem::take(&mut accepted.ranges),
                };
                (accepted.part, command)
            })
            .collect();
        // The registration counts as a part until all were asked, so that no answer leaves before.
        commands.iter().for_each(|_| gather.missing.one_more());
        self.gathers.insert(slot, Gather::OffsetAcks(gather));
        for (part, command) in commands {
            let part = u32::try_from(part).unwrap_or(u32::MAX);
            self.stage_partition(Ticket { slot, part }, command, gate);
        }
        if let Some(Gather::OffsetAcks(mut gather)) = self.gathers.remove(&slot) {
            gather.missing.arrived(gate);
            self.acks_progress(slot, gather);
        }
    }

    /// Answers once every partition has its outcome.
    pub(in crate::broker) fn acks_progress(&mut self, slot: u64, mut gather: AcksGather) {
        if gather.missing.is_complete() {
            gather.accepted.clear();
            return self.end_acks(slot, gather);
        }
        self.gathers.insert(slot, Gather::OffsetAcks(gather));
    }

    /// The verdicts that still wait will not come: a coordinator is being read back.
    pub(in crate::broker) fn abandon_acks(&mut self, slot: u64, mut gather: AcksGather) {
        gather.end_open(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        self.end_acks(slot, gather);
    }

    fn end_acks(&mut self, slot: u64, mut gather: AcksGather) {
        if let Some((kind, reason)) = gather.refusal.take()
            && !gather.parts.is_empty()
        {
            let AcksGather { request, .. } = &gather;
            self.acks_refused(&request.transactional_id, &request.group_id, kind, reason);
        }
        self.respond_whole(slot, gather.response(), gather.missing);
    }
}

/// The member that a request names.
fn member_of(request: &TxnOffsetCommitRequest) -> Option<&Str> {
    Some(&request.member_id).filter(|id| !id.is_empty())
}

fn text_of(asked: &TxnOffsetCommitRequestPartition) -> &str {
    asked.committed_metadata.as_deref().unwrap_or_default()
}

fn read_acks(asked: &TxnOffsetCommitRequestPartition) -> Result<Vec<StagedRange>, String> {
    if asked.committed_offset < 0 {
        return Err("the offset beside acknowledgements must not be negative".to_string());
    }
    acks_text::parse(text_of(asked)).map_err(|error| error.to_string())
}

/// Everything that a request says about partitions, in one order.
fn content_of(request: &TxnOffsetCommitRequest) -> Vec<u8> {
    let mut entries: Vec<Vec<u8>> = Vec::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            let mut entry = Vec::new();
            let name = topic.name.as_bytes();
            let text = text_of(asked).as_bytes();
            entry.extend((name.len() as u64).to_be_bytes());
            entry.extend(name);
            entry.extend(asked.partition_index.to_be_bytes());
            entry.extend((text.len() as u64).to_be_bytes());
            entry.extend(text);
            entries.push(entry);
        }
    }
    entries.sort_unstable();
    entries.concat()
}

fn kind_of(code: ErrorCode, repeats_only: bool) -> RefusalKind {
    match code {
        _ if repeats_only => RefusalKind::Registration,
        ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::STALE_MEMBER_EPOCH => RefusalKind::Member,
        ErrorCode::INVALID_RECORD_STATE => RefusalKind::Records,
        ErrorCode::INVALID_REQUEST => RefusalKind::Text,
        ErrorCode::INVALID_PRODUCER_EPOCH
        | ErrorCode::INVALID_PRODUCER_ID_MAPPING
        | ErrorCode::PRODUCER_FENCED => RefusalKind::Producer,
        _ => RefusalKind::Registration,
    }
}

/// Whether an answer means that the client has to give up, not to try again.
fn is_refusal(code: ErrorCode) -> bool {
    !matches!(
        code,
        ErrorCode::NONE
            | ErrorCode::CONCURRENT_TRANSACTIONS
            | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
    )
}

/// What a client of this version is told. Retriable codes only for what passes by itself, and no
/// code with which a client could not abort and go on, but where a newer producer has its place.
fn answered(code: ErrorCode, version: i16) -> ErrorCode {
    match code {
        ErrorCode::NONE
        | ErrorCode::INVALID_PRODUCER_EPOCH
        | ErrorCode::INVALID_PRODUCER_ID_MAPPING
        | ErrorCode::UNKNOWN_MEMBER_ID => code,
        ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::PRODUCER_FENCED => older_client_code(code, version),
        ErrorCode::KAFKA_STORAGE_ERROR | ErrorCode::NOT_LEADER_OR_FOLLOWER => {
            ErrorCode::COORDINATOR_NOT_AVAILABLE
        }
        ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::STALE_MEMBER_EPOCH
            if version >= KNOWS_MEMBER_EPOCHS =>
        {
            code
        }
        ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::STALE_MEMBER_EPOCH => {
            ErrorCode::ILLEGAL_GENERATION
        }
        _ if version >= KNOWS_ABORTABLE => ErrorCode::TRANSACTION_ABORTABLE,
        _ => ErrorCode::ILLEGAL_GENERATION,
    }
}
