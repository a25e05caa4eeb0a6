//! OffsetCommit (key 8).

use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::classic_group::{ClassicGroup, GroupState};
use super::coordinator::{ClassicReply, GroupCoordinator};
use super::offsets::CommittedOffset;
use super::records::{self, OffsetKey};
use super::validate::Caller;
use crate::outbox::{Outbox, ProducerEpoch, StateRecord};

/// From this version on a group that does not exist is called that.
const KNOWS_GROUP_ID_NOT_FOUND: i16 = 9;

/// Offsets that a consumer commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRequest {
    /// Group.
    pub group: Str,
    /// Member id; empty for a consumer that is no member.
    pub member: Str,
    /// `group.instance.id` of a static member.
    pub instance: Option<Str>,
    /// Generation; -1 for a consumer that is no member.
    pub generation: i32,
    /// Offsets of partitions that exist.
    pub partitions: Vec<CommittedPartition>,
}

/// One offset of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedPartition {
    /// Topic.
    pub topic: Str,
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Partition of the topic.
    pub partition: i32,
    /// Offset of the next record to process.
    pub offset: i64,
    /// Leader epoch of the last record processed; -1 where unknown.
    pub leader_epoch: i32,
    /// What the consumer keeps with it.
    pub metadata: Option<Str>,
}

impl CommitRequest {
    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            member: &self.member,
            instance: self.instance.as_ref(),
            generation: self.generation,
        }
    }
}

impl GroupCoordinator {
    /// Commits offsets; one code for each partition, in order: NONE, OFFSET_METADATA_TOO_LARGE, or
    /// STALE_MEMBER_EPOCH where the member had the partition later than in the epoch that it names.
    /// `retention_ms` is what old clients ask for; -1 leaves it to the group.
    ///
    /// # Errors
    /// What is wrong with group or member: GROUP_ID_NOT_FOUND (below v9 ILLEGAL_GENERATION),
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS; of a group
    /// of the consumer protocol STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION below v9.
    pub fn commit_offsets(
        &mut self,
        now: Now,
        version: i16,
        request: &CommitRequest,
        retention_ms: i64,
        out: &mut Outbox<ClassicReply>,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        let verdicts = self.verdicts(request, Some(version))?;
        match self.group(&request.group) {
            _ if verdicts.is_some() => {}
            Some(group) => group.check_commit(request.caller(), false)?,
            None if request.generation < 0 => {}
            None if version >= KNOWS_GROUP_ID_NOT_FOUND => {
                return Err(ErrorCode::GROUP_ID_NOT_FOUND);
            }
            None => return Err(ErrorCode::ILLEGAL_GENERATION),
        }
        let now_ms = now.wall.as_millis();
        let expire_ms = match retention_ms {
            0.. => now_ms.saturating_add(retention_ms),
            _ => -1,
        };
        let codes = self.put_offsets(now, request, verdicts, expire_ms, None, out);
        self.keep_alive(now, request, out);
        Ok(codes)
    }

    /// What a group of the consumer protocol says to each partition; `None`: it is none.
    pub(super) fn verdicts(
        &self,
        request: &CommitRequest,
        version: Option<i16>,
    ) -> Result<Option<Vec<ErrorCode>>, ErrorCode> {
        let Some(group) = self.consumer_group(&request.group) else {
            return Ok(None);
        };
        let right = group.check_commit(request.caller(), version)?;
        let partitions = request.partitions.iter();
        let verdicts = partitions.map(|own| right.check(own.topic_id, own.partition));
        Ok(Some(verdicts.collect()))
    }

    /// Appends the offsets that the group does not refuse, in the transaction of `producer` where one is named.
    pub(super) fn put_offsets(
        &mut self,
        now: Now,
        request: &CommitRequest,
        verdicts: Option<Vec<ErrorCode>>,
        expire_ms: i64,
        producer: Option<ProducerEpoch>,
        out: &mut Outbox<ClassicReply>,
    ) -> Vec<ErrorCode> {
        let now_ms = now.wall.as_millis();
        let mut codes = Vec::with_capacity(request.partitions.len());
        let mut written = Vec::with_capacity(request.partitions.len());
        let mut verdicts = verdicts.unwrap_or_default().into_iter();
        for partition in &request.partitions {
            let verdict = verdicts.next().unwrap_or(ErrorCode::NONE);
            let (code, record) = match verdict {
                ErrorCode::NONE => self.offset_record(request, partition, now_ms, expire_ms),
                refused => (refused, None),
            };
            codes.push(code);
            written.extend(record);
        }
        if !written.is_empty() {
            self.ensure_group(now, &request.group);
            self.append(written, producer, out);
        }
        codes
    }

    /// A group that exists from its first offset on.
    fn ensure_group(&mut self, now: Now, id: &Str) {
        if !self.groups.contains_key(id) {
            self.group_mut(id).classic = ClassicGroup::new(now.wall.as_millis());
            self.check_retention(now);
        }
    }

    fn offset_record(
        &self,
        request: &CommitRequest,
        partition: &CommittedPartition,
        now_ms: i64,
        expire_ms: i64,
    ) -> (ErrorCode, Option<StateRecord>) {
        let metadata = partition.metadata.clone().unwrap_or_default();
        // Kafka counts the characters of Java, which are UTF-16.
        if metadata.encode_utf16().count() > self.config.metadata_max_bytes {
            return (ErrorCode::OFFSET_METADATA_TOO_LARGE, None);
        }
        let key = OffsetKey {
            group: request.group.clone(),
            topic: partition.topic.clone(),
            partition: partition.partition,
        };
        let offset = CommittedOffset {
            offset: partition.offset,
            leader_epoch: partition.leader_epoch,
            metadata,
            commit_ms: now_ms,
            expire_ms,
            topic_id: partition.topic_id,
        };
        match records::offset(&key, &offset) {
            Some(record) => (ErrorCode::NONE, Some(record)),
            None => (ErrorCode::OFFSET_METADATA_TOO_LARGE, None),
        }
    }

    /// Members that commit are there.
    fn keep_alive(&mut self, now: Now, request: &CommitRequest, out: &mut Outbox<ClassicReply>) {
        self.turn(now, &request.group, out, |turn| {
            if matches!(
                turn.group.state(),
                GroupState::Stable | GroupState::PreparingRebalance
            ) {
                turn.extend_session(&request.member);
            }
        });
    }
}
