//! Whether a member may act.

use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use super::classic_group::{ClassicGroup, GroupState};

/// Who says that he is a member, and of which generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) member: &'a str,
    pub(super) instance: Option<&'a Str>,
    pub(super) generation: i32,
}

impl ClassicGroup {
    /// UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID where another member has taken the static place.
    pub(super) fn check_member(
        &self,
        member: &str,
        instance: Option<&Str>,
    ) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.static_members.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(current) if current != member => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        match self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    /// As [`check_member`](Self::check_member), then ILLEGAL_GENERATION.
    pub(super) fn check_caller(&self, caller: Caller<'_>) -> Result<(), ErrorCode> {
        self.check_member(caller.member, caller.instance)?;
        match caller.generation == self.generation {
            true => Ok(()),
            false => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }

    /// Whether offsets may be committed. Those who do not use the group's members (generation -1)
    /// may while it has none; in a transaction, where older clients do not say who they are, always.
    pub(super) fn check_commit(
        &self,
        caller: Caller<'_>,
        transactional: bool,
    ) -> Result<(), ErrorCode> {
        let is_empty = self.state() == GroupState::Empty;
        if caller.generation < 0 && is_empty {
            return Ok(());
        }
        if caller.generation >= 0 || !caller.member.is_empty() || caller.instance.is_some() {
            self.check_caller(caller)?;
        } else if !transactional && !is_empty {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        match self.state() {
            // The member knows the generation, but not yet what it is to read in it.
            GroupState::CompletingRebalance => Err(ErrorCode::REBALANCE_IN_PROGRESS),
            _ => Ok(()),
        }
    }
}
