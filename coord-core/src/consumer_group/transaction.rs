//! Offsets in transactions: TxnOffsetCommit (key 28), and the markers that end them (KIP-98,
//! KIP-447).

use alloc::vec::Vec;

use ackord_machine::Now;
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::coordinator::{ClassicReply, GroupCoordinator};
use super::offset_commit::CommitRequest;
use crate::outbox::{Outbox, ProducerEpoch};

impl GroupCoordinator {
    /// Stages offsets in the transaction of `producer`, which has been verified: they count when it
    /// commits. One code for each partition: NONE or OFFSET_METADATA_TOO_LARGE.
    ///
    /// # Errors
    /// What is wrong with group or member: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
    /// ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH.
    pub fn stage_offsets(
        &mut self,
        now: Now,
        producer: ProducerEpoch,
        request: &CommitRequest,
        out: &mut Outbox<ClassicReply>,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        let verdicts = self.verdicts(request, None)?;
        match self.group(&request.group) {
            _ if verdicts.is_some() => {}
            Some(group) => group.check_commit(request.caller(), true)?,
            None if request.generation < 0 => {}
            None => return Err(ErrorCode::ILLEGAL_GENERATION),
        }
        Ok(self.put_offsets(now, request, verdicts, -1, Some(producer), out))
    }

    /// Ends what a producer has waiting. The live path and replay both come here; which marker may be
    /// written at all was decided before it was appended.
    pub fn replay_end_transaction_marker(&mut self, producer_id: i64, commit: bool) {
        let groups = self.by_producer.remove(&producer_id).unwrap_or_default();
        for id in groups {
            if let Some(group) = self.groups.get_mut(&id) {
                group.offsets.complete(producer_id, commit);
            }
        }
    }

    /// Ends a transaction live, as in replay. A group that was only to get its first offsets in an
    /// aborted transaction does not come to be.
    pub fn complete_transaction(&mut self, producer_id: i64, commit: bool) {
        let groups: Vec<Str> = self
            .by_producer
            .get(&producer_id)
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        self.replay_end_transaction_marker(producer_id, commit);
        for id in groups {
            self.forget_unused(&id);
        }
    }
}
