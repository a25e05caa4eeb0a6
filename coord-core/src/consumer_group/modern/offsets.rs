//! Who may commit and fetch offsets of a consumer group.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;
use ackord_proto::uuid::Uuid;

use super::group::ConsumerGroup;
use super::member::{ConsumerMember, Current};
use crate::consumer_group::validate::Caller;

/// The first version of OffsetCommit whose clients know the codes of the consumer protocol.
const KNOWS_MEMBER_EPOCH: i16 = 9;

/// For which partitions offsets may be committed.
#[derive(Clone, Copy, Debug)]
pub(in crate::consumer_group) enum CommitRight<'a> {
    /// All.
    All,
    /// Those that the member had in this epoch already, and has still (KIP-1251).
    Assigned {
        /// Where the member is.
        current: &'a Current,
        /// The epoch that it named.
        epoch: i32,
        /// The code for all others.
        stale: ErrorCode,
    },
}

impl CommitRight<'_> {
    /// NONE, or why the offset of this partition may not be committed.
    pub(in crate::consumer_group) fn check(self, topic: Uuid, partition: i32) -> ErrorCode {
        match self {
            CommitRight::All => ErrorCode::NONE,
            CommitRight::Assigned {
                current,
                epoch,
                stale,
            } => match current.assignment_epoch(topic, partition) {
                Some(assigned) if assigned <= epoch => ErrorCode::NONE,
                _ => stale,
            },
        }
    }
}

fn stale(member: &ConsumerMember) -> ErrorCode {
    match member.is_classic() {
        true => ErrorCode::ILLEGAL_GENERATION,
        false => ErrorCode::STALE_MEMBER_EPOCH,
    }
}

impl ConsumerGroup {
    /// Those who do not use the group's members (epoch below 0) may while it has none; in a
    /// transaction, where older clients do not say who they are, always. `version` is that of an
    /// OffsetCommit, `None` in a transaction.
    pub(in crate::consumer_group) fn check_commit(
        &self,
        caller: Caller<'_>,
        version: Option<i16>,
    ) -> Result<CommitRight<'_>, ErrorCode> {
        let nobody =
            caller.generation == -1 && caller.member.is_empty() && caller.instance.is_none();
        if (caller.generation < 0 && self.is_empty()) || (version.is_none() && nobody) {
            return Ok(CommitRight::All);
        }
        let member = self.members.get(caller.member);
        let member = member.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        let too_old = version.is_some_and(|version| version < KNOWS_MEMBER_EPOCH);
        if too_old && !member.is_classic() {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        match caller.generation.cmp(&member.current.epoch) {
            core::cmp::Ordering::Equal => Ok(CommitRight::All),
            core::cmp::Ordering::Greater => Err(stale(member)),
            core::cmp::Ordering::Less => Ok(CommitRight::Assigned {
                current: &member.current,
                epoch: caller.generation,
                stale: stale(member),
            }),
        }
    }

    /// Whoever says that he is a member has to be one, of this epoch.
    pub(in crate::consumer_group) fn check_fetch(
        &self,
        member: Option<&Str>,
        epoch: i32,
    ) -> Result<(), ErrorCode> {
        let Some(id) = member else {
            return match epoch {
                ..0 => Ok(()),
                _ => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            };
        };
        let member = self.members.get(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        match member.current.epoch == epoch {
            true => Ok(()),
            false => Err(stale(member)),
        }
    }
}
