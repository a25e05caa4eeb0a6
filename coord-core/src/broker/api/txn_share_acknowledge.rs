//! TxnShareAcknowledge (KIP-1289): stages acknowledgements in a transaction.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ackord_machine::{LogId, OpId, StagedRange, TxnOwner};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::txn_share_acknowledge::{
    AcknowledgementBatch, TxnShareAcknowledgePartition, TxnShareAcknowledgePartitionResponse,
    TxnShareAcknowledgeTopicResponse,
};
use ackord_proto::messages::{TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse};
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::super::Broker;
use super::super::access::sentence;
use super::super::gather::{Gather, Missing};
use super::txn_share_acknowledge_draft::{StageForm, draft};
use crate::group::{partition_for_id, state_partition_for};
use crate::outbox::Ticket;
use crate::share::{ShareKey, ShareReply, StageCommand};

type Refusal = (ErrorCode, &'static str);

/// The partitions of a request with what became of them.
#[derive(Debug)]
pub(in crate::broker) struct StageGather {
    topics: Vec<TxnShareAcknowledgeTopicResponse>,
    /// Topic and partition of each part, by place.
    places: Vec<(usize, usize)>,
    whole_request: ErrorCode,
    form: StageForm,
    missing: Missing,
}

impl StageGather {
    pub(in crate::broker) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    pub(in crate::broker) fn arrived(&mut self, part: u32, reply: ShareReply, gate: Option<OpId>) {
        let ShareReply::Staged {
            code,
            message,
            whole_request,
        } = reply;
        self.missing.arrived(gate);
        if whole_request && code != ErrorCode::NONE {
            self.whole_request = code;
        }
        self.set(part as usize, code, message);
    }

    fn set(&mut self, part: usize, code: ErrorCode, message: Option<Str>) {
        let Some(&(topic, partition)) = self.places.get(part) else {
            return;
        };
        let result = self
            .topics
            .get_mut(topic)
            .and_then(|topic| topic.partitions.get_mut(partition));
        if let Some(result) = result {
            result.error_code = code;
            result.error_message = if code == ErrorCode::NONE {
                None
            } else {
                message
            };
        }
    }
}

/// A partition that goes on to its share coordinator.
struct Accepted {
    part: u32,
    key: ShareKey,
    ranges: Vec<StagedRange>,
}

impl Broker {
    pub(super) fn txn_share_acknowledge(&mut self, slot: u64, request: TxnShareAcknowledgeRequest) {
        let form = match self.version(slot) {
            0 => StageForm::Plain,
            _ => StageForm::Member,
        };
        if let Err(error_code) = self.check_stage(&request) {
            let response = TxnShareAcknowledgeResponse {
                error_code,
                ..Default::default()
            };
            return self.respond(slot, response, None);
        }
        self.begin_stage(slot, &request, form);
    }

    /// Sends the partitions to their share coordinators, and answers when all have spoken.
    pub(super) fn begin_stage(
        &mut self,
        slot: u64,
        request: &TxnShareAcknowledgeRequest,
        form: StageForm,
    ) {
        let (mut gather, accepted) = self.split_stage(slot, request, form);
        // One more than there are, so that no answer leaves before all were asked.
        (0..=accepted.len()).for_each(|_| gather.missing.one_more());
        self.gathers.insert(slot, Gather::Stage(gather));
        let member = (form != StageForm::Plain).then(|| request.member_id.clone());
        let member_error =
            self.check_stage_member(&request.group_id, member.as_ref(), request.member_epoch);
        for Accepted { part, key, ranges } in accepted {
            let command = StageCommand {
                key,
                transactional_id: request.transactional_id.clone(),
                owner: TxnOwner {
                    producer_id: request.producer_id,
                    producer_epoch: request.producer_epoch,
                    // The transaction coordinator says which.
                    ordinal: 0,
                },
                member: member.clone(),
                member_error,
                any_version: false,
                ranges,
            };
            self.stage_partition(Ticket { slot, part }, command, None);
        }
        if let Some(Gather::Stage(mut gather)) = self.gathers.remove(&slot) {
            gather.missing.arrived(None);
            self.stage_progress(slot, gather);
        }
    }

    /// Answers once every partition has its verdict.
    pub(in crate::broker) fn stage_progress(&mut self, slot: u64, gather: StageGather) {
        if !gather.missing.is_complete() {
            self.gathers.insert(slot, Gather::Stage(gather));
            return;
        }
        let (missing, form) = (gather.missing, gather.form);
        let response = match gather.whole_request {
            ErrorCode::NONE => TxnShareAcknowledgeResponse {
                responses: gather.topics,
                ..Default::default()
            },
            error_code => TxnShareAcknowledgeResponse {
                error_code,
                ..Default::default()
            },
        };
        self.respond_stage(slot, response, form, missing);
    }

    fn respond_stage(
        &mut self,
        slot: u64,
        response: TxnShareAcknowledgeResponse,
        form: StageForm,
        missing: Missing,
    ) {
        match form {
            StageForm::Draft => self.respond_whole(slot, draft(response), missing),
            StageForm::Member | StageForm::Plain => self.respond_whole(slot, response, missing),
        }
    }

    /// The verdicts that still wait will not come: a coordinator is being read back.
    pub(in crate::broker) fn abandon_stage(&mut self, slot: u64, gather: StageGather) {
        let (missing, form) = (gather.missing, gather.form);
        let response = TxnShareAcknowledgeResponse {
            responses: gather.topics,
            ..Default::default()
        };
        self.respond_stage(slot, response, form, missing);
    }

    /// What is wrong with the request as a whole: producer, transactional id, group.
    pub(super) fn check_stage(
        &mut self,
        request: &TxnShareAcknowledgeRequest,
    ) -> Result<(), ErrorCode> {
        if request.group_id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        if request.transactional_id.is_empty() {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let tc = partition_for_id(&request.transactional_id, self.transaction_partitions());
        if self.is_tc_frozen(tc) {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let tc = self
            .tcs
            .get(&tc)
            .ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        tc.check_producer(
            &request.transactional_id,
            request.producer_id,
            request.producer_epoch,
        )?;
        self.existing_coordinator(&request.group_id)?;
        if !self.share_group_exists(&request.group_id) {
            return Err(ErrorCode::GROUP_ID_NOT_FOUND);
        }
        Ok(())
    }

    /// A share group exists while it has members here or states in the log.
    pub(in crate::broker) fn share_group_exists(&self, group: &str) -> bool {
        self.groups.contains_key(group)
            || self
                .sgcs
                .values()
                .any(|sgc| sgc.states().any(|(key, _)| key.group == *group))
    }

    /// What a stage of a member is refused with; none for a stage that names no member.
    pub(super) fn check_stage_member(
        &self,
        group: &str,
        member: Option<&Str>,
        epoch: i32,
    ) -> ErrorCode {
        let Some(member) = member else {
            return ErrorCode::NONE;
        };
        match self.groups.get(group) {
            Some(group) => group.check_member(member, epoch),
            None => ErrorCode::UNKNOWN_MEMBER_ID,
        }
    }

    /// Has the share coordinator of a partition stage, behind what `gate` waits for.
    pub(super) fn stage_partition(
        &mut self,
        ticket: Ticket,
        command: StageCommand,
        gate: Option<OpId>,
    ) {
        let ShareKey {
            group,
            topic,
            partition,
        } = &command.key;
        let count = self.share_state_partitions();
        let sgc = state_partition_for(group, *topic, *partition, count);
        self.with_sgc(sgc, gate, |sgc, now, out| {
            sgc.stage(now, ticket, command, out);
        });
    }

    /// Sorts the partitions of a request into those that are refused or have nothing to do, and
    /// those that go on.
    fn split_stage(
        &self,
        slot: u64,
        request: &TxnShareAcknowledgeRequest,
        form: StageForm,
    ) -> (StageGather, Vec<Accepted>) {
        let mut gather = StageGather {
            topics: Vec::with_capacity(request.topics.len()),
            places: Vec::new(),
            whole_request: ErrorCode::NONE,
            form,
            missing: Missing::default(),
        };
        let repeated = repeated_partitions(request);
        let mut accepted = Vec::new();
        for (place, topic) in request.topics.iter().enumerate() {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for (index, partition) in topic.partitions.iter().enumerate() {
                let part = u32::try_from(gather.places.len()).unwrap_or(u32::MAX);
                gather.places.push((place, index));
                let id = LogId {
                    topic: topic.topic_id,
                    partition: partition.partition,
                };
                let judged = match repeated.contains(&id) {
                    true => Err((ErrorCode::INVALID_REQUEST, "the partition is listed twice")),
                    false => self.judge_partition(slot, &request.group_id, (id, partition), form),
                };
                let (code, message) = match judged {
                    Ok(ranges) if ranges.is_empty() => (ErrorCode::NONE, None),
                    Ok(ranges) => {
                        let group = request.group_id.clone();
                        let key = ShareKey {
                            group,
                            topic: id.topic,
                            partition: id.partition,
                        };
                        accepted.push(Accepted { part, key, ranges });
                        // Until its coordinator has spoken.
                        (ErrorCode::COORDINATOR_NOT_AVAILABLE, None)
                    }
                    Err((code, message)) => (code, Some(Str::from(message))),
                };
                partitions.push(TxnShareAcknowledgePartitionResponse {
                    partition_index: partition.partition,
                    error_code: code,
                    error_message: message,
                    ..Default::default()
                });
            }
            let topic_id = topic.topic_id;
            gather.topics.push(TxnShareAcknowledgeTopicResponse {
                topic_id,
                partitions,
                ..Default::default()
            });
        }
        (gather, accepted)
    }

    fn judge_partition(
        &self,
        slot: u64,
        group: &str,
        (id, partition): (LogId, &TxnShareAcknowledgePartition),
        form: StageForm,
    ) -> Result<Vec<StagedRange>, Refusal> {
        self.check_topic_id(slot, id.topic)
            .map_err(|code| (code, sentence(code)))?;
        let Some(topic) = self.metadata.topic_by_id(id.topic) else {
            return Err((ErrorCode::UNKNOWN_TOPIC_ID, "there is no topic of this id"));
        };
        if !(0..topic.partitions).contains(&id.partition) {
            let message = "the topic has no such partition";
            return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message));
        }
        if self.is_sgc_frozen(group, id) {
            let message = "the share coordinator reads its log; try again";
            return Err((ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, message));
        }
        let mut ranges = Vec::new();
        for batch in &partition.acknowledgement_batches {
            stage_ranges(batch, form, &mut ranges)?;
        }
        Ok(ranges)
    }
}

/// Partitions that a request lists more than once. A topic entry that comes twice spoils the
/// partitions of both.
fn repeated_partitions(request: &TxnShareAcknowledgeRequest) -> BTreeSet<LogId> {
    if let [topic] = &*request.topics
        && topic.partitions.len() <= 1
    {
        return BTreeSet::new();
    }
    let mut entries: BTreeMap<Uuid, usize> = BTreeMap::new();
    for topic in &request.topics {
        *entries.entry(topic.topic_id).or_default() += 1;
    }
    let mut seen = BTreeSet::new();
    let mut repeated = BTreeSet::new();
    for topic in &request.topics {
        let twice = entries.get(&topic.topic_id).is_some_and(|times| *times > 1);
        for partition in &topic.partitions {
            let id = LogId {
                topic: topic.topic_id,
                partition: partition.partition,
            };
            if !seen.insert(id) || twice {
                repeated.insert(id);
            }
        }
    }
    repeated
}

/// One batch as ranges of one type each.
fn stage_ranges(
    batch: &AcknowledgementBatch,
    form: StageForm,
    ranges: &mut Vec<StagedRange>,
) -> Result<(), Refusal> {
    let (first, last) = (batch.first_offset, batch.last_offset);
    let bad = |message| Err((ErrorCode::INVALID_REQUEST, message));
    if first < 0 || last < first {
        return bad("a range must not be reversed or negative");
    }
    let types = match form {
        StageForm::Plain => core::slice::from_ref(&batch.acknowledge_type),
        StageForm::Member | StageForm::Draft => &batch.acknowledge_types,
    };
    let length = (last - first).checked_add(1);
    let per_offset = i64::try_from(types.len()).ok() == length;
    if types.len() != 1 && !per_offset {
        return bad("give one acknowledge type for the range, or one for each of its offsets");
    }
    let delivery_count = (form == StageForm::Member).then_some(batch.delivery_count);
    if let [acknowledge_type] = *types {
        let range = StagedRange {
            first_offset: first,
            last_offset: last,
            acknowledge_type,
            delivery_count,
        };
        push_joined(ranges, range);
        return Ok(());
    }
    let mut offset = first;
    for run in types.chunk_by(|a, b| a == b) {
        let length = i64::try_from(run.len()).unwrap_or(i64::MAX);
        let range = StagedRange {
            first_offset: offset,
            last_offset: offset + length - 1,
            acknowledge_type: run.first().copied().unwrap_or_default(),
            delivery_count,
        };
        push_joined(ranges, range);
        offset += length;
    }
    Ok(())
}

/// Adds a range, or prolongs the one before it that says the same: whoever comes after this pays
/// for what is said, not for how.
fn push_joined(ranges: &mut Vec<StagedRange>, next: StagedRange) {
    match ranges.last_mut() {
        Some(last)
            if last.last_offset.checked_add(1) == Some(next.first_offset)
                && last.acknowledge_type == next.acknowledge_type
                && last.delivery_count == next.delivery_count =>
        {
            last.last_offset = next.last_offset;
        }
        _ => ranges.push(next),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn read(batches: &[(i64, i64, i16, &[i8])]) -> Vec<(i64, i64, i8, Option<i16>)> {
        let mut ranges = Vec::new();
        for &(first_offset, last_offset, delivery_count, types) in batches {
            let batch = AcknowledgementBatch {
                first_offset,
                last_offset,
                delivery_count,
                acknowledge_types: types.into(),
                ..Default::default()
            };
            stage_ranges(&batch, StageForm::Member, &mut ranges).expect("good ranges");
        }
        let all = ranges.iter();
        all.map(|range| {
            (
                range.first_offset,
                range.last_offset,
                range.acknowledge_type,
                range.delivery_count,
            )
        })
        .collect()
    }

    #[test]
    fn ranges_that_say_the_same_and_follow_each_other_are_one() {
        assert_eq!(
            read(&[(0, 0, 1, &[1]), (1, 1, 1, &[1]), (2, 4, 1, &[1, 1, 1])]),
            [(0, 4, 1, Some(1))]
        );
        let apart: [(i64, i64, i16, &[i8]); 5] = [
            (0, 0, 1, &[1]),
            // Another type, another count, an offset between.
            (1, 1, 1, &[3]),
            (2, 2, 2, &[3]),
            (4, 5, 2, &[3, 0]),
            (6, 6, 2, &[0]),
        ];
        assert_eq!(
            read(&apart),
            [
                (0, 0, 1, Some(1)),
                (1, 1, 3, Some(1)),
                (2, 2, 3, Some(2)),
                (4, 4, 3, Some(2)),
                (5, 6, 0, Some(2)),
            ]
        );
    }

    #[test]
    fn what_is_out_of_order_stays_so_and_is_refused_by_the_leader() {
        let twice = vec![(5, 5, 1, Some(1)), (5, 5, 1, Some(1))];
        assert_eq!(read(&[(5, 5, 1, &[1]), (5, 5, 1, &[1])]), twice);
        let backwards = vec![(5, 5, 1, Some(1)), (4, 4, 1, Some(1))];
        assert_eq!(read(&[(5, 5, 1, &[1]), (4, 4, 1, &[1])]), backwards);
    }
}
